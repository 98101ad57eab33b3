//! Tests of ranks that Slurm starts on two nodes.

use crate::levers;
use run_record::summary::RankTotals;
use suite::library::Library;
use suite::tool::{WatchFolders, watch_with};
use suite::{Job, Slurm, TestProgram, Watched, watch};

/// Times, in ms, that the ranks of both nodes are useful in an iteration.
const ARGUMENTS: [&str; 5] = ["10", "40", "40", "20", "20"];

#[track_caller]
fn check_ranks(watched: &Watched) {
    let Watched { summary, ended, .. } = watched;
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!((summary.n_ranks, summary.n_nodes), (4, 2), "{}", ended.stderr);
    let nodes: Vec<&str> = summary.ranks.iter().map(|rank| rank.node.as_str()).collect();
    assert_eq!(nodes, ["snt-n1", "snt-n1", "snt-n2", "snt-n2"]);
    assert_eq!(summary.operations["MPI_Barrier"].calls, 40);
    let computing_s: Vec<f64> = summary.ranks.iter().map(RankTotals::computing_s).collect();
    let node_s = [computing_s[0] + computing_s[1], computing_s[2] + computing_s[3]];
    assert!(node_s[1] < 0.7 * node_s[0], "node 2 sleeps half as long: {node_s:?}");
    assert!(summary.tool.warnings.is_empty(), "{:?}", summary.tool.warnings);
}

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
    let program = levers::program().built(Library::Mpich4);
    let slurm = Slurm::new(2);
    let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
    let job = slurm.srun("pmi2", n_cores + 1, &program).arg("2");
    let watched = watch_with(&job, &["--no-html", "--tune=waiting"]);
    assert_eq!((watched.ended.code, watched.summary.n_nodes), (0, 2), "{}", watched.ended.stderr);
    levers::check_waiting(&watched.summary.tuning.expect("it was tuned"), 2 * (n_cores + 1));
}
