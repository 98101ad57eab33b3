//! Runs jobs under `sintonia run` as a user would, and reads their records.

use launch::place::built;
use launch::{EndedJob, Job, StartedJob};
use run_record::Summary;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A job that ran under `sintonia run`.
#[derive(Debug)]
pub struct Watched {
    /// End of the job, and what it and `sintonia` printed.
    pub ended: EndedJob,
    /// Summary in the record.
    pub summary: Summary,
    /// Folder that holds the record in `record`; removed with this value.
    pub folder: TempDir,
}

impl Watched {
    /// Folder of the record.
    pub fn record(&self) -> PathBuf {
        self.folder.path().join("record")
    }
}

/// Runs `job` under `sintonia run`, and reads its record.
#[track_caller]
pub fn watch(job: &Job) -> Watched {
    watch_with(job, &[])
}

/// As [`watch`], with options of `sintonia run`.
#[track_caller]
pub fn watch_with(job: &Job, options: &[&str]) -> Watched {
    let folders = WatchFolders::new();
    let ended = folders.job(job, options).run();
    folders.finish(ended)
}

/// Folders for the shared memory and the record of a watched job, for tests that act while it runs.
#[derive(Debug)]
pub struct WatchFolders {
    folder: TempDir,
    shared_memory: TempDir,
}

impl Default for WatchFolders {
    fn default() -> Self {
        Self::new()
    }
}

impl WatchFolders {
    /// Makes the folders.
    pub fn new() -> Self {
        let shared_memory =
            tempfile::Builder::new().prefix("sintonia-suite-").tempdir_in("/dev/shm");
        Self {
            folder: tempfile::tempdir().expect("there is a folder for temporary files"),
            shared_memory: shared_memory.expect("`/dev/shm` is writable"),
        }
    }

    /// Folder of the record.
    pub fn record(&self) -> PathBuf {
        self.folder.path().join("record")
    }

    /// Folder for files of the test.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Job that runs `job` under `sintonia run`.
    pub fn job(&self, job: &Job, options: &[&str]) -> Job {
        let mut before: Vec<OsString> = vec![sintonia().into(), "run".into(), "--out".into()];
        before.push(self.record().into());
        before.extend(options.iter().map(OsString::from));
        before.push("--".into());
        job.clone().after(before).variable("SINTONIA_SHM_DIR", self.shared_memory.path())
    }

    /// Starts `job` under `sintonia run`.
    #[track_caller]
    pub fn start(&self, job: &Job, options: &[&str]) -> StartedJob {
        self.job(job, options).start()
    }

    /// Job that attaches to the job of a process by `sintonia attach`.
    pub fn attach(&self, pid: u32, options: &[&str]) -> Job {
        let job = Job::new(sintonia()).arg("attach").arg("--out").arg(self.record());
        let job = job.args(options).arg(pid.to_string());
        job.variable("SINTONIA_SHM_DIR", self.shared_memory.path())
    }

    /// Returns whether shared memory is in use.
    pub fn has_shared_memory(&self) -> bool {
        !names_in(self.shared_memory.path()).is_empty()
    }

    /// Checks that no shared memory is left, and reads the record.
    #[track_caller]
    pub fn finish(self, ended: EndedJob) -> Watched {
        let left: Vec<String> = names_in(self.shared_memory.path());
        assert!(left.is_empty(), "shared memory is left: {left:?}; printed:\n{}", ended.stderr);
        let summary = summary_of(&self.record(), &ended);
        Watched { ended, summary, folder: self.folder }
    }
}

/// Path of the program `sintonia`: `$SINTONIA_BIN`, or the one that is shipped, with its library.
pub fn sintonia() -> PathBuf {
    let given = std::env::var_os("SINTONIA_BIN").map(PathBuf::from);
    given.unwrap_or_else(|| {
        built("libsintonia.so");
        built("sintonia")
    })
}

#[track_caller]
fn summary_of(record: &Path, ended: &EndedJob) -> Summary {
    let path = record.join("summary.json");
    let text = std::fs::read_to_string(&path);
    let text = text.unwrap_or_else(|error| {
        panic!("`{}`: {error}; printed:\n{}", path.display(), ended.stderr)
    });
    serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("`{}`: {error}:\n{text}", path.display()))
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
