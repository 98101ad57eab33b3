//! Tests that the output of programs is the same, bit for bit, with probes in one of their functions or in all, and
//! that every call of these functions is counted and timed.

mod many;

use run_record::{RunRecord, Summary};
use std::collections::BTreeMap;
use suite::library::Library::{self, Mpich4, OpenMpi4};
use suite::program::Binding;
use suite::{Job, TestProgram, Watched, watch_with};

/// Number of calls, and of calls that were seen to end, by function.
type Passages = BTreeMap<String, [u64; 2]>;

/// Runs `job` plain and with probes; checks that output and end are the same.
#[track_caller]
fn same(job: &Job, pattern: &str) -> (Watched, Passages) {
    let bare = job.run();
    assert!(!bare.stdout.is_empty(), "the program prints something to compare: {}", bare.stderr);
    let watched = watch_with(job, &["--quiet", "--probe", pattern]);
    assert_eq!(
        (watched.ended.code, &watched.ended.stdout),
        (bare.code, &bare.stdout),
        "`{pattern}`: {}",
        watched.ended.stderr
    );
    assert_eq!(rows(&watched), Passages::new(), "passages are added up");
    let passages = passages(&watched.summary);
    (watched, passages)
}

/// Passages in the summary; checks that the ranks' numbers add up to them.
#[track_caller]
fn passages(summary: &Summary) -> Passages {
    let mut passages = Passages::new();
    for function in &summary.functions {
        let total = &function.total;
        let by_rank = |of: fn(&run_record::FunctionTimes) -> u64| {
            function.by_rank.iter().map(|(_, times)| of(times)).sum::<u64>()
        };
        let parts = (by_rank(|times| times.calls), by_rank(|times| times.calls_timed));
        assert_eq!(parts, (total.calls, total.calls_timed), "{function:?}");
        let is_ordered = total.min_s <= total.mean_s && total.mean_s <= total.max_s;
        assert!(is_ordered && 0.0 <= total.deviation_s, "{total:?}");
        let [calls, ends] = passages.entry(function.place.function.clone()).or_default();
        *calls += total.calls;
        *ends += total.calls_timed;
    }
    passages
}

/// Number of entries and exits that have rows of their own.
#[track_caller]
fn rows(watched: &Watched) -> Passages {
    let record = RunRecord::open(&watched.record()).expect("a record");
    let events = record.function_events().expect("readable, if there is one");
    let mut rows = Passages::new();
    for event in events.iter().flat_map(|events| events.batches()).flat_map(Result::unwrap) {
        let side = usize::from(event.place == events::ProbePoint::Exit);
        rows.entry(event.function.to_string()).or_default()[side] += 1;
    }
    rows
}

/// Numbers that a program prints of its own calls: lines `called N FUNCTION`.
fn called(watched: &Watched) -> impl Iterator<Item = (u64, &str)> {
    let lines = watched.ended.stdout.lines().filter_map(|line| line.strip_prefix("called "));
    lines.map(|line| {
        let (n, function) = line.split_once(' ').expect("a number and a name");
        (n.parse().expect("a number"), function)
    })
}

/// Checks with all functions probed that there are as many calls as the program says, and as many ends, except for
/// `unseen` functions: some of their ends are unseen, because they are jumped over or because a canceled thread began
/// there.
#[track_caller]
fn check_all(job: &Job, unseen: &[&str]) {
    let (watched, passages) = same(job, "*");
    assert_eq!(watched.summary.tool.records_dropped, 0);
    let mut n_functions = 0;
    for (n, function) in called(&watched) {
        let [calls, ends] = passages.get(function).copied().unwrap_or_default();
        assert_eq!(calls, n, "calls of `{function}` among {passages:?}");
        if unseen.contains(&function) {
            assert!(ends < n, "`{function}` ends unseen");
        } else {
            assert_eq!(ends, n, "ends of `{function}`");
        }
        n_functions += 1;
    }
    assert_ne!(n_functions, 0, "the program says what it called: {}", watched.ended.stdout);
}

/// Checks with one function probed that its calls are counted, and nothing else.
#[track_caller]
fn check_one(job: &Job, function: &str) {
    let (watched, passages) = same(job, function);
    let n = called(&watched).find(|(_, name)| *name == function).map_or(0, |(n, _)| n);
    assert_ne!(n, 0, "the program calls `{function}`");
    assert_eq!(passages, Passages::from([(function.to_owned(), [n, n])]));
}

#[test]
fn c_with_recursion_jumps_signals_and_a_canceled_thread() {
    for library in Library::SYSTEM {
        let program = TestProgram::c("calls").flags(&["-O2", "-pthread"]).built(library);
        let job = library.launch(2, &program);
        check_one(&job, "fibonacci");
        check_all(&job, &["deep", "work"]);
    }
}

#[test]
fn every_passage_of_a_traced_run_has_a_row() {
    for library in Library::SYSTEM {
        let program = TestProgram::c("calls").flags(&["-O2", "-pthread"]).built(library);
        let job = library.launch(2, &program);
        let watched = watch_with(&job, &["--quiet", "--trace", "--probe", "fibonacci"]);
        let (n, function) = called(&watched).find(|it| it.1 == "fibonacci").expect("it says so");
        let expected = Passages::from([(function.to_owned(), [n, n])]);
        assert_eq!((rows(&watched), passages(&watched.summary)), (expected.clone(), expected));
        // The time of a recursive call counts once.
        let whole_s: f64 = watched.summary.ranks.iter().map(|rank| rank.elapsed_s).sum();
        let function_s = watched.summary.functions[0].total.time_s;
        assert!(0.0 < function_s && function_s < whole_s, "{function_s} of {whole_s}");
    }
}

#[test]
fn cpp_with_exceptions_and_virtual_functions() {
    for library in Library::SYSTEM {
        let program = TestProgram::cpp("calls").flags(&["-O2"]).named("calls-cpp").built(library);
        let job = library.launch(2, &program);
        check_one(&job, "thrower(int)");
        check_all(&job, &[]);
    }
}

#[test]
fn fortran_with_a_module() {
    for library in Library::SYSTEM {
        // Otherwise copies of `factorial` are inlined into itself and into the program.
        for flags in [&["-O0"][..], &["-O2", "-fno-inline"]] {
            let program = TestProgram::f90("calls", library).flags(flags).built(library);
            let job = library.launch(2, &program);
            check_one(&job, "heat::factorial");
            check_all(&job, &[]);
        }
    }
}

#[test]
fn openmp_threads_that_call_mpi_at_the_same_time() {
    for library in Library::SYSTEM {
        let program = TestProgram::c("calls_threads").flags(&["-O2", "-fopenmp"]).built(library);
        let job = library.launch(2, &program);
        check_one(&job, "weight");
        check_all(&job, &[]);
    }
}

/// Checks programs that do not print their calls: they are here for what they do between these.
#[track_caller]
fn check_same_everywhere(program: &TestProgram, arguments: &[&str]) {
    for library in Library::SYSTEM {
        let (_, passages) = same(&library.launch(3, &program.built(library)).args(arguments), "*");
        assert_eq!(passages.get("main"), None, "it was entered before its probes were there");
    }
}

#[test]
fn programs_that_leave_mpi_by_exceptions_and_jumps() {
    check_same_everywhere(&TestProgram::cpp("leaves_calls"), &[]);
}

#[test]
fn programs_with_threads_that_share_mpi() {
    check_same_everywhere(&TestProgram::c("openmp").flags(&["-fopenmp"]), &[]);
    check_same_everywhere(&TestProgram::cpp("particles"), &[]);
}

#[test]
fn programs_with_many_messages() {
    check_same_everywhere(&TestProgram::c("gradients"), &[]);
    check_same_everywhere(&TestProgram::c("communicators"), &[]);
}

#[test]
fn a_program_that_forks_and_executes() {
    check_same_everywhere(&TestProgram::c("forks"), &[]);
}

/// The plug-in is loaded and unloaded while the program's own functions have probes.
#[test]
fn a_program_that_loads_and_unloads_a_plug_in() {
    for library in [OpenMpi4, Mpich4] {
        let plugin = TestProgram::shared("plugin").built(library);
        let job = library.launch(2, &TestProgram::c("plugin_host").built(library));
        same(&job.arg(plugin).arg("unload"), "*");
    }
}

#[test]
fn fortran_in_three_bindings() {
    for library in Library::SYSTEM {
        for binding in Binding::ALL {
            let folder = tempfile::tempdir().expect("a folder for its file");
            let program = TestProgram::fortran(binding, library).built(library);
            same(&library.launch(2, &program).arg(folder.path()), "*");
        }
    }
}
