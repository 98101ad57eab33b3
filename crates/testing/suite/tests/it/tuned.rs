//! Tests of everything that a tunlet may change, in real programs through the command line.

mod later;
mod reached;

use run_record::RunRecord;
use run_record::tuning::{DecisionOutcome, TuningEvent, TuningValue};
use std::path::{Path, PathBuf};
use suite::library::Library;
use suite::tool::{WatchFolders, Watched};
use suite::{Job, TestProgram};

const N_RANKS: usize = 2;

/// Description of `actions.c` without tuning points.
const ACTIONS: &str = "
format = 1
program = 'actions'
actors = { all = 'all', first = '0' }
[[event]]
name = 'passed'
actor = 'first'
function = 'mark'
at = 'entry'
";

/// Part of a description that has iterations measured, so that changes are tried.
const MEASURED: &str = "
[iteration]
start = 'begun'
end = 'ended'
[[event]]
name = 'begun'
actor = 'first'
function = 'iterate'
at = 'entry'
[[event]]
name = 'ended'
actor = 'first'
function = 'iterate'
at = 'exit'
";

/// Tuning point of all ranks that is changed where an iteration begins.
fn point(name: &str, rest: &str) -> String {
    format!(
        "[[tuning_point]]\nname = '{name}'\nactor = 'all'\nat = {{ function = 'mark', at = 'entry' }}\n{rest}\n"
    )
}

fn plan(text: &str) -> String {
    format!("[tunlet.script]\nplan = '{text}'\n")
}

/// Path of the tunlet that follows a plan.
fn script() -> String {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../observe/tunlet-abi/include");
    let include = format!("-I{}", include.display());
    let path = TestProgram::shared("script").flags(&[&include]).built_without_mpi();
    path.display().to_string()
}

/// Runs a job with a description and the tunlet.
#[track_caller]
fn tune(job: &Job, description: &str, options: &[&str]) -> Watched {
    let folders = WatchFolders::new();
    let library = TestProgram::shared("replacement").built_without_mpi();
    std::fs::copy(library, folders.folder().join("replacement.so")).expect("it was just built");
    let path = folders.folder().join("app.toml");
    std::fs::write(&path, description).expect("the folder is ours");
    let (path, script) = (path.display().to_string(), script());
    let own = ["--quiet", "--no-html", "--app", &path, "--tunlet", &script];
    let ended = folders.job(job, &[own.as_slice(), options].concat()).run();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    folders.finish(ended)
}

fn actions(library: Library, n_iterations: u32) -> Job {
    let program = TestProgram::c("actions").built(library);
    library.launch(N_RANKS, &program).arg(n_iterations.to_string())
}

/// Values of a number over the iterations, without repetitions in a row.
fn course(watched: &Watched, name: &str) -> Vec<String> {
    let key = format!("{name}=");
    let lines = watched.ended.stdout.lines();
    let mut values: Vec<String> = lines
        .filter_map(|line| line.split(' ').find_map(|word| word.strip_prefix(&key)))
        .map(str::to_owned)
        .collect();
    values.dedup();
    values
}

/// Outcomes of the decisions about a point, in order.
fn outcomes(watched: &Watched, point: &str) -> Vec<DecisionOutcome> {
    let tuning = watched.summary.tuning.as_ref().expect("it was tuned");
    let own = tuning.decisions.iter().filter(|decision| decision.point == point);
    own.map(|decision| decision.outcome).collect()
}

fn lines(watched: &Watched) -> String {
    std::fs::read_to_string(watched.record().join("tuning.jsonl")).expect("it was tuned")
}

/// Checks every kind of action, each on all ranks at the same iteration.
#[track_caller]
fn check_kinds(library: Library) {
    // Other processes on the machine may slow iterations down just then.
    let lenient = |name, rest| point(name, &format!("{rest}\nlimit_percent = 100"));
    let description = [
        ACTIONS.to_owned(),
        lenient("columns", "variable = 'grid.columns'\nrange = [1, 9]"),
        lenient("level", "call = 'retune'\nrange = [0, 9]"),
        lenient("reset", "repeat = true\nrange = [0, 9]"),
        lenient("solve", "replace = { function = 'solve', by = 'solve_twice' }"),
        lenient("load", "load = 'replacement.so'"),
        plan(
            "columns=7@10 level=4@30 reset=8@50 solve=1@70 load=1@90 columns=12@110 solve=0@130 reset=6@150",
        ),
    ];
    let watched = tune(&actions(library, 300), &description.concat(), &[]);
    let told = || format!("{}\n{}{}", watched.ended.stdout, lines(&watched), watched.ended.stderr);
    for (name, expected) in [
        ("columns", &["3", "7"][..]),
        ("level", &["1", "4"]),
        // Set at every passage, since the program resets it.
        ("reset", &["5", "8", "6"]),
        ("solve", &["10", "20", "10"]),
        ("loaded", &["0", "1"]),
    ] {
        assert_eq!(course(&watched, name), expected, "{name}:\n{}", told());
    }
    assert_eq!(
        outcomes(&watched, "columns"),
        [DecisionOutcome::Kept, DecisionOutcome::Declined],
        "{}",
        told()
    );
    assert_eq!(outcomes(&watched, "load"), [DecisionOutcome::Kept], "{}", told());
    let tuning = watched.summary.tuning.as_ref().expect("it was tuned");
    let decision = |point: &str| tuning.decisions.iter().find(|decision| decision.point == point);
    let first = decision("columns").expect("it was decided");
    assert_eq!(
        (first.old, first.new),
        (Some(TuningValue::Int(3)), TuningValue::Int(7)),
        "{}",
        told()
    );
    let called = decision("level").expect("it was decided");
    assert!(called.reason.contains("called it with before is not known"), "{}", called.reason);
    let refused =
        lines(&watched).contains("`12` is outside the range of `columns`; choose from 1 to 9");
    assert!(refused, "{}", told());
    // An acknowledgment has the old value, the new one, the rank, the number of ranks, and the passage.
    let parsed = lines(&watched);
    let applied = parsed.lines().find_map(|line| match serde_json::from_str(line) {
        Ok(run_record::tuning::TuningLine {
            what: TuningEvent::Applied { old, new, rank, n_ranks, hit, .. },
            ..
        }) => Some((old, new, rank, n_ranks, hit)),
        _ => None,
    });
    let (old, new, rank, n_ranks, hit) = applied.expect("it was carried out");
    assert_eq!(
        (old, new, rank, n_ranks),
        (TuningValue::Int(3), TuningValue::Int(7), 0, 2),
        "{}",
        told()
    );
    assert!(10 < hit, "{}", told());
    // Values at the start are known, except that of a call.
    for said in ["columns=3", "level=?", "reset=5", "solve=0", "load=0"] {
        assert!(lines(&watched).contains(said), "{said}:\n{}", told());
    }
}

#[test]
fn every_kind_of_action_under_open_mpi() {
    check_kinds(Library::OpenMpi4);
}

#[test]
fn every_kind_of_action_under_mpich() {
    check_kinds(Library::Mpich4);
}

#[test]
fn a_function_of_a_library_takes_the_place_of_one_of_the_program() {
    let by =
        point("solve", "replace = { function = 'solve', by = 'replacement.so:solve_by_library' }");
    let none = point("none", "replace = { function = 'mark', by = 'replacement.so:nobody' }");
    let description = [ACTIONS, &by, &none, &plan("none=1@5 solve=1@10 solve=0@60")].concat();
    for library in Library::SYSTEM {
        let watched = tune(&actions(library, 150), &description, &[]);
        assert_eq!(course(&watched, "solve"), ["10", "30", "10"], "{}", lines(&watched));
        assert_eq!(outcomes(&watched, "none"), [DecisionOutcome::Declined], "{}", lines(&watched));
        assert!(lines(&watched).contains("replacement.so` exports no `nobody`"));
    }
}

/// Checks that variables of C++ and Fortran are found by the names in their sources.
#[track_caller]
fn check_members(
    program: &Path,
    library: Library,
    function: &str,
    points: &[(&str, &str, &str, &str)],
) {
    let name = program.file_name().expect("it has one").to_string_lossy();
    let mut text = format!(
        "format = 1\nprogram = '{name}'\nactors = {{ all = 'all' }}\n\
         [[event]]\nname = 'passed'\nactor = 'all'\nfunction = '{function}'\nat = 'entry'\n"
    );
    let mut wanted = Vec::new();
    for (variable, word, _, new) in points {
        text += &format!(
            "[[tuning_point]]\nname = '{word}'\nvariable = '{variable}'\nactor = 'all'\nrange = [0, 99]\nat = 'passed'\n"
        );
        wanted.push(format!("{word}={new}@10"));
    }
    text += &plan(&wanted.join(" "));
    let watched = tune(&library.launch(N_RANKS, program).arg("80"), &text, &[]);
    for (_, word, old, new) in points {
        let found = course(&watched, word);
        assert_eq!(found, [*old, *new], "{word}:\n{}", lines(&watched));
    }
}

#[test]
fn a_static_member_of_a_class_is_set() {
    for library in Library::SYSTEM {
        let program = TestProgram::cpp("members").built(library);
        check_members(
            &program,
            library,
            "fire::Front::advance",
            &[("fire::Front::width", "width", "4", "6")],
        );
    }
}

#[test]
fn variables_of_fortran_modules_and_common_blocks_are_set() {
    for library in Library::SYSTEM {
        let program = TestProgram::f90("members", library).built(library);
        let points = [
            ("settings::chunk", "chunk", "4", "9"),
            ("shared::turns", "turns", "8", "3"),
            ("settings::weight", "weight", ".50", ".75"),
        ];
        check_members(&program, library, "settings::advance", &points);
    }
}

#[test]
fn an_argument_of_fortran_is_the_number_that_it_leads_to() {
    let events = "actors = { all = 'all' }\n\
         [[event]]\nname = 'passed'\nactor = 'all'\nfunction = 'settings::advance'\nat = 'entry'\n\
         attributes = [{ name = 'iteration', argument = 1 }]\n";
    for library in Library::SYSTEM {
        let program = TestProgram::f90("members", library).built(library);
        let name = program.file_name().expect("it has one").to_string_lossy();
        let start = format!("format = 1\nprogram = '{name}'\n");
        let description = [&start, events, &plan("")].concat();
        let watched = tune(&library.launch(N_RANKS, &program).arg("20"), &description, &[]);
        let record = RunRecord::open(&watched.record()).expect("a record");
        let events = record.function_events().expect("readable").expect("a table");
        let rows = events.batches().flat_map(Result::unwrap).filter(|event| event.rank == 0);
        let seen: Vec<f64> = rows.flat_map(|event| event.values).collect();
        let expected: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(seen, expected);
    }
}

/// Builds the program in another way under the same name, for one of the ranks.
fn other_build(library: Library) -> PathBuf {
    let built = TestProgram::c("actions").flags(&["-DOTHER"]).named("actions-other").built(library);
    let folder = built.with_file_name("other");
    std::fs::create_dir_all(&folder).expect("the target folder is writable");
    let path = folder.join("actions");
    std::fs::copy(built, &path).expect("it was just built");
    path
}

#[test]
fn a_rank_that_cannot_keeps_the_others_from_changing() {
    let library = Library::OpenMpi4;
    let points = point("columns", "variable = 'grid.columns'\nrange = [1, 9]");
    let description = [ACTIONS, &points, &plan("columns=7@10")].concat();
    let other = other_build(library);
    let job =
        library.launch(1, &TestProgram::c("actions").built(library)).args(["100", ":", "-n", "1"]);
    let watched = tune(&job.arg(other).arg("100"), &description, &[]);
    assert_eq!(course(&watched, "columns"), ["3"], "{}", lines(&watched));
    assert_eq!(outcomes(&watched, "columns"), [DecisionOutcome::Declined]);
    let told = lines(&watched);
    assert!(
        told.contains("rank 1: `mark`: the program on this node differs from the build"),
        "{told}"
    );
}

#[test]
fn a_described_call_ends_iterations_from_its_first_passage() {
    const N_ITERATIONS: u32 = 40;
    let described = "[iteration]\ncall = 'MPI_Barrier in main'\n";
    let description = [ACTIONS, described, &plan("")].concat();
    for library in Library::SYSTEM {
        let watched = tune(&actions(library, N_ITERATIONS), &description, &[]);
        let told = lines(&watched);
        let n_ended = told.lines().filter(|line| line.contains(r#""kind":"iteration""#)).count();
        assert_eq!(n_ended, N_ITERATIONS as usize - 1, "between two passages each:\n{told}");
    }
}

#[test]
fn what_made_iterations_slower_is_undone() {
    let points = point("pause_us", "range = [1000, 100000]");
    let description = [ACTIONS, MEASURED, &points, &plan("pause_us=40000@20")].concat();
    for library in Library::SYSTEM {
        let watched = tune(&actions(library, 80), &description, &["--trial-iterations", "2"]);
        assert_eq!(course(&watched, "pause"), ["5000", "40000", "5000"], "{}", lines(&watched));
        assert_eq!(outcomes(&watched, "pause_us"), [DecisionOutcome::Undone]);
        let told = lines(&watched);
        let undone = told.lines().find(|line| line.contains(r#""kind":"undone""#));
        assert!(undone.is_some_and(|line| line.contains("% slower")), "{told}");
    }
}

#[test]
fn what_cannot_be_taken_back_is_said_to_stay() {
    let points = point("pause", "call = 'pause_for'\nrange = [1000, 100000]");
    let description = [ACTIONS, MEASURED, &points, &plan("pause=40000@20")].concat();
    let library = Library::Mpich4;
    let watched = tune(&actions(library, 50), &description, &[]);
    assert_eq!(course(&watched, "pause"), ["5000", "40000"], "{}", lines(&watched));
    assert_eq!(outcomes(&watched, "pause"), [DecisionOutcome::Kept], "{}", lines(&watched));
    let told = lines(&watched);
    assert!(told.contains("but what the program called it with before is not known"), "{told}");
}

/// Checks that tunlets that may only observe, or only say what they would do, change nothing.
#[track_caller]
fn check_nothing_done(option: &str, expected: &[DecisionOutcome]) {
    let points = [
        point("columns", "variable = 'grid.columns'\nrange = [1, 9]"),
        point("level", "call = 'retune'\nrange = [0, 9]"),
        point("load", "load = 'replacement.so'"),
        point("solve", "replace = { function = 'solve', by = 'replacement.so:solve_by_library' }"),
    ];
    let plan = plan("columns=7@10 level=4@11 load=1@12 solve=1@13");
    let description = [ACTIONS, &points.concat(), &plan].concat();
    let watched = tune(&actions(Library::OpenMpi4, 60), &description, &[option]);
    for (name, value) in [("columns", "3"), ("level", "1"), ("loaded", "0"), ("solve", "10")] {
        assert_eq!(course(&watched, name), [value], "{name}:\n{}", lines(&watched));
    }
    assert_eq!(outcomes(&watched, "columns"), expected, "{}", lines(&watched));
    assert!(!lines(&watched).contains(r#""kind":"applied""#));
}

#[test]
fn an_observer_changes_nothing() {
    check_nothing_done("--observe", &[]);
}

#[test]
fn a_dry_run_says_what_would_be_changed() {
    check_nothing_done("--dry-run", &[DecisionOutcome::Would]);
}
