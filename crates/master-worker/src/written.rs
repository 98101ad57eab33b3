//! What became of the work, as a file: for those who asked for it with `--report`, for `sintonia run`, and for
//! `sintonia attach`.

use dealt::Dealt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The folder of the record where `sintonia run` watches.
const RECORD: &str = "SINTONIA_OUT";
const FILE: &str = "dealt.json";
/// In the folder of a record as long as somebody watches.
const OPEN: &str = "spool";

/// Time between what is written while the program runs.
const EVERY_S: f64 = 1.0;

/// The report could not be written.
#[derive(Debug, thiserror::Error)]
#[error("the report `{path}` cannot be written; choose another place with `--report FILE`")]
pub struct ReportFileError {
    /// The file.
    path: PathBuf,
    /// Why not.
    source: io::Error,
}

/// Tells what became of the work: now and then, since those who watch may leave at any time and the program may be
/// killed, and in the end.
#[derive(Debug)]
pub(crate) struct Teller {
    /// The record of the run that started the program.
    started_by: Option<PathBuf>,
    told_s: f64,
}

impl Teller {
    pub(crate) fn new() -> Self {
        let started_by = std::env::var_os(RECORD).map(PathBuf::from).filter(|it| is_open(it));
        // Whoever came later may not stay for long.
        let told_s = if started_by.is_some() { 0.0 } else { f64::NEG_INFINITY };
        Self { started_by, told_s }
    }

    /// Writes it into the record of whoever watches, when it is time.
    pub(crate) fn tell(&mut self, dealt: &Dealt, now_s: f64) {
        if EVERY_S <= now_s - self.told_s && self.tell_watchers(dealt) {
            self.told_s = now_s;
        }
    }

    /// The same in the end, and where it was asked for.
    pub(crate) fn finish(
        &self,
        dealt: &Dealt,
        asked_for: Option<&Path>,
    ) -> Result<(), ReportFileError> {
        self.tell_watchers(dealt);
        let Some(path) = asked_for else { return Ok(()) };
        replace(dealt, path).map_err(|source| ReportFileError { path: path.to_owned(), source })
    }

    /// Whether anybody watches. They see the rest without it, so that failures are nothing.
    fn tell_watchers(&self, dealt: &Dealt) -> bool {
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

/// Whether it is a record that somebody still writes.
fn is_open(record: &Path) -> bool {
    record.join(OPEN).is_dir()
}

/// Writes a whole file or none. What is no file, such as `/dev/null`, stays what it is.
fn replace(dealt: &Dealt, path: &Path) -> io::Result<()> {
    let text = sealed::seal(&serde_json::to_string(dealt)?);
    let is_other = fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
    if is_other {
        return File::options().write(true).open(path)?.write_all(text.as_bytes());
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    File::create(&beside)?.write_all(text.as_bytes())?;
    fs::rename(beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run that is not watched.
    fn finish(dealt: &Dealt, path: &Path) -> Result<(), ReportFileError> {
        Teller { started_by: None, told_s: 0.0 }.finish(dealt, Some(path))
    }

    #[test]
    fn a_report_is_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        for policy in ["gss", "best"] {
            finish(&Dealt::new(policy), &path).unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            assert_eq!(serde_json::from_str::<Dealt>(&text).unwrap().policy, policy);
        }
        assert_eq!(folder.path().read_dir().unwrap().count(), 1);
    }

    /// `--report /dev/null` of root made a file of the device.
    #[test]
    fn what_is_no_file_is_written_into_and_stays() {
        use std::os::unix::fs::FileTypeExt;
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let from = pipe.clone();
        let reader = std::thread::spawn(move || fs::read_to_string(from).unwrap());
        finish(&Dealt::new("best"), &pipe).unwrap();
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
        assert!(reader.join().unwrap().contains("best"));
    }

    #[test]
    fn a_folder_that_is_not_there_is_told() {
        let error = finish(&Dealt::new("best"), "/nowhere/at.json".as_ref()).unwrap_err();
        assert!(error.to_string().contains("`/nowhere/at.json`"));
    }

    #[test]
    fn who_watches_is_told_now_and_then_as_long_as_the_record_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let told = folder.path().join(FILE);
        let started_by = Some(folder.path().to_owned());
        let mut teller = Teller { started_by, told_s: 0.0 };
        let mut tells = |now_s| {
            teller.tell(&Dealt::new("best"), now_s);
            std::fs::remove_file(&told).is_ok()
        };
        assert!(!tells(5.0));
        std::fs::create_dir(folder.path().join(OPEN)).unwrap();
        assert_eq!([5.0, 5.5, 6.1].map(&mut tells), [true, false, true]);
    }
}
