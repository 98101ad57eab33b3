//! Compares what programs expect to be observed of them, summed over their ranks, with what was observed.

use run_record::Summary;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Calls and bytes by operation, summed over all ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected(BTreeMap<String, OperationCounts>);

/// Calls and bytes of one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationCounts {
    /// Calls.
    pub calls: u64,
    /// Bytes moved.
    pub bytes: u64,
}

#[derive(Deserialize)]
struct Line {
    operation: String,
    calls: u64,
    bytes: u64,
}

impl Expected {
    /// Sums the files `expected-*.jsonl` that ranks wrote to `folder`.
    #[track_caller]
    pub fn read(folder: &Path) -> Self {
        let mut sum = Self::default();
        for entry in std::fs::read_dir(folder).expect("the folder was made by the test").flatten() {
            if entry.file_name().to_string_lossy().starts_with("expected-") {
                let text = std::fs::read_to_string(entry.path()).expect("a rank wrote it");
                text.lines()
                    .for_each(|line| sum.add(serde_json::from_str(line).expect("a line of JSON")));
            }
        }
        assert!(!sum.0.is_empty(), "no rank wrote what it expects to `{}`", folder.display());
        sum
    }

    /// Names of the operations that are called.
    pub fn operations(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Panics with a line for every operation that was not observed as expected.
    #[track_caller]
    pub fn check(&self, summary: &Summary) {
        let seen: BTreeMap<String, OperationCounts> = summary
            .operations
            .iter()
            .map(|(name, totals)| {
                (name.clone(), OperationCounts { calls: totals.calls, bytes: totals.bytes })
            })
            .collect();
        let mut names: Vec<&String> = self.0.keys().chain(seen.keys()).collect();
        names.sort();
        names.dedup();
        let wrong: Vec<String> = names
            .into_iter()
            .filter(|name| self.0.get(*name) != seen.get(*name))
            .map(|name| {
                format!("{name}: expected {:?}, seen {:?}", self.0.get(name), seen.get(name))
            })
            .collect();
        assert!(wrong.is_empty(), "operations were seen otherwise:\n{}", wrong.join("\n"));
    }

    fn add(&mut self, line: Line) {
        let counts = self.0.entry(line.operation).or_default();
        counts.calls += line.calls;
        counts.bytes += line.bytes;
    }
}
