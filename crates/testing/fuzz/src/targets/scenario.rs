//! Target: scenarios of `simulate`: clusters, tasks and machines, each a key and a value in a line.

use balancing_policies::Policy;
use simulator::balance::{self, Arrivals, Detection, Durations, Scenario};
use simulator::chunking::{self as dealing, Machine, Workload};

/// Limits of the scenarios that are simulated: larger ones only take longer.
const N_NODES_MAX: u32 = 16;
const N_TASKS_MAX: u64 = 60;
const TIME_S_MAX: f64 = 50.0;

/// Reads the lines and simulates what they describe.
pub(crate) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (mut scenario, mut tasks) = (Scenario::default(), ChunkingScenario::default());
    for line in text.lines() {
        let Some((key, value)) = line.split_once('=') else { continue };
        let (key, value) = (key.trim(), value.trim());
        describe(&mut scenario, key, value);
        tasks.describe(key, value);
    }
    balance(&scenario);
    tasks.simulate();
}

fn numbers<N: std::str::FromStr>(text: &str) -> Option<Vec<N>> {
    text.split(',').map(|number| number.trim().parse().ok()).collect()
}

fn describe(scenario: &mut Scenario, key: &str, value: &str) -> Option<()> {
    match key {
        "nodes" => scenario.n_nodes = value.parse().ok()?,
        "cores" => scenario.cores = numbers(value)?,
        "speeds" => scenario.speeds = numbers(value)?,
        "tasks" => scenario.n_tasks = value.parse().ok()?,
        "arrival-s" => scenario.arrivals = Arrivals::Every { gap_s: value.parse().ok()? },
        "random-s" => scenario.arrivals = Arrivals::Random { gap_s: value.parse().ok()? },
        "task-s" => scenario.durations = value.parse().ok()?,
        "entry" => scenario.entries = value.parse().ok()?,
        "policy" => scenario.policy = value.parse::<Policy>().ok()?,
        "latency-s" => scenario.network.latency_s = value.parse().ok()?,
        "service-s" => scenario.network.service_s = value.parse().ok()?,
        "loss" => scenario.network.loss = value.parse().ok()?,
        "measure-s" => scenario.measure_s = value.parse().ok()?,
        "measured" => scenario.detection = Detection::Measured,
        "stray" => scenario.stray = value.parse().ok()?,
        "lease-s" => scenario.lease_s = value.parse().ok()?,
        "fail" => scenario.failures.push(value.parse().ok()?),
        _ => {}
    }
    Some(())
}

fn balance(scenario: &Scenario) {
    let is_checked = scenario.check().is_ok();
    let is_small = scenario.n_nodes <= N_NODES_MAX && scenario.n_tasks <= N_TASKS_MAX;
    if is_checked && is_small && is_short(scenario) {
        let outcome = balance::simulate(scenario, &mut |_| {}).expect("it was checked");
        assert!(outcome.t_exec_s.is_finite(), "{outcome:?}");
    }
}

/// Returns whether little time is simulated: nodes measure and communicate all the time, so that simulated time costs
/// time.
fn is_short(scenario: &Scenario) -> bool {
    let (Arrivals::Every { gap_s } | Arrivals::Random { gap_s }) = scenario.arrivals;
    let task_s = match scenario.durations {
        Durations::Constant { task_s } => task_s,
        Durations::Exponential { mean_s } => mean_s,
        Durations::Lognormal { median_s, .. } => median_s,
        Durations::Uniform { high_s, .. } => high_s,
    };
    let network = &scenario.network;
    let times_s = [gap_s, task_s, network.latency_s, network.service_s, scenario.lease_s];
    let failures = scenario.failures.iter();
    let away_s = failures.map(|failure| failure.back_s.unwrap_or(failure.at_s));
    times_s.into_iter().chain(away_s).all(|time_s| time_s <= TIME_S_MAX)
        && scenario.speeds.iter().all(|speed| 0.1 <= *speed)
        && 0.1 <= scenario.measure_s
        && scenario.network.loss <= 0.5
}

/// Tasks that a master deals.
struct ChunkingScenario {
    machine: Machine,
    workload: Option<Workload>,
}

impl Default for ChunkingScenario {
    fn default() -> Self {
        Self { machine: Machine::new(2, 1e-3), workload: None }
    }
}

impl ChunkingScenario {
    fn describe(&mut self, key: &str, value: &str) -> Option<()> {
        match key {
            "workers" => self.machine.n_workers = value.parse().ok()?,
            "slow" => self.machine.slowdowns.push(value.parse().ok()?),
            "overhead-s" => self.machine.overhead_s = value.parse().ok()?,
            "serve-s" => self.machine.serve_s = value.parse().ok()?,
            "distribution" => {
                self.workload =
                    Some(Workload::drawn(N_TASKS_MAX, value.parse().ok()?, &[], 1).ok()?);
            }
            "block" => {
                let constant = dealing::Distribution::Constant { ms: 1.0 };
                let blocks = [value.parse().ok()?];
                self.workload = Some(Workload::drawn(N_TASKS_MAX, constant, &blocks, 1).ok()?);
            }
            "trace" => self.workload = Some(Workload::from_trace(&value.replace(' ', "\n")).ok()?),
            _ => {}
        }
        Some(())
    }

    fn simulate(self) {
        let Self { machine, workload: Some(workload) } = self else { return };
        let is_small = machine.n_workers <= N_NODES_MAX && workload.n_tasks() <= N_TASKS_MAX;
        if machine.check().is_err() || !is_small {
            return;
        }
        let later = Vec::new();
        let scenario =
            dealing::Scenario { workload, later, machine, n_iterations: 1, n_tasks_min: 1 };
        for policy in chunking::all() {
            let outcome = dealing::simulate(&scenario, policy, &mut |_| {});
            assert!(!outcome.makespan_s.is_nan(), "{outcome:?}");
        }
    }
}
