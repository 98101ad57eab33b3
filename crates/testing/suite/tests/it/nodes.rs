//! Tests of daemons that launchers start, and of nodes with a network of their own: commands run where there is room.

mod auto;
mod guide;
mod home;
mod ssh;

use home::Home;
use launch::StartedJob;
use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use suite::library::Library;
use suite::{Slurm, tool};

const PATIENCE: Duration = Duration::from_secs(60);

#[track_caller]
fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "not so: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn host() -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a host has a name");
    host.trim().split('.').next().unwrap_or_default().to_owned()
}

#[track_caller]
fn check_launcher(library: Library) {
    let home = Home::new();
    let meet = home.path().join("meet");
    fs::create_dir(&meet).expect("the folder is ours");
    let words = ["node", "start", "--cores", "2", "--speed", "1", "--bind", "127.0.0.1", "--meet"];
    let job = library.launch(3, &tool::sintonia()).args(words).arg(&meet);
    let with = home.variables().into_iter();
    let job = with.fold(job, |job, (name, value)| job.variable(name, value));
    // If anything fails, the job's output contains that of the daemons.
    let running: StartedJob = job.within(PATIENCE).start();
    let nodes: Vec<String> = (0..3).map(|rank| format!("{}-{rank}", host())).collect();
    for node in &nodes {
        running.wait_until("all have met", |_| home.n_up(node) == 3);
    }
    let used = home.used(&nodes[1]);
    if used != Ok(nodes.iter().cloned().collect()) {
        running.fail(&format!("tasks were to run on all nodes, and did so: {used:?}"));
    }
    for node in &nodes {
        home.stop(node).unwrap_or_else(|why| running.fail(&why));
    }
    let ended = running.finish();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
}

#[test]
fn open_mpi_starts_daemons_that_meet() {
    check_launcher(Library::OpenMpi4);
}

#[test]
fn mpich_starts_daemons_that_meet() {
    check_launcher(Library::Mpich4);
}

#[test]
fn open_mpi_5_starts_daemons_that_meet() {
    check_launcher(Library::OpenMpi5);
}

#[test]
fn mpich_5_starts_daemons_that_meet() {
    check_launcher(Library::Mpich5);
}

#[test]
fn slurm_starts_daemons_that_know_each_other_by_the_list_of_nodes() {
    let slurm = Slurm::new(2);
    let home = Home::new();
    let mut srun = slurm.command("srun");
    srun.args(["--nodes=2", "--ntasks-per-node=1"]).arg(tool::sintonia());
    srun.args(["node", "start", "--slurm", "--cores", "2", "--speed", "1"]).envs(home.variables());
    let srun = srun.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let srun: Child = srun.spawn().expect("`srun` is installed");
    let nodes = ["snt-n1", "snt-n2"];
    for node in nodes {
        slurm.wait("both are up", || home.n_up(node) == 2);
    }
    assert_eq!(home.used("snt-n2"), Ok(nodes.map(str::to_owned).into()));
    assert_eq!(nodes.map(|node| home.stop(node)), [Ok(()), Ok(())]);
    let ended = srun.wait_with_output().expect("it is ours");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said}");
    assert!(said.contains("other nodes reach node `snt-n1` at snt-n1:7411"), "{said}");
}
