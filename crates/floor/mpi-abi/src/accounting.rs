//! Data movement of a call: direction, peer, and the number of bytes as an expression over parameters.
//!
//! The top of `operations.txt` defines the bytes counted for each class.
//!
//! # Invariants
//! - Every `usize` is a position in [`Operation::params`](crate::Operation::params), and the parameter
//!   there has the kind that the field's name says.
//!
//! # Not here
//! The code that evaluates an expression: the probe generates it.

use crate::named::named;

/// One movement of data by a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Movement {
    /// Direction.
    pub flow: Flow,
    /// Rank of the other side; `None` in collectives and files, and where a status or a message tells the
    /// rank. To or from `MPI_PROC_NULL` nothing moves.
    pub peer: Option<usize>,
    /// Amount moved: that of the first case whose condition holds. The last condition is always
    /// [`Condition::Always`].
    pub cases: Vec<Case>,
}

named! {
    /// Direction of a movement.
    Flow {
        /// To the peer.
        Send = "send",
        /// From the peer.
        Receive = "receive",
        /// Contributed to (or, without a contribution, received from) a collective.
        Payload = "payload",
        /// To the window of the peer.
        Put = "put",
        /// From the window of the peer.
        Get = "get",
        /// To the window of the peer, combined there with its content.
        Accumulate = "accumulate",
        /// From a file.
        Read = "read",
        /// To a file.
        Write = "write",
    }
}

/// Amount with the condition under which it applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// Condition.
    pub condition: Condition,
    /// Amount.
    pub amount: Amount,
}

/// Condition under which an amount applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Condition {
    /// In every call.
    Always,
    /// The buffer is `MPI_IN_PLACE`.
    InPlace(usize),
    /// The root is the calling rank in an intracommunicator, or `MPI_ROOT`.
    Root(usize),
    /// The root is `MPI_ROOT`: the root of an intercommunicator calls.
    RemoteRoot(usize),
}

/// Number of bytes, as an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Amount {
    /// Bytes received according to the status after the call (which also tells the source rank).
    Status(usize),
    /// `count` elements of `datatype`, `factor` times.
    Elements {
        /// Number of elements.
        count: Count,
        /// Datatype of the elements.
        datatype: usize,
        /// Multiplier.
        factor: Factor,
    },
    /// Sum of the first `n` entries of `counts`, in elements of `datatype`.
    Sum {
        /// Array of counts.
        counts: usize,
        /// Datatype of all elements.
        datatype: usize,
        /// Number of entries.
        n: Factor,
    },
    /// Sum over `n` entries of `counts`, each in elements of its entry of `datatypes`.
    SumOfProducts {
        /// Array of counts.
        counts: usize,
        /// Array of datatypes.
        datatypes: usize,
        /// Number of entries.
        n: Factor,
    },
}

/// Number of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Count {
    /// One.
    One,
    /// Value of this parameter.
    Param(usize),
    /// Entry of the calling rank in this array.
    Own(usize),
}

/// Multiplier, or length of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Factor {
    /// One.
    One,
    /// Value of this parameter (kind `int`).
    Param(usize),
    /// Size of the remote group in an intercommunicator, of the communicator otherwise.
    Peers,
    /// Size of the local group.
    Ranks,
    /// Number of neighbors that this rank sends to.
    Outdegree,
}
