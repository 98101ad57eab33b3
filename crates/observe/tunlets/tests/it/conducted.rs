//! The built-in tunlets under the conductor, which carries out, tries and undoes their decisions.

use crate::simulated::{Simulated, application};
use events::tuning::TuningMode;
use events::{Rank, Value};
use tunlets::conductor::{ActionDone, ActionReport, Conductor, Input, Options, Output};
use tunlets::{News, built_in};

/// Actions pending until the next iteration: number, tuning point, value.
type Orders = Vec<(u64, usize, Value)>;

struct Conducted {
    conductor: Conductor,
    simulated: Simulated,
    prepared: Orders,
    committed: Orders,
    n_changes: usize,
}

impl Conducted {
    fn new(simulated: Simulated, names: &[&str]) -> Self {
        let tunlets = names.iter().map(|name| built_in(name).expect("it is built in")).collect();
        let application = application(&[]);
        let mut conductor =
            Conductor::new(application, tunlets, TuningMode::Tune, Options::default());
        let n_ranks = simulated.n_workers + 1;
        for rank in (0..n_ranks).map(Rank) {
            conductor.hear(0.0, Input::RankAppeared { rank, n_ranks });
        }
        let (prepared, committed) = (Vec::new(), Vec::new());
        Self { conductor, simulated, prepared, committed, n_changes: 0 }
    }

    fn hear(&mut self, now_s: f64, input: Input) {
        for output in self.conductor.hear(now_s, input) {
            match output {
                Output::Prepare { action, point, values, .. } => {
                    self.prepared.extend(values.iter().map(|(_, value)| (action, point, *value)));
                    let old = self.simulated.value(point);
                    let report = ActionReport::Ready { n_hits: 0, old, note: "all".to_owned() };
                    self.hear(now_s, Input::Report { action, rank: Rank(0), report });
                }
                Output::Commit { action, .. } => {
                    let is_mine = |order: &mut (u64, usize, Value)| order.0 == action;
                    self.committed.extend(self.prepared.extract_if(.., is_mine));
                }
                Output::Withdraw { action, .. } => unreachable!("action {action} is withdrawn"),
                Output::Record(_) => {}
            }
        }
    }

    /// Runs iterations in sequence and returns their times.
    fn run(&mut self, n_iterations: u64) -> Vec<f64> {
        let (mut now_s, mut times_s) = (0.0, Vec::new());
        for number in 0..n_iterations {
            for (action, point, new) in std::mem::take(&mut self.committed) {
                let old = self.simulated.set(point, new);
                let rank = Rank(0);
                let done = ActionDone { rank, time_s: now_s, hit: 1, old, new };
                self.hear(now_s, Input::Report { action, rank, report: ActionReport::Done(done) });
                self.n_changes += 1;
            }
            let (news, end_s) = self.simulated.iterate(number, now_s);
            for news in news {
                if let News::Event(event) = news {
                    self.hear(event.time_s, Input::Event(event));
                }
            }
            times_s.push(end_s - now_s);
            // The program does something else between two iterations.
            now_s = end_s + 1e-3;
        }
        times_s
    }
}

fn below_the_line(_: u64, at: f64, _: u32) -> f64 {
    if at < 0.5 { 5e-6 } else { 10e-6 }
}

#[test]
fn factoring_gains_what_a_perfect_split_would() {
    for n_workers in 2..=7 {
        let mut simulated = Simulated::new(n_workers, below_the_line);
        simulated.n_tasks = 10_000 * u64::from(n_workers);
        let (_, plain_s) = simulated.iterate(0, 0.0);
        let perfect_s = simulated.perfect_s(0);
        let times_s = Conducted::new(simulated, &["factoring"]).run(40);
        for tuned_s in &times_s[8..] {
            let share = (plain_s - tuned_s) / (plain_s - perfect_s);
            assert!(0.9 <= share, "{n_workers} workers: {share}, {times_s:?}");
        }
    }
}

#[test]
fn without_imbalance_nothing_is_changed() {
    let mut conducted = Conducted::new(Simulated::new(7, |_, _, _| 5e-6), &["factoring"]);
    conducted.run(40);
    assert_eq!(conducted.n_changes, 0);
}

#[test]
fn both_strategies_take_turns_and_come_to_rest() {
    let mut simulated = Simulated::new(20, below_the_line);
    (simulated.latency_s, simulated.n_tasks) = (3e-4, 60_000);
    let plain_s = simulated.iterate(0, 0.0).1;
    let mut conducted = Conducted::new(simulated, &["factoring", "worker-count"]);
    let times_s = conducted.run(120);
    let settled_s = times_s[110..].iter().copied().fold(0.0, f64::max);
    assert!(settled_s < 0.9 * plain_s, "{plain_s} {times_s:?}");
    let n_changes = conducted.n_changes;
    assert!(n_changes <= 20, "{n_changes}");
}

#[test]
fn too_many_workers_become_fewer() {
    let mut simulated = Simulated::new(24, |_, _, _| 5e-6);
    simulated.latency_s = 1e-3;
    let mut conducted = Conducted::new(simulated, &["worker-count"]);
    conducted.run(40);
    assert!((9..=11).contains(&conducted.simulated.nw), "{}", conducted.simulated.nw);
}
