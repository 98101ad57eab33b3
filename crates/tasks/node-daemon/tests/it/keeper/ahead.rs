//! Tests of starts that are ordered ahead.

use super::*;

/// A start for when nothing else runs.
fn ahead(number: u64, command: &[&str]) -> KeeperOrder {
    let KeeperOrder::Start(mut job) = start(number, command, |_, _| ()) else {
        unreachable!("it makes a start")
    };
    job.n_at_once = Some(1);
    KeeperOrder::Start(job)
}

#[test]
fn it_starts_at_once_where_nothing_runs() {
    let rig = Rig::new();
    rig.send(ahead(1, &["true"]));
    assert_eq!(rig.ended(1)[0].end, AttemptEnd::Exit(0));
}

#[test]
fn it_starts_when_the_one_before_has_ended() {
    let rig = Rig::new();
    // On a busy machine its turn may come too late; then it is given back.
    for number in 0..100 {
        let orders = [start(2 * number, &["true"], |_, _| ()), ahead(2 * number + 1, &["true"])];
        rig.send_all(&orders);
        let ends = rig.ended(2).into_iter().map(|ended| ended.end).collect::<Vec<_>>();
        if ends == [AttemptEnd::Exit(0), AttemptEnd::Exit(0)] {
            return;
        }
        assert!(ends.contains(&AttemptEnd::NoTurn), "{ends:?}");
    }
    panic!("it was never its turn");
}

#[test]
fn it_is_given_back_where_the_one_before_goes_on() {
    let rig = Rig::new();
    let trace = rig.path().join("trace");
    let script = format!("touch {}", trace.display());
    let orders = [start(1, &["sleep", "1000"], |_, _| ()), ahead(2, &["sh", "-c", &script])];
    rig.send_all(&orders);
    let ended = rig.ended(1).remove(0);
    assert_eq!((ended.attempt, ended.end), (attempt(2), AttemptEnd::NoTurn));
    rig.cancel(1);
    assert!(!trace.exists(), "it never ran");
}

#[test]
fn it_is_canceled_while_it_waits() {
    let rig = Rig::new();
    let kill = |number| KeeperOrder::Kill { attempt: attempt(number), because: Because::Canceled };
    let orders = [start(1, &["sleep", "1000"], |_, _| ()), ahead(2, &["true"]), kill(2)];
    rig.send_all(&orders);
    let ended = rig.ended(1).remove(0);
    assert_eq!((ended.attempt, ended.end), (attempt(2), AttemptEnd::Killed(Because::Canceled)));
    rig.cancel(1);
}

#[test]
fn the_next_daemon_hears_of_it_as_not_begun() {
    let mut rig = Rig::new();
    let script = format!("echo $$ > {}/pid; sleep 1000", rig.path().display());
    let orders = [start(1, &["sh", "-c", &script], |_, _| ()), ahead(2, &["true"])];
    rig.send_all(&orders);
    rig.number_in("pid");
    rig.disconnect();
    rig.connect();
    let (running, mut ended) = rig.inventory();
    assert_eq!(running, [attempt(1)]);
    let ended = ended.remove(0);
    assert_eq!((ended.attempt, ended.end), (attempt(2), AttemptEnd::NoTurn));
    rig.cancel(1);
}
