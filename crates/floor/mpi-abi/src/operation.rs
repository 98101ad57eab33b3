//! Description of one MPI operation.

use crate::accounting::Movement;
use crate::kind::ParameterKind;
use crate::named::named;

/// Position of an operation in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperationId(pub u16);

named! {
    /// Family of operations.
    Class {
        /// Sends, receives and probes, in all modes.
        PointToPoint = "point-to-point",
        /// Waiting for, testing, cancelling and freeing requests, and emptying send buffers.
        Completion = "completion",
        /// Operations of all ranks of a communicator.
        Collective = "collective",
        /// Collective operations among the neighbors of a topology.
        Neighborhood = "neighborhood",
        /// Windows, their synchronization, and transfers to and from them.
        OneSided = "one-sided",
        /// Files.
        Io = "io",
        /// Making, changing and freeing communicators.
        Communicator = "communicator",
        /// Starting, connecting and disconnecting processes.
        Process = "process",
        /// Start and end of MPI, and other operations that change how a program is monitored.
        Environment = "environment",
    }
}

named! {
    /// Point at which an operation returns, relative to its transfer.
    Mode {
        /// Once its buffers may be reused.
        Blocking = "blocking",
        /// At once: the transfer is completed later, or the call only checks.
        Nonblocking = "nonblocking",
        /// At once: the call describes a transfer that is started many times, or starts it.
        Persistent = "persistent",
        /// As persistent, with the data provided in parts.
        Partitioned = "partitioned",
    }
}

/// One parameter of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Name in the standard.
    pub name: String,
    /// Kind, which determines how C and Fortran pass the parameter.
    pub kind: ParameterKind,
}

/// One operation of the table, or its large-count variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Name of the C function, for example `MPI_Send_c`.
    pub name: String,
    /// The name without `MPI_` and without the `_c` of a large-count variant: `Send`.
    pub stem: String,
    /// True if this is the large-count variant.
    pub is_large: bool,
    /// Family.
    pub class: Class,
    /// Point at which the operation returns.
    pub mode: Mode,
    /// Parameters of the C function, in order.
    pub params: Vec<Param>,
    /// Data movements, each with its own direction and peer; empty when nothing moves.
    pub movements: Vec<Movement>,
    /// Parameter (kind `request` or `requests`) whose requests the call may complete.
    pub completes: Option<usize>,
}

impl Operation {
    /// Returns whether the operation only looks for messages, or for the end of requests.
    #[must_use]
    pub fn is_poll(&self) -> bool {
        let looks = ["Iprobe", "Improbe", "Parrived"].contains(&self.stem.as_str());
        looks || self.mode == Mode::Nonblocking && self.stem.starts_with("Test")
    }

    /// Returns the position of the first parameter of this kind.
    #[must_use]
    pub fn position(&self, kind: ParameterKind) -> Option<usize> {
        self.params.iter().position(|param| param.kind == kind)
    }

    /// Returns the position of the parameter of this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<usize> {
        self.params.iter().position(|param| param.name == name)
    }

    /// Position of the communicator, window or file in which the operation acts (the first parameter of these kinds).
    #[must_use]
    pub fn scope(&self) -> Option<usize> {
        self.params.iter().position(|param| {
            matches!(param.kind, ParameterKind::Comm | ParameterKind::Win | ParameterKind::File)
        })
    }

    /// Position of the root parameter. When the root is `MPI_PROC_NULL`, nothing moves.
    #[must_use]
    pub fn root(&self) -> Option<usize> {
        self.named("root")
    }

    /// Returns whether the C function takes a variable number of arguments, so that no wrapper is generated.
    #[must_use]
    pub fn is_variadic(&self) -> bool {
        self.position(ParameterKind::Variadic).is_some()
    }
}
