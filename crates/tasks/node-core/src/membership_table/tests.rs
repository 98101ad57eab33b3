//! Nodes learn of each other in any order, and agree in the end.

use proptest::prelude::*;

use super::*;

fn record(name: &str, incarnation: u64, revision: u64, standing: Participation) -> NodeRecord {
    let address = format!("{name}:1");
    let name = name.to_owned();
    NodeRecord {
        name,
        address,
        incarnation,
        revision,
        n_cores: 2,
        speed: 1.0,
        standing,
        capacity: task_api::Resources::default(),
    }
}

fn table() -> MembershipTable {
    MembershipTable::new(record("me", 5, 0, Participation::Here))
}

fn presence(table: &MembershipTable, name: &str) -> Option<Presence> {
    table.members().into_iter().find(|member| member.name == name).map(|member| member.presence)
}

#[test]
fn presence_is_what_a_node_says_and_whether_it_is_linked() {
    let mut table = table();
    table.linked("a", "a:1", 1, 0);
    assert_eq!(presence(&table, "a"), Some(Presence::Up));
    table.merge_all(vec![record("a", 1, 1, Participation::Stopping)], 1);
    assert_eq!(presence(&table, "a"), Some(Presence::Stopping));
    table.merge_all(vec![record("a", 1, 2, Participation::Left)], 2);
    assert!(!table.silent(node_id("a"), 3), "no news of who left");
    assert_eq!(presence(&table, "a"), Some(Presence::Left));
    assert_eq!((table.silent_addresses().count(), table.reachable().count()), (0, 0));
    assert!(
        table.has_left(node_id("a")) && table.has_left_from("a:1") && !table.has_left_from("a:2")
    );
    table.merge_all(vec![record("a", 2, 1, Participation::Here)], 4);
    assert_eq!(presence(&table, "a"), Some(Presence::Up), "somebody has heard of it");
    assert!(!table.has_left(node_id("a")) && !table.has_left_from("a:1"));
    assert!(table.silent(node_id("a"), 5) && !table.silent(node_id("a"), 6));
    assert_eq!(presence(&table, "a"), Some(Presence::Silent));
    assert_eq!(table.silent_addresses().collect::<Vec<_>>(), ["a:1"]);
    table.linked("a", "a:1", 2, 7);
    table.rested(node_id("a"), 8);
    assert_eq!(presence(&table, "a"), Some(Presence::Up), "a link is made when it is needed");
}

#[test]
fn the_first_of_two_of_one_name_keeps_it_while_it_is_reached() {
    let mut table = table();
    table.merge_all(vec![record("a", 1, 1, Participation::Here)], 0);
    let elsewhere =
        NodeRecord { address: "b:2".to_owned(), ..record("a", 2, 1, Participation::Here) };
    assert_eq!(table.merge_all(vec![elsewhere.clone()], 1), []);
    assert_eq!(table.take_doubted(), [node_id("a")].into());
    table.silent(node_id("a"), 2);
    assert_eq!(table.merge_all(vec![elsewhere.clone()], 3), [elsewhere]);
    assert!(table.take_doubted().is_empty());
}

#[test]
fn tables_with_the_same_nodes_have_the_same_digest() {
    let (mut here, mut there) =
        (table(), MembershipTable::new(record("a", 2, 1, Participation::Here)));
    let differ = |here: &MembershipTable, there: &MembershipTable| here.digest() != there.digest();
    assert!(differ(&here, &there));
    here.merge_all(there.records(), 0);
    there.merge_all(here.records(), 0);
    assert!(!differ(&here, &there));
    here.silent(node_id("a"), 1);
    assert!(differ(&here, &there), "one of them cannot reach the other");
    assert_eq!(here.silent_nodes(), [(node_id("a"), 2)]);
    assert!(!there.is_in_doubt(node_id("me"), 4) && there.is_in_doubt(node_id("me"), 5));
}

#[test]
fn late_words_change_nothing_and_are_not_passed_on() {
    let mut table = table();
    let newest = record("a", 2, 7, Participation::Here);
    assert_eq!(table.merge_all(vec![newest.clone()], 0), std::slice::from_ref(&newest));
    for (incarnation, revision) in [(2, 7), (2, 6), (1, 99)] {
        assert_eq!(
            table.merge_all(vec![record("a", incarnation, revision, Participation::Left)], 1),
            []
        );
    }
    assert_eq!(table.merge_all(vec![record("b", 1, 1, Participation::Left)], 1), [], "never known");
    table.linked("a", "a:1", 2, 1);
    assert_eq!(table.records()[1], newest, "a link says less than the node itself");
}

#[test]
fn who_left_is_remembered_for_a_while_and_who_is_silent_longer() {
    let mut table = table();
    table.merge_all(
        vec![record("a", 1, 1, Participation::Here), record("b", 1, 1, Participation::Here)],
        0,
    );
    table.merge_all(vec![record("b", 1, 2, Participation::Left)], 0);
    table.linked("c", "c:1", 1, 0);
    table.silent(node_id("a"), 0);
    assert!(!table.forget(LEFT_KEPT_MS - 1) && table.forget(LEFT_KEPT_MS));
    assert!(table.forget(SILENT_KEPT_MS));
    assert_eq!(table.members().iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["c"]);
}

#[test]
fn a_daemon_outbids_what_one_before_it_said_here_and_nobody_elsewhere() {
    let mut table = table();
    assert_eq!(table.merge_all(vec![record("me", 4, 9, Participation::Left)], 0), []);
    let mut earlier = record("me", 9, 3, Participation::Left);
    let told = table.merge_all(vec![earlier.clone()], 0);
    assert_eq!(told, std::slice::from_ref(table.me()));
    assert_eq!((table.me().age(), table.me().standing), ((9, 4), Participation::Here));
    earlier.address = "elsewhere:1".to_owned();
    earlier.incarnation = 99;
    assert_eq!(table.merge_all(vec![earlier], 0), []);
}

#[test]
fn what_a_node_says_of_itself_is_news_once() {
    let mut table = table();
    let measurement = Measurement { n_cores: 4, speed: 2.0 };
    assert!(
        table.set_own(Participation::Here, measurement)
            && !table.set_own(Participation::Here, measurement)
    );
    assert!(table.set_own(Participation::Left, measurement));
    assert_eq!(table.me().revision, 2);
}

fn any_record() -> impl Strategy<Value = NodeRecord> {
    ("[a-d]", 0_u64..3, 0_u64..4).prop_map(|(name, incarnation, revision)| {
        // There is one record for each age: a node does not contradict itself.
        let standing = if revision == 3 { Participation::Left } else { Participation::Here };
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
        let all = || ["a", "b", "c", "d"].map(|name| record(name, 0, 0, Participation::Here)).to_vec();
        let mut first = table();
        first.merge_all(all(), 0);
        first.merge_all(records.clone(), 0);
        let mut dice = seed;
        records.sort_by_cached_key(|_| {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            dice >> 33
        });
        let mut second = table();
        second.merge_all(all(), 0);
        for record in records {
            second.merge_all(vec![record.clone(), record], 0);
        }
        prop_assert_eq!(first.members(), second.members());
    }
}
