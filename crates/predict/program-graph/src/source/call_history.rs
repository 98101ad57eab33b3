//! Functions that a walk has been through, so that a large one is walked at its first call only.

use std::collections::BTreeMap;

/// Largest number of statements and blocks of a function, with all that it calls, that is walked at each call.
const SIZE_REPEATED_MAX: usize = 150;
/// The same for a function without MPI.
const SIZE_SILENT_MAX: usize = 40;

/// A function with the functions that a call passes to it, on which its operations may depend.
pub(super) type CallForm<'t> = (&'t str, Vec<&'t str>);

/// Functions that were walked.
pub(super) type FirstCalls<'t> = BTreeMap<CallForm<'t>, FirstCall>;

/// First walk through a function.
pub(super) struct FirstCall {
    /// Number of statements and blocks, with all that it called.
    pub(super) size: usize,
    pub(super) has_mpi: bool,
}

/// First calls of a walk.
pub(super) struct CallHistory<'p, 't> {
    pub(super) first_calls: FirstCalls<'t>,
    /// Those of the walk along all paths, so that each role repeats the same functions.
    on_all_paths: &'p FirstCalls<'t>,
}

impl<'p, 't> CallHistory<'p, 't> {
    pub(super) fn new(on_all_paths: &'p FirstCalls<'t>) -> Self {
        Self { first_calls: FirstCalls::new(), on_all_paths }
    }

    /// Keeps the first walk through a function.
    pub(super) fn note(&mut self, call: CallForm<'t>, first: FirstCall) {
        self.first_calls.entry(call).or_insert(first);
    }

    /// Returns whether a function that was walked communicates; `None` where it is walked at this call, too, because
    /// it is small or new.
    pub(super) fn communicated(&self, call: &CallForm<'t>) -> Option<bool> {
        let first = self.first_calls.get(call)?;
        let size = self.on_all_paths.get(call).map_or(first.size, |first| first.size);
        let size_max = if first.has_mpi { SIZE_REPEATED_MAX } else { SIZE_SILENT_MAX };
        (size_max < size).then_some(first.has_mpi)
    }
}
