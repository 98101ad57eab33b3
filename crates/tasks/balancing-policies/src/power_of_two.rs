//! `power-of-two:D`: for each waiting task, D nodes are probed; the first one with room gets it.
//!
//! A probe is queued at its node, in order of arrival, until there is room; only then does the node come for a
//! task, and it finds none if others were faster: *late binding*, as in Sparrow (Ousterhout, Wendell, Zaharia and
//! Stoica 2013). Unlike there, the node that has the task competes for it too.

use crate::action::TimerKind;
use crate::call_context::CallContext;
use crate::offers::{Offers, give_up};
use crate::receiver_initiated::{ReceiverRule, Visit};
use crate::rule::{Initiative, Parameters, RuleSpec};
use crate::snapshot::N_NAMED_MAX;
use crate::{LoadState, Members, NodeId, PolicyMessage};

pub(crate) static SPEC: RuleSpec = RuleSpec {
    name: "power-of-two",
    form: "power-of-two[:D]",
    example: "power-of-two:2",
    sentence: "D nodes are probed for each task that waits; the first with room fetches it",
    is_of_source: false,
    parameters: Parameters::Count { needs: "a number of probes from 1 to 64", default: 2 },
    initiative: Initiative::Receiver(|[n_probes, _]| {
        Box::new(PowerOfTwo { n_probes, ..PowerOfTwo::default() })
    }),
};

/// Time after which probes without a reaction are considered lost, in ms; doubled each time.
const PATIENCE_MS: u64 = 10_000;
const N_DOUBLINGS_MAX: u32 = 6;
/// Most probes sent in one call.
const N_PROBES_MAX: u32 = 4096;

#[derive(Debug, Default)]
struct PowerOfTwo {
    n_probes: u32,
    /// Probes that are under way.
    n_out: u32,
    n_times: u32,
    wave: u32,
    offers: Offers,
}

impl ReceiverRule for PowerOfTwo {
    fn on_peers(&mut self, members: &Members) {
        self.offers.retain(|node| members.position(node).is_some());
    }

    fn on_wave(&mut self, call: &mut CallContext<'_>, number: u32) {
        if self.wave == number {
            (self.n_out, self.n_times) = (0, self.n_times + 1);
            self.announce(call);
        }
    }

    fn on_probe(&mut self, call: &mut CallContext<'_>, from: NodeId) -> bool {
        give_up(call, self.offers.push(call.now, from, 1));
        true
    }

    /// Notes that a probed node has come, whether it found a task or not.
    fn on_visit(&mut self, _turn: &mut CallContext<'_>, _node: NodeId, _visit: Visit) {
        self.n_out = self.n_out.saturating_sub(1);
        self.n_times = 0;
    }

    fn on_silence(&mut self, from: NodeId) {
        self.offers.silent(from);
    }

    fn on_lost(&mut self, peer: NodeId) {
        self.offers.remove(peer);
    }

    /// Sends probes for the waiting tasks that have none yet.
    fn announce(&mut self, call: &mut CallContext<'_>) {
        let n_queued = call.node.load.n_queued;
        if call.node.state != LoadState::Sender || call.node.domain_members.len() == 0 {
            return;
        }
        let n_wanted = n_queued.saturating_mul(self.n_probes).saturating_sub(self.n_out);
        let n_sent = n_wanted.min(N_PROBES_MAX);
        for _ in 0..n_sent {
            if let Some(node) = call.node.domain_members.pick(&mut call.node.random) {
                call.send(node, PolicyMessage::Probe);
            }
        }
        if 0 < n_sent {
            self.n_out += n_sent;
            self.wave = self.wave.wrapping_add(1);
            let wait_ms = PATIENCE_MS << self.n_times.min(N_DOUBLINGS_MAX);
            call.timer(TimerKind::Wave, self.wave, call.now.plus_ms(wait_ms));
        }
    }

    fn source(&mut self, _turn: &mut CallContext<'_>) -> Option<NodeId> {
        self.offers.pop()
    }

    fn n_wanted(&self, _n_room: u32) -> u16 {
        1
    }

    fn offers(&self) -> (Vec<NodeId>, usize) {
        (self.offers.nodes().take(N_NAMED_MAX).collect(), self.offers.len())
    }
}
