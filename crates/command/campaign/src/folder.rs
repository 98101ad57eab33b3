//! Folder of an experiment: its journal, and files of measurements that are valid up to the length in the journal.

use super::picture::picture;
use anyhow::{Context, bail};
use experiment::journal::{CompletedRun, Journal};
use experiment::regions::TOTAL;
use experiment::{Measurement, Plan};
use files::{Lock, LockError};
use serde_json::{Map, Value, json};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use user_io::bounded_read;
use user_io::exit::NotWritten;
use user_io::print::json_number;

const JOURNAL: &str = "experiment.json";
/// File of measurements that are fitted.
pub(super) const MEASURED: &str = "measurements.jsonl";
/// File of measurements that predictions are compared with.
pub(super) const HOLDOUT: &str = "holdout.jsonl";
/// Picture of the runs so far.
const PROGRESS: &str = "progress.svg";
const RUNS: &str = "runs";
/// Prefix of the name of the run in progress.
const NOW: &str = "now-";
const LOCK: &str = "lock";

/// Folder of an experiment in progress.
pub(super) struct Folder {
    pub(super) dir: PathBuf,
    pub(super) journal: Journal,
    /// Keeps other processes out while the folder is open.
    _lock: Option<Lock>,
}

impl Folder {
    /// Reads the journal of an earlier experiment with this plan; `None` if there was none.
    pub(super) fn look(dir: &Path, plan: &Plan) -> anyhow::Result<Option<Journal>> {
        let path = dir.join(JOURNAL);
        let text = match bounded_read::read_text(&path, bounded_read::MEASURED_BYTES_MAX) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("`{}`", path.display())),
        };
        let damaged = || {
            format!(
                "`{}` is damaged; `sintonia fit {}` still reads what was measured; name another folder with `-o`, or begin \
                 anew with `--fresh`, which deletes it",
                path.display(),
                dir.join(MEASURED).display()
            )
        };
        let mut journal: Journal = serde_json::from_str(&text).with_context(damaged)?;
        journal.resume(plan).with_context(|| format!("`{}`", dir.display()))?;
        Ok(Some(journal))
    }

    /// Opens or makes the folder; removes the files of runs that were not finished.
    pub(super) fn open(dir: &Path, plan: &Plan, fresh: bool) -> anyhow::Result<Self> {
        let dir = std::path::absolute(dir)?;
        let name = format!("`{}`", dir.display());
        check_ours(&dir)?;
        fs::create_dir_all(&dir).context(NotWritten).context(name.clone())?;
        let lock = lock(&dir)?;
        if fresh {
            remove(&dir).context(NotWritten).context(name.clone())?;
        }
        let journal = Self::look(&dir, plan)?.unwrap_or_else(|| Journal::new(plan.clone()));
        let folder = Self { dir, journal, _lock: lock };
        for file in [MEASURED, HOLDOUT] {
            folder.cut(file).context(NotWritten).context(name.clone())?;
        }
        for entry in fs::read_dir(folder.dir.join(RUNS)).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(NOW) {
                fs::remove_dir_all(entry.path()).ok();
            }
        }
        folder.save()?;
        Ok(folder)
    }

    /// Folder of the run in progress: its record, script and output.
    ///
    /// Named after this process: what a killed experiment left behind may still be writing.
    pub(super) fn of_now(&self) -> PathBuf {
        self.dir.join(RUNS).join(format!("{NOW}{}", std::process::id()))
    }

    /// Gives the folder of the run that ended a name, or removes it.
    pub(super) fn put_away(&self, name: Option<&str>) {
        let now = self.of_now();
        let kept = name.is_some_and(|name| {
            let named = self.dir.join(RUNS).join(name);
            fs::remove_dir_all(&named).ok();
            fs::rename(&now, &named).is_ok()
        });
        if !kept {
            fs::remove_dir_all(&now).ok();
        }
    }

    /// Removes the folder of all runs if it is empty.
    pub(super) fn tidy(&self) {
        // Fails when it is not empty.
        fs::remove_dir(self.dir.join(RUNS)).ok();
    }

    /// Adds the measurements of a run: completely, or not at all.
    pub(super) fn add(
        &mut self,
        done: CompletedRun,
        measured: &[Measurement],
    ) -> anyhow::Result<()> {
        let name = if done.is_holdout { HOLDOUT } else { MEASURED };
        let text: String = measured.iter().map(|one| line(&done, one)).collect();
        let path = self.dir.join(name);
        let written =
            OpenOptions::new().append(true).create(true).open(&path).and_then(|mut file| {
                file.write_all(text.as_bytes())?;
                file.sync_data()
            });
        if let Err(error) = written {
            self.cut(name).ok();
            return Err(error).context(NotWritten).with_context(|| format!("`{}`", path.display()));
        }
        *self.journal.valid_bytes.entry(name.to_owned()).or_default() += text.len() as u64;
        self.journal.add(done);
        self.save()
    }

    /// Draws the runs so far, of `n_runs`; without the picture, nothing is lost.
    pub(super) fn draw(&self, n_runs: usize) {
        fs::write(self.dir.join(PROGRESS), picture(&self.journal.runs, n_runs)).ok();
    }

    /// Writes the journal; its file is complete at any time.
    pub(super) fn save(&self) -> anyhow::Result<()> {
        let path = self.dir.join(JOURNAL);
        let text = format!("{:#}\n", serde_json::to_value(&self.journal)?);
        let written = files::replace_durably(&path, text.as_bytes());
        written.context(NotWritten).with_context(|| format!("`{}`", path.display()))
    }

    /// Truncates a file to its valid length; an error unless that is the end of a line, as it always should be.
    fn cut(&self, name: &str) -> io::Result<()> {
        let n_bytes = self.journal.valid_bytes.get(name).copied().unwrap_or(0);
        match OpenOptions::new().read(true).write(true).open(self.dir.join(name)) {
            Ok(file) if file.metadata()?.len() < n_bytes => Err(io::Error::other(format!(
                "`{name}` is shorter than it was; start over with `--fresh`"
            ))),
            Ok(file) if !ends_line(&file, n_bytes)? => Err(io::Error::other(format!(
                "`{JOURNAL}` is damaged: its length for `{name}` ends within a line, so the file is left unchanged; start over with `--fresh`"
            ))),
            Ok(file) => file.set_len(n_bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound && n_bytes == 0 => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Returns whether a line ends after this number of bytes.
fn ends_line(file: &File, n_bytes: u64) -> io::Result<bool> {
    let Some(last) = n_bytes.checked_sub(1) else { return Ok(true) };
    let mut byte = [0];
    file.read_exact_at(&mut byte, last)?;
    Ok(byte == *b"\n")
}

/// Line in the format that Extra-P reads.
fn line(done: &CompletedRun, measured: &Measurement) -> String {
    let params = done.params.iter().map(|(name, value)| (name.clone(), json_number(*value)));
    let params: Map<String, Value> = params.collect();
    let Measurement { callpath, metric, value, samples } = measured;
    let mut line =
        json!({ "params": params, "callpath": callpath, "metric": metric, "value": value });
    if callpath == TOTAL && *metric == "time" && 0 < done.placement.ranks {
        line["placement"] = json!(done.placement);
    }
    if let Some(samples) = samples {
        line["samples"] = json!(samples);
    }
    format!("{line}\n")
}

/// Checks that the folder is empty or that of an experiment.
fn check_ours(dir: &Path) -> anyhow::Result<()> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut foreign = entries.filter(|entry| entry.file_name() != LOCK);
    if foreign.next().is_some() && !dir.join(JOURNAL).exists() {
        bail!(
            "`{}` is not empty and holds no experiment; name another folder with `-o`",
            dir.display()
        );
    }
    Ok(())
}

fn lock(dir: &Path) -> anyhow::Result<Option<Lock>> {
    let (path, by) = (dir.join(LOCK), format!("process {}", std::process::id()));
    match Lock::take(&path, &by, Duration::ZERO) {
        Ok(lock) => Ok(Some(lock)),
        Err(LockError::Held { by }) => {
            let dir = dir.display();
            bail!("another `sintonia experiment` ({by}) works in `{dir}`; wait for its end")
        }
        // Some network file systems have no locks; then users must not start two experiments in a folder.
        Err(LockError::Unsupported(_)) => Ok(None),
        Err(LockError::File(error)) => {
            Err(error).context(NotWritten).with_context(|| format!("`{}`", path.display()))
        }
    }
}

/// Removes the files of an experiment, and nothing else.
fn remove(dir: &Path) -> io::Result<()> {
    let gone = |removed: io::Result<()>| match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    for name in [MEASURED, HOLDOUT, JOURNAL, PROGRESS] {
        gone(fs::remove_file(dir.join(name)))?;
    }
    gone(fs::remove_dir_all(dir.join(RUNS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = include_str!("../tests/samples/experiment-v1/plan.toml");
    const WRITTEN: &str = include_str!("../tests/samples/experiment-v1/experiment.json");

    fn look(text: &[u8]) -> anyhow::Result<Option<Journal>> {
        let dir = tempfile::tempdir().expect("a folder");
        fs::write(dir.path().join(JOURNAL), text).expect("the folder is ours");
        Folder::look(dir.path(), &Plan::read(PLAN).expect("a plan"))
    }

    #[test]
    fn the_journal_of_version_1_is_read() {
        let journal = look(WRITTEN.as_bytes()).unwrap().expect("there is one");
        assert_eq!((journal.runs.len(), journal.format_version), (10, 1));
        assert_eq!(journal.valid_bytes[MEASURED], 13_583);
    }

    #[test]
    fn a_journal_that_was_cut_off_is_damaged() {
        for end in (0..WRITTEN.len() - 2).step_by(97) {
            let said = look(&WRITTEN.as_bytes()[..end]).unwrap_err().to_string();
            assert!(said.contains("is damaged; `sintonia fit "), "{end}: {said}");
        }
    }

    /// A flipped bit in the number of valid bytes cut off measurements.
    #[test]
    fn a_journal_with_a_flipped_bit_cuts_nothing_off_within_a_line() {
        let measured = include_str!("../tests/samples/experiment-v1/measurements.jsonl");
        let dir = tempfile::tempdir().expect("a folder");
        fs::write(dir.path().join(MEASURED), measured).expect("the folder is ours");
        let lock = lock(dir.path()).unwrap();
        let journal = Journal::new(Plan::read(PLAN).expect("a plan"));
        let mut folder = Folder { dir: dir.path().to_owned(), journal, _lock: lock };
        for bit in 0..14 {
            let n_bytes = 13_583_u64 ^ (1 << bit);
            folder.journal.valid_bytes.insert(MEASURED.to_owned(), n_bytes);
            assert!(folder.cut(MEASURED).is_err(), "{n_bytes}");
        }
        let now = fs::read_to_string(dir.path().join(MEASURED)).expect("it is there");
        assert_eq!(now, measured);
        folder.journal.valid_bytes.insert(MEASURED.to_owned(), 13_583);
        folder.cut(MEASURED).unwrap();
    }

    #[test]
    fn a_flipped_bit_anywhere_makes_nothing_fail() {
        for at in (0..WRITTEN.len()).step_by(13) {
            let mut bytes = WRITTEN.as_bytes().to_vec();
            bytes[at] ^= 1 << (at % 7);
            if let Ok(Some(journal)) = look(&bytes) {
                assert!(journal.runs.len() <= 10, "{at}");
            }
        }
    }
}
