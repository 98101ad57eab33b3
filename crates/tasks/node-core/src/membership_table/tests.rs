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
    table.unlinked("a", 3);
    assert_eq!(presence(&table, "a"), Some(Presence::Left));
    assert_eq!(table.addresses().count(), 0);
    assert!(
        table.has_left(node_id("a")) && table.has_left_from("a:1") && !table.has_left_from("a:2")
    );
    table.merge_all(vec![record("a", 2, 1, Participation::Here)], 4);
    assert_eq!(presence(&table, "a"), Some(Presence::Silent));
    assert_eq!(table.addresses().collect::<Vec<_>>(), ["a:1"]);
    assert!(!table.has_left(node_id("a")) && !table.has_left_from("a:1"));
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
    assert_eq!(table.records_for_new_link()[1], newest, "a link says less than the node itself");
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
