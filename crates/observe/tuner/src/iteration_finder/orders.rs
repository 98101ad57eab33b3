//! Orders to record calls, and what calls are named in descriptions and sentences.

use super::Step;
use events::{OperationId, Rank};
use mpi_abi::{Class, Operation, ParameterKind};
use wire::Order;
use wire::control::WatchedCalls;

/// Selection of operations.
pub(super) type Selection = fn(&Operation) -> bool;

/// Returns whether an operation is part of the program's steps: those that only look whether something has arrived are
/// called as often as there is time.
pub(super) fn is_call(operation: &Operation) -> bool {
    let is_look = operation.position(ParameterKind::Flag).is_some() || operation.stem == "Testsome";
    !is_look || operation.class == Class::Environment
}

pub(super) fn is_collective(operation: &Operation) -> bool {
    matches!(operation.class, Class::Collective | Class::Neighborhood)
}

/// Selects every operation.
pub(super) fn is_any(_: &Operation) -> bool {
    true
}

/// Returns the order to record calls in a thread of a rank, of which those of some operations count.
pub(super) fn order(
    (rank, thread): (Rank, u32),
    calls: WatchedCalls,
    is_counted: Selection,
) -> Step {
    let all = mpi_abi::operations();
    let mut operations = vec![0_u64; all.len().div_ceil(64)];
    for (at, _) in all.iter().enumerate().filter(|(_, operation)| is_counted(operation)) {
        operations[at / 64] |= 1 << (at % 64);
    }
    Step::Order(rank, Order::Watch { thread, calls, operations })
}

/// Returns whether a description such as `solve.c:120` or `MPI_Allreduce in solve` means the call of an operation at a
/// place such as `solve (solve.c:120)`.
pub(super) fn is_meant(described: &str, operation: &str, place: &str) -> bool {
    let (function, line) = match place.split_once(" (") {
        Some((function, line)) => (function, line.trim_end_matches(')')),
        None => (place, ""),
    };
    match described.split_once(" in ") {
        Some((named, within)) => named == operation && within == function,
        None => {
            let shorter = line.strip_suffix(described);
            shorter.is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
        }
    }
}

pub(super) fn operation_name(operation: u16) -> &'static str {
    mpi_abi::operation(OperationId(operation)).map_or("an MPI call", |it| it.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_named_by_line_or_by_operation_and_function() {
        let is = |described| is_meant(described, "MPI_Allreduce", "cg::solve (src/solve.c:12)");
        assert!(is("solve.c:12") && is("src/solve.c:12") && is("MPI_Allreduce in cg::solve"));
        assert!(!is("solve.c:1") && !is("olve.c:12") && !is("MPI_Bcast in cg::solve"));
        assert!(!is_meant("solve.c:12", "MPI_Bcast", "main"));
    }
}
