//! The tunlet `worker-count` inside the program: the same rule as from outside, fed with the same events.
//!
//! A change is judged as the conductor does it: when iterations are then slower by more than a limit, it is
//! undone.

use super::headcount::Timed;
use crate::report::IterationReport;
use application::Application;
use events::{Rank, Value};
use std::fmt;
use tunlets::{Applied, Decision, EventNews, IterationNews, News, Tunlet, World, built_in};

/// The description that tools outside get.
const DESCRIPTION: &str = include_str!("../../master-worker.toml");
const TUNLET: &str = "worker-count";
/// Iterations that a change is judged by.
const N_JUDGED: usize = 3;
/// How much slower they may be, as a factor.
const SLOWER: f64 = 1.05;

/// See the module.
pub(crate) struct Tuned {
    tunlet: Box<dyn Tunlet>,
    places: Places,
    n_workers: u32,
    task_bytes: u64,
    /// Times per task of the last iterations with this number.
    task_s: Vec<f64>,
    trial: Option<Trial>,
    decisions: Vec<Decision>,
}

/// A change that is not proven yet.
struct Trial {
    n_before: u32,
    task_s_before: f64,
}

/// Positions in the description.
struct Places {
    iteration_start: usize,
    send: usize,
    compute_start: usize,
    compute_end: usize,
    n_workers: usize,
}

impl fmt::Debug for Tuned {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tuned").field("n_workers", &self.n_workers).finish_non_exhaustive()
    }
}

impl Tuned {
    /// After the first iteration: it says what is sent. `n_max` is the highest rank of a worker.
    pub(crate) fn new(first: &IterationReport, n_workers: u32, n_max: u32) -> Option<Self> {
        let (application, _) = application::read(DESCRIPTION);
        let mut application = application?;
        let places = Places::new(&application)?;
        let is_same = first.input_bytes < first.shared_bytes;
        let sent_bytes = if is_same { first.shared_bytes } else { first.input_bytes };
        let returned = first.output_bytes as f64 / sent_bytes.max(1) as f64;
        let options = [
            ("sends", "asynchronous".to_owned()),
            ("data", if is_same { "same" } else { "split" }.to_owned()),
            ("returned", returned.min(1e6).to_string()),
        ];
        let options = options.map(|(name, value)| (name.to_owned(), value)).into();
        application.tunlet_options.insert(TUNLET.to_owned(), options);
        let mut world = World { n_ranks: n_max + 1, ..World::default() };
        world.actors = vec![vec![Rank(0)], (1..=n_max).map(Rank).collect()];
        world.values = vec![None; application.tuning_points.len()];
        world.values[places.n_workers] = Some(Value::Int(i64::from(n_workers)));
        let mut tunlet = built_in(TUNLET)?;
        tunlet.begin(&application, &world).ok()?;
        let task_bytes = sent_bytes / first.n_tasks.max(1);
        let (task_s, trial, decisions) = (Vec::new(), None, Vec::new());
        Some(Self { tunlet, places, n_workers, task_bytes, task_s, trial, decisions })
    }

    pub(crate) fn n_workers(&self) -> u32 {
        self.n_workers
    }

    pub(crate) fn iteration_began(&mut self, number: u64, n_tasks: u64, began_s: f64) {
        let n_workers = u64::from(self.n_workers);
        let values = [number, n_workers, n_tasks, self.task_bytes].map(whole).into();
        self.hear_event(self.places.iteration_start, 0, began_s, values);
    }

    pub(crate) fn chunk_done(&mut self, chunk: &Timed) {
        let (batch, n_tasks) = (u64::from(chunk.batch), chunk.n_tasks);
        let sent = [u64::from(chunk.worker), batch, n_tasks].map(whole).into();
        let computed: Vec<Value> = [0, batch, n_tasks].map(whole).into();
        self.hear_event(self.places.send, 0, chunk.sent_s, sent);
        let worker = chunk.worker;
        self.hear_event(self.places.compute_start, worker, chunk.began_s, computed.clone());
        self.hear_event(self.places.compute_end, worker, chunk.ended_s, computed);
    }

    /// Hears of an iteration; the reason where the number changes.
    pub(crate) fn iteration_ended(
        &mut self,
        report: &IterationReport,
        ended_s: f64,
    ) -> Option<String> {
        let (number, duration_s) = (report.iteration, report.duration_s);
        let work = report.n_tasks as f64;
        let news = IterationNews { number, end_s: ended_s, duration_s, work };
        self.tunlet.hear(&News::Iteration(news), &mut self.decisions);
        self.task_s.push(duration_s / work.max(1.0));
        if let Some(reason) = self.judge(ended_s) {
            return Some(reason);
        }
        let decision = self.decisions.drain(..).next_back()?;
        self.change(&decision, ended_s)
    }

    fn change(&mut self, decision: &Decision, now_s: f64) -> Option<String> {
        let n_workers = count(decision.value)?;
        let task_s_before = self.best_task_s();
        self.trial = Some(Trial { n_before: self.n_workers, task_s_before });
        let old = self.n_workers;
        self.set(n_workers, true, now_s);
        Some(format!("{n_workers} workers instead of {old} because {}", decision.reason))
    }

    /// Takes a change back that did not pay.
    fn judge(&mut self, now_s: f64) -> Option<String> {
        if self.task_s.len() < N_JUDGED {
            return None;
        }
        let since_s = self.best_task_s();
        let excess = self.task_s.len().saturating_sub(N_JUDGED);
        self.task_s.drain(..excess);
        let trial = self.trial.take()?;
        if since_s <= SLOWER * trial.task_s_before {
            return None;
        }
        let (tried, n_before) = (self.n_workers, trial.n_before);
        let reason = format!(
            "{n_before} workers again because {tried} made iterations slower: {:.3} us per task against {:.3}",
            1e6 * since_s,
            1e6 * trial.task_s_before
        );
        self.set(n_before, false, now_s);
        let point = self.places.n_workers;
        self.tunlet.hear(&News::Declined { point, reason: reason.clone() }, &mut Vec::new());
        Some(reason)
    }

    fn set(&mut self, n_workers: u32, is_own: bool, time_s: f64) {
        let [old, new] = [self.n_workers, n_workers].map(|n| Value::Int(i64::from(n)));
        let applied = Applied { point: self.places.n_workers, old, new, time_s, hit: 1, is_own };
        self.tunlet.hear(&News::Applied(applied), &mut Vec::new());
        self.n_workers = n_workers;
        self.task_s.clear();
    }

    /// Disturbances only add time.
    fn best_task_s(&self) -> f64 {
        self.task_s.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn hear_event(&mut self, event: usize, rank: u32, time_s: f64, values: Vec<Value>) {
        let news = EventNews { event, rank: Rank(rank), thread: 0, time_s, values };
        self.tunlet.hear(&News::Event(news), &mut self.decisions);
    }
}

impl Places {
    fn new(application: &Application) -> Option<Self> {
        let event = |name| application.events.iter().position(|event| event.name == name);
        Some(Self {
            iteration_start: event("iteration_start")?,
            send: event("send_to_worker")?,
            compute_start: event("compute_start")?,
            compute_end: event("compute_end")?,
            n_workers: application.tuning_points.iter().position(|point| point.name == "NW")?,
        })
    }
}

fn whole(number: u64) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

fn count(value: Value) -> Option<u32> {
    u32::try_from(value.as_integer()?).ok().filter(|count| *count != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::WorkerReport;

    const LATENCY_S: f64 = 1e-3;
    const N_TASKS: u64 = 840;

    /// An iteration of a master that sends each of `n_workers` its part, one after the other.
    fn iterate(tuned: &mut Tuned, number: u64, began_s: f64, time_s: f64) -> Option<String> {
        let n_workers = tuned.n_workers();
        tuned.iteration_began(number, N_TASKS, began_s);
        let compute_s = time_s - f64::from(n_workers + 1) * LATENCY_S;
        for worker in 1..=n_workers {
            let sent_s = began_s + f64::from(worker - 1) * LATENCY_S;
            let began_s = sent_s + LATENCY_S;
            let n_tasks = N_TASKS / u64::from(n_workers);
            let ended_s = began_s + compute_s;
            tuned.chunk_done(&Timed { worker, batch: 0, n_tasks, sent_s, began_s, ended_s });
        }
        tuned.iteration_ended(&report(number, time_s), began_s + time_s)
    }

    fn report(iteration: u64, duration_s: f64) -> IterationReport {
        let workers = vec![WorkerReport::default(); 8];
        let input_bytes = N_TASKS * 8;
        let sums = IterationReport { input_bytes, output_bytes: input_bytes, ..Default::default() };
        IterationReport { iteration, n_tasks: N_TASKS, duration_s, workers, ..sums }
    }

    /// The numbers after each of 12 iterations that take `time_s` of the number before.
    fn numbers(time_s: impl Fn(f64) -> f64) -> (Vec<u32>, Vec<String>) {
        let mut tuned = Tuned::new(&report(0, 0.1), 7, 7).unwrap();
        let (mut now_s, mut reasons) = (1.0, Vec::new());
        let numbers = (1..13).map(|number| {
            let time_s = time_s(f64::from(tuned.n_workers()));
            reasons.extend(iterate(&mut tuned, number, now_s, time_s));
            now_s += time_s;
            tuned.n_workers()
        });
        (numbers.collect(), reasons)
    }

    #[test]
    fn fewer_workers_are_taken_when_messages_are_dear() {
        let (numbers, reasons) = numbers(|n| (n + 1.0) * LATENCY_S + 4.0 * LATENCY_S / n);
        assert_eq!(numbers.first(), Some(&7), "one iteration says little");
        assert_eq!(numbers.last(), Some(&2), "{numbers:?}");
        assert!(reasons[0].contains(" workers instead of 7 because "), "{reasons:?}");
    }

    #[test]
    fn all_are_kept_when_computing_is_dear() {
        let (numbers, reasons) = numbers(|n| (n + 1.0) * LATENCY_S + 900.0 * LATENCY_S / n);
        assert_eq!((numbers, reasons), (vec![7; 12], vec![]));
    }

    #[test]
    fn what_does_not_pay_is_undone() {
        let model = |n: f64| (n + 1.0) * LATENCY_S + 4.0 * LATENCY_S / n;
        let (numbers, reasons) = numbers(|n| if n < 7.0 { 2.0 * model(7.0) } else { model(n) });
        assert!(numbers.iter().any(|n| *n != 7), "{numbers:?}");
        assert_eq!(numbers.last(), Some(&7), "{numbers:?}");
        assert!(reasons.iter().any(|reason| reason.starts_with("7 workers again because ")));
    }

    #[test]
    fn the_description_has_what_tunlets_need() {
        let (application, problems) = application::read(DESCRIPTION);
        assert_eq!(problems.len(), 0, "{problems:?}");
        let application = application.unwrap();
        let actors = vec![vec![Rank(0)], vec![Rank(1), Rank(2)]];
        let values = vec![None; application.tuning_points.len()];
        let world = World { n_ranks: 3, actors, values };
        for name in ["factoring", "worker-count", "imbalance"] {
            built_in(name).unwrap().begin(&application, &world).unwrap();
        }
    }
}
