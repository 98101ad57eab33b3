//! The folder in which malleable programs say how they are and are told what is wished of them.
//!
//! # Not here
//! The other side (`malleable`), and the words of the files (`resized`).

use crate::files;
use anyhow::Context;
use resized::{JobStatus, Wish};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// A status has some hundred bytes, and a few for each companion.
const STATUS_BYTES_MAX: u64 = 1 << 20;

/// The folder.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    folder: PathBuf,
}

/// What is said of a job.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) status: JobStatus,
    /// True where the program is certainly gone.
    pub(crate) is_stale: bool,
}

impl Control {
    /// This one, or the user's own.
    pub(crate) fn of(folder: Option<&Path>) -> anyhow::Result<Self> {
        let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".sintonia/jobs"));
        let folder = folder.map(Path::to_owned).or_else(home);
        Ok(Self { folder: folder.context("`HOME` is not set; name a folder by `--control DIR`")? })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// All jobs, by name. Files that are no status are passed over.
    pub(crate) fn jobs(&self) -> Vec<Found> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let statuses = paths.filter(|path| path.extension().is_some_and(|ending| ending == "json"));
        let mut jobs: Vec<Found> = statuses.filter_map(|path| read(&path)).collect();
        jobs.sort_by(|some, other| some.status.job.cmp(&other.status.job));
        jobs
    }

    /// One job.
    pub(crate) fn job(&self, name: &str) -> Option<Found> {
        read(&self.file(name, "json"))
    }

    /// What a job's program left when it was killed is removed.
    pub(crate) fn forget(&self, name: &str) {
        for ending in ["json", "wish"] {
            fs::remove_file(self.file(name, ending)).ok();
        }
    }

    /// True where a wish has not been taken yet.
    pub(crate) fn has_wish(&self, name: &str) -> bool {
        self.file(name, "wish").exists()
    }

    /// Takes a wish back that nobody took.
    pub(crate) fn take_back(&self, name: &str, wish: &Wish) {
        let path = self.file(name, "wish");
        let ours = files::read(&path, files::WRITTEN_BYTES_MAX)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Wish>(&bytes).ok());
        if ours.is_some_and(|found| found.id == wish.id) {
            fs::remove_file(path).ok();
        }
    }

    /// Tells a program's wish; it appears when it is whole.
    pub(crate) fn wish(&self, name: &str, wish: &Wish) -> anyhow::Result<()> {
        let path = self.file(name, "wish");
        let partial = self.file(name, &format!("wish.{}", wish.id));
        let said = || format!("no wish can be written into `{}`", self.folder.display());
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)
            .with_context(said)?;
        let found = fs::metadata(&self.folder).with_context(said)?;
        // Links in somebody else's folder could lead what we write there to files of ours.
        let is_ours = own_folder::is_ours_alone(&found);
        anyhow::ensure!(is_ours, "`{}` is not ours alone; name another", self.folder.display());
        fs::write(&partial, serde_json::to_vec(wish)?).with_context(said)?;
        fs::rename(&partial, &path).with_context(said)
    }

    fn file(&self, name: &str, ending: &str) -> PathBuf {
        self.folder.join(format!("{name}.{ending}"))
    }
}

fn read(path: &Path) -> Option<Found> {
    let status: JobStatus =
        serde_json::from_slice(&files::read(path, STATUS_BYTES_MAX).ok()?).ok()?;
    // Its name says which files are removed when the program is gone.
    if path.file_stem() != Some(OsStr::new(&status.job)) {
        return None;
    }
    // Of other hosts nothing is known from here.
    let is_stale =
        status.host == host() && !Path::new("/proc").join(status.pid.to_string()).exists();
    Some(Found { status, is_stale })
}

fn host() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

/// A number that no other wish has.
pub(crate) fn wish_id() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_micros()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name in a status, not that of its file, said which files of a dead program are removed: one that was damaged, or
    /// copied, named those of another job, or files outside of the folder.
    #[test]
    fn a_status_speaks_for_its_own_file_only() {
        let folder = tempfile::tempdir().unwrap();
        let control = Control::of(Some(folder.path())).unwrap();
        let status = |job: &str| JobStatus { job: job.to_owned(), ..JobStatus::default() };
        for (file, job) in [("a", "a"), ("b", "../b"), ("c", "a")] {
            let text = serde_json::to_vec(&status(job)).unwrap();
            fs::write(folder.path().join(format!("{file}.json")), text).unwrap();
        }
        let names = control.jobs().into_iter().map(|job| job.status.job).collect::<Vec<_>>();
        assert_eq!(names, ["a"]);
        assert!(control.job("b").is_none());
    }

    /// Whatever a fault makes of a status, it is read as one of this job or passed over.
    #[test]
    fn a_damaged_status_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let control = Control::of(Some(folder.path())).unwrap();
        let text = serde_json::to_vec(&JobStatus { job: "a".into(), ..JobStatus::default() });
        let (whole, file) = (text.unwrap(), folder.path().join("a.json"));
        for at in 0..whole.len() {
            fs::write(&file, &whole[..at]).unwrap();
            assert!(control.job("a").is_none(), "cut at {at}");
            for bit in 0..8 {
                let mut damaged = whole.clone();
                damaged[at] ^= 1 << bit;
                fs::write(&file, damaged).unwrap();
                assert!(control.job("a").is_none_or(|found| found.status.job == "a"));
            }
        }
    }
}
