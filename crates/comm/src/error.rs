//! Why ranks could not communicate.

/// A message, a collective operation or a change of the group failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommError {
    /// A rank ended without leaving.
    #[error("rank `{rank}` is gone: it ended without leaving; deal its work again or stop")]
    Gone {
        /// Which one.
        rank: u32,
    },
    /// A rank that is not connected with this one was addressed.
    #[error(
        "rank `{rank}` is not present: address only ranks that are connected with rank `{own}` and did not leave"
    )]
    NotPresent {
        /// The addressed rank.
        rank: u32,
        /// This rank.
        own: u32,
    },
    /// Something did not happen in time.
    #[error(
        "waited {waited_ms} ms in vain for {what} of rank `{rank}`; see whether it still runs, or allow more time"
    )]
    Late {
        /// What was awaited.
        what: &'static str,
        /// Of whom.
        rank: u32,
        /// How long.
        waited_ms: u128,
    },
    /// The receiver took no messages until the bound of buffered ones was met.
    #[error(
        "{n_bytes} bytes are waiting for rank `{rank}`, which takes none; send less before it answers"
    )]
    NoRoom {
        /// The receiver.
        rank: u32,
        /// Bytes that are buffered for it.
        n_bytes: usize,
    },
}
