//! Shadows of a communicator: others with the same ranks in the same order, for which Open MPI uses other algorithms.
//!
//! They are made by `MPI_Comm_split`, which copies neither attributes nor topology, and return their errors. Algorithms
//! are named by control variables, which are written before a shadow is made and set back after it.

use super::tracked::Tracked;
use crate::library::{self, MpiLibrary};
use crate::pmpi::{self, ControlVariable};
use ring::board::N_ARMS;
use std::ffi::{CStr, c_int};

/// Versions of Open MPI whose algorithms were tried: none of these ended, hung, or had other results.
const KNOWN_VERSIONS: [&str; 2] = ["Open MPI v4.1.", "Open MPI v5.0."];

/// An algorithm: its number and its name.
type Algorithm = (c_int, &'static str);

/// Control variables, and the algorithms of each shadow.
///
/// The first ones have few messages that wait for one another, which is fastest where ranks share cores; the others
/// are those that textbooks have for short and for long data.
const ALGORITHMS: [(&CStr, [Algorithm; N_ARMS - 1]); 4] = [
    (
        c"coll_tuned_barrier_algorithm",
        [(1, "a linear one"), (6, "a tree"), (3, "recursive doubling"), (4, "Bruck's")],
    ),
    (
        c"coll_tuned_allreduce_algorithm",
        [
            (1, "a linear one"),
            (6, "Rabenseifner's"),
            (3, "recursive doubling"),
            (2, "a reduction and a broadcast"),
        ],
    ),
    (
        c"coll_tuned_allgather_algorithm",
        [(1, "a linear one"), (5, "neighbor exchange"), (3, "recursive doubling"), (4, "a ring")],
    ),
    (
        c"coll_tuned_alltoall_algorithm",
        [(1, "a linear one"), (4, "a synchronized linear one"), (2, "pairs"), (3, "Bruck's")],
    ),
];

/// Name of an algorithm, in words.
pub(super) fn algorithm(kind: usize, arm: u8) -> &'static str {
    let algorithms = ALGORITHMS.get(kind).map(|(_, algorithms)| algorithms);
    let name = algorithms.and_then(|known| known.get(usize::from(arm).wrapping_sub(1)));
    name.map_or("another one", |(_, name)| *name)
}

/// Settings by which a user has chosen components or algorithms.
const SETTINGS: [&str; 2] = ["OMPI_MCA_coll", "OMPI_MCA_mca_base_param_files"];

/// Reason why algorithms cannot be chosen, before `MPI_Init`.
pub(super) fn refusal_before_init() -> Option<String> {
    let set = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
    let mut set = set.filter(|name| SETTINGS.iter().any(|start| name.starts_with(start)));
    let own = set.next().map(|name| format!("`{name}` chooses algorithms already"));
    own.or_else(|| {
        let home = std::env::var_os("HOME")?;
        let file = std::path::Path::new(&home).join(".openmpi/mca-params.conf");
        let text = std::fs::read_to_string(&file).ok()?;
        let is_set = text.lines().any(|line| line.trim_start().starts_with("coll"));
        is_set.then(|| format!("`{}` chooses algorithms already", file.display()))
    })
}

/// Reason why algorithms cannot be chosen, after `MPI_Init`.
pub(super) fn refusal_after_init() -> Option<String> {
    let version = pmpi::library_version();
    if !KNOWN_VERSIONS.iter().any(|known| version.starts_with(known)) {
        let version = version.split(',').next().unwrap_or_default();
        return Some(format!("the algorithms of `{version}` were not tried yet"));
    }
    let is_true = |name| ControlVariable::named(name).and_then(ControlVariable::is_true);
    if is_true(c"mpi_ft_enable") == Some(true) {
        return Some("the program may go on after the loss of a rank (`mpi_ft_enable`)".to_owned());
    }
    if is_true(c"coll_tuned_use_dynamic_rules") != Some(true) {
        return Some("Open MPI does not let algorithms be chosen".to_owned());
    }
    let number = |name| ControlVariable::named(name).and_then(ControlVariable::number);
    let fixed = ALGORITHMS.iter().find(|(name, _)| number(name) != Some(0));
    fixed.map(|(name, _)| format!("`{}` chooses an algorithm already", name.to_string_lossy()))
}

/// Makes the shadows of a communicator, in a call that all its ranks have entered or will enter.
pub(super) fn make(tracked: &Tracked, library: &MpiLibrary) {
    let Ok(rank) = c_int::try_from(tracked.rank()) else { return };
    let errors_return = library::value(library.family.constants().errors_return);
    // A failure of ours is none of the program.
    let handler = pmpi::errhandler(tracked.handle());
    pmpi::set_errhandler(tracked.handle(), errors_return);
    let set = |name, number| ControlVariable::named(name).and_then(|variable| variable.set(number));
    for idx in 0..N_ARMS - 1 {
        for (name, algorithms) in ALGORITHMS {
            // Where that fails, the shadow has the library's own algorithm, and is no faster.
            let _unchanged = set(name, algorithms[idx].0);
        }
        let shadow = pmpi::comm_split(tracked.handle(), 0, rank);
        match shadow.filter(|shadow| shadow & library.handle_mask != library.comm_null) {
            Some(shadow) => {
                pmpi::set_errhandler(shadow, errors_return);
                tracked.keep(idx + 1, shadow, pmpi::comm_to_fortran(shadow).unwrap_or(0));
            }
            None => tracked.note_failure(),
        }
    }
    for (name, _) in ALGORITHMS {
        let _unchanged = set(name, 0);
    }
    if let Some(handler) = handler {
        pmpi::set_errhandler(tracked.handle(), handler);
        pmpi::errhandler_free(handler);
    }
}
