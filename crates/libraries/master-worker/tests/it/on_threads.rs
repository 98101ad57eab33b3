//! Runs the bodies on 1, 2, 3 and 5 threads, and tests features that exist on threads only.
#![expect(clippy::unwrap_used, reason = "these are tests")]

use crate::bodies;
use comm::Transport;
use master_worker::{
    Error, Iteration, IterationReport, Options, OptionsError, Prefetch, Program, WorkerNetwork,
    Workers, map, outcome, run,
};
use std::ops::Range;
use std::time::Duration;

fn check(n_ranks: u32) {
    std::thread::scope(|scope| {
        for mut end in comm::threads(n_ranks) {
            scope.spawn(move || {
                for (_name, body) in bodies::all() {
                    body(&mut end);
                    end.barrier(Duration::from_secs(60)).unwrap();
                }
                end.leave(Duration::from_secs(60)).unwrap();
            });
        }
    });
}

#[test]
fn bodies_on_1_rank() {
    check(1);
}

#[test]
fn bodies_on_2_ranks() {
    check(2);
}

#[test]
fn bodies_on_3_ranks() {
    check(3);
}

#[test]
fn bodies_on_5_ranks() {
    check(5);
}

#[test]
fn a_function_of_many_items_is_mapped() {
    for n_threads in [1, 2, 3, 5] {
        let items: Vec<String> = (0..40).map(|number| format!("item {number}")).collect();
        let expected: Vec<usize> = items.iter().map(String::len).collect();
        let options = Options::new().threads(n_threads);
        let lengths = map(items, options, |item: String| item.len()).unwrap();
        assert_eq!(lengths, Some(expected));
    }
}

/// Keeps its workers waiting for chunks of two sizes, and records the reports on the network.
#[derive(Clone, Debug, Default)]
struct Talks {
    networks: Vec<Option<WorkerNetwork>>,
    reckonings: Vec<String>,
}

impl Program for Talks {
    type Shared = ();
    type Input = Vec<u8>;
    type Output = ();

    fn next(&mut self, iteration: u64) -> Option<Iteration<()>> {
        (iteration < 40).then(|| Iteration::new(2, ()))
    }

    fn input(&self, _tasks: Range<u64>) -> Vec<u8> {
        let n_bytes = if self.networks.len().is_multiple_of(2) { 1 << 16 } else { 1 };
        vec![1; n_bytes]
    }

    fn work(&self, (): &(), _tasks: Range<u64>, _input: Vec<u8>) {}

    fn recover(&mut self, _tasks: Range<u64>, (): ()) {}

    fn end_iteration(&mut self, report: &IterationReport) {
        self.networks.push(report.network);
        self.reckonings.push(report.reckoning.clone());
    }
}

#[test]
fn what_messages_cost_is_followed() {
    let options = Options::new().threads(2).prefetch(Prefetch::Off);
    let talks = outcome(Talks::default(), options).unwrap().unwrap().program;
    let last = talks.networks.last().copied().flatten().unwrap();
    assert!(0.9 < last.confidence, "{last:?}");
    assert!(0.0 <= last.latency_s && last.latency_s + last.s_per_byte < 1.0, "{last:?}");
    assert!(0.0 < last.one_way_s(1 << 16), "{last:?}");
}

#[test]
fn the_number_of_workers_is_reckoned_with_the_network_that_was_measured() {
    let reckonings = |workers| {
        let options = Options::new().threads(3).prefetch(Prefetch::Off).workers(workers);
        outcome(Talks::default(), options).unwrap().unwrap().program.reckonings
    };
    let last = reckonings(Workers::Tuned).pop().unwrap();
    assert!(last.starts_with("calculated with latency "), "{last}");
    assert!(last.contains(" ns per byte, from messages of this run ("), "{last}");
    assert_eq!(reckonings(Workers::All), vec![""; 40]);
}

#[test]
fn a_run_can_begin_with_what_netbench_measured() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("network.json");
    let run_with = |text: &str| {
        std::fs::write(&file, text).unwrap();
        run(Talks::default(), Options::new().threads(2).network(&file))
    };
    let piece = r#"{"from_bytes":0,"latency_s":0.001,"s_per_byte":1e-9}"#;
    run_with(&format!(r#"[{{"from":0,"to":1,"model":{{"samples":[],"pieces":[{piece}]}}}}]"#))
        .unwrap();
    assert!(matches!(run_with("[]"), Err(Error::Network(_))));
}

/// Adds up numbers; has no checkpoints.
#[derive(Clone, Debug, Default)]
struct Sum(u64);

impl Program for Sum {
    type Shared = ();
    type Input = ();
    type Output = u64;

    fn next(&mut self, iteration: u64) -> Option<Iteration<()>> {
        (iteration == 0).then(|| Iteration::new(1000, ()))
    }

    fn input(&self, _tasks: Range<u64>) {}

    fn work(&self, (): &(), tasks: Range<u64>, (): ()) -> u64 {
        tasks.sum()
    }

    fn recover(&mut self, _tasks: Range<u64>, sum: u64) {
        self.0 += sum;
    }

    fn finish(&mut self, _report: &master_worker::Report) -> Result<(), master_worker::BoxError> {
        if self.0 == 499_500 { Ok(()) } else { Err(format!("the sum is {}", self.0).into()) }
    }
}

#[test]
fn the_masters_program_comes_back() {
    let outcome = outcome(Sum::default(), Options::new().threads(3)).unwrap().unwrap();
    assert_eq!((outcome.program.0, outcome.report.n_tasks), (499_500, 1000));
}

#[test]
fn an_error_at_the_end_is_the_runs() {
    let error = run(Sum(1), Options::new().threads(2)).unwrap_err();
    assert!(matches!(&error, Error::Program(source) if source.to_string() == "the sum is 499501"));
}

#[test]
fn options_are_checked_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state");
    let refused = |options: Options| match run(Sum::default(), options.threads(2)) {
        Err(Error::Options(problem)) => problem,
        other => panic!("{other:?}"),
    };
    assert!(matches!(refused(Options::new().policy("none")), OptionsError::Policy(_)));
    assert!(matches!(refused(Options::new().resume()), OptionsError::NoFile));
    let problem = refused(Options::new().checkpoint(&file));
    assert!(matches!(problem, OptionsError::NoCheckpoints { .. }));
}

#[test]
fn no_more_workers_are_used_than_allowed() {
    let options = Options::new().threads(5).workers_max(2).prefetch(Prefetch::Off);
    let report = outcome(Talks::default(), options).unwrap().unwrap().report;
    assert_eq!(report.last().unwrap().workers.len(), 2);
}
