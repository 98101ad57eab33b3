//! Messages of a run: which send each receive waits for, and when it was sent.

use super::Unmatched;
use crate::action::Action;
use crate::matching::{Matcher, Matches};
use crate::thread_timeline::ThreadTimeline;

/// Sends and receives of all timelines, numbered timeline by timeline.
pub(super) struct Messages {
    matches: Matches,
    first_send: Vec<usize>,
    first_receive: Vec<usize>,
    sends: Vec<Send>,
}

/// One send.
#[derive(Clone, Copy, Default)]
struct Send {
    at_ns: Option<u64>,
    waiting: Option<usize>,
}

impl Messages {
    pub(super) fn of(timelines: &[ThreadTimeline]) -> Self {
        let mut matcher = Matcher::default();
        let (mut first_send, mut first_receive) = (Vec::new(), Vec::new());
        let (mut n_sends, mut n_receives) = (0, 0);
        for timeline in timelines {
            first_send.push(n_sends);
            first_receive.push(n_receives);
            for step in &timeline.steps {
                match step.action {
                    Action::Send { message, .. } => {
                        matcher.send(timeline.rank, message);
                        n_sends += 1;
                    }
                    Action::Receive(message) | Action::StartReceive { message, .. } => {
                        matcher.receive(timeline.rank, message);
                        n_receives += 1;
                    }
                    Action::Complete { .. } | Action::Collective { .. } => (),
                }
            }
        }
        let sends = vec![Send::default(); n_sends];
        Self { matches: matcher.finish(), first_send, first_receive, sends }
    }

    pub(super) fn unmatched(&self) -> Unmatched {
        Unmatched {
            sends: self.matches.n_unmatched_sends,
            receives: self.matches.n_unmatched_receives,
            collectives: 0,
        }
    }

    /// Returns the number of the timeline's n-th receive.
    pub(super) fn number_of_receive(&self, timeline: usize, nth: usize) -> usize {
        self.first_receive[timeline] + nth
    }

    /// Records the timeline's n-th send; returns the timeline that waited for it.
    pub(super) fn sent(&mut self, timeline: usize, nth: usize, at_ns: u64) -> Option<usize> {
        let send = &mut self.sends[self.first_send[timeline] + nth];
        send.at_ns = Some(at_ns);
        send.waiting.take()
    }

    /// Returns the time at which the message of the receive was sent, or 0 when the receive has no send. If
    /// the message is not sent yet, registers `timeline` as waiting.
    pub(super) fn arrival_ns(&mut self, receive: usize, timeline: usize) -> Option<u64> {
        let Some(send) = self.matches.send_of_receive[receive] else { return Some(0) };
        let send = &mut self.sends[send as usize];
        if send.at_ns.is_none() {
            send.waiting = Some(timeline);
        }
        send.at_ns
    }
}
