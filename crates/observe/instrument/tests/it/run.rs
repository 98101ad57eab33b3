//! Builds a program, and runs it with and without the agent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// Compiled program.
pub(crate) struct Program {
    folder: TempDir,
}

/// Report of a run with probes.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) output: String,
    pub(crate) text: String,
    /// Entries, exits, tail exits and exits by exception of each function.
    pub(crate) counts: BTreeMap<String, [u64; 4]>,
}

impl Program {
    /// Builds sources of `tests/programs` with the compiler of the first one.
    #[track_caller]
    pub(crate) fn build(sources: &[&str], flags: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let compiler = match Path::new(sources[0]).extension().and_then(|end| end.to_str()) {
            Some("f90") => "gfortran",
            Some("cc") => "g++",
            _ => "gcc",
        };
        let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
        let output = Command::new(compiler)
            .args(["-pthread", "-fopenmp"])
            .args(flags.split_whitespace())
            .args(sources.iter().map(|source| place.join(source)))
            .arg("-o")
            .arg(folder.path().join("program"))
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self { folder }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("program")
    }

    /// Returns the program's output without probes.
    #[track_caller]
    pub(crate) fn plain(&self) -> String {
        printed(&Command::new(self.path()).current_dir(self.folder.path()).output().unwrap())
    }

    /// Runs the program with the agent and these orders, and asserts that no record is dropped.
    #[track_caller]
    pub(crate) fn probed(&self, orders: &str) -> Report {
        let report = self.interrupted(orders);
        assert!(report.text.contains("dropped 0\n"), "{}", report.text);
        report
    }

    /// The same, where signal handlers may interrupt a passage: the handlers' records are dropped.
    #[track_caller]
    pub(crate) fn interrupted(&self, orders: &str) -> Report {
        let path = self.folder.path().join("report");
        let output = Command::new(self.path())
            .env("LD_PRELOAD", launch::example("libagent.so"))
            .env("AGENT_PROGRAM", "program")
            .env("AGENT_REPORT", &path)
            .env("AGENT", orders)
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        let output = printed(&output);
        let text = std::fs::read_to_string(path).unwrap();
        let counts = text.lines().filter_map(count).collect();
        Report { output, text, counts }
    }
}

impl Report {
    /// Returns the lines about a function that begin with `what`, without both words.
    pub(crate) fn lines<'a>(&'a self, what: &str, function: &str) -> Vec<&'a str> {
        let start = format!("{what} {function} ");
        self.text.lines().filter_map(|line| line.strip_prefix(&start)).collect()
    }
}

fn count(line: &str) -> Option<(String, [u64; 4])> {
    let mut words = line.strip_prefix("count ")?.split_whitespace();
    let name = words.next()?.to_owned();
    let numbers: Vec<u64> = words.map(|word| word.parse().unwrap()).collect();
    Some((name, numbers.try_into().unwrap()))
}

#[track_caller]
fn printed(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    String::from_utf8(output.stdout.clone()).unwrap()
}
