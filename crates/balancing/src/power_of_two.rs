//! `power-of-two:D`: for each waiting task, D nodes are probed; the first one with room gets it.
//!
//! A probe is queued at its node, in order of arrival, until there is room; only then does the node come for a
//! task, and it finds none if others were faster: *late binding*, as in Sparrow (Ousterhout, Wendell, Zaharia and
//! Stoica 2013). Unlike there, the node that has the task competes for it too.

use crate::action::TimerKind;
use crate::rule::{Rule, RuleSpec};
use crate::turn::Turn;
use crate::{LoadState, Message};

pub(crate) const SPEC: RuleSpec = RuleSpec {
    form: "power-of-two[:D]",
    example: Rule::PowerOfTwo { n_probes: 2 },
    sentence: "D nodes are probed for each task that waits; the first with room fetches it",
    is_of_source: false,
};

/// Time after which probes without a reaction are considered lost, in ms; doubled each time.
const PATIENCE_MS: u64 = 10_000;
const N_DOUBLINGS_MAX: u32 = 6;
/// Most probes sent in one call.
const N_PROBES_MAX: u32 = 4096;

/// Probes that are under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Probes {
    n_out: u32,
    n_times: u32,
    wave: u32,
}

impl Probes {
    /// Notes that a probed node has come, whether it found a task or not.
    pub(crate) fn has_come(&mut self) {
        self.n_out = self.n_out.saturating_sub(1);
        self.n_times = 0;
    }

    /// Sends probes for the waiting tasks that have none yet.
    pub(crate) fn tell(&mut self, turn: &mut Turn<'_>, n_probes: u8) {
        let n_queued = turn.node.load.n_queued;
        if turn.node.state != LoadState::Sender || turn.node.circle.len() == 0 {
            return;
        }
        let n_wanted = n_queued.saturating_mul(n_probes.into()).saturating_sub(self.n_out);
        let n_sent = n_wanted.min(N_PROBES_MAX);
        for _ in 0..n_sent {
            if let Some(node) = turn.node.circle.pick(&mut turn.node.random) {
                turn.send(node, Message::Probe);
            }
        }
        if 0 < n_sent {
            self.n_out += n_sent;
            self.wave = self.wave.wrapping_add(1);
            let wait_ms = PATIENCE_MS << self.n_times.min(N_DOUBLINGS_MAX);
            turn.timer(TimerKind::Wave, self.wave, turn.now.plus_ms(wait_ms));
        }
    }

    pub(crate) fn on_wave(&mut self, turn: &mut Turn<'_>, number: u32, n_probes: u8) {
        if self.wave == number {
            (self.n_out, self.n_times) = (0, self.n_times + 1);
            self.tell(turn, n_probes);
        }
    }
}
