//! Tests of `sintonia run`: whatever happens to the watching, the command runs and ends as it would.

use crate::sintonia::{CommandOutput, Sandbox, wait_until};
use std::process::Command;
use std::time::Duration;

/// Runs a shell script under `sintonia run` with these options.
fn run(sandbox: &Sandbox, options: &[&str], script: &str) -> CommandOutput {
    let words = [&["run"], options, &["--", "sh", "-c", script]].concat();
    sandbox.sintonia(&words)
}

#[track_caller]
fn check_code(script: &str, expected: i32) {
    let sandbox = Sandbox::new();
    let said = run(&sandbox, &["--quiet"], script);
    assert_eq!((said.code, said.errors.as_str()), (Some(expected), ""), "{script}");
    sandbox.check_clean();
}

#[test]
fn the_exit_code_is_the_commands() {
    check_code("exit 0", 0);
    check_code("exit 77", 77);
    check_code("kill -TERM $$", 143);
    check_code("kill -KILL $$", 137);
}

/// With `SIGCHLD` ignored by the parent, the command was taken for one that had not started, and its record was removed.
#[test]
fn a_command_ends_as_alone_where_ends_of_children_are_ignored() {
    let sandbox = Sandbox::new();
    // No shell, which would reset the signal; and a code that is no success.
    let tell = "grep SigIgn /proc/self/status /nowhere";
    for before in ["", "$0 run --quiet --out record --", "$0 run --listen 192.0.2.1:9 --"] {
        let said = sandbox.shell(&format!("exec env --ignore-signal=CHLD {before} {tell}"));
        let ignored = said.output.trim().rsplit('\t').next();
        let ignored = ignored.and_then(|hex| u64::from_str_radix(hex, 16).ok());
        assert_eq!(ignored.map(|set| set >> 16 & 1), Some(1), "{before}: {said:?}");
        assert_eq!(said.code, Some(2), "{before}: {said:?}");
    }
    assert!(sandbox.path("record/summary.json").is_file());
    sandbox.check_clean();
}

/// A process out of memory ends by this signal: the exit code was lost, and the command went on alone.
#[test]
fn a_command_is_waited_for_by_what_fails_meanwhile() {
    for options in ["", "--live"] {
        let sandbox = Sandbox::new();
        // Waits until the signal is handled: the last digit but one of the set that the system shows.
        let handled = "grep -q \"SigCgt.*[2367abef].$\" /proc/$PPID/status";
        let script =
            format!("until {handled}; do :; done; kill -ABRT $PPID; sleep 0.2; echo ran; exit 9");
        let said = sandbox.shell(&format!("$0 run {options} --out record -- sh -c '{script}'"));
        assert_eq!((said.code, said.output.as_str()), (Some(9), "ran\n"), "{said:?}");
        assert!(said.errors.contains("there is no report now"), "{said:?}");
        assert_eq!(sandbox.sintonia(&["report", "record"]).code, Some(0));
    }
}

#[test]
fn input_and_output_are_the_commands() {
    let sandbox = Sandbox::new();
    let said = run(&sandbox, &["--quiet"], "cat; echo out; echo err >&2");
    assert_eq!((said.output.as_str(), said.errors.as_str()), ("out\n", "err\n"));
}

#[test]
fn a_command_without_mpi_is_told_why_nothing_was_seen() {
    let sandbox = Sandbox::new();
    let said = run(&sandbox, &["--out", "record"], "exit 0");
    assert!(said.errors.contains("No MPI process was seen"), "{}", said.errors);
    assert_eq!(said.output, "");
    for name in ["run.json", "summary.json", "report.html"] {
        assert!(sandbox.path("record").join(name).is_file(), "{name}");
    }
    assert!(!sandbox.path("record/spool").exists());
    sandbox.check_clean();
}

#[test]
fn a_program_with_privileges_of_its_file_is_named() {
    let sandbox = Sandbox::new();
    let copy = sandbox.path("privileged");
    std::fs::copy("/bin/true", &copy).expect("there is a `true`");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o4755);
    std::fs::set_permissions(&copy, mode).expect("the file is ours");
    let copy = copy.to_str().expect("text");
    let said = sandbox.sintonia(&["run", "--out", "record", "--", copy]);
    said.check_errors(0, "is setuid or setgid");
}

#[test]
fn the_summary_follows_the_output_as_json() {
    let sandbox = Sandbox::new();
    let said = run(&sandbox, &["--out", "record", "--json", "--no-html"], "echo first; exit 3");
    let (first, json) = said.output.split_once('\n').unwrap();
    let summary: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!((first, said.errors.as_str()), ("first", ""));
    assert_eq!(summary["outcome"]["exit_code"], 3);
    assert_eq!(summary["command"][2], "echo first; exit 3");
    assert!(!sandbox.path("record/report.html").exists());
}

#[test]
fn a_record_never_overwrites_another() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("record")).unwrap();
    sandbox.write("record/mine", "");
    let said = run(&sandbox, &["--out", "record", "--quiet"], "exit 4");
    said.check_errors(4, "record-2");
    assert!(sandbox.path("record-2/summary.json").is_file());
}

#[test]
fn a_record_has_a_folder_of_its_own_by_default() {
    let sandbox = Sandbox::new();
    run(&sandbox, &["--quiet"], "exit 0");
    let records: Vec<_> = std::fs::read_dir(sandbox.path("sintonia-runs")).unwrap().collect();
    assert_eq!(records.len(), 1);
    let name = records[0].as_ref().unwrap().file_name().into_string().unwrap();
    assert!(name.starts_with("sh-2"), "{name}");
}

/// Checks that the command runs although a part of `sintonia` cannot.
#[track_caller]
fn check_unwatched(variable: (&str, &str), options: &[&str], expected: &str) {
    let sandbox = Sandbox::new();
    let words = [&["run", "--out", "record"], options, &["--", "sh", "-c", "echo ran; exit 6"]];
    let mut command = sandbox.command(&words.concat());
    let said = command.env(variable.0, variable.1).output();
    let said = CommandOutput::from(said.expect("it can be started"));
    assert_eq!((said.code, said.output.as_str()), (Some(6), "ran\n"));
    assert!(said.errors.contains("unwatched") && said.errors.contains(expected), "{}", said.errors);
    assert_eq!(said.errors.lines().count(), 1, "{}", said.errors);
    assert!(!sandbox.path("record").exists());
    sandbox.check_clean();
}

#[test]
fn the_command_runs_without_us() {
    check_unwatched(("SINTONIA_LIB", "/nowhere.so"), &[], "SINTONIA_LIB");
    check_unwatched(("SINTONIA_SHM_DIR", "/proc/nowhere"), &[], "SINTONIA_SHM_DIR");
    check_unwatched(("UNUSED", ""), &["--listen", "192.0.2.1:9"], "--listen");
}

#[test]
fn a_record_that_cannot_be_written_where_it_was_asked_for_is_elsewhere() {
    let sandbox = Sandbox::new();
    let said = run(&sandbox, &["--out", "/proc/record", "--quiet"], "exit 2");
    said.check_errors(2, &sandbox.path("tmp").display().to_string());
}

#[track_caller]
fn check_not_started(command: &str, expected_code: i32, expected: &str) {
    let sandbox = Sandbox::new();
    // The user's own folder stays, though nothing is in it.
    std::fs::create_dir(sandbox.path("mine")).expect("the folder is ours");
    let said = sandbox.sintonia(&["run", "--out", "mine/record", "--", command]);
    said.check_errors(expected_code, expected);
    assert!(sandbox.path("mine").exists() && !sandbox.path("mine/record").exists());
    let said = sandbox.sintonia(&["run", "--", command]);
    said.check_errors(expected_code, expected);
    assert!(!sandbox.path("sintonia-runs").exists());
    sandbox.check_clean();
}

#[test]
fn a_command_that_cannot_be_started_is_told_as_shells_do() {
    check_not_started("no-such-command", 127, "there is no command `no-such-command`");
    check_not_started("/proc/version", 126, "`/proc/version` cannot be started");
}

/// Checks that a signal to `sintonia` alone reaches the command, and that the report follows.
#[track_caller]
fn check_signal(signal: &str, expected_code: i32) {
    let sandbox = Sandbox::new();
    let script =
        format!("trap 'exit {expected_code}' {signal}; touch ready; while :; do sleep 0.05; done");
    let words = ["run", "--out", "record", "--", "sh", "-c", &script];
    let child = sandbox.start(&words);
    assert!(wait_until(|| sandbox.path("ready").exists()), "the command starts");
    let pid = child.id().to_string();
    Command::new("kill").args([&format!("-{signal}"), &pid]).status().expect("sent");
    let said = CommandOutput::from(child.wait_with_output().expect("our child"));
    said.check_errors(expected_code, "No MPI process was seen");
    sandbox.check_clean();
}

#[test]
fn a_signal_is_passed_on_and_the_report_follows() {
    check_signal("INT", 31);
    check_signal("TERM", 32);
    check_signal("HUP", 33);
}

#[test]
fn lines_go_on_in_a_pipe() {
    let sandbox = Sandbox::new();
    let said = run(&sandbox, &["--live", "--out", "record"], "echo a; sleep 1.5; echo b");
    assert_eq!(said.output, "a\nb\n");
    assert!(said.errors.contains("waiting for MPI"), "{}", said.errors);
}

/// Before the command was there, a signal ended this program at once, and left its folder in shared memory.
#[test]
fn a_signal_at_the_start_leaves_nothing() {
    let mut n_early = 0;
    for delay_ms in 0..30 {
        let sandbox = Sandbox::new();
        let child = sandbox.start(&["run", "--out", "record", "--", "sleep", "20"]);
        std::thread::sleep(Duration::from_millis(delay_ms));
        let pid = child.id().to_string();
        Command::new("kill").args(["-TERM", &pid]).status().expect("sent");
        let said = CommandOutput::from(child.wait_with_output().expect("our child"));
        // Without a code, the signal came before anything was made.
        assert!(matches!(said.code, None | Some(143)), "after {delay_ms} ms: {said:?}");
        n_early += usize::from(said.code == Some(143) && !sandbox.path("record").exists());
        sandbox.check_clean();
    }
    println!("{n_early} runs were ended before their command was there");
}
