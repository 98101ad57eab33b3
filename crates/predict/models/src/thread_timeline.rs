//! The calls of one thread as a sequence of computations and actions.

use crate::action::{CallEffect, Interpreter};
use events::{Event, RecordKind};
use std::collections::HashMap;

/// One thread of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadTimeline {
    /// Rank in its world.
    pub rank: u32,
    /// Its steps in order.
    pub steps: Vec<TimelineStep>,
    /// Computing time after the last step, in ns.
    pub compute_after_ns: u64,
    /// All MPI calls in order, those without a step too.
    pub calls: Vec<CallSpan>,
    /// Start and end of the thread, outside MPI, in ns.
    pub span_ns: (u64, u64),
}

/// Time span of one MPI call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallSpan {
    /// Start, in ns.
    pub start_ns: u64,
    /// Return, in ns.
    pub end_ns: u64,
    /// Call site; [`CallSpan::UNKNOWN`] if it is not known.
    pub site: u32,
    /// Position of the first of its steps; it has those up to the first one of the next call.
    pub first_step: u32,
}

impl CallSpan {
    /// Call site that is not known.
    pub const UNKNOWN: u32 = u32::MAX;
}

/// Computation and the effect of the call that ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineStep {
    /// Computing time since the previous step, in ns.
    pub compute_ns: u64,
    /// Effect of the call that ends the computation.
    pub action: CallEffect,
}

/// Builds a [`ThreadTimeline`] from the rows of one thread.
#[derive(Clone, Debug, Default)]
pub struct ThreadTimelineBuilder {
    timeline: ThreadTimeline,
    interpreter: Interpreter,
    /// Position of each posted receive from any source or of any tag whose message is not known yet, by
    /// request.
    open: HashMap<u64, usize>,
    /// Time at which the last call returned, in ns.
    end_ns: u64,
    /// Computing time not yet assigned to a step, in ns.
    compute_ns: u64,
}

impl ThreadTimelineBuilder {
    /// Starts the timeline of a thread of `rank` that began, outside MPI, at `start_ns`.
    pub fn new(rank: u32, start_ns: u64) -> Self {
        Self {
            timeline: ThreadTimeline {
                rank,
                span_ns: (start_ns, start_ns),
                ..ThreadTimeline::default()
            },
            end_ns: start_ns,
            ..Self::default()
        }
    }

    /// Appends the next row of the thread.
    pub fn push(&mut self, row: &Event) {
        if row.kind == RecordKind::Call {
            let first_step = u32::try_from(self.timeline.steps.len()).unwrap_or(u32::MAX);
            let start_ns = row.start_ns.max(self.end_ns);
            self.timeline.calls.push(CallSpan {
                start_ns,
                end_ns: row.end_ns.max(start_ns),
                site: row.call_site.unwrap_or(CallSpan::UNKNOWN),
                first_step,
            });
        }
        if self.end_ns < row.end_ns {
            self.compute_ns += row.start_ns.saturating_sub(self.end_ns);
            self.end_ns = row.end_ns;
        }
        let Self { timeline, interpreter, open, compute_ns, .. } = self;
        interpreter.read(row, |action| {
            learn(&mut timeline.steps, open, action);
            let compute_ns = std::mem::take(compute_ns);
            timeline.steps.push(TimelineStep { compute_ns, action });
        });
    }

    /// Returns the timeline of a thread that ended, outside MPI, at `end_ns`.
    pub fn finish(mut self, end_ns: u64) -> ThreadTimeline {
        self.timeline.compute_after_ns = self.compute_ns + end_ns.saturating_sub(self.end_ns);
        self.timeline.span_ns.1 = end_ns.max(self.end_ns);
        self.timeline
    }
}

/// Completes a receive with the source and tag that its completion learned.
fn learn(steps: &mut [TimelineStep], open: &mut HashMap<u64, usize>, action: CallEffect) {
    match action {
        CallEffect::StartReceive { message, request } => {
            open.remove(&request);
            if message.peer.is_none() || message.tag.is_none() {
                open.insert(request, steps.len());
            }
        }
        CallEffect::Complete { request, peer: Some(peer), tag } => {
            let Some(step) = open.remove(&request).and_then(|at| steps.get_mut(at)) else { return };
            if let CallEffect::StartReceive { message, .. } = &mut step.action {
                message.peer = message.peer.or(Some(peer));
                message.tag = message.tag.or(tag);
            }
        }
        _ => (),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::MessageEnd;

    fn row(name: &str, start_ns: u64, end_ns: u64) -> Event {
        let row = crate::action::tests::row(name);
        Event { start_ns, end_ns, peer: -1, tag: -1, communicator: 0, ..row }
    }

    #[test]
    fn computation_is_what_lies_between_calls() {
        let mut builder = ThreadTimelineBuilder::new(2, 10);
        builder.push(&row("MPI_Probe", 15, 20));
        builder.push(&row("MPI_Barrier", 22, 30));
        builder.push(&Event { kind: RecordKind::Requests, ..row("MPI_Barrier", 22, 30) });
        builder.push(&row("MPI_Barrier", 33, 40));
        builder.push(&row("MPI_Iprobe", 41, 42));
        let timeline = builder.finish(50);
        let compute_ns: Vec<u64> = timeline.steps.iter().map(|step| step.compute_ns).collect();
        assert_eq!((timeline.rank, compute_ns, timeline.compute_after_ns), (2, vec![7, 3], 9));
        let call = |start_ns, end_ns, first_step| CallSpan {
            start_ns,
            end_ns,
            site: CallSpan::UNKNOWN,
            first_step,
        };
        let calls = [call(15, 20, 0), call(22, 30, 0), call(33, 40, 1), call(41, 42, 2)];
        assert_eq!((&*timeline.calls, timeline.span_ns), (&calls[..], (10, 50)));
    }

    #[test]
    fn a_receive_from_any_rank_learns_from_its_completion() {
        let mut builder = ThreadTimelineBuilder::new(0, 0);
        builder.push(&Event { request: 5, ..row("MPI_Irecv", 1, 2) });
        builder.push(&Event { request: 5, peer: 4, tag: 8, ..row("MPI_Wait", 3, 4) });
        let message = MessageEnd { peer: Some(4), tag: Some(8), communicator: 0 };
        let step = builder.finish(4).steps[0];
        assert_eq!(step.action, CallEffect::StartReceive { message, request: 5 });
    }
}
