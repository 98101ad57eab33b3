//! Nodes learn of each other in any order, and agree in the end.

use proptest::prelude::*;

use super::*;

fn record(name: &str, incarnation: u64, revision: u64, standing: Standing) -> Record {
    let address = format!("{name}:1");
    let name = name.to_owned();
    Record { name, address, incarnation, revision, n_cores: 2, speed: 1.0, standing }
}

fn roll() -> Roll {
    Roll::new(record("me", 5, 0, Standing::Here))
}

fn presence(roll: &Roll, name: &str) -> Option<Presence> {
    roll.members().into_iter().find(|member| member.name == name).map(|member| member.presence)
}

#[test]
fn presence_is_what_a_node_says_and_whether_it_is_linked() {
    let mut roll = roll();
    roll.linked("a", "a:1", 1, 0);
    assert_eq!(presence(&roll, "a"), Some(Presence::Up));
    roll.hear_all(vec![record("a", 1, 1, Standing::Stopping)], 1);
    assert_eq!(presence(&roll, "a"), Some(Presence::Stopping));
    roll.hear_all(vec![record("a", 1, 2, Standing::Left)], 2);
    roll.unlinked("a", 3);
    assert_eq!(presence(&roll, "a"), Some(Presence::Left));
    assert_eq!(roll.addresses().count(), 0);
    assert!(roll.has_left(node_id("a")) && roll.has_left_from("a:1") && !roll.has_left_from("a:2"));
    roll.hear_all(vec![record("a", 2, 1, Standing::Here)], 4);
    assert_eq!(presence(&roll, "a"), Some(Presence::Silent));
    assert_eq!(roll.addresses().collect::<Vec<_>>(), ["a:1"]);
    assert!(!roll.has_left(node_id("a")) && !roll.has_left_from("a:1"));
}

#[test]
fn late_words_change_nothing_and_are_not_passed_on() {
    let mut roll = roll();
    let newest = record("a", 2, 7, Standing::Here);
    assert_eq!(roll.hear_all(vec![newest.clone()], 0), std::slice::from_ref(&newest));
    for (incarnation, revision) in [(2, 7), (2, 6), (1, 99)] {
        assert_eq!(roll.hear_all(vec![record("a", incarnation, revision, Standing::Left)], 1), []);
    }
    assert_eq!(roll.hear_all(vec![record("b", 1, 1, Standing::Left)], 1), [], "never known");
    roll.linked("a", "a:1", 2, 1);
    assert_eq!(roll.vouched()[1], newest, "a link says less than the node itself");
}

#[test]
fn who_left_is_remembered_for_a_while_and_who_is_silent_longer() {
    let mut roll = roll();
    roll.hear_all(vec![record("a", 1, 1, Standing::Here), record("b", 1, 1, Standing::Here)], 0);
    roll.hear_all(vec![record("b", 1, 2, Standing::Left)], 0);
    roll.linked("c", "c:1", 1, 0);
    assert!(!roll.forget(LEFT_KEPT_MS - 1) && roll.forget(LEFT_KEPT_MS));
    assert!(roll.forget(SILENT_KEPT_MS));
    assert_eq!(roll.members().iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["c"]);
}

#[test]
fn a_daemon_outbids_what_one_before_it_said_here_and_nobody_elsewhere() {
    let mut roll = roll();
    assert_eq!(roll.hear_all(vec![record("me", 4, 9, Standing::Left)], 0), []);
    let mut earlier = record("me", 9, 3, Standing::Left);
    let told = roll.hear_all(vec![earlier.clone()], 0);
    assert_eq!(told, std::slice::from_ref(roll.me()));
    assert_eq!((roll.me().age(), roll.me().standing), ((9, 4), Standing::Here));
    earlier.address = "elsewhere:1".to_owned();
    earlier.incarnation = 99;
    assert_eq!(roll.hear_all(vec![earlier], 0), []);
}

#[test]
fn what_a_node_says_of_itself_is_news_once() {
    let mut roll = roll();
    let measurement = Measurement { n_cores: 4, speed: 2.0 };
    assert!(roll.say(Standing::Here, measurement) && !roll.say(Standing::Here, measurement));
    assert!(roll.say(Standing::Left, measurement));
    assert_eq!(roll.me().revision, 2);
}

fn any_record() -> impl Strategy<Value = Record> {
    ("[a-d]", 0_u64..3, 0_u64..4).prop_map(|(name, incarnation, revision)| {
        // There is one record for each age: a node does not contradict itself.
        let standing = if revision == 3 { Standing::Left } else { Standing::Here };
        record(&name, incarnation, revision, standing)
    })
}

proptest! {
    #[test]
    fn order_and_repetition_do_not_matter(
        mut records in proptest::collection::vec(any_record(), 0..40),
        seed: u64,
    ) {
        // All nodes are known already; otherwise one whose first record says that it left would stay unknown in
        // only one order.
        let all = || ["a", "b", "c", "d"].map(|name| record(name, 0, 0, Standing::Here)).to_vec();
        let mut first = roll();
        first.hear_all(all(), 0);
        first.hear_all(records.clone(), 0);
        let mut dice = seed;
        records.sort_by_cached_key(|_| {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            dice >> 33
        });
        let mut second = roll();
        second.hear_all(all(), 0);
        for record in records {
            second.hear_all(vec![record.clone(), record], 0);
        }
        prop_assert_eq!(first.members(), second.members());
    }
}
