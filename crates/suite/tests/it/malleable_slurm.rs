//! Malleable programs under Slurm: nodes come and go with companion jobs.

use launch::place::example;
use suite::Slurm;

/// A job on one node that borrows places for `n_ranks` ranks, two to a node, and keeps them until `enough` is called.
struct Borrower {
    slurm: Slurm,
    folder: tempfile::TempDir,
    job: u64,
}

impl Borrower {
    #[track_caller]
    fn new(n_nodes: usize, n_ranks: u32, patience_s: u32) -> Self {
        let slurm = Slurm::new(n_nodes);
        let folder = tempfile::tempdir().expect("a folder");
        let (program, path) = (example("lend"), folder.path().display());
        let script =
            format!("PMIX_MCA_gds=hash {} {n_ranks} {patience_s} {path}", program.display());
        let job = slurm.submit(&["--nodes=1", "--ntasks-per-node=2"], &script);
        Self { slurm, folder, job }
    }

    #[track_caller]
    fn wait_for_line(&self, start: &str) -> String {
        let line = || {
            let output = self.slurm.output(self.job);
            output.lines().find(|line| line.starts_with(start)).map(str::to_owned)
        };
        self.slurm.wait(&format!("a line `{start}` in {:?}", self.slurm.output(self.job)), || {
            line().is_some()
        });
        line().unwrap_or_default()
    }

    fn enough(&self) {
        std::fs::write(self.folder.path().join("enough"), "").expect("the folder is ours");
    }
}

#[test]
fn nodes_are_lent_and_are_idle_again() {
    let borrower = Borrower::new(4, 3, 60);
    borrower.wait_for_line("companions 2");
    let output = borrower.slurm.output(borrower.job);
    assert!(output.contains("2 ranks on snt-n2, which is snt-n2"), "{output}");
    assert!(output.contains("1 ranks on snt-n3, which is snt-n3"), "{output}");
    assert_eq!(borrower.slurm.n_idle(), 1);
    borrower.enough();
    borrower.wait_for_line("companions 0");
    borrower.slurm.wait("all nodes are idle", || borrower.slurm.n_idle() == 4);
}

#[test]
fn a_refusal_has_slurms_own_reason_and_leaves_nothing() {
    let borrower = Borrower::new(2, 3, 2);
    let line = borrower.wait_for_line("refused");
    assert!(
        line.contains("Slurm lent no node in time: job") && line.contains("Resources"),
        "{line}"
    );
    borrower.slurm.wait("all nodes are idle", || borrower.slurm.n_idle() == 2);
}

/// A program that is killed cannot give nodes back: the companion sees that its job is gone.
#[test]
fn companions_end_with_their_job() {
    let borrower = Borrower::new(2, 2, 60);
    borrower.wait_for_line("companions 1");
    borrower.slurm.ask("scancel", &["--signal=KILL", "--full", &borrower.job.to_string()]);
    borrower.slurm.wait("all nodes are idle", || borrower.slurm.n_idle() == 2);
}

#[test]
fn a_controller_that_was_away_hears_what_is_given_back() {
    let mut borrower = Borrower::new(2, 2, 60);
    borrower.wait_for_line("companions 1");
    borrower.slurm.kill_controller();
    borrower.enough();
    borrower.wait_for_line("companions 0");
    borrower.slurm.restart_controller();
    borrower.slurm.wait("all nodes are idle", || borrower.slurm.n_idle() == 2);
}
