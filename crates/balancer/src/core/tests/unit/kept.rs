//! The last tasks of a slow node, which fast ones come for.

use balancing::Message;

use super::*;

impl Rig {
    fn fast_member(&mut self) {
        let member = Member {
            id: node_id("fast"),
            name: "fast".to_owned(),
            address: "fast:1".to_owned(),
            incarnation: 1,
            presence: Presence::Up,
            n_cores: 1,
            speed: 4.0,
        };
        self.on(Event::Members(vec![member]));
    }

    /// The fast node comes for a task, and takes it.
    fn pulled(&mut self, operation: u32) {
        let from = node_id("fast");
        self.seen.sent.clear();
        let pull = Message::Pull { operation, n_tasks_max: 1 };
        self.on(Event::FromPeer { from, message: PeerMessage::Balance(pull) });
        let offer = self.seen.sent.iter().find_map(|(_, message)| match message {
            PeerMessage::Offer { offer, .. } => Some(*offer),
            _ => None,
        });
        let offer = offer.expect("a task is there for it");
        let message = PeerMessage::Taken { offer, n_tasks: 1, because: None };
        self.on(Event::FromPeer { from, message });
    }
}

#[test]
fn a_core_stays_free_while_a_fast_node_ends_the_last_tasks_sooner() {
    let mut rig = Rig::new();
    rig.fast_member();
    rig.submit(6);
    rig.pulled(1);
    rig.pass(2_000);
    rig.pulled(2);
    rig.end();
    assert!(rig.seen.jobs.is_empty(), "three are the fast node's: {:?}", rig.seen.jobs);
    let answers = rig.ask(Request::Explain { task: "n.6".parse().unwrap() });
    assert!(format!("{answers:?}").contains("left to faster nodes"), "{answers:?}");
    rig.pass(4_500);
    assert_eq!(rig.seen.jobs.len(), 1, "it has not come again");
}
