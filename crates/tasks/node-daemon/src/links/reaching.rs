//! Threads that dial nodes because a message waits for a link.
//!
//! # Invariants
//! - A node is dialed by one thread at a time, and few nodes at the same time: many messages at once to nodes without
//!   links do not become a storm of handshakes.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::Refusal;
use super::dialing::{Proved, prove, refusal};
use super::link;
use super::table::Common;
use node_core::interface::NodeId;

/// Most dials to one node while another connection to it is about to become the link. Below, the pause between them.
const N_DIALS_MAX: usize = 5;
const PAUSE: Duration = Duration::from_millis(50);

/// Starts threads that dial the nodes which are waited for.
pub(super) fn go_on(common: &Arc<Common>) {
    let n_max = common.options.n_dialing_max;
    while let Some((node, address)) = common.with_unlinked(|it| it.begin(n_max)) {
        let dial = Dial { common: Arc::clone(common), node, address };
        let builder = thread::Builder::new().name(format!("reaches {}", dial.address));
        if builder.spawn(|| dial.run()).is_err() {
            common.with_unlinked(|it| it.was_dialed(node));
            common.unreached(node);
        }
    }
}

struct Dial {
    common: Arc<Common>,
    node: NodeId,
    address: String,
}

impl Dial {
    /// Dials, and runs the link until it ends.
    fn run(self) {
        let (common, node) = (&self.common, self.node);
        let proved = self.prove();
        common.with_unlinked(|it| it.was_dialed(node));
        go_on(common);
        let Some((stream, result)) = proved else { return common.unreached(node) };
        if result.hello.id() != node {
            // The address is another node's by now.
            common.unreached(node);
        }
        if link::run(common, &stream, result, true).is_err() {
            common.unreached(node);
        }
    }

    /// Returns a connection whose peer has proved the key; nothing if there is none, or another one is the link.
    fn prove(&self) -> Option<Proved> {
        for _ in 0..N_DIALS_MAX {
            match prove(&self.common, &self.address) {
                Ok(proved) => return Some(proved),
                // The other connection is about to become the link, or has just ended.
                Err(error) if refusal(&error) == Some(&Refusal::Linked) => thread::sleep(PAUSE),
                Err(_) => return None,
            }
            if self.common.is_linked(self.node) {
                return None;
            }
        }
        None
    }
}
