//! Kinds of collective operations: one for all forms of an operation (blocking, nonblocking, persistent, large-count).

use crate::operation::{Class, Mode, Operation};

/// Direction in which a rooted operation moves data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rooted {
    /// From the root to all others.
    FromRoot,
    /// From all others to the root.
    ToRoot,
}

macro_rules! kinds {
    ($($kind:ident = $name:literal, $rooted:expr;)*) => {
        /// Kind of a collective operation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "the names of MPI")]
        pub enum CollectiveKind {
            $($kind,)*
        }

        impl CollectiveKind {
            /// Every kind with its name in lower case, as in time-independent traces, and its direction if it has a root.
            pub const ALL: &[(&'static str, Self, Option<Rooted>)] =
                &[$(($name, Self::$kind, $rooted)),*];
        }
    };
}

kinds! {
    Barrier = "barrier", None;
    Bcast = "bcast", Some(Rooted::FromRoot);
    Reduce = "reduce", Some(Rooted::ToRoot);
    Allreduce = "allreduce", None;
    Gather = "gather", Some(Rooted::ToRoot);
    Gatherv = "gatherv", Some(Rooted::ToRoot);
    Scatter = "scatter", Some(Rooted::FromRoot);
    Scatterv = "scatterv", Some(Rooted::FromRoot);
    Allgather = "allgather", None;
    Allgatherv = "allgatherv", None;
    Alltoall = "alltoall", None;
    Alltoallv = "alltoallv", None;
    ReduceScatter = "reducescatter", None;
    Scan = "scan", None;
    Exscan = "exscan", None;
}

impl CollectiveKind {
    /// Returns its name in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }

    /// Returns its direction, if it has a root.
    #[must_use]
    pub fn rooted(self) -> Option<Rooted> {
        Self::ALL[self as usize].2
    }

    /// Returns the kind with this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|row| row.0 == name).map(|row| row.1)
    }
}

impl Operation {
    /// Returns the kind of a collective operation on a communicator; `None` for other operations.
    #[must_use]
    pub fn collective(&self) -> Option<CollectiveKind> {
        if self.class != Class::Collective {
            return None;
        }
        let stem = self.stem.to_ascii_lowercase().replace('_', "");
        let stem = if self.mode == Mode::Nonblocking { stem.strip_prefix('i')? } else { &stem };
        CollectiveKind::of_name(match stem.trim_end_matches("init") {
            "alltoallw" => "alltoallv",
            "reducescatterblock" => "reducescatter",
            stem => stem,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: Option<CollectiveKind>) {
        let operation = crate::find(name).and_then(crate::operation).unwrap();
        assert_eq!(operation.collective(), expected, "{name}");
    }

    #[test]
    fn all_forms_of_an_operation_are_of_one_kind() {
        check("MPI_Scatter", Some(CollectiveKind::Scatter));
        check("MPI_Iexscan", Some(CollectiveKind::Exscan));
        check("MPI_Bcast_c", Some(CollectiveKind::Bcast));
        check("MPI_Allreduce_init_c", Some(CollectiveKind::Allreduce));
        check("MPI_Ireduce_scatter_block", Some(CollectiveKind::ReduceScatter));
        check("MPI_Alltoallw", Some(CollectiveKind::Alltoallv));
        check("MPI_Comm_split", None);
        check("MPI_Neighbor_alltoall", None);
        check("MPI_Send", None);
    }
}
