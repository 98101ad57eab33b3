//! The tags of messages: a number of its own for each purpose.
//!
//! The program's thread and those that prepare a change speak on the same communicators, and the tag of
//! `MPI_Intercomm_create` counts among those of messages: with numbers that served twice, a thread took the end of the
//! program for the answer of a leader.

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    /// What all ranks do before their next look.
    Order,
    /// To a parked rank, and to join it.
    Wake,
    Join,
    /// To a new process: the change and its start, or nothing, which sends it away.
    Go,
    /// Between a source's children.
    Child,
    /// Between sources.
    Side,
    /// Between two leaders, before they join: the first message, and its answer.
    Knock,
    /// Where leavers knock, and that a rank is ready.
    Door,
    Ready,
    /// What becomes of the processes that were prepared.
    Cue,
    /// What rank 0 knows, to the next one.
    Baton,
    /// A piece of data that moves.
    Feed,
    /// A piece of a checkpoint.
    Piece,
    /// That a rank is done, and that all are.
    Done,
    AllDone,
    /// The first of those that belong to one change.
    FirstOfChange,
}

/// Messages between the threads that prepare a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfChange {
    /// What is to be.
    Plan,
    /// Whether a source's processes have come.
    Come,
    /// Whether all have.
    Verdict,
}

/// Largest tag that is allowed in every library.
const TAG_MAX: u16 = 32_767;
const N_OF_CHANGE: u16 = OfChange::Verdict as u16 + 1;

impl Tag {
    /// As the library takes it.
    pub(crate) const fn number(self) -> u16 {
        self as u16
    }
}

impl OfChange {
    /// As the library takes it; for each change another, until after thousands they begin again.
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
