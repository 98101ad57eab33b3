//! The examples give the same results on threads and on any ranks.

use super::program::{Link, Program, library};
use c_header::run;
use launch::Library;
use std::process::Command;

const HEAT: &str = "heat at cell 0: 9.7175606377586998, at cell 9: 4.9795559502324709, at cell 99: 1.9597284696574605e-44\n";
const MANDELBROT: &str = "3 frames, sum dea6265ef1ecd862\n";

#[track_caller]
fn check_on_threads(program: &Program, arguments: &str, expected: &str) {
    for n_threads in [1, 2, 4] {
        let ended = program.job(&format!("{arguments} --threads {n_threads}")).run();
        assert_eq!((ended.code, ended.stdout.as_str()), (0, expected), "{}", ended.stderr);
    }
}

#[track_caller]
fn check_on_ranks(program: &Program, arguments: &str, expected: &str) {
    for library in Library::ALL {
        for n_ranks in [1, 2, 3, 5] {
            let job = library.launch(n_ranks, &program.path()).args(arguments.split_whitespace());
            let ended = job.run();
            assert_eq!(
                (ended.code, ended.stdout.as_str()),
                (0, expected),
                "{library:?} {n_ranks}: {}",
                ended.stderr
            );
        }
    }
}

#[test]
fn heat_is_the_same_everywhere() {
    let program = Program::usual("examples/heat.c");
    check_on_threads(&program, "", HEAT);
    check_on_threads(&program, "--policy ss --prefetch always", HEAT);
    check_on_ranks(&program, "", HEAT);
}

#[test]
fn a_picture_is_the_same_everywhere() {
    let program = Program::build("gcc", "-std=c99", Link::Static, "examples/mandelbrot.c");
    check_on_threads(&program, "100 3", MANDELBROT);
    check_on_ranks(&program, "100 3 --master-works", MANDELBROT);
}

/// The variables and functions by which tools tune a program are symbols of its executable, or of the library
/// that it loads.
#[test]
fn tools_find_what_they_tune() {
    let program = Program::build("gcc", "-std=c99", Link::Static, "examples/heat.c");
    let symbols = [
        run(Command::new("nm").arg(program.path())),
        run(Command::new("nm").arg("-D").arg(library().join("libmaster_worker.so"))),
    ];
    for name in ["mw_share_first", "mw_share_later", "mw_n_workers", "mw_iteration", "mw_work"] {
        let is_there = |text: &String| {
            text.lines().any(|line| line.ends_with(&format!(" {name}")) && !line.contains(" U "))
        };
        assert!(symbols.iter().all(is_there), "`{name}` is missing");
    }
}

#[test]
fn other_compilers_do_as_well() {
    let program = Program::build("clang", "-std=c11", Link::Static, "examples/heat.c");
    check_on_threads(&program, "", HEAT);
}

#[test]
fn help_runs_nothing() {
    let program = Program::usual("examples/heat.c");
    let ended = program.job("--help").run();
    assert_eq!(ended.code, 0);
    assert_eq!(ended.stdout, master_worker::Options::HELP);
    for library in Library::SYSTEM {
        let on_ranks = library.launch(3, &program.path()).arg("--help").run();
        assert_eq!(on_ranks.stdout, ended.stdout, "one of the ranks says it");
    }
}
