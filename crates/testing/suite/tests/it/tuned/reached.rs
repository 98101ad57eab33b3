//! Tests of members that are reached through pointers: from an argument, and from a pointer variable.

use super::{N_RANKS, course, lines, outcomes, plan, tune};
use launch::Job;
use run_record::RunRecord;
use run_record::tuning::DecisionOutcome;
use suite::library::Library;
use suite::{TestProgram, Watched};

const N_ITERATIONS: u32 = 200;

const REACHED: &str = "
format = 1
program = 'reached'
actors = { all = 'all', first = '0' }
[[event]]
name = 'passed'
actor = 'first'
function = 'mark'
at = 'entry'
attributes = [{ name = 'n', variable = 'sim->box.n' }, { name = 'far', variable = 'sim->far->box.n' },
  { name = 'iteration', argument = 2 }, { name = 'whole', variable = 'current->far->box.cutoff' }]
[[tuning_point]]
name = 'n'
actor = 'all'
variable = 'sim->box.n'
range = [0, 99]
at = 'passed'
[[tuning_point]]
name = 'deep'
actor = 'all'
variable = 'current->far->box.n'
range = [0, 99]
at = { function = 'mark', at = 'entry' }
";

fn job(library: Library, flags: &[&str]) -> Job {
    let program = TestProgram::c("reached").flags(flags).built(library);
    library.launch(N_RANKS, &program).arg(N_ITERATIONS.to_string())
}

/// Values of a number over the iterations in which all ranks have the same: an object may pass the ranks' sync points
/// again only after the action has come to all.
fn common_course(watched: &Watched, name: &str) -> Vec<String> {
    let mut values = course(watched, name);
    values.retain(|value| !value.contains(".."));
    values.dedup();
    values
}

/// Checks what is measured and changed behind pointers, and that pointers which lead nowhere are survived.
#[track_caller]
fn check(library: Library) {
    let job = job(library, &["-O2"]);
    let bare = job.run();
    let text = [REACHED, &plan("n=7@10 deep=8@20 n=3@120")].concat();
    let watched = tune(&job, &text, &[]);
    let told = || format!("{}\n{}", lines(&watched), watched.ended.stderr);
    assert_eq!(common_course(&watched, "n"), ["3", "7", "3"], "{}", told());
    assert_eq!(
        course(&watched, "other"),
        ["4"],
        "only the object that was changed gets its value back"
    );
    assert_eq!(common_course(&watched, "deep"), ["5", "8"], "{}", told());
    assert_eq!(outcomes(&watched, "n"), [DecisionOutcome::Kept; 2], "{}", told());
    let is_caught = |text: &str| text.lines().last() == Some("caught 1");
    assert!(
        is_caught(&bare.stdout) && is_caught(&watched.ended.stdout),
        "{}",
        watched.ended.stdout
    );
}

#[test]
fn members_behind_pointers_are_changed_under_open_mpi() {
    check(Library::OpenMpi4);
}

#[test]
fn members_behind_pointers_are_changed_under_mpich() {
    check(Library::Mpich4);
}

#[test]
fn members_behind_pointers_are_measured_and_pointers_to_nothing_are_0() {
    for library in Library::SYSTEM {
        let job = job(library, &["-O0"]);
        let bare = job.run();
        let watched = tune(&job, &[REACHED, &plan("")].concat(), &[]);
        assert_eq!(watched.ended.stdout, bare.stdout);
        let record = RunRecord::open(&watched.record()).expect("a record");
        let events = record.function_events().expect("readable").expect("a table");
        let rows = events.batches().flat_map(Result::unwrap);
        let found: Vec<Vec<f64>> = rows.map(|event| event.values).collect();
        let expected = (0..N_ITERATIONS).map(|at| {
            let (n, far) = match at % if at < N_ITERATIONS / 2 { 3 } else { 4 } {
                0 => (3.0, 5.0),
                3 => (4.0, 3.0),
                _ => (0.0, 0.0),
            };
            vec![n, far, f64::from(at), 5.0]
        });
        assert_eq!(found, expected.collect::<Vec<_>>());
    }
}
