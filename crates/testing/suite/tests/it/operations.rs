//! Tests of every operation of the table: its calls and bytes are as the programs in `programs/operations` expect.

use std::collections::BTreeSet;
use std::path::Path;
use suite::library::Library::{self, Mpich4, Mpich5, OpenMpi4, OpenMpi5};
use suite::program::Binding;
use suite::{Expected, Job, TestProgram, watch_with};

/// Groups of operations that run after `MPI_Init` in one world.
const GROUPS: &[&str] = &[
    "point-to-point",
    "completion",
    "persistent",
    "collectives",
    "collectives-between-groups",
    "neighborhood",
    "one-sided",
    "one-sided-requests",
    "io",
    "communicators",
];

fn job(
    library: Library,
    n_ranks: usize,
    program: &TestProgram,
    arguments: (&Path, &[&str]),
) -> Job {
    let (folder, groups) = arguments;
    library.launch(n_ranks, &program.built(library)).arg(folder).args(groups)
}

#[track_caller]
fn check(library: Library, n_ranks: usize, program: &TestProgram, groups: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder for what is expected");
    let watched =
        watch_with(&job(library, n_ranks, program, (folder.path(), groups)), &["--no-html"]);
    assert_eq!(watched.ended.code, 0, "{}", watched.ended.stderr);
    Expected::read(folder.path()).check(&watched.summary);
}

#[test]
fn all_operations_of_open_mpi_4() {
    check(OpenMpi4, 2, &TestProgram::operations(false), GROUPS);
    check(OpenMpi4, 3, &TestProgram::operations(false), GROUPS);
}

#[test]
fn all_operations_of_mpich_4() {
    check(Mpich4, 2, &TestProgram::operations(false), GROUPS);
    check(Mpich4, 5, &TestProgram::operations(false), GROUPS);
}

#[test]
fn all_operations_of_open_mpi_5() {
    check(OpenMpi5, 3, &TestProgram::operations(false), GROUPS);
}

#[test]
fn all_operations_of_mpich_5() {
    check(Mpich5, 3, &TestProgram::operations(false), GROUPS);
}

#[test]
fn large_counts() {
    check(Mpich4, 3, &TestProgram::operations(true), GROUPS);
    check(Mpich5, 2, &TestProgram::operations(true), GROUPS);
}

#[test]
fn init_thread() {
    for library in Library::SYSTEM {
        check(library, 2, &TestProgram::operations(false), &["threads", "completion"]);
    }
}

#[test]
fn sessions_without_init() {
    for library in [Mpich4, OpenMpi5, Mpich5] {
        check(library, 2, &TestProgram::operations(false), &["sessions"]);
    }
    check(Mpich5, 2, &TestProgram::operations(true), &["sessions"]);
}

#[test]
fn processes_started_and_connected() {
    for library in Library::DYNAMIC {
        check(library, 2, &TestProgram::operations(false), &["processes"]);
    }
}

#[track_caller]
fn check_binding(library: Library, binding: Binding) {
    check(library, 2, &TestProgram::fortran(binding, library), &[]);
    check(library, 3, &TestProgram::fortran(binding, library), &[]);
}

#[test]
fn fortran_mpif_h() {
    Library::SYSTEM.into_iter().for_each(|library| check_binding(library, Binding::Mpif));
}

#[test]
fn fortran_use_mpi() {
    Library::SYSTEM.into_iter().for_each(|library| check_binding(library, Binding::Mpi));
}

#[test]
fn fortran_use_mpi_f08() {
    Library::SYSTEM.into_iter().for_each(|library| check_binding(library, Binding::MpiF08));
}

/// Operations that no program here can call, each with the reason.
const NOT_CALLED: &[(&str, &str)] = &[
    ("MPI_Abort", "ends the program before it could say what it expects: `endings.rs`"),
    ("MPI_Pcontrol", "variadic: not wrapped"),
    ("MPI_Psend_init_c", "no library has it: the count of MPI_Psend_init is large already"),
    ("MPI_Precv_init_c", "as MPI_Psend_init_c"),
];

/// Operations called by the programs, run without the tool under MPICH 5, which has every operation.
fn called() -> BTreeSet<String> {
    let folder = tempfile::tempdir().expect("a folder for what is expected");
    let runs: [(bool, &[&str]); 6] = [
        (false, GROUPS),
        (true, GROUPS),
        (false, &["sessions"]),
        (true, &["sessions"]),
        (false, &["threads", "completion"]),
        (false, &["processes"]),
    ];
    let mut called = BTreeSet::new();
    for (large, groups) in runs {
        let ended = job(Mpich5, 2, &TestProgram::operations(large), (folder.path(), groups)).run();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        called.extend(Expected::read(folder.path()).operations().map(str::to_owned));
    }
    called
}

#[test]
fn every_operation_of_the_table_is_called_by_a_program() {
    let mut called = called();
    called.extend(NOT_CALLED.iter().map(|(name, _)| (*name).to_owned()));
    let table = mpi_abi::operations().iter();
    let missing: Vec<&str> = table
        .map(|operation| operation.name.as_str())
        .filter(|name| !called.contains(*name))
        .collect();
    assert!(missing.is_empty(), "no program in `programs/operations` calls {missing:?}");
}
