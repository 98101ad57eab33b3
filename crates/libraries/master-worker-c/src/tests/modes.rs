//! Tests of the features and failures of C programs: `programs/modes.c`.

use super::program::{Link, Program};
use launch::Library;

const SOURCE: &str = "tests/programs/modes.c";
const WELL: &str = "sum 2051195927208908614 after 3 iterations from 0, begun 1 times\n";

const BAG: &str = "2590 tasks, digest 8343178891631440348\n";

#[track_caller]
fn check(program: &Program, arguments: &str, code: i32, expected: &str) {
    let ended = program.job(arguments).run();
    assert_eq!((ended.code, ended.text().as_str()), (code, expected), "{arguments}");
}

#[test]
fn programs_that_do_well() {
    let program = Program::usual(SOURCE);
    check(&program, "", 0, WELL);
    check(&program, "x --threads 1", 0, WELL);
    check(&program, "x --threads 4 --policy ss --master-works", 0, WELL);
    check(&program, "settled --policy ss", 0, "settled: 1\n");
    check(&program, "priority --policy ss --threads 2", 0, "first: 30\n");
    check(&program, "hint --policy ss --threads 2", 0, "first: 30\n");
    check(&program, "arrive", 0, WELL);
    check(&program, "arrive --threads 1", 0, WELL);
    check(&program, "keep", 0, WELL);
    check(&program, "map", 0, "sum of squares 328400\n");
    check(&program, "bag", 0, BAG);
    check(&program, "bag --threads 1", 0, BAG);
    check(&program, "rest --threads=3 6 -- --threads 5", 0, &format!("{WELL}5 left: rest 5\n"));
}

#[test]
fn work_that_fails_is_done_elsewhere() {
    let program = Program::usual(SOURCE);
    check(&program, "rank-1-fails --threads 4 --attempts 9", 0, WELL);
    check(&program, "init-fails-on-1 --threads 4 --attempts 9", 0, WELL);
    for library in Library::ALL {
        let job = library.launch(4, &program.path()).args(["rank-1-fails", "--attempts", "9"]);
        let ended = job.run();
        assert_eq!((ended.code, ended.text().as_str()), (0, WELL), "{library:?}");
    }
}

#[test]
fn failures_of_the_master_end_the_run() {
    let program = Program::usual(SOURCE);
    for (mode, expected) in [
        ("master-init-fails", "7: `master_init` returned 5\n"),
        ("next-fails", "7: `master_next` failed: no more paper\n"),
        ("input-fails", "7: `master_input` returned 7\n"),
        ("input-fails --threads 1", "7: `master_input` returned 7\n"),
        ("recover-fails", "7: `master_recover` failed: the disk is full\n"),
        ("end-fails", "7: `master_end_iteration` returned 1\n"),
        ("no-work", "1: the program has no `worker_work`, which computes tasks\n"),
        ("unknown-option", "1: there is no option `--speed`; `mw_options_help` lists them\n"),
        (
            "x --threads 0",
            "2: the options of the run are wrong: `--threads 0` is not understood; write `--threads N`\n",
        ),
        (
            "x --checkpoint /nowhere/x",
            "4: the checkpoint failed: `/nowhere/x` cannot be written; give `--checkpoint` a file in a folder that has room: No such file or directory (os error 2)\n",
        ),
        (
            "cancel",
            "6: the run was canceled in iteration `0`; `--resume` goes on from its checkpoint, if it has one\n",
        ),
    ] {
        let code = i32::from(expected.as_bytes()[0] - b'0');
        check(&program, mode, code, expected);
    }
    let ugly = format!("{WELL}7: the program failed: `master_final` failed: the result is ugly\n");
    check(&program, "final-fails", 7, &ugly);
}

#[track_caller]
fn check_failed_tasks(program: &Program, mode: &str, expected: &str) {
    let ended = program.job(mode).run();
    assert_eq!((ended.code, ended.stdout.as_str()), (5, ""), "{mode}");
    assert!(ended.stderr.starts_with("5: tasks `"), "{}", ended.stderr);
    assert!(ended.stderr.ends_with(expected), "{}", ended.stderr);
}

#[test]
fn tasks_that_fail_everywhere_are_told() {
    let program = Program::usual(SOURCE);
    check_failed_tasks(&program, "task-fails", ": `worker_work` failed: 17 is bad\n");
    check_failed_tasks(&program, "init-fails", ": `worker_init` returned 1\n");
    check_failed_tasks(&program, "map-fails", ": `mw_map` failed: a negative item\n");
}

#[test]
fn exceptions_fail_tasks() {
    let program = Program::build("g++", "-std=c++11", Link::Static, "tests/programs/throws.cc");
    for (argument, code, expected) in [
        ("0", 0, ""),
        ("2", 5, "`worker_work` failed: an exception that is no std::exception\n"),
        (
            "9",
            5,
            "`worker_work` failed: vector::_M_range_check: __n (which is 9) >= this->size() (which is 3)\n",
        ),
    ] {
        let ended = program.job(argument).run();
        assert_eq!(ended.code, code, "{}", ended.stderr);
        assert!(ended.stderr.ends_with(expected), "{}", ended.stderr);
    }
}

#[test]
fn a_run_goes_on_from_its_checkpoint() {
    let program = Program::usual(SOURCE);
    let arguments = format!("--checkpoint {}", program.beside("state"));
    check(&program, &format!("save-fails {arguments}"), 7, "7: `master_save` returned 4\n");
    let expected = WELL.replace("3 iterations from 0", "2 iterations from 1");
    check(&program, &format!("resume {arguments} --resume"), 0, &expected);
}

#[test]
fn failures_end_runs_on_ranks() {
    let program = Program::usual(SOURCE);
    for library in Library::SYSTEM {
        for (mode, expected) in [
            ("recover-fails", "7: `master_recover` failed: the disk is full\n"),
            ("input-fails", "7: `master_input` returned 7\n"),
        ] {
            let ended = library.launch(3, &program.path()).arg(mode).run();
            assert_ne!(ended.code, 0, "{library:?} {mode}");
            assert!(ended.stderr.contains(expected), "{library:?} {mode}: {}", ended.stderr);
        }
        for (mode, expected) in [("map", "sum of squares 328400\n"), ("bag", BAG)] {
            let ended = library.launch(3, &program.path()).arg(mode).run();
            assert_eq!((ended.code, ended.text().as_str()), (0, expected));
        }
    }
}
