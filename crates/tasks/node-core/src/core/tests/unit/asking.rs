//! Tests of how often a node with too many tasks asks others for room.

use balancing_policies::{LoadState, Policy, PolicyMessage};
use task_api::Presence;

use super::Rig;
use crate::core::CoreOptions;
use crate::interface::{CoreEvent, PeerMessage};

impl Rig {
    /// Answers the questions for the other node's state; returns how many there were.
    fn say_neutral(&mut self) -> usize {
        let mut n_asked = 0;
        for (to, message) in std::mem::take(&mut self.seen.sent) {
            if let PeerMessage::Balance(PolicyMessage::AskState { operation }) = message {
                let said = PolicyMessage::StateIs { operation, state: LoadState::Neutral };
                self.on(CoreEvent::FromPeer { from: to, message: PeerMessage::Balance(said) });
                n_asked += 1;
            }
        }
        n_asked
    }
}

#[test]
fn looking_after_leases_is_no_reason_to_ask_others_for_room() {
    let policy: Policy = "on-demand".parse().expect("a policy");
    let mut rig = Rig::with(CoreOptions { policy, ..CoreOptions::new("n") });
    rig.member(Presence::Up, 1);
    rig.submit(5);
    assert_eq!(rig.say_neutral(), 1);
    let mut n_asked = 0;
    for _ in 0..40 {
        rig.pass(250);
        n_asked += rig.say_neutral();
    }
    // Once a second, and not at each of the 40 sweeps.
    assert_eq!(n_asked, 10);
    rig.submit(1);
    assert_eq!(rig.say_neutral(), 1);
}
