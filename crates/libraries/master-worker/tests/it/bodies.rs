//! Tests that hold on any number of ranks: each body is called on every rank, and asserts on rank
//! 0.
#![expect(clippy::unwrap_used, reason = "these are tests, wherever they run")]

#[path = "bodies/arriving.rs"]
mod arriving;
#[path = "bodies/uneven.rs"]
mod uneven;

use comm::Transport;
use master_worker::{
    Cancel, Error, Iteration, Options, Plain, Prefetch, Program, Report, Workers, lead, serve,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Function that every rank calls with its transport.
type Body<T> = fn(&mut T);

/// All bodies, by name.
pub(crate) fn all<T: Transport>() -> Vec<(&'static str, Body<T>)> {
    vec![
        ("every_policy_does_every_task_once", every_policy_does_every_task_once),
        ("every_way_of_dealing_gives_the_same", every_way_of_dealing_gives_the_same),
        ("large_shared_data_are_kept", large_shared_data_are_kept),
        ("types_of_serde_and_plain_ones_travel", types_of_serde_and_plain_ones_travel),
        (
            "what_waits_behind_a_long_task_is_taken_back",
            uneven::what_waits_behind_a_long_task_is_taken_back,
        ),
        ("a_panic_is_tried_elsewhere", a_panic_is_tried_elsewhere),
        ("a_panic_everywhere_is_reported", a_panic_everywhere_is_reported),
        ("a_search_ends_when_it_has_found", a_search_ends_when_it_has_found),
        ("priorities_come_first", priorities_come_first),
        ("a_canceled_run_ends", a_canceled_run_ends),
        ("a_smaller_number_of_workers_is_kept", a_smaller_number_of_workers_is_kept),
        ("the_model_chooses_among_the_workers", the_model_chooses_among_the_workers),
        ("nothing_to_do_is_done", nothing_to_do_is_done),
        ("what_arrives_belongs_to_the_iteration", arriving::what_arrives_belongs_to_the_iteration),
        ("what_arrives_may_come_first", arriving::what_arrives_may_come_first),
        ("tasks_stay_where_they_were", arriving::tasks_stay_where_they_were),
    ]
}

/// Returns the master's result on rank 0, `None` elsewhere.
fn run<P: Program, T: Transport>(
    program: &mut P,
    transport: &mut T,
    options: &Options,
) -> Option<Result<Report, Error>> {
    if transport.rank() == 0 {
        return Some(lead(program, transport, options));
    }
    serve(program, transport, options).unwrap();
    None
}

/// Iterated map in which each place depends on its neighbors.
#[derive(Clone, Debug)]
struct Relaxation {
    values: Vec<f64>,
    n_iterations: u64,
    recovered: BTreeSet<u64>,
    order: Vec<u64>,
    rank: u32,
    fault: Fault,
    cancel: Cancel,
    is_unchanged: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Fault {
    #[default]
    None,
    /// Task 3 panics on odd ranks.
    OnOddRanks,
    /// Task 3 panics on every rank.
    Everywhere,
}

impl Relaxation {
    fn new(n_values: u32, n_iterations: u64) -> Self {
        Self {
            values: (0..n_values).map(f64::from).collect(),
            n_iterations,
            recovered: BTreeSet::new(),
            order: Vec::new(),
            rank: 0,
            fault: Fault::None,
            cancel: Cancel::default(),
            is_unchanged: false,
        }
    }

    /// Result of a single process without ranks.
    fn expected(&self) -> Vec<f64> {
        let mut values = self.values.clone();
        for _ in 0..self.n_iterations {
            let next = (0..values.len()).map(|place| next_value(&values, place)).collect();
            if !self.is_unchanged {
                values = next;
            }
        }
        values
    }
}

fn next_value(values: &[f64], place: usize) -> f64 {
    let after = values.get(place + 1).copied().unwrap_or(1.0);
    values[place] * 0.75 + after * 0.25
}

fn places(tasks: &Range<u64>) -> Range<usize> {
    usize::try_from(tasks.start).unwrap()..usize::try_from(tasks.end).unwrap()
}

impl Program for Relaxation {
    type Shared = Plain<f64>;
    type Input = String;
    type Output = Plain<f64>;

    fn enter(&mut self, rank: u32) {
        self.rank = rank;
    }

    fn next(&mut self, iteration: u64) -> Option<Iteration<Plain<f64>>> {
        self.recovered.clear();
        let n_tasks = self.values.len() as u64;
        let is_new = iteration == 0 || !self.is_unchanged;
        (iteration < self.n_iterations).then(|| match is_new {
            true => Iteration::new(n_tasks, Plain::from(&self.values[..])).priority(5..7, 1),
            false => Iteration::unchanged(n_tasks),
        })
    }

    fn input(&self, tasks: Range<u64>) -> String {
        format!("{tasks:?}")
    }

    fn work(&self, shared: &Plain<f64>, tasks: Range<u64>, input: String) -> Plain<f64> {
        assert_eq!(input, format!("{tasks:?}"));
        let is_faulty = match self.fault {
            Fault::None => false,
            Fault::OnOddRanks => self.rank % 2 == 1,
            Fault::Everywhere => true,
        };
        assert!(!(is_faulty && tasks.contains(&3)), "task 3 on rank {}", self.rank);
        places(&tasks).map(|place| next_value(shared, place)).collect()
    }

    fn recover(&mut self, tasks: Range<u64>, output: Plain<f64>) {
        self.order.push(tasks.start);
        assert_eq!(places(&tasks).len(), output.len());
        for task in tasks.clone() {
            assert!(self.recovered.insert(task), "task {task} is recovered twice");
        }
        if !self.is_unchanged {
            self.values[places(&tasks)].copy_from_slice(&output);
        }
        if self.cancel != Cancel::default() {
            return;
        }
        if self.n_iterations == u64::MAX {
            self.cancel.cancel();
        }
    }
}

#[track_caller]
fn check<T: Transport>(mut program: Relaxation, transport: &mut T, options: &Options) {
    let expected = program.expected();
    if let Some(report) = run(&mut program, transport, options) {
        let report = report.unwrap();
        assert_eq!(program.values, expected, "{options:?}");
        assert_eq!(report.n_iterations, program.n_iterations);
        let n_tasks: u64 = report.last().unwrap().workers.iter().map(|one| one.n_tasks).sum();
        assert_eq!(n_tasks, program.values.len() as u64);
    }
}

fn every_policy_does_every_task_once<T: Transport>(transport: &mut T) {
    for policy in chunking::all() {
        check(Relaxation::new(50, 3), transport, &Options::new().policy(policy.name));
    }
}

fn every_way_of_dealing_gives_the_same<T: Transport>(transport: &mut T) {
    let ways = [
        Options::new().synchronous(),
        Options::new().prefetch(Prefetch::Off),
        Options::new().prefetch(Prefetch::Always).policy("ss"),
        Options::new().master_works(),
        Options::new().master_works().policy("ss").synchronous(),
        Options::new().workers(Workers::Fixed(2)),
    ];
    for options in ways {
        check(Relaxation::new(100, 5), transport, &options);
    }
}

fn large_shared_data_are_kept<T: Transport>(transport: &mut T) {
    let mut program = Relaxation::new(60_000, 3);
    check(program.clone(), transport, &Options::new());
    program.is_unchanged = true;
    check(program, transport, &Options::new());
}

fn a_panic_is_tried_elsewhere<T: Transport>(transport: &mut T) {
    if transport.n_ranks() == 2 {
        return;
    }
    let mut program = Relaxation::new(20, 2);
    program.fault = Fault::OnOddRanks;
    let expected = program.expected();
    // As many attempts as there may be odd ranks that get the task.
    let options = Options::new().attempts(50);
    if let Some(report) = run(&mut program, transport, &options) {
        assert!(report.is_ok());
        assert_eq!(program.values, expected);
    }
}

fn a_panic_everywhere_is_reported<T: Transport>(transport: &mut T) {
    let mut program = Relaxation::new(20, 2);
    program.fault = Fault::Everywhere;
    if let Some(report) = run(&mut program, transport, &Options::new().policy("ss")) {
        let error = report.unwrap_err();
        let said = error.to_string();
        let expected = "tasks `3` to `3` of iteration `0` panicked 2 times, last on rank `";
        assert!(said.starts_with(expected) && said.contains("`: task 3 on rank "), "{said}");
    }
}

fn a_smaller_number_of_workers_is_kept<T: Transport>(transport: &mut T) {
    let options = Options::new().workers(Workers::Fixed(1)).policy("ss");
    let mut program = Relaxation::new(20, 2);
    if let Some(report) = run(&mut program, transport, &options) {
        let report = report.unwrap();
        let ranks: Vec<_> = report.last().unwrap().workers.iter().map(|one| one.rank).collect();
        assert_eq!(ranks, if transport.n_ranks() == 1 { vec![0] } else { vec![1] });
    }
}

fn the_model_chooses_among_the_workers<T: Transport>(transport: &mut T) {
    let options = Options::new().workers(Workers::Tuned);
    check(Relaxation::new(100, 30), transport, &options);
}

fn nothing_to_do_is_done<T: Transport>(transport: &mut T) {
    let mut program = Relaxation::new(0, 3);
    if let Some(report) = run(&mut program, transport, &Options::new()) {
        let report = report.unwrap();
        assert_eq!((report.n_iterations, report.n_chunks), (3, 0));
    }
    let mut program = Relaxation::new(5, 0);
    if let Some(report) = run(&mut program, transport, &Options::new()) {
        assert_eq!(report.unwrap().n_iterations, 0);
    }
}

fn priorities_come_first<T: Transport>(transport: &mut T) {
    let mut program = Relaxation::new(9, 1);
    let options = Options::new().policy("ss").workers(Workers::Fixed(1)).prefetch(Prefetch::Off);
    if let Some(report) = run(&mut program, transport, &options) {
        report.unwrap();
        assert_eq!(program.order, [5, 6, 0, 1, 2, 3, 4, 7, 8]);
    }
}

fn a_canceled_run_ends<T: Transport>(transport: &mut T) {
    let mut program = Relaxation::new(9, u64::MAX);
    let options = Options::new().cancel(&program.cancel);
    if let Some(report) = run(&mut program, transport, &options) {
        assert!(matches!(report, Err(Error::Canceled { iteration: 0 | 1 })), "{report:?}");
    }
}

/// Looks for a number in two iterations, each with more tasks than can ever be done.
#[derive(Clone, Debug, Default)]
struct Search {
    found: Option<u64>,
}

impl Program for Search {
    type Shared = u64;
    type Input = ();
    type Output = Option<u64>;

    fn next(&mut self, iteration: u64) -> Option<Iteration<u64>> {
        self.found = None;
        (iteration < 2).then(|| Iteration::new(1 << 40, 1000 * (iteration + 1)))
    }

    fn input(&self, _tasks: Range<u64>) {}

    fn work(&self, wanted: &u64, tasks: Range<u64>, _input: ()) -> Option<u64> {
        tasks.contains(wanted).then_some(*wanted)
    }

    fn recover(&mut self, _tasks: Range<u64>, output: Option<u64>) {
        self.found = self.found.or(output);
    }

    fn is_settled(&self) -> bool {
        self.found.is_some()
    }

    fn end_iteration(&mut self, report: &master_worker::IterationReport) {
        assert_eq!(self.found, Some(1000 * (report.iteration + 1)));
    }
}

fn a_search_ends_when_it_has_found<T: Transport>(transport: &mut T) {
    for prefetch in [Prefetch::Late, Prefetch::Always] {
        let options = Options::new().policy("ss").prefetch(prefetch);
        if let Some(report) = run(&mut Search::default(), transport, &options) {
            assert_eq!(report.unwrap().n_iterations, 2);
        }
    }
}

/// Type with every kind of value that serde supports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Word {
    Nothing,
    Number { value: f64, exact: Option<i128> },
    Text(String, BTreeMap<String, Vec<char>>),
}

/// Sends each task's word there and back, next to bytes of every alignment.
#[derive(Clone, Debug, Default)]
struct Echo {
    words: Vec<Option<Word>>,
}

fn word(task: u64) -> Word {
    match task % 3 {
        0 => Word::Nothing,
        1 => Word::Number { value: f64::MIN_POSITIVE, exact: Some(-i128::from(task)) },
        _ => Word::Text("größer".to_owned(), [(task.to_string(), vec!['ä', '\0'])].into()),
    }
}

impl Program for Echo {
    type Shared = Plain<[u8; 3]>;
    type Input = Vec<Word>;
    type Output = (Vec<Word>, u64);

    fn next(&mut self, iteration: u64) -> Option<Iteration<Self::Shared>> {
        self.words = vec![None; 40];
        // Empty shared data count as new, too.
        let shared = vec![[1, 2, 3]; 2000 * usize::try_from(iteration).unwrap()];
        (iteration < 3).then(|| Iteration::new(40, shared.into()))
    }

    fn input(&self, tasks: Range<u64>) -> Vec<Word> {
        tasks.map(word).collect()
    }

    fn work(&self, shared: &Self::Shared, tasks: Range<u64>, words: Vec<Word>) -> Self::Output {
        assert_eq!(words, self.input(tasks));
        (words, shared.iter().flatten().copied().map(u64::from).sum())
    }

    fn recover(&mut self, tasks: Range<u64>, (words, _sum): Self::Output) {
        for (place, word) in self.words[places(&tasks)].iter_mut().zip(words) {
            assert_eq!(place.replace(word), None);
        }
    }

    fn end_iteration(&mut self, _report: &master_worker::IterationReport) {
        assert!(self.words.iter().flatten().cloned().eq((0..40).map(word)));
    }
}

fn types_of_serde_and_plain_ones_travel<T: Transport>(transport: &mut T) {
    if let Some(report) = run(&mut Echo::default(), transport, &Options::new().policy("gss")) {
        assert_eq!(report.unwrap().n_tasks, 120);
    }
}
