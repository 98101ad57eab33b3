//! Record of resizes: a line of JSON for each, in the requested folder and where `sintonia run` watches, and one on
//! standard error.

use resize_api::{Resize, ResizeOutcome};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Variable with the folder of the record, set by `sintonia run`.
const WATCHED: &str = "SINTONIA_OUT";
/// Number of sizes that a summary names.
const N_TOLD_MAX: usize = 6;
/// Subfolder that exists as long as a tool writes the record.
const OPEN: &str = "spool";
/// Name of the file in either folder.
const FILE: &str = "resizes.jsonl";

/// Largest number of resizes kept in memory; the file has all.
const N_KEPT_MAX: usize = 1000;

/// Error from opening the record.
#[derive(Debug, thiserror::Error)]
#[error("the record `{}` cannot be written; choose another folder with `--record`", path.display())]
pub struct RecordError {
    path: PathBuf,
    source: io::Error,
}

/// Reason of a resize that the program proposed itself.
pub(crate) const BY_MODEL: &str = "model";

/// Record of resizes.
#[derive(Debug, Default)]
pub(crate) struct Record {
    files: Vec<File>,
    is_explaining: bool,
    /// Latest resizes.
    pub(crate) resizes: Vec<Resize>,
}

impl Record {
    /// Opens the record in `folder`, if there is to be one, to append to it.
    pub(crate) fn open(folder: Option<&Path>, is_explaining: bool) -> Result<Self, RecordError> {
        let mut files: Vec<File> = folder.map(open).transpose()?.into_iter().collect();
        // A tool that watches sees the rest without it.
        files.extend(watched().and_then(|folder| open(&folder).ok()));
        Ok(Self { files, is_explaining, resizes: Vec::new() })
    }

    /// Summary for a program that may propose sizes by itself and has ended with `size`; `why_not` is why it kept it.
    /// `None` where all attempts have been explained, or nothing was done that nobody asked for.
    pub(crate) fn last_word(&self, size: u32, why_not: &str, is_asked: bool) -> Option<String> {
        let own = || self.resizes.iter().filter(|resize| resize.reason.starts_with(BY_MODEL));
        let done = own().filter(|resize| resize.outcome == ResizeOutcome::Done);
        let sizes = done.map(|resize| resize.to.to_string()).collect::<Vec<_>>();
        let refused = own().rfind(|resize| resize.outcome != ResizeOutcome::Done);
        let why = refused.filter(|_| sizes.is_empty()).map_or(why_not, |resize| &resize.sentence);
        match sizes.len() {
            0 if !is_asked && !self.is_explaining => None,
            0 => Some(format!("by `--model` the program kept {size} ranks: {why}")),
            _ if self.is_explaining => None,
            n => {
                let more = if N_TOLD_MAX < n { "…, " } else { "" };
                let sizes = sizes[n.saturating_sub(N_TOLD_MAX)..].join(", then ");
                let way = if is_asked { "" } else { ", and with `--model none` it keeps its size" };
                Some(format!(
                    "by `--model` the program became {more}{sizes} ranks: {why}; `--explain` says more{way}"
                ))
            }
        }
    }

    /// Records a resize. A full disk does not end the program: its resizes remain in memory.
    pub(crate) fn keep(&mut self, resize: Resize) {
        let line = checked_json::seal(&serde_json::to_string(&resize).unwrap_or_default()) + "\n";
        for file in &mut self.files {
            let _written = file.write_all(line.as_bytes());
        }
        if self.is_explaining {
            let _written = writeln!(io::stderr(), "{}", sentence(&resize));
        }
        if N_KEPT_MAX <= self.resizes.len() {
            self.resizes.drain(..N_KEPT_MAX / 2);
        }
        self.resizes.push(resize);
    }
}

/// Prints a line for the user; errors are ignored.
pub(crate) fn say(line: &str) {
    let _written = writeln!(io::stderr(), "sintonia: {line}");
}

/// Present time, in seconds since 1970.
pub(crate) fn now_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// Folder of the record of the run that started the program, if that run continues and the folder is visible from here.
fn watched() -> Option<PathBuf> {
    let folder = std::env::var_os(WATCHED).map(PathBuf::from)?;
    folder.join(OPEN).is_dir().then_some(folder)
}

fn open(folder: &Path) -> Result<File, RecordError> {
    let path = folder.join(FILE);
    let file = std::fs::create_dir_all(folder)
        .and_then(|()| OpenOptions::new().create(true).append(true).open(&path));
    file.map_err(|source| RecordError { path, source })
}

/// Formats a resize as one line.
fn sentence(resize: &Resize) -> String {
    let Resize { iteration, from, to, reason, seconds, .. } = resize;
    let why = resize.decision.as_ref().map(|decision| format!("; {}", decision.sentence));
    let why = why.unwrap_or_default();
    let told = &resize.sentence;
    match resize.outcome {
        ResizeOutcome::Done => format!(
            "iteration {iteration}: {told} ({reason}): started {:.3} s, joined {:.3} s, waited {:.3} s, of which \
             data {:.3} s; released {:.3} s{why}",
            seconds.spawn, seconds.connect, seconds.wait, seconds.variable, seconds.release
        ),
        _ => format!(
            "iteration {iteration}: {from} ranks did not become {to} ({reason}): {told}{why}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resizes_are_lines() {
        let folder = tempfile::tempdir().unwrap();
        for to in [2, 3] {
            let mut record = Record::open(Some(folder.path()), false).unwrap();
            record.keep(Resize { to, ..Resize::default() });
            assert_eq!(record.resizes.len(), 1);
        }
        let text = std::fs::read_to_string(folder.path().join(FILE)).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Resize>(line).unwrap());
        assert_eq!(lines.map(|resize| resize.to).collect::<Vec<_>>(), [2, 3]);
    }

    /// Regression: a program that never found a better size ended without a message.
    #[test]
    fn a_program_that_decides_by_itself_says_what_came_of_it() {
        let mut record = Record::open(None, false).unwrap();
        let word = |record: &Record| record.last_word(2, "no size is faster", true).unwrap();
        assert_eq!(record.last_word(2, "no size is faster", false), None);
        assert_eq!(word(&record), "by `--model` the program kept 2 ranks: no size is faster");
        let reason = BY_MODEL.to_owned();
        let refused = Resize { outcome: ResizeOutcome::Refused, reason, ..Resize::default() };
        record.keep(Resize { sentence: "no slots are free".to_owned(), ..refused.clone() });
        assert_eq!(word(&record), "by `--model` the program kept 2 ranks: no slots are free");
        record.keep(Resize { to: 4, outcome: ResizeOutcome::Done, ..refused.clone() });
        record.keep(Resize { to: 2, outcome: ResizeOutcome::Done, ..refused });
        assert_eq!(
            word(&record),
            "by `--model` the program became 4, then 2 ranks: no size is faster; `--explain` says more"
        );
        assert!(
            record
                .last_word(2, "", false)
                .unwrap()
                .ends_with("with `--model none` it keeps its size")
        );
        record.is_explaining = true;
        assert_eq!(record.last_word(2, "", true), None);
    }

    #[test]
    fn a_resize_is_explained() {
        let mut resize = Resize { iteration: 9, from: 4, to: 8, ..Resize::default() };
        resize.reason = "schedule".to_owned();
        resize.sentence = "4 ranks became 8".to_owned();
        assert!(
            sentence(&resize)
                .starts_with("iteration 9: 4 ranks became 8 (schedule): started 0.000 s")
        );
        resize.outcome = ResizeOutcome::Refused;
        resize.sentence = "no nodes".to_owned();
        assert_eq!(sentence(&resize), "iteration 9: 4 ranks did not become 8 (schedule): no nodes");
    }
}
