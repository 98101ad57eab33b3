//! Control folder: malleable programs write their status there and read requests for another size.
//!
//! # Not here
//! The program's side (`malleable`), and the format of the files (`resize-api`).

use anyhow::Context;
use files::{Draft, host_name, private};
use resize_api::{JobStatus, ResizeRequest};
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use user_io::bounded_read;

/// Largest status that is read, in bytes; it has some hundred, and a few for each companion job.
const STATUS_BYTES_MAX: u64 = 1 << 20;

/// Control folder of a user.
#[derive(Clone, Debug)]
pub(crate) struct UserControl {
    folder: PathBuf,
}

/// Status of a job, read from its file.
#[derive(Clone, Debug)]
pub(crate) struct StoredStatus {
    pub(crate) status: JobStatus,
    /// True if the program is certainly gone.
    pub(crate) is_stale: bool,
}

impl UserControl {
    /// Opens the named folder, or the default one in the user's home.
    pub(crate) fn of(folder: Option<&Path>) -> anyhow::Result<Self> {
        let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".sintonia/jobs"));
        let folder = folder.map(Path::to_owned).or_else(home);
        Ok(Self { folder: folder.context("`HOME` is not set; name a folder by `--control DIR`")? })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// All jobs, sorted by name. Files that hold no status are skipped.
    pub(crate) fn jobs(&self) -> Vec<StoredStatus> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let statuses = paths.filter(|path| path.extension().is_some_and(|ending| ending == "json"));
        let mut jobs: Vec<StoredStatus> = statuses.filter_map(|path| read(&path)).collect();
        jobs.sort_by(|some, other| some.status.job.cmp(&other.status.job));
        jobs
    }

    /// Job of this name.
    pub(crate) fn job(&self, name: &str) -> Option<StoredStatus> {
        read(&self.file(name, "json"))
    }

    /// Removes the files that a killed program left.
    pub(crate) fn remove_files(&self, name: &str) {
        for ending in ["json", "wish"] {
            fs::remove_file(self.file(name, ending)).ok();
        }
    }

    /// True if there is a request that the program has not taken yet.
    pub(crate) fn has_request(&self, name: &str) -> bool {
        self.file(name, "wish").exists()
    }

    /// Removes this request if the program has not taken it.
    pub(crate) fn take_back(&self, name: &str, request: &ResizeRequest) {
        let path = self.file(name, "wish");
        let ours = bounded_read::read(&path, bounded_read::WRITTEN_BYTES_MAX)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<ResizeRequest>(&bytes).ok());
        if ours.is_some_and(|found| found.id == request.id) {
            fs::remove_file(path).ok();
        }
    }

    /// Writes a request for a program; the file appears only when it is complete.
    pub(crate) fn request(&self, name: &str, request: &ResizeRequest) -> anyhow::Result<()> {
        let path = self.file(name, "wish");
        let draft = Draft::at(&path, self.file(name, &format!("wish.{}", request.id)));
        let folder = self.folder.display();
        let context =
            || format!("cannot write a request to `{folder}`; `--control` names another folder");
        // In a folder of another user, links could redirect what is written here to files of this user.
        private::make_folder(&self.folder).with_context(context)?;
        let mut file = draft.create(0o666).with_context(context)?;
        file.write_all(&serde_json::to_vec(request)?).with_context(context)?;
        draft.publish().with_context(context)
    }

    fn file(&self, name: &str, ending: &str) -> PathBuf {
        self.folder.join(format!("{name}.{ending}"))
    }
}

fn read(path: &Path) -> Option<StoredStatus> {
    let status: JobStatus =
        serde_json::from_slice(&bounded_read::read(path, STATUS_BYTES_MAX).ok()?).ok()?;
    // The job's name decides which files are removed once the program is gone.
    if path.file_stem() != Some(OsStr::new(&status.job)) {
        return None;
    }
    // A process of another host cannot be looked up from here.
    let is_stale =
        status.host == host_name() && !Path::new("/proc").join(status.pid.to_string()).exists();
    Some(StoredStatus { status, is_stale })
}

/// Number that no other request has: the time in us.
pub(crate) fn request_id() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_micros()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name in a status, not that of its file, decided which files of a dead program are removed: a damaged or
    /// copied status named those of another job, or files outside of the folder.
    #[test]
    fn a_status_speaks_for_its_own_file_only() {
        let folder = tempfile::tempdir().unwrap();
        let control = UserControl::of(Some(folder.path())).unwrap();
        let status = |job: &str| JobStatus { job: job.to_owned(), ..JobStatus::default() };
        for (file, job) in [("a", "a"), ("b", "../b"), ("c", "a")] {
            let text = serde_json::to_vec(&status(job)).unwrap();
            fs::write(folder.path().join(format!("{file}.json")), text).unwrap();
        }
        let names = control.jobs().into_iter().map(|job| job.status.job).collect::<Vec<_>>();
        assert_eq!(names, ["a"]);
        assert!(control.job("b").is_none());
    }

    /// However a status is damaged, it is read as one of this job or skipped.
    #[test]
    fn a_damaged_status_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let control = UserControl::of(Some(folder.path())).unwrap();
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
