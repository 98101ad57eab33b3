//! What is known of one MPI operation.

use crate::accounting::Movement;
use crate::kind::Kind;

/// The position of an operation in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperationId(pub u16);

/// The family that an operation belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Class {
    /// Sends, receives and probes, in all modes.
    PointToPoint,
    /// Waiting for, testing, cancelling and freeing requests, and emptying send buffers.
    Completion,
    /// Operations of all ranks of a communicator.
    Collective,
    /// Collective operations among the neighbors of a topology.
    Neighborhood,
    /// Windows, their synchronization, and transfers to and from them.
    OneSided,
    /// Files.
    Io,
    /// Making, changing and freeing communicators.
    Communicator,
    /// Starting, connecting and disconnecting processes.
    Process,
    /// Start and end of MPI, and what else changes how a program is observed.
    Environment,
}

impl Class {
    /// Every class with its name in the table.
    pub const NAMES: [(&'static str, Self); 9] = [
        ("point-to-point", Self::PointToPoint),
        ("completion", Self::Completion),
        ("collective", Self::Collective),
        ("neighborhood", Self::Neighborhood),
        ("one-sided", Self::OneSided),
        ("io", Self::Io),
        ("communicator", Self::Communicator),
        ("process", Self::Process),
        ("environment", Self::Environment),
    ];
}

/// When an operation returns, relative to its transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// When its buffers may be used again.
    Blocking,
    /// At once: the transfer is completed later, or the call only looks.
    Nonblocking,
    /// At once: it describes a transfer that is started many times, or starts one.
    Persistent,
    /// As persistent, with data handed over in parts.
    Partitioned,
}

impl Mode {
    /// Every mode with its name in the table.
    pub const NAMES: [(&'static str, Self); 4] = [
        ("blocking", Self::Blocking),
        ("nonblocking", Self::Nonblocking),
        ("persistent", Self::Persistent),
        ("partitioned", Self::Partitioned),
    ];
}

/// One parameter of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name in the standard.
    pub name: String,
    /// What it is, and so how it is passed in C and Fortran.
    pub kind: Kind,
}

/// One operation of the table, or its large-count variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The C function, for example `MPI_Send_c`.
    pub name: String,
    /// The name without `MPI_` and without the `_c` of a large-count variant: `Send`.
    pub stem: String,
    /// Whether this is the large-count variant.
    pub is_large: bool,
    /// The family.
    pub class: Class,
    /// When it returns.
    pub mode: Mode,
    /// The parameters of the C function, in order.
    pub params: Vec<Param>,
    /// What it moves, each with its own direction and peer; empty when it moves nothing.
    pub movements: Vec<Movement>,
    /// The parameter (kind `request` or `requests`) whose requests the call may complete.
    pub completes: Option<usize>,
}

impl Operation {
    /// The position of the first parameter of this kind.
    #[must_use]
    pub fn position(&self, kind: Kind) -> Option<usize> {
        self.params.iter().position(|param| param.kind == kind)
    }

    /// The position of the parameter of this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<usize> {
        self.params.iter().position(|param| param.name == name)
    }

    /// The communicator, window or file in which the operation acts (the first one it is given).
    #[must_use]
    pub fn scope(&self) -> Option<usize> {
        self.params
            .iter()
            .position(|param| matches!(param.kind, Kind::Comm | Kind::Win | Kind::File))
    }

    /// The root of a rooted operation. When it is `MPI_PROC_NULL`, nothing moves.
    #[must_use]
    pub fn root(&self) -> Option<usize> {
        self.named("root")
    }

    /// Whether the C function takes a variable number of arguments, so that no wrapper is generated.
    #[must_use]
    pub fn is_variadic(&self) -> bool {
        self.position(Kind::Variadic).is_some()
    }
}
