//! What the built-in tunlets declare: their needs, guides and options.

use crate::simulated::application;
use tunlets::built_in;

#[test]
fn specs_name_what_begin_asks_for() {
    let mut application = application(&[("imbalance", &[("points", "F0")])]);
    application.add_levers(&events::Lever::ALL);
    for spec in tunlets::built_in_specs() {
        let mut tunlet = built_in(&spec.name).expect("it is listed");
        assert_eq!(tunlet.spec(), spec);
        let world = tunlets::World::default();
        assert!(tunlet.begin(&application, &world).is_ok(), "{}", spec.name);
        for name in spec.needs_events.iter().chain(&spec.needs_points) {
            let mut without = application.clone();
            without.events.retain(|other| other.name != *name);
            without.tuning_points.retain(|other| other.name != *name);
            let error = tunlet.begin(&without, &world).expect_err("it needs the event or point");
            assert!(error.to_string().contains(name.as_str()), "{error}");
        }
    }
    assert!(built_in("no-such-tunlet").is_none());
}

/// Returns whether a tunlet can begin if an event lacks an attribute.
fn begins_without(name: &str, event: &str, attribute: &str) -> bool {
    let mut application = application(&[]);
    let described = application.events.iter_mut().find(|other| other.name == event);
    let attributes = &mut described.expect("it is described").attributes;
    let n_before = attributes.len();
    attributes.retain(|other| other.name != attribute);
    assert!(attributes.len() < n_before, "`{event}` has `{attribute}`");
    let mut tunlet = built_in(name).expect("it is listed");
    tunlet.begin(&application, &tunlets::World::default()).is_ok()
}

#[test]
fn guides_say_what_can_be_left_out() {
    for (spec, guide) in tunlets::built_in_guides() {
        for event in guide.events.iter().filter(|event| event.is_needed) {
            let begins = |attribute: &str| begins_without(&spec.name, event.name, attribute);
            assert!(!event.attributes.iter().any(|it| begins(it)), "{}", event.name);
            assert!(event.more_attributes.iter().all(|it| begins(it)), "{}", event.name);
        }
        for event in guide.events.iter().filter(|event| !event.is_needed) {
            let mut without = application(&[]);
            without.events.retain(|other| other.name != event.name);
            let mut tunlet = built_in(&spec.name).expect("it is listed");
            assert!(tunlet.begin(&without, &tunlets::World::default()).is_ok(), "{}", event.name);
        }
    }
}

#[test]
fn a_wrong_option_is_named() {
    let cases = [
        ("factoring", "window", "0", "a number from 1 to 100"),
        ("worker-count", "objective", "speed", "one of time, index"),
        ("imbalance", "enough", "many", "a number from 0 to 1"),
        ("search", "budget", "1", "a number from 2 to 10000"),
    ];
    for (name, option, value, expected) in cases {
        let application = application(&[(name, &[(option, value)])]);
        let mut tunlet = built_in(name).expect("it is built in");
        let error = tunlet.begin(&application, &tunlets::World::default());
        let error = error.expect_err("the option is wrong").to_string();
        assert!(error.contains(option) && error.contains(expected), "{error}");
    }
}
