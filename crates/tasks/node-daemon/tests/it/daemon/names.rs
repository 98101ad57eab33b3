//! No task name is given out twice, and no confirmed task is lost, whenever the daemon is killed.

use std::collections::BTreeSet;

use super::*;

const N_ROUNDS: usize = 12;
const SCRIPT: &str = "echo $SINTONIA_TASK >> names";

/// A node whose disk is memory: answers come so soon that later records still wait for their group.
fn node() -> Node {
    let mut node = Node { folder: tempfile::tempdir_in("/dev/shm").unwrap(), daemon: None };
    node.run();
    node
}

/// Looks more often than a group of records waits.
#[track_caller]
fn at_once(mut look: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !look() {
        assert!(Instant::now() < end, "it did not come");
        std::thread::yield_now();
    }
}

/// Fault: a task was started before its record was handed to the journal. A daemon that was killed within these 5 ms gave
/// its name out again, to another task.
#[test]
fn no_name_is_given_out_twice_whenever_the_daemon_is_killed() {
    let mut node = node();
    let mut promised = Vec::new();
    for round in 0..N_ROUNDS {
        let n_ran = || node.read("names").lines().count();
        let mut client = node.client();
        promised.push(client.submit(node.submission(SCRIPT, 1, TaskLimits::default())).unwrap());
        if round % 3 != 0 {
            at_once(|| promised.len() <= n_ran());
            // This submission is not confirmed to the client, but its task runs.
            let submission = node.submission(SCRIPT, 1, TaskLimits::default());
            let n_before = n_ran();
            client.say(&ClientRequest::Submit { submission: Box::new(submission) }).unwrap();
            at_once(|| n_before < n_ran());
        }
        node.kill();
        node.run();
    }
    for tasks in &promised {
        assert_all_good(&node.wait(tasks), 1);
    }
    let ran = node.read("names");
    let names = ran.lines().collect::<BTreeSet<_>>();
    assert_eq!(names.len(), ran.lines().count(), "{ran}");
    for tasks in promised {
        assert!(names.contains(&*format!("alpha.{}", tasks.first)), "{tasks:?}: {ran}");
    }
}
