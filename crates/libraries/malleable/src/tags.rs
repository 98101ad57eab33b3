//! Tags of messages: a number of its own for each purpose.
//!
//! The program's thread and the threads that prepare a resize share communicators, and the tag of
//! `MPI_Intercomm_create` counts among those of messages: when numbers served twice, a thread took the end of the
//! program for the answer of a leader.

/// Purpose of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    /// Order for all ranks, carried out at the next check.
    Order,
    /// Wakes a parked rank, and joins it.
    Wake,
    Join,
    /// To a new process: the plan and the index of its start, or nothing, which dismisses it.
    Go,
    /// Between a source's children.
    Child,
    /// Between sources.
    Side,
    /// Between two leaders, before they join: the first message, and its reply.
    Knock,
    /// Address at which leaving processes report, and that a rank is ready.
    ReleaseAddress,
    Ready,
    /// Command to the new ranks.
    ArrivalCommand,
    /// State of rank 0, to the next one.
    Handover,
    /// A piece of moving data.
    Feed,
    /// A piece of a checkpoint.
    Piece,
    /// A rank has been asked to end, and wishes to leave.
    LeaveWish,
    /// One rank is done, and all are.
    Done,
    AllDone,
    /// First of the tags used by a single resize.
    FirstOfChange,
}

/// Messages between the threads that prepare a resize.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfChange {
    /// Plan of the resize.
    Plan,
    /// Result of starting a source's processes.
    Come,
    /// Verdict on all of them.
    Verdict,
}

/// Largest tag that every library allows.
const TAG_MAX: u16 = 32_767;
const N_OF_CHANGE: u16 = OfChange::Verdict as u16 + 1;

impl Tag {
    /// Number of the tag for the library.
    pub(crate) const fn number(self) -> u16 {
        self as u16
    }
}

impl OfChange {
    /// Number of the tag for the library; different for each resize, and repeating only after thousands of them.
    pub(crate) const fn number(self, serial: u16) -> u16 {
        let first = Tag::FirstOfChange.number();
        let n_serials = (TAG_MAX - first + 1) / N_OF_CHANGE;
        first + serial % n_serials * N_OF_CHANGE + self as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_number_serves_twice_within_thousands_of_changes() {
        let kinds = [OfChange::Plan, OfChange::Come, OfChange::Verdict];
        let numbers = (0..10_000).flat_map(|serial| kinds.map(|kind| kind.number(serial)));
        let numbers = numbers.collect::<Vec<_>>();
        assert_eq!(numbers.iter().collect::<BTreeSet<_>>().len(), numbers.len());
        let of_any = 0..=u16::MAX;
        let all = of_any.flat_map(|serial| kinds.map(|kind| kind.number(serial)));
        assert!(all.into_iter().all(|tag| Tag::AllDone.number() < tag && tag <= TAG_MAX));
    }
}
