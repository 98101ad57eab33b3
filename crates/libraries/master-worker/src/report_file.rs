//! Writes the report of the run to files: for `--record`, for `sintonia run` and for `sintonia attach`.

use crate::tuning_points;
use dealing_report::DealingReport;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Variable with the folder of the record, set by `sintonia run`.
const RECORD: &str = "SINTONIA_OUT";
const FILE: &str = "dealt.json";
/// Subfolder that exists as long as a tool writes the record.
const OPEN: &str = "spool";

/// Time between writes while the program runs, in seconds.
const EVERY_S: f64 = 1.0;

/// Error from writing the report.
#[derive(Debug, thiserror::Error)]
#[error("the report `{path}` cannot be written; choose another place with `--record FILE`")]
pub struct ReportFileError {
    /// Path of the file.
    path: PathBuf,
    /// Cause.
    source: io::Error,
}

/// Writer of the report: now and then, since tools that watch may leave at any time and the program may be killed,
/// and at the end.
#[derive(Debug)]
pub(crate) struct ReportWriter {
    /// Record of the `sintonia run` that started the program.
    started_by: Option<PathBuf>,
    written_s: f64,
}

impl ReportWriter {
    pub(crate) fn new() -> Self {
        let started_by = std::env::var_os(RECORD).map(PathBuf::from).filter(|it| is_open(it));
        // A tool that attached later may leave soon, so it gets the first report at once.
        let written_s = if started_by.is_some() { 0.0 } else { f64::NEG_INFINITY };
        Self { started_by, written_s }
    }

    /// Writes the report into the watching tool's record, when it is due.
    pub(crate) fn write_when_due(&mut self, dealt: &DealingReport, now_s: f64) {
        if EVERY_S <= now_s - self.written_s && self.write_for_watchers(dealt) {
            self.written_s = now_s;
        }
    }

    /// Writes the final report into that record, and into the file of `--record`.
    pub(crate) fn finish(
        &self,
        dealt: &DealingReport,
        asked_for: Option<&Path>,
    ) -> Result<(), ReportFileError> {
        self.write_for_watchers(dealt);
        let Some(path) = asked_for else { return Ok(()) };
        replace(dealt, path).map_err(|source| ReportFileError { path: path.to_owned(), source })
    }

    /// Writes the report for a watching tool; returns whether there is one. Failures are ignored, as the tool
    /// observes the rest without it.
    fn write_for_watchers(&self, dealt: &DealingReport) -> bool {
        let asked = tuning_points::asked_for_report().filter(|folder| {
            let is_open = is_open(folder);
            if !is_open {
                tuning_points::forget_report();
            }
            is_open
        });
        let folder = asked.as_ref().or(self.started_by.as_ref()).filter(|it| is_open(it));
        if let Some(folder) = folder {
            let _written = replace(dealt, &folder.join(FILE));
        }
        folder.is_some()
    }
}

/// Returns whether a tool still writes this record.
fn is_open(record: &Path) -> bool {
    record.join(OPEN).is_dir()
}

/// Replaces the file as a whole or not at all.
fn replace(dealt: &DealingReport, path: &Path) -> io::Result<()> {
    let text = checked_json::seal(&serde_json::to_string(dealt)?);
    let (mut file, draft) = files::open_output(path)?;
    file.write_all(text.as_bytes())?;
    draft.map_or(Ok(()), files::Draft::publish)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finishes a run that no tool watches.
    fn finish(dealt: &DealingReport, path: &Path) -> Result<(), ReportFileError> {
        ReportWriter { started_by: None, written_s: 0.0 }.finish(dealt, Some(path))
    }

    #[test]
    fn a_report_is_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        for policy in ["gss", "best"] {
            finish(&DealingReport::new(policy), &path).unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            assert_eq!(serde_json::from_str::<DealingReport>(&text).unwrap().policy, policy);
        }
        assert_eq!(folder.path().read_dir().unwrap().count(), 1);
    }

    #[test]
    fn a_folder_that_is_not_there_is_told() {
        let error = finish(&DealingReport::new("best"), "/nowhere/at.json".as_ref()).unwrap_err();
        assert!(error.to_string().contains("`/nowhere/at.json`"));
    }

    #[test]
    fn who_watches_is_told_now_and_then_as_long_as_the_record_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let told = folder.path().join(FILE);
        let started_by = Some(folder.path().to_owned());
        let mut writer = ReportWriter { started_by, written_s: 0.0 };
        let mut tells = |now_s| {
            writer.write_when_due(&DealingReport::new("best"), now_s);
            std::fs::remove_file(&told).is_ok()
        };
        assert!(!tells(5.0));
        std::fs::create_dir(folder.path().join(OPEN)).unwrap();
        assert_eq!([5.0, 5.5, 6.1].map(&mut tells), [true, false, true]);
    }
}
