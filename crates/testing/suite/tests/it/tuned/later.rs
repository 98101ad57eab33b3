//! Tests of functions in libraries that a program loads while it runs.

use super::{N_RANKS, lines, outcomes, plan, script};
use run_record::RunRecord;
use run_record::tuning::DecisionOutcome;
use std::path::{Path, PathBuf};
use suite::library::Library;
use suite::tool::{WatchFolders, Watched};
use suite::{Job, TestProgram};

/// The plug-in, built for a program of this library.
fn plugin() -> PathBuf {
    TestProgram::shared("later_plugin").built_without_mpi()
}

fn job(library: Library, mode: &str) -> Job {
    library.launch(N_RANKS, &TestProgram::c("later").built(library)).arg(mode).arg(plugin())
}

fn description(plugin: &Path, rest: &str) -> String {
    format!(
        "format = 1\nprogram = 'later'\nlibraries = ['{}']\nactors = {{ all = 'all', first = '0' }}\n{rest}",
        plugin.display()
    )
}

#[track_caller]
fn watch(job: &Job, description: &str, options: &[&str]) -> Watched {
    let folders = WatchFolders::new();
    let path = folders.folder().join("app.toml");
    std::fs::write(&path, description).expect("the folder is ours");
    let path = path.display().to_string();
    let own = ["--quiet", "--no-html", "--app", &path];
    let ended = folders.job(job, &[own.as_slice(), options].concat()).run();
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "done\n"), "{}", ended.stderr);
    folders.finish(ended)
}

#[track_caller]
fn check_events(library: Library) {
    let event = "[[event]]\nname = 'stepped'\nactor = 'all'\nfunction = 'plugin_step'\nat = 'entry'\nattributes = [{ name = 'by', argument = 1 }]\n";
    let watched = watch(&job(library, "probed"), &description(&plugin(), event), &[]);
    let record = RunRecord::open(&watched.record()).expect("a record");
    let events = record.function_events().expect("readable").expect("a table");
    let mut n_by_rank = [0; N_RANKS];
    for event in events.batches().flat_map(Result::unwrap) {
        assert_eq!((&*event.event, &*event.function), ("stepped", "plugin_step"));
        n_by_rank[event.rank as usize] += 1;
    }
    // At least the calls that were made once the probes were in place, until the plug-in was unloaded.
    assert!(n_by_rank.iter().all(|n| 100 <= *n), "{library:?}: {n_by_rank:?}");
    let told = lines(&watched);
    for said in ["`later_plugin.so` is not loaded yet", "its library was loaded"] {
        assert!(told.contains(said), "{library:?}: {said}\n{told}");
    }
}

#[test]
fn functions_of_a_library_that_is_loaded_later_are_measured() {
    check_events(Library::OpenMpi4);
    check_events(Library::Mpich4);
}

#[test]
fn a_point_of_a_library_that_is_loaded_later_is_declined_until_it_comes() {
    let event = "[[event]]\nname = 'passed'\nactor = 'first'\nfunction = 'mark'\nat = 'entry'\n";
    let point = |name: &str, range: &str, function: &str| {
        format!(
            "[[tuning_point]]\nname = '{name}'\nactor = 'all'\nvariable = '{name}'\nrange = {range}\nat = {{ function = '{function}', at = 'entry' }}\n"
        )
    };
    // What a busy machine delays is decided again.
    let mut script_of_points = "columns=9@5 go=1@50".to_owned();
    for n in (100..2000).step_by(100).chain((2000..20_000).step_by(1000)) {
        script_of_points += &format!(" go=1@{n} columns=9@{}", n + 50);
    }
    let description = description(
        &plugin(),
        &[
            event,
            &point("columns", "[1, 9]", "plugin_step"),
            &point("go", "[0, 1]", "mark"),
            &plan(&script_of_points),
        ]
        .concat(),
    );
    let script = script();
    let job = job(Library::OpenMpi4, "tuned");
    let watched = watch(&job, &description, &["--tunlet", &script]);
    let (found, told) = (outcomes(&watched, "columns"), lines(&watched));
    assert_eq!(found.first(), Some(&DecisionOutcome::Declined), "{told}");
    assert!(found.contains(&DecisionOutcome::Kept), "{told}");
    assert!(told.contains("its library `later_plugin.so` is not loaded yet"), "{told}");
}
