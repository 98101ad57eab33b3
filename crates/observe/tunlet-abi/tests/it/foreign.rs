//! Foreign tunlets in separate processes, well-behaved and malfunctioning.

use crate::library::{Library, echo, host_program};
use crate::news::{application, of_every_kind, passage, world};
use std::time::{Duration, Instant};
use tunlet_abi::host::TunletLimits;
use tunlet_abi::{ForeignTunlet, ForeignTunletError};
use tunlets::{Decision, News, Tunlet};

const WILD: &str = "crates/observe/tunlet-abi/tests/tunlets/wild.c";
/// Longer than anything here takes.
const DEADLINE: Duration = Duration::from_secs(60);
/// Short enough for a test that waits for its end, long enough for a busy machine.
const IMPATIENT: TunletLimits = TunletLimits { patience: Duration::from_secs(2), n_news_max: 4096 };

/// Polls until `n` decisions have arrived or the tunlet has ended.
#[track_caller]
fn look_for(tunlet: &mut ForeignTunlet, n: usize) -> Result<Vec<Decision>, String> {
    let since = Instant::now();
    let mut decisions = Vec::new();
    while decisions.len() < n {
        tunlet.look(&mut decisions)?;
        assert!(since.elapsed() < DEADLINE, "{decisions:?}");
        std::thread::yield_now();
    }
    Ok(decisions)
}

fn open(library: &Library, limits: TunletLimits) -> Result<ForeignTunlet, ForeignTunletError> {
    ForeignTunlet::open_with(&library.path(), &host_program(), limits)
}

#[test]
fn it_hears_and_decides_as_if_it_were_here() {
    let mut tunlet = ForeignTunlet::open(&echo(), &host_program()).expect("a tunlet");
    assert_eq!(tunlet.spec().name, "echo");
    tunlet.begin(&application(&[]), &world()).expect("it begins");
    let mut decisions = Vec::new();
    let all = of_every_kind();
    all.iter().for_each(|news| tunlet.hear(news, &mut decisions));
    let n_missing = all.len() - decisions.len();
    decisions.extend(look_for(&mut tunlet, n_missing).expect("it goes on"));
    for (news, decision) in all.iter().zip(&decisions) {
        assert!(decision.reason.ends_with(&format!("{news:?}")), "{decision:?}");
    }
    assert_eq!((decisions.len(), tunlet.n_dropped()), (all.len(), 0));
}

/// Checks how a tunlet ends that misbehaves as told by `how` when it hears an event.
#[track_caller]
fn check(library: &Library, how: &str, expected: &str) {
    let mut tunlet = open(library, IMPATIENT).expect("a tunlet");
    let begun = tunlet.begin(&application(&[("wild", "how", how)]), &world());
    begun.expect("it begins");
    tunlet.hear(&passage(0, 1, 7.0), &mut Vec::new());
    let ended = look_for(&mut tunlet, usize::MAX).expect_err("it ends");
    assert_eq!(ended, format!("tunlet `wild` ended: {expected}; the run goes on without it"));
    // News after its end have no effect.
    tunlet.hear(&passage(0, 1, 8.0), &mut Vec::new());
    assert!(tunlet.look(&mut Vec::new()).is_err());
}

#[test]
fn a_wild_tunlet_ends_alone() {
    let library = Library::compile(WILD, &[]);
    check(&library, "crash", "killed by SIGSEGV");
    check(&library, "abort", "killed by SIGABRT");
    check(&library, "exit", "it exited with code 3");
    check(&library, "child", "it exited with code 5");
    check(&library, "loop", "it did not answer within 2 s");
    let garbage = "a message of 4008636142 bytes exceeds the limit of 4194304";
    check(&library, "garbage", &format!("its answer is garbage ({garbage})"));
}

#[test]
fn what_a_tunlet_prints_is_told_and_harmless() {
    let library = Library::compile(WILD, &[]);
    let mut tunlet = open(&library, TunletLimits::default()).expect("a tunlet");
    tunlet.begin(&application(&[("wild", "how", "print")]), &world()).expect("it begins");
    // The decision may have arrived before this returns.
    let mut decisions = Vec::new();
    tunlet.hear(&passage(0, 1, 7.0), &mut decisions);
    let n_missing = 1 - decisions.len();
    decisions.extend(look_for(&mut tunlet, n_missing).expect("it goes on"));
    assert_eq!(decisions[0].reason, "as late as it is");

    let since = Instant::now();
    let mut lines = Vec::new();
    while lines.len() < 101 && since.elapsed() < DEADLINE {
        lines.extend(tunlet.lines());
    }
    assert_eq!(lines[99], "noise on standard output, line 99");
    assert_eq!(lines[100], "it goes on");
}

#[test]
fn a_tunlet_that_fails_at_the_beginning_says_how() {
    let library = Library::compile(WILD, &[]);
    for (how, expected) in
        [("crash", "killed by SIGSEGV"), ("loop", "it did not answer within 2 s")]
    {
        let mut tunlet = open(&library, IMPATIENT).expect("a tunlet");
        let begun = tunlet.begin(&application(&[("wild", "beginning", how)]), &world());
        let sentence = begun.expect_err("it cannot begin").to_string();
        assert_eq!(sentence, format!("tunlet `wild` cannot begin: {expected}"));
    }
}

#[test]
fn a_library_that_fails_while_it_is_loaded_is_refused() {
    for (define, expected) in
        [("CRASH_ON_LOAD", "killed by SIGSEGV"), ("LOOP_ON_LOAD", "it did not answer within 2 s")]
    {
        match open(&Library::compile(WILD, &[define]), IMPATIENT) {
            Err(ForeignTunletError::Ended { how, .. }) => assert_eq!(how, expected),
            other => panic!("{other:?}"),
        }
    }
    let wrong = Library::compile("crates/observe/tunlet-abi/tests/tunlets/wrong.c", &["NO_ENTRY"]);
    match open(&wrong, IMPATIENT) {
        Err(ForeignTunletError::Refused { reason, .. }) => {
            assert!(reason.contains("sintonia_tunlet_v1"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
    let error = ForeignTunlet::open(&wrong.path(), "no/such/program".as_ref());
    assert!(matches!(error, Err(ForeignTunletError::NotStarted { .. })), "{error:?}");
}

#[test]
fn a_slow_tunlet_misses_news_and_delays_nobody() {
    let library = Library::compile(WILD, &[]);
    let limits = TunletLimits { n_news_max: 10, ..IMPATIENT };
    let mut tunlet = open(&library, limits).expect("a tunlet");
    tunlet.begin(&application(&[("wild", "how", "loop")]), &world()).expect("it begins");
    // One batch of at most 11 is in progress, 10 news wait, and the writer may hold one more.
    let since = Instant::now();
    for n in 0..100_u32 {
        tunlet.hear(&passage(0, 1, n.into()), &mut Vec::new());
    }
    let n_dropped = tunlet.n_dropped();
    let took = since.elapsed();
    assert!((1..100).contains(&n_dropped), "{n_dropped} dropped in {took:?}");
    let lines = tunlet.lines();
    assert_eq!(lines[0], "it is too slow: 1 news did not reach it so far");
}

#[test]
fn a_tunlet_that_is_let_go_leaves_no_process() {
    let mut tunlet = ForeignTunlet::open(&echo(), &host_program()).expect("a tunlet");
    let pid = tunlet.process_id().expect("it runs");
    tunlet.begin(&application(&[]), &world()).expect("it begins");
    tunlet.hear(&News::Declined { point: 0, reason: String::new() }, &mut Vec::new());
    drop(tunlet);
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
}
