//! Part of a node's state machine that differs with the side that begins an exchange.

use crate::call_context::{CallContext, NodeContext};
use crate::domain::DomainMembers;
use crate::snapshot::OngoingOperation;
use crate::{Moment, NodeId, NodeLoad, PolicyMessage, Timer};

/// Side that begins an exchange: the node with tasks or the node with room.
pub(crate) trait Exchange: std::fmt::Debug + Send + Sync {
    /// Applies a change of members.
    fn on_peers(&mut self, call: &mut CallContext<'_>, before: &DomainMembers);
    fn on_measurement(&mut self, call: &mut CallContext<'_>, load: NodeLoad);
    /// Handles a message of a member.
    fn on_message(&mut self, call: &mut CallContext<'_>, from: NodeId, message: PolicyMessage);
    fn on_timer(&mut self, call: &mut CallContext<'_>, timer: Timer);
    /// Tasks that were given to `to` are back.
    fn on_came_back(&mut self, call: &mut CallContext<'_>, to: NodeId);
    /// Tasks of another node arrived that were not promised room.
    fn on_early(&mut self, _from: NodeId) {}
    fn on_lost(&mut self, peer: NodeId);
    /// Tells a node that was silent what it may have missed.
    fn on_reached(&mut self, call: &mut CallContext<'_>, peer: NodeId);
    /// Number of waiting tasks that the node itself must leave to faster nodes.
    fn n_kept(&self, _node: &NodeContext, _now: Moment) -> u32 {
        0
    }
    /// Some of the nodes that are known to have room, or were told of tasks here, and how many there are.
    fn known(&self) -> (Vec<NodeId>, usize);
    /// Some of the nodes that announced tasks, and how many there are.
    fn offers(&self) -> (Vec<NodeId>, usize) {
        (Vec::new(), 0)
    }
    fn under_way(&self) -> Option<OngoingOperation>;
}
