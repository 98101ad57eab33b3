//! Description of a cluster and the tasks that arrive at it.

use balancing_policies::Policy;
use std::str::FromStr;
use std::sync::Arc;

/// Most nodes of a scenario.
pub const N_NODES_MAX: u32 = 1_000_000;
/// Most tasks of a scenario.
pub const N_TASKS_MAX: u64 = 100_000_000;
/// Longest time that may be given, in s: a year.
const TIME_S_MAX: f64 = 365.0 * 86_400.0;

/// Latest arrival of a trace, in s: two thirds of what the simulated clock can show.
const TRACE_S_MAX: f64 = 300.0 * 86_400.0;
/// Largest deviation of the logarithm of a task's time: beyond, one task outlasts all others.
const SIGMA_MAX: f64 = 5.0;

/// Cluster and tasks to simulate.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Policy by which tasks are balanced.
    pub policy: Policy,
    /// Number of nodes.
    pub n_nodes: u32,
    /// Cores of the nodes; a list that is shorter than the number of nodes repeats.
    pub cores: Vec<u32>,
    /// Speeds of the nodes' cores; the list repeats likewise.
    pub speeds: Vec<f64>,
    /// Number of tasks.
    pub n_tasks: u64,
    /// Times at which tasks arrive.
    pub arrivals: Arrivals,
    /// Nodes at which tasks arrive.
    pub entries: Entries,
    /// Durations of tasks on a core of speed 1.
    pub durations: Durations,
    /// Recorded tasks, which then arrive and last as they did; the first `n_tasks` of them.
    pub trace: Option<Arc<[TracedTask]>>,
    /// Network between nodes.
    pub network: NodeNetwork,
    /// Time between two measurements of a node, in s.
    pub measure_s: f64,
    /// Knowledge of a node between two measurements.
    pub detection: Detection,
    /// Share of measurements that count a passing process of the system as a task.
    pub stray: f64,
    /// Nodes that are down for a time.
    pub failures: Vec<NodeOutage>,
    /// Time after the failure of a node until tasks that it held for others wait again where they arrived, in s.
    pub lease_s: f64,
    /// Seed of all random numbers.
    pub seed: u64,
}

/// Knowledge of a node about its tasks between two measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detection {
    /// Complete, as in a daemon that starts tasks and is told of their ends.
    AtOnce,
    /// None, as in the source's nodes, which count the running processes.
    Measured,
}

/// Times at which tasks arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// At regular intervals, the first at once; all at once with 0.
    Every {
        /// Time from one task to the next, in s.
        gap_s: f64,
    },
    /// At random intervals with this mean (Poisson).
    Random {
        /// Mean time from one task to the next, in s.
        gap_s: f64,
    },
}

/// Nodes at which tasks arrive, in turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entries {
    /// These nodes.
    Nodes(Vec<u32>),
    /// Every n-th node, from the first on.
    Every(u32),
}

/// Durations of tasks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Durations {
    /// All equal.
    Constant {
        /// Duration in s.
        task_s: f64,
    },
    /// Exponentially distributed.
    Exponential {
        /// Mean in s.
        mean_s: f64,
    },
    /// Lognormally distributed: most are short, and a few very long.
    Lognormal {
        /// Median in s.
        median_s: f64,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
    },
    /// Evenly distributed.
    Uniform {
        /// Shortest in s.
        low_s: f64,
        /// Longest in s.
        high_s: f64,
    },
}

/// A task of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TracedTask {
    /// Time of its arrival after the first one's, in s.
    pub arrival_s: f64,
    /// Its time on a core of speed 1, in s.
    pub work_s: f64,
}

/// Network between nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeNetwork {
    /// Latency of a message, and of a task that moves, in s.
    pub latency_s: f64,
    /// Time that its receiver needs for a message, one at a time, in s.
    pub service_s: f64,
    /// Share of messages that are lost. Tasks are not lost: they travel until they arrive.
    pub loss: f64,
}

impl Default for NodeNetwork {
    fn default() -> Self {
        Self { latency_s: 1e-4, service_s: 0.0, loss: 0.0 }
    }
}

/// Node that is down for a time. It comes back with only the tasks that were submitted to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeOutage {
    /// Number of the node.
    pub node: u32,
    /// Time of the failure, in s.
    pub at_s: f64,
    /// Time of its return, in s; `None` if it never returns.
    pub back_s: Option<f64>,
}

impl Default for Scenario {
    /// Scenario 1 of the source, with nodes that see ends at once.
    fn default() -> Self {
        Self {
            policy: Policy::DEFAULT,
            n_nodes: 8,
            cores: vec![1],
            speeds: vec![1.0],
            n_tasks: 160,
            arrivals: Arrivals::Every { gap_s: 1.0 },
            entries: Entries::Nodes(vec![0]),
            durations: Durations::Constant { task_s: 19.8 },
            trace: None,
            network: NodeNetwork::default(),
            measure_s: 1.0,
            detection: Detection::AtOnce,
            stray: 0.0,
            failures: Vec::new(),
            lease_s: 15.0,
            seed: 1,
        }
    }
}

/// Reasons why a scenario cannot be simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ScenarioError {
    /// A number is not within its bounds.
    #[error("`{name}` is {found}; give a number from {least} to {most}")]
    Number {
        /// Name of the number.
        name: &'static str,
        /// Its value.
        found: f64,
        /// Least allowed value.
        least: f64,
        /// Greatest allowed value.
        most: f64,
    },
    /// There is no such node.
    #[error("`{what}` names node {node}, and nodes are numbered from 0 to {last}")]
    NoNode {
        /// Option that names the node.
        what: &'static str,
        /// Number of the node.
        node: u32,
        /// Number of the last node.
        last: u32,
    },
    /// A list must not be empty.
    #[error("`{0}` is empty; give one number at least")]
    Empty(&'static str),
    /// A node is back before it fails.
    #[error("node {node} is back at {back_s} s, before it fails at {at_s} s")]
    Order {
        /// Number of the node.
        node: u32,
        /// Time of the failure, in s.
        at_s: f64,
        /// Time of the return, in s.
        back_s: f64,
    },
    /// A text cannot be parsed.
    #[error("`{text}` is no {what}; write {forms}")]
    Text {
        /// The text as written.
        text: String,
        /// Kind of value that it should be.
        what: &'static str,
        /// Allowed forms.
        forms: &'static str,
    },
}

impl Scenario {
    /// Checks whether the scenario can be simulated.
    ///
    /// # Errors
    /// When a number is out of its bounds, or a node is named that does not exist.
    pub fn check(&self) -> Result<(), ScenarioError> {
        within("nodes", self.n_nodes.into(), 1.0, N_NODES_MAX.into())?;
        within("tasks", self.n_tasks as f64, 1.0, N_TASKS_MAX as f64)?;
        let (Arrivals::Every { gap_s } | Arrivals::Random { gap_s }) = self.arrivals;
        within("arrival-s", gap_s, 0.0, TIME_S_MAX)?;
        self.check_trace()?;
        within("latency-ms", self.network.latency_s * 1e3, 0.0, 60_000.0)?;
        within("service-ms", self.network.service_s * 1e3, 0.0, 60_000.0)?;
        within("loss", self.network.loss, 0.0, 0.9)?;
        within("lease-s", self.lease_s, 0.0, TIME_S_MAX)?;
        within("measure-s", self.measure_s, 1e-3, TIME_S_MAX)?;
        within("stray", self.stray, 0.0, 0.9)?;
        self.check_nodes()?;
        self.check_durations()?;
        self.check_failures()
    }

    fn check_nodes(&self) -> Result<(), ScenarioError> {
        for (name, n) in [("cores", self.cores.len()), ("speeds", self.speeds.len())] {
            if n == 0 {
                return Err(ScenarioError::Empty(name));
            }
        }
        self.cores.iter().try_for_each(|n| within("cores", (*n).into(), 1.0, 65_536.0))?;
        self.speeds.iter().try_for_each(|speed| within("speeds", *speed, 1e-3, 1e3))?;
        match &self.entries {
            Entries::Every(step) => within("entry", (*step).into(), 1.0, f64::from(u32::MAX)),
            Entries::Nodes(nodes) if nodes.is_empty() => Err(ScenarioError::Empty("entry")),
            Entries::Nodes(nodes) => nodes.iter().try_for_each(|node| self.is_node("entry", *node)),
        }
    }

    fn check_trace(&self) -> Result<(), ScenarioError> {
        let Some(trace) = &self.trace else { return Ok(()) };
        within("tasks", self.n_tasks as f64, 1.0, trace.len() as f64)?;
        trace.iter().try_for_each(|task| {
            within("time of arrival in the trace", task.arrival_s, 0.0, TRACE_S_MAX)?;
            within("time of a task in the trace", task.work_s, 1e-6, TIME_S_MAX)
        })
    }

    fn check_durations(&self) -> Result<(), ScenarioError> {
        match self.durations {
            Durations::Constant { task_s: s } | Durations::Exponential { mean_s: s } => {
                within("task-s", s, 1e-6, TIME_S_MAX)
            }
            Durations::Lognormal { median_s, sigma } => {
                within("task-s", median_s, 1e-6, TIME_S_MAX)?;
                within("task-s", sigma, 0.0, SIGMA_MAX)
            }
            Durations::Uniform { low_s, high_s } => {
                within("task-s", low_s, 1e-6, TIME_S_MAX)?;
                within("task-s", high_s, low_s, TIME_S_MAX)
            }
        }
    }

    fn check_failures(&self) -> Result<(), ScenarioError> {
        for NodeOutage { node, at_s, back_s } in self.failures.iter().copied() {
            self.is_node("fail", node)?;
            within("fail", at_s, 0.0, TIME_S_MAX)?;
            if let Some(back_s) = back_s {
                within("fail", back_s, 0.0, TIME_S_MAX)?;
                if back_s <= at_s {
                    return Err(ScenarioError::Order { node, at_s, back_s });
                }
            }
        }
        Ok(())
    }

    fn is_node(&self, what: &'static str, node: u32) -> Result<(), ScenarioError> {
        let last = self.n_nodes - 1;
        if node <= last { Ok(()) } else { Err(ScenarioError::NoNode { what, node, last }) }
    }

    pub(crate) fn n_cores(&self, node: u32) -> u32 {
        self.cores[node as usize % self.cores.len()]
    }

    pub(crate) fn speed(&self, node: u32) -> f64 {
        self.speeds[node as usize % self.speeds.len()]
    }

    /// Node at which the k-th task arrives.
    pub(crate) fn entry(&self, k: u64) -> u32 {
        match &self.entries {
            Entries::Nodes(nodes) => nodes[usize::try_from(k % nodes.len() as u64).unwrap_or(0)],
            Entries::Every(step) => {
                let n = u64::from(self.n_nodes.div_ceil(*step));
                u32::try_from(k % n).unwrap_or(0) * step
            }
        }
    }
}

fn within(name: &'static str, found: f64, least: f64, most: f64) -> Result<(), ScenarioError> {
    if (least..=most).contains(&found) {
        Ok(())
    } else {
        Err(ScenarioError::Number { name, found, least, most })
    }
}

impl FromStr for Entries {
    type Err = ScenarioError;

    /// Parses `0`, `0,4` or `every:K`.
    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        let parsed = match text.strip_prefix("every:") {
            Some(step) => step.parse().ok().map(Self::Every),
            None => {
                let nodes: Option<_> =
                    text.split(',').map(|node| node.trim().parse().ok()).collect();
                nodes.map(Self::Nodes)
            }
        };
        let (what, forms) = ("list of nodes", "0, 0,4 or every:K");
        parsed.ok_or_else(|| ScenarioError::Text { text: text.to_owned(), what, forms })
    }
}

impl FromStr for NodeOutage {
    type Err = ScenarioError;

    /// Parses `NODE@FROM` or `NODE@FROM:BACK`, in seconds.
    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        let parsed = text.split_once('@').and_then(|(node, times)| {
            let (at, back) = match times.split_once(':') {
                Some((at, back)) => (at, Some(back.parse().ok()?)),
                None => (times, None),
            };
            Some(Self { node: node.parse().ok()?, at_s: at.parse().ok()?, back_s: back })
        });
        let (what, forms) = ("failure", "NODE@SECOND or NODE@SECOND:SECOND");
        parsed.ok_or_else(|| ScenarioError::Text { text: text.to_owned(), what, forms })
    }
}

impl FromStr for Durations {
    type Err = ScenarioError;

    /// Parses `19.8`, `exponential:MEAN`, `lognormal:MEDIAN,SIGMA` or `uniform:LOW,HIGH`, in seconds.
    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        let parsed = match text.split_once(':') {
            None => text.parse().ok().map(|task_s| Self::Constant { task_s }),
            Some(("exponential", mean)) => {
                mean.parse().ok().map(|mean_s| Self::Exponential { mean_s })
            }
            Some(("lognormal", numbers)) => numbers.split_once(',').and_then(|(median, sigma)| {
                let (median_s, sigma) = (median.parse().ok()?, sigma.parse().ok()?);
                Some(Self::Lognormal { median_s, sigma })
            }),
            Some(("uniform", bounds)) => bounds.split_once(',').and_then(|(low, high)| {
                Some(Self::Uniform { low_s: low.parse().ok()?, high_s: high.parse().ok()? })
            }),
            Some(_) => None,
        };
        let (what, forms) = (
            "time of a task",
            "19.8, exponential:MEAN, lognormal:MEDIAN,SIGMA or uniform:LOW,HIGH",
        );
        parsed.ok_or_else(|| ScenarioError::Text { text: text.to_owned(), what, forms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(change: impl FnOnce(&mut Scenario), expected: &str) {
        let mut scenario = Scenario::default();
        change(&mut scenario);
        let said = scenario.check().map_or_else(|error| error.to_string(), |()| "fine".to_owned());
        assert_eq!(said, expected);
    }

    #[test]
    fn what_cannot_be_is_named() {
        check(|_| {}, "fine");
        check(|it| it.n_nodes = 0, "`nodes` is 0; give a number from 1 to 1000000");
        check(|it| it.n_tasks = 0, "`tasks` is 0; give a number from 1 to 100000000");
        check(|it| it.cores.clear(), "`cores` is empty; give one number at least");
        check(|it| it.speeds = vec![0.0], "`speeds` is 0; give a number from 0.001 to 1000");
        check(|it| it.network.loss = 1.0, "`loss` is 1; give a number from 0 to 0.9");
        check(|it| it.measure_s = -1.0, "`measure-s` is -1; give a number from 0.001 to 31536000");
        check(
            |it| it.entries = Entries::Nodes(vec![8]),
            "`entry` names node 8, and nodes are numbered from 0 to 7",
        );
        check(
            |it| it.failures = vec![NodeOutage { node: 1, at_s: 5.0, back_s: Some(4.0) }],
            "node 1 is back at 4 s, before it fails at 5 s",
        );
    }

    #[test]
    fn texts_are_read() {
        assert_eq!("0,4".parse(), Ok(Entries::Nodes(vec![0, 4])));
        assert_eq!("every:16".parse(), Ok(Entries::Every(16)));
        assert_eq!("3@10".parse(), Ok(NodeOutage { node: 3, at_s: 10.0, back_s: None }));
        assert_eq!("3@10:20".parse(), Ok(NodeOutage { node: 3, at_s: 10.0, back_s: Some(20.0) }));
        assert_eq!("19.8".parse(), Ok(Durations::Constant { task_s: 19.8 }));
        assert_eq!("uniform:1,2".parse(), Ok(Durations::Uniform { low_s: 1.0, high_s: 2.0 }));
        let lognormal = Durations::Lognormal { median_s: 3.0, sigma: 1.5 };
        assert_eq!("lognormal:3,1.5".parse(), Ok(lognormal));
        let said = |text: &str| text.parse::<Entries>().unwrap_err().to_string();
        assert_eq!(said("all"), "`all` is no list of nodes; write 0, 0,4 or every:K");
    }

    #[test]
    fn tasks_come_to_entries_in_turns() {
        let scenario = Scenario { entries: Entries::Every(3), ..Scenario::default() };
        assert_eq!((0..5).map(|k| scenario.entry(k)).collect::<Vec<_>>(), [0, 3, 6, 0, 3]);
    }
}
