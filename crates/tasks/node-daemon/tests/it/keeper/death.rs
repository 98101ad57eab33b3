//! Tests of tasks whose daemon, keeper or guard dies.

use std::process::Stdio;

use node_daemon::keeper::boot_now;

use super::*;

/// The guard that a keeper has started: its only child that is no task.
fn guard_of(keeper: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{keeper}/task/{keeper}/children")).ok()?;
    let is_guard = |pid: &u32| {
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split('\0').nth(1) == Some("guard")
    };
    children.split_whitespace().filter_map(|pid| pid.parse().ok()).find(is_guard)
}

fn signal(signal: &str, pid: u32) {
    let pid = pid.to_string();
    assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
}

#[test]
fn what_ends_without_a_daemon_is_told_to_the_next_until_it_is_forgotten() {
    let mut rig = Rig::new();
    let fifo = rig.path().join("fifo").display().to_string();
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    rig.run(1, &format!("cat {fifo}; exit 5"));
    rig.run(2, &format!("sleep 1000 & echo $! > {}/child; wait", rig.path().display()));
    let child = rig.number_in("child");
    rig.disconnect();
    fs::write(&fifo, "meanwhile").unwrap();
    rig.connect();
    let ended = rig.ended(1).remove(0);
    assert_eq!((ended.attempt, ended.end), (attempt(1), AttemptEnd::Exit(5)));
    assert_eq!(ended.output.stdout.0, b"meanwhile");

    rig.connect();
    let (running, ended) = rig.inventory();
    assert_eq!(running, [attempt(2)]);
    assert_eq!(ended.iter().map(|it| it.attempt).collect::<Vec<_>>(), [attempt(1)], "once more");
    rig.send(KeeperOrder::Forget(vec![attempt(1)]));
    rig.cancel(2);
    assert!(!is_alive(child));

    rig.connect();
    let (running, ended) = rig.inventory();
    assert_eq!((running.len(), ended.len()), (0, 1), "only what was not forgotten");
}

#[test]
fn tasks_survive_the_kill_of_the_daemon_that_started_the_keeper() {
    let mut rig = Rig::new();
    let first = rig.pids[0];
    rig.disconnect();
    until(|| !is_alive(first), "the end of the idle keeper");
    let state = rig.path().display().to_string();
    let script =
        format!("echo $$ > {state}/pid; while [ ! -e {state}/go ]; do sleep 0.01; done; echo done");
    let mut daemon = Command::new(program());
    daemon.args(["daemon", &state, &script]).stdout(Stdio::null());
    let mut daemon = Killed(daemon.spawn().unwrap());
    let task = rig.number_in("pid");
    daemon.0.kill().unwrap();
    daemon.0.wait().unwrap();
    assert!(is_alive(task));
    rig.connect();
    fs::write(rig.path().join("go"), "").unwrap();
    let ended = rig.ended(1).remove(0);
    assert_eq!((ended.end, ended.output.stdout.0), (AttemptEnd::Exit(0), b"done\n".to_vec()));
}

#[test]
fn a_lease_ends_without_a_daemon() {
    let mut rig = Rig::new();
    let script = format!("echo $$ > {}/pid; sleep 1000", rig.path().display());
    let soon = Moment(boot_now().0 + 500_000_000);
    rig.send(start(1, &["sh", "-c", &script], |_, until| *until = Some(soon)));
    let task = rig.number_in("pid");
    rig.disconnect();
    until(|| !is_alive(task), "the end of its lease");
    rig.connect();
    assert_eq!(rig.ended(1)[0].end, AttemptEnd::Killed(Because::LeaseOut));
}

#[test]
fn no_task_survives_its_keeper() {
    let mut rig = Rig::new();
    let state = rig.path().display().to_string();
    rig.run(
        1,
        &format!("setsid sleep 1000 & echo $! > {state}/escaped; echo $$ > {state}/task; wait"),
    );
    let (escaped, task) = (rig.number_in("escaped"), rig.number_in("task"));
    let guard = guard_of(rig.pids[0]).unwrap();
    kill_9(rig.pids[0]);
    until(|| !is_alive(task) && !is_alive(escaped) && !is_alive(guard), "the guard's work");
    until(|| matches!(rig.says(), KeeperEvent::Gone), "the end of the connection");
    rig.connect();
    assert_eq!(rig.inventory(), (Vec::new(), Vec::new()));
}

#[test]
fn the_next_keeper_ends_what_keeper_and_guard_left() {
    let mut rig = Rig::new();
    rig.run(1, &format!("echo $$ > {}/task; while :; do sleep 0.01; done", rig.path().display()));
    let task = rig.number_in("task");
    let first = guard_of(rig.pids[0]).unwrap();
    kill_9(first);
    // The keeper replaces its guard; both have to die before the new one can act.
    until(|| guard_of(rig.pids[0]).is_some_and(|pid| pid != first), "another guard");
    let guard = guard_of(rig.pids[0]).unwrap();
    signal("-STOP", guard);
    kill_9(rig.pids[0]);
    kill_9(guard);
    assert!(is_alive(task));
    rig.connect();
    until(|| !is_alive(task), "the next keeper's work");
    assert!(rig.inventory().0.is_empty());
}

#[test]
fn an_idle_keeper_ends_and_the_next_one_knows_what_it_held() {
    let mut rig = Rig::new();
    rig.run(1, "echo kept; exit 4");
    rig.ended(1);
    rig.disconnect();
    let first = rig.pids[0];
    until(|| !is_alive(first), "the end of the idle keeper");
    rig.connect();
    assert_ne!(rig.pids[1], first);
    let ended = rig.ended(1).remove(0);
    assert_eq!((ended.end, ended.output.stdout.0), (AttemptEnd::Exit(4), b"kept\n".to_vec()));
}

#[test]
fn a_keeper_that_is_to_leave_waits_for_what_runs_and_for_its_end_to_be_forgotten() {
    let rig = Rig::new();
    rig.run(1, &format!("while [ ! -e {}/go ]; do sleep 0.01; done", rig.path().display()));
    rig.send(KeeperOrder::Leave);
    fs::write(rig.path().join("go"), "").unwrap();
    assert_eq!(rig.ended(1)[0].attempt, attempt(1));
    assert!(is_alive(rig.pids[0]));
    rig.send(KeeperOrder::Forget(vec![attempt(1)]));
    assert_eq!(rig.says(), KeeperEvent::Gone);
}

#[test]
fn a_state_folder_has_one_keeper() {
    let rig = Rig::new();
    let second = Command::new(program()).arg("serve").arg(rig.path()).arg("1").output().unwrap();
    assert!(!second.status.success());
    let said = String::from_utf8(second.stderr).unwrap();
    assert!(said.contains("Taken"), "{said}");
}

#[test]
fn a_late_guard_does_not_end_what_the_next_keeper_started() {
    let mut rig = Rig::new();
    rig.run(1, &format!("echo $$ > {}/first; sleep 1000", rig.path().display()));
    let (first, guard) = (rig.number_in("first"), guard_of(rig.pids[0]).unwrap());
    signal("-STOP", guard);
    kill_9(rig.pids[0]);
    rig.connect();
    until(|| !is_alive(first), "the next keeper's work");
    rig.run(2, &format!("echo $$ > {}/second; sleep 1000", rig.path().display()));
    let second = rig.number_in("second");
    signal("-CONT", guard);
    until(|| !is_alive(guard), "the late guard's end");
    assert!(is_alive(second));
    rig.cancel(2);
}
