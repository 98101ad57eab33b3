//! Tests of ranks that Slurm starts on two nodes.

use crate::cluster::{ARGUMENTS, check_ranks};
use crate::levers;
use suite::library::Library;
use suite::tool::WatchFolders;
use suite::{Job, Slurm, TestProgram, watch};

#[track_caller]
fn check(library: Library, plugin: &str) {
    let program = TestProgram::c("imbalance").built(library);
    let slurm = Slurm::new(2);
    check_ranks(&watch(&slurm.srun(plugin, 2, &program).args(ARGUMENTS)));
}

#[test]
fn srun_starts_open_mpi_by_pmix() {
    check(Library::OpenMpi4, "pmix");
}

#[test]
fn srun_starts_mpich_by_pmi2() {
    check(Library::Mpich4, "pmi2");
}

/// Runs `sintonia run` in a batch script, on the first node of the job.
#[track_caller]
fn check_batch(slurm: &Slurm, step: &Job) {
    let folders = WatchFolders::new();
    let script = folders.job(step, &["--quiet"]).script();
    let output = folders.folder().join("output");
    let ended = slurm.sbatch(2, &script, &output).run();
    let printed = std::fs::read_to_string(&output).expect("Slurm wrote the job's output");
    assert_eq!(ended.code, 0, "{printed}");
    check_ranks(&folders.finish(ended));
    assert_eq!(printed.lines().count(), 4, "{printed}");
}

#[test]
fn a_batch_script_watches_its_own_steps() {
    let program = TestProgram::c("imbalance").built(Library::Mpich4);
    let slurm = Slurm::new(2);
    check_batch(&slurm, &slurm.srun("pmi2", 2, &program).args(ARGUMENTS));
}

/// Slurm starts Open MPI's daemons, and these start the ranks.
#[test]
fn a_batch_script_watches_mpirun() {
    let program = TestProgram::c("imbalance").built(Library::OpenMpi4);
    let slurm = Slurm::new(2);
    check_batch(&slurm, &Library::OpenMpi4.launch(4, &program).args(ARGUMENTS));
}

#[test]
fn levers_are_set_in_a_step_of_srun() {
    let slurm = Slurm::new(2);
    levers::check_on_two_nodes(|n, program| slurm.srun("pmi2", n, program));
}
