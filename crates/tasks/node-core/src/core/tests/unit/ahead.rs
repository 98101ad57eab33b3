//! Tests of tasks that are ordered ahead, and of starts for which there was no room.

use super::*;

/// Number of short tasks in a row after which the next is ordered ahead.
const N_SHORT: u64 = 32;

fn after_short_ones(n_left: u64) -> Rig {
    let mut rig = Rig::new();
    rig.submit(N_SHORT + n_left);
    for _ in 0..N_SHORT {
        assert_eq!(rig.seen.jobs.len(), 1);
        assert_eq!(rig.seen.jobs[0].n_at_once, None, "its turn has come");
        rig.end();
    }
    rig
}

fn notes(rig: &mut Rig, task: u64) -> Vec<String> {
    let explanation = rig.explain(&format!("n.{task}"));
    explanation.steps.iter().map(|step| format!("{:?}", step.what)).collect()
}

#[test]
fn after_many_short_tasks_one_more_for_each_core_is_ordered_ahead() {
    let mut rig = after_short_ones(10);
    let at_once = rig.seen.jobs.iter().map(|job| job.n_at_once).collect::<Vec<_>>();
    assert_eq!(at_once, [None, Some(1)]);
    rig.end();
    assert_eq!(rig.seen.jobs.len(), 2, "the next is ordered as soon as one ends");
    let attempt = rig.seen.jobs.remove(0).attempt;
    let (end, output) = (AttemptEnd::Exit(0), Output::default());
    let long = EndedAttempt {
        attempt,
        end,
        started_ms: 0,
        ended_ms: 1000,
        output,
        usage: task_api::Usage::default(),
    };
    rig.on(CoreEvent::Keeper(KeeperEvent::Ended(vec![long])));
    assert_eq!(rig.seen.jobs.len(), 1, "one was not short");
    rig.end();
    assert_eq!(rig.seen.jobs.len(), 1);
}

#[test]
fn a_task_whose_turn_did_not_come_waits_again_and_none_is_ordered_ahead() {
    let mut rig = after_short_ones(10);
    let ahead = rig.seen.jobs[1].attempt;
    rig.end_by(1, AttemptEnd::NoTurn);
    assert_eq!(rig.seen.jobs.len(), 1);
    let steps = notes(&mut rig, ahead.task.number);
    assert!(steps.last().unwrap().contains("it had not started"), "{steps:?}");
    rig.end();
    let [next] = &rig.seen.jobs[..] else { panic!("one for one core: {:?}", rig.seen.jobs) };
    assert_eq!((next.attempt.task, next.attempt.instance), (ahead.task, 2));
    assert_eq!(next.n_at_once, None);
}

#[test]
fn where_there_is_no_room_for_a_process_the_next_start_waits() {
    let mut rig = Rig::new();
    rig.submit(2);
    rig.end_by(0, AttemptEnd::NoRoom("no room for another process: too many".to_owned()));
    rig.pass(250);
    assert!(rig.seen.jobs.is_empty(), "{:?}", rig.seen.jobs);
    let steps = notes(&mut rig, 1);
    assert!(steps.last().unwrap().contains("could not be started yet: no room"), "{steps:?}");
    rig.pass(250);
    assert_eq!(rig.seen.jobs[0].attempt.instance, 2, "a try, and no end of it");
}
