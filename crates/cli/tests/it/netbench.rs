//! `sintonia netbench` with the installed launchers.

use crate::sintonia::{Place, Said};
use serde_json::Value;
use std::process::Command;

/// The launchers of the distribution that are installed, with what root and few cores need.
fn launchers() -> Vec<(&'static str, &'static [&'static str])> {
    let all: [(&str, &[&str]); 2] =
        [("mpirun.openmpi", &["--oversubscribe", "--bind-to", "none"]), ("mpirun.mpich", &[])];
    let is_there = |name: &str| Command::new(name).arg("--version").output().is_ok();
    all.into_iter().filter(|(name, _)| is_there(name)).collect()
}

fn netbench(options: &[&str], launcher: &str, words: &[&str], n_ranks: &str) -> Said {
    let all =
        [&["netbench", "--seconds", "0.1"], options, &["--", launcher], words, &["-n", n_ranks]];
    let place = Place::new();
    let mut command = place.command(&all.concat());
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.env("OMPI_MCA_mpi_yield_when_idle", "1");
    Said::from(command.output().expect("the program starts"))
}

#[test]
fn the_times_of_messages_are_shown() {
    for (launcher, words) in launchers() {
        let said = netbench(&[], launcher, words, "2");
        assert_eq!(said.code, Some(0), "{launcher}: {}", said.errors);
        assert!(said.output.starts_with("ranks 0 and 1\n"), "{launcher}: {}", said.output);
        assert!(said.output.contains("one way: 8 B "), "{launcher}: {}", said.output);
    }
}

#[test]
fn every_rank_is_measured_with_the_first() {
    for (launcher, words) in launchers() {
        let said = netbench(&["--json"], launcher, words, "3");
        assert_eq!(said.code, Some(0), "{launcher}: {}", said.errors);
        let pairs: Vec<Value> = serde_json::from_str(&said.output).expect("JSON");
        let ranks: Vec<_> = pairs.iter().map(|pair| (&pair["from"], &pair["to"])).collect();
        assert_eq!(
            ranks,
            [(&0.into(), &1.into()), (&0.into(), &2.into())] as [(&Value, &Value); 2]
        );
        for pair in &pairs {
            assert!(!pair["model"]["pieces"].as_array().expect("pieces").is_empty());
            assert_eq!(pair["model"]["samples"].as_array().expect("samples").len(), 45);
        }
    }
}

#[test]
fn what_goes_wrong_is_told() {
    for (launcher, words) in launchers() {
        let said = netbench(&[], launcher, words, "1");
        assert_eq!(said.code, Some(100), "{launcher}");
        assert!(said.errors.contains("start at least two"), "{launcher}: {}", said.errors);
    }
    let said = netbench(&[], "/nowhere/mpirun", &[], "2");
    assert!(said.errors.contains("cannot start `/nowhere/mpirun`"), "{}", said.errors);
    let said = netbench(&["--at-most", "0.2"], "sleep", &["100"], "2");
    assert!(said.errors.contains("sleep"), "{}", said.errors);
}
