//! `sintonia run` as a user has it, and the record that it leaves.

use launch::place::built;
use launch::{Ended, Job, Running};
use run_record::Summary;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A job that ran under `sintonia run`.
#[derive(Debug)]
pub struct Watched {
    /// How it ended, and what it and we printed.
    pub ended: Ended,
    /// The record on one page.
    pub summary: Summary,
    /// The folder that holds the record in `record`; removed with this value.
    pub folder: TempDir,
}

impl Watched {
    /// The folder of the record.
    pub fn record(&self) -> PathBuf {
        self.folder.path().join("record")
    }
}

/// Runs `job` under `sintonia run`, and reads its record.
#[track_caller]
pub fn watch(job: &Job) -> Watched {
    watch_with(job, &[])
}

/// The same with options of `sintonia run`.
#[track_caller]
pub fn watch_with(job: &Job, options: &[&str]) -> Watched {
    let scene = Scene::new();
    let ended = scene.job(job, options).run();
    scene.finish(ended)
}

/// Where a watched job puts its shared memory and its record, for tests that act while it runs.
#[derive(Debug)]
pub struct Scene {
    folder: TempDir,
    shared_memory: TempDir,
}

impl Default for Scene {
    fn default() -> Self {
        Self::new()
    }
}

impl Scene {
    /// A new one.
    pub fn new() -> Self {
        let shared_memory =
            tempfile::Builder::new().prefix("sintonia-suite-").tempdir_in("/dev/shm");
        Self {
            folder: tempfile::tempdir().expect("there is a folder for temporary files"),
            shared_memory: shared_memory.expect("`/dev/shm` is writable"),
        }
    }

    /// The folder of the record.
    pub fn record(&self) -> PathBuf {
        self.folder.path().join("record")
    }

    /// A folder for files of the test.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// `job` under `sintonia run`.
    pub fn job(&self, job: &Job, options: &[&str]) -> Job {
        let mut before: Vec<OsString> = vec![sintonia().into(), "run".into(), "--out".into()];
        before.push(self.record().into());
        before.extend(options.iter().map(OsString::from));
        before.push("--".into());
        job.clone().after(before).variable("SINTONIA_SHM_DIR", self.shared_memory.path())
    }

    /// Starts `job` under `sintonia run`.
    #[track_caller]
    pub fn start(&self, job: &Job, options: &[&str]) -> Running {
        self.job(job, options).start()
    }

    /// `sintonia attach` to the job of a process.
    pub fn attach(&self, pid: u32, options: &[&str]) -> Job {
        let job = Job::new(sintonia()).arg("attach").arg("--out").arg(self.record());
        let job = job.args(options).arg(pid.to_string());
        job.variable("SINTONIA_SHM_DIR", self.shared_memory.path())
    }

    /// Whether shared memory is in use.
    pub fn has_shared_memory(&self) -> bool {
        !names_in(self.shared_memory.path()).is_empty()
    }

    /// Checks that no shared memory is left, and reads the record.
    #[track_caller]
    pub fn finish(self, ended: Ended) -> Watched {
        let left: Vec<String> = names_in(self.shared_memory.path());
        assert!(left.is_empty(), "shared memory is left: {left:?}; printed:\n{}", ended.stderr);
        let summary = summary_of(&self.record(), &ended);
        Watched { ended, summary, folder: self.folder }
    }
}

/// The program `sintonia`: `$SINTONIA_BIN`, or the one that is shipped, with its library.
pub fn sintonia() -> PathBuf {
    let given = std::env::var_os("SINTONIA_BIN").map(PathBuf::from);
    given.unwrap_or_else(|| {
        built("libsintonia.so");
        built("sintonia")
    })
}

#[track_caller]
fn summary_of(record: &Path, ended: &Ended) -> Summary {
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
