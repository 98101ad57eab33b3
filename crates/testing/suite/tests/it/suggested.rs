//! Tests of `sintonia suggest` on runs of real programs: what it writes is used at once, and with all suggestions.

use launch::Job;
use std::path::{Path, PathBuf};
use suite::library::Library::{self, Mpich4, OpenMpi4};
use suite::tool::{sintonia, watch, watch_with};
use suite::{TestProgram, Watched};

/// A description from a run of the job, and the folder that holds it.
struct Suggested {
    text: String,
    path: PathBuf,
    _watched: Watched,
}

#[track_caller]
fn suggest(job: &Job, program: &Path) -> Suggested {
    let watched = watch(job);
    let path = watched.folder.path().join("app.toml");
    let told = Job::new(sintonia()).arg("suggest").arg(program).arg(watched.record()).arg("-o");
    let ended = told.arg(&path).run();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let text = std::fs::read_to_string(&path).expect("it was written");
    Suggested { text, path, _watched: watched }
}

/// The text with every suggestion uncommented.
fn uncommented(text: &str) -> String {
    let bare = |line: &str| match line.strip_prefix('#') {
        Some(rest) if !rest.is_empty() && !rest.starts_with(' ') => format!("{rest}\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(bare).collect()
}

/// Runs the job with the description, and with all of its suggestions; the program prints the same.
#[track_caller]
fn check_used(job: &Job, suggested: &Suggested) {
    let bare = job.run();
    for text in [suggested.text.clone(), uncommented(&suggested.text)] {
        std::fs::write(&suggested.path, &text).expect("ours");
        let path = suggested.path.display().to_string();
        let watched = watch_with(job, &["--quiet", "--no-html", "--app", &path]);
        assert_eq!(
            (watched.ended.code, &watched.ended.stdout),
            (bare.code, &bare.stdout),
            "{}\n{text}",
            watched.ended.stderr
        );
        let tuning = watched.summary.tuning.expect("there is a description");
        assert_eq!(tuning.warnings, Vec::<String>::new(), "{text}");
    }
}

#[track_caller]
fn check_parts(suggested: &Suggested, parts: &[&str]) {
    for part in parts {
        assert!(suggested.text.contains(part), "`{part}` is not in:\n{}", suggested.text);
    }
}

#[track_caller]
fn check_c(library: Library) {
    let program = TestProgram::c("reached").flags(&["-O2"]).built(library);
    let job = library.launch(2, &program).arg("60");
    let suggested = suggest(&job, &program);
    check_parts(&suggested, &["all = \"all\"", "[iteration]\ncall = \"reached.c:"]);
    check_used(&job, &suggested);
}

#[test]
fn a_program_in_c_is_described_under_open_mpi() {
    check_c(OpenMpi4);
}

#[test]
fn a_program_in_c_is_described_under_mpich() {
    check_c(Mpich4);
}

#[test]
fn a_master_and_its_workers_are_told_apart() {
    for library in [OpenMpi4, Mpich4] {
        let program = TestProgram::matmul("matmul2").built(library);
        let job = library.launch(3, &program).arg("60");
        let suggested = suggest(&job, &program);
        check_parts(
            &suggested,
            &["master = \"0\"\nworker = \"1-\"\n", "No `[iteration]`: no MPI call"],
        );
        check_used(&job, &suggested);
    }
}

#[test]
fn a_program_in_cpp_is_described_and_a_stripped_one_as_far_as_it_is_known() {
    let program = TestProgram::cpp("particles").built(OpenMpi4);
    let job = OpenMpi4.launch(2, &program);
    let suggested = suggest(&job, &program);
    check_parts(&suggested, &["[iteration]\ncall = \"particles.cpp:"]);
    check_used(&job, &suggested);
    let stripped = program.with_file_name("particles-stripped");
    std::fs::copy(&program, &stripped).expect("the target folder is writable");
    let strip = Job::new("strip").arg("--strip-all").arg(&stripped).run();
    assert_eq!(strip.code, 0, "{}", strip.stderr);
    let job = OpenMpi4.launch(2, &stripped);
    let suggested = suggest(&job, &stripped);
    check_parts(&suggested, &["is stripped: only what it exports is known", "actors"]);
    check_used(&job, &suggested);
}
