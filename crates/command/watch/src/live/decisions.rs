//! Reads from the record's `tuning.jsonl` what tuning did since the last look, for users who watch.

use run_record::TuningLine;
use run_record::tuning::TuningEvent;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

/// Most bytes read at one time; the rest is read the next time.
const N_BYTES_MAX: u64 = 1 << 18;
/// Number of decisions whose points are remembered.
const N_DECISIONS_MAX: usize = 1000;

/// Follows the end of `tuning.jsonl` while it grows.
#[derive(Debug, Default)]
pub(super) struct Decisions {
    path: PathBuf,
    offset: u64,
    /// Time of the last iteration, in s.
    iteration_s: Option<f64>,
    /// Newest of the lines.
    newest: Option<String>,
    changes: BTreeMap<u64, String>,
}

impl Decisions {
    pub(super) fn of(path: PathBuf) -> Self {
        Self { path, ..Self::default() }
    }

    /// New lines: one for each decision, and one for each that was not kept.
    pub(super) fn news(&mut self) -> Vec<String> {
        let text = self.read().unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        self.offset += whole.len() as u64;
        let lines = whole.lines().filter_map(|line| serde_json::from_str(line).ok());
        let news: Vec<String> = lines.filter_map(|line: TuningLine| self.say(line.what)).collect();
        self.newest = news.last().cloned().or(self.newest.take());
        news
    }

    /// Suffix for the state of a run: the time of its iterations, and the newest decision.
    pub(super) fn in_short(&self) -> String {
        let newest = self.newest.as_ref().map(|line| format!(", {line}"));
        format!("{}{}", self.iteration(), newest.unwrap_or_default())
    }

    /// Suffix with the time of iterations.
    pub(super) fn iteration(&self) -> String {
        let text = self.iteration_s.map(|time_s| format!(", iteration {:.1} ms", time_s * 1e3));
        text.unwrap_or_default()
    }

    fn read(&self) -> std::io::Result<String> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.offset))?;
        let mut bytes = Vec::new();
        file.take(N_BYTES_MAX).read_to_end(&mut bytes)?;
        // Lines are ASCII except for names; a letter that is cut is in a line that is not complete yet.
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn say(&mut self, what: TuningEvent) -> Option<String> {
        let of = |changes: &BTreeMap<u64, String>, decision| {
            changes.get(&decision).cloned().unwrap_or_else(|| format!("decision {decision}"))
        };
        match what {
            TuningEvent::Iteration { duration_s, .. } => {
                self.iteration_s = Some(duration_s);
                None
            }
            TuningEvent::Decision { decision, tunlet, point, old, new, reason } => {
                let old = old.map(|old| format!("{old} ")).unwrap_or_default();
                let change = format!("{tunlet}: {point} {old}-> {new}");
                if N_DECISIONS_MAX <= self.changes.len() {
                    self.changes.pop_first();
                }
                self.changes.insert(decision, change.clone());
                Some(format!("{change} because {reason}"))
            }
            TuningEvent::Declined { decision, reason } => {
                Some(format!("{} is declined: {reason}", of(&self.changes, decision)))
            }
            TuningEvent::Undone { decision, reason } => {
                Some(format!("{} is taken back: {reason}", of(&self.changes, decision)))
            }
            TuningEvent::Lost { decision, reason } => {
                Some(format!("{} is lost: {reason}", of(&self.changes, decision)))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn whole_lines_are_said_once() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut decisions = Decisions::of(file.path().to_owned());
        assert_eq!(decisions.news(), [""; 0]);
        let decision = r#"{"t_s":1.0,"kind":"decision","decision":1,"tunlet":"factoring","point":"F0","old":1.0,"new":0.5,"reason":"sigma rose"}"#;
        let iteration = r#"{"t_s":1.0,"kind":"iteration","number":0,"duration_s":0.25,"work":1.0}"#;
        let undone = r#"{"t_s":2.0,"kind":"undone","decision":1,"reason":"slower"}"#;
        write!(file, "{iteration}\n{decision}\n{}", &undone[..9]).unwrap();
        let first = "factoring: F0 1 -> 0.5 because sigma rose";
        assert_eq!(decisions.news(), [first]);
        assert_eq!(decisions.news(), [""; 0]);
        writeln!(file, "{}", &undone[9..]).unwrap();
        assert_eq!(decisions.news(), ["factoring: F0 1 -> 0.5 is taken back: slower"]);
        let short = ", iteration 250.0 ms, factoring: F0 1 -> 0.5 is taken back: slower";
        assert_eq!(decisions.in_short(), short);
    }
}
