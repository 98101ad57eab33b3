//! Libraries loaded into this process.

use crate::library::{Library, echo};
use crate::news::{application, of_every_kind, world};
use events::Value;
use tunlet_abi::{LoadError, LoadedTunlet};
use tunlets::{Detail, Tunlet, TunletError};

#[test]
fn every_kind_of_news_arrives_word_for_word() {
    let mut tunlet = LoadedTunlet::open(&echo()).expect("a tunlet");
    let spec = tunlet.spec();
    assert_eq!((spec.name.as_str(), spec.problem.as_str()), ("echo", "nobody answers"));
    assert_eq!(
        (spec.needs_events, spec.needs_points),
        (vec!["start".into()], vec!["grain".into()])
    );
    assert_eq!(spec.options, [("loud".into(), "how loud".into())]);

    let application = application(&[("echo", "loud", "very"), ("other", "loud", "no")]);
    let requests = tunlet.begin(&application, &world()).expect("it begins");
    assert_eq!(requests.events, [Detail::Every, Detail::Summary]);
    assert_eq!((requests.performance, requests.points), (true, vec![0]));

    let mut begun = format!(
        "{:?} {:?} {:?}",
        application.iteration,
        application.tunlet_options.get("echo"),
        world()
    );
    for news in of_every_kind() {
        let mut decisions = Vec::new();
        tunlet.hear(&news, &mut decisions);
        let expected = format!("{}{news:?}", std::mem::take(&mut begun));
        let said: Vec<_> = decisions.iter().map(|it| (it.point, it.value, &it.reason)).collect();
        assert_eq!(said, [(0, Value::Uint(u64::MAX), &expected)]);
    }
}

#[test]
fn a_tunlet_that_cannot_begin_says_why() {
    let mut tunlet = LoadedTunlet::open(&echo()).expect("a tunlet");
    let begun = tunlet.begin(&application(&[("echo", "loud", "mute")]), &world());
    let reason = "tunlet `echo` cannot begin: it is mute".to_owned();
    assert_eq!(begun, Err(TunletError::Unable { tunlet: "echo".into(), reason }));

    let mut without = application(&[]);
    without.tuning_points[0].name = "other".into();
    let begun = tunlet.begin(&without, &world());
    assert_eq!(begun, Err(TunletError::NoPoint { tunlet: "echo".into(), point: "grain".into() }));
}

/// Checks the error for a library that is not a valid tunlet.
#[track_caller]
fn check(define: &str, expected: &str) {
    let library = Library::compile("crates/observe/tunlet-abi/tests/tunlets/wrong.c", &[define]);
    let error = LoadedTunlet::open(&library.path()).err().expect("it is no tunlet");
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn what_is_no_tunlet_is_refused() {
    check("NO_ENTRY", "it has no function `sintonia_tunlet_v1`");
    check("NO_TUNLET", "has no `sintonia_tunlet`");
    check("NO_NAME", "has no `name`");
    check("NO_BEGIN", "has no `begin`");
    check("SPACE_IN_NAME", "its name is `a b`");
    check("VERSION=9", "it speaks version 9 of the interface, not 1");
    let error = LoadedTunlet::open("no/such/library.so".as_ref()).err().expect("no library");
    assert!(matches!(error, LoadError::Refused { .. }), "{error}");
}
