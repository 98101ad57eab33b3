//! Control folder: the status of the program, written by rank 0, and resize requests from outside.
//!
//! `JOB.json` is the status, `JOB.wish` a resize request, which is removed when it is taken. Both are written under
//! another name and then renamed, so that no reader sees half a file. A thread of rank 0 reads and writes them: the
//! program never waits for a disk.
//!
//! # Invariants
//! - Only the user may enter the folder.
//! - The status is written at most every half second, and a request is looked for every 50 ms.

use resize_api::{JobStatus, ResizeRequest};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// Time between two checks for a request.
const LOOK: Duration = Duration::from_millis(50);
/// Smallest time between two writes of the status.
const WRITE: Duration = Duration::from_millis(500);

/// Error from opening the control folder.
#[derive(Debug, thiserror::Error)]
#[error("the control folder `{}` cannot be used; choose another with `--control`", path.display())]
pub struct ControlError {
    path: PathBuf,
    source: io::Error,
}

/// Control folder of this job, while this process is its rank 0.
#[derive(Debug)]
pub(crate) struct JobControl {
    shared: Arc<Mutex<Shared>>,
    /// Sends whether the files are kept, which ends the thread; closing it removes the files.
    end: Option<Sender<bool>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    status: JobStatus,
    is_changed: bool,
    request: Option<ResizeRequest>,
}

impl JobControl {
    /// Writes `status` into `folder`, and polls for requests from then on.
    pub(crate) fn open(folder: &Path, status: JobStatus) -> Result<Self, ControlError> {
        let files = Files::of(folder, &status.job);
        let failed = |source| ControlError { path: folder.to_owned(), source };
        let made = files::private::make_folder(folder);
        made.and_then(|()| files.write(&status)).map_err(failed)?;
        let shared = Arc::new(Mutex::new(Shared { status, ..Shared::default() }));
        let (end, ended) = channel();
        let theirs = Arc::clone(&shared);
        let work = move || {
            let mut written = Instant::now();
            let is_kept = loop {
                match ended.recv_timeout(LOOK) {
                    Ok(is_kept) => break is_kept,
                    Err(RecvTimeoutError::Disconnected) => break false,
                    Err(RecvTimeoutError::Timeout) => look(&files, &theirs, &mut written),
                }
            };
            if !is_kept {
                files.remove();
            }
        };
        let thread = Builder::new().name("control".to_owned()).spawn(work).map_err(failed)?;
        Ok(Self { shared, end: Some(end), thread: Some(thread) })
    }

    /// Changes the status.
    pub(crate) fn say(&self, change: impl FnOnce(&mut JobStatus)) {
        let mut shared = lock(&self.shared);
        change(&mut shared.status);
        shared.is_changed = true;
    }

    /// Takes the pending request, if there is one.
    pub(crate) fn take_request(&self) -> Option<ResizeRequest> {
        lock(&self.shared).request.take()
    }

    /// Leaves the files to the next rank 0.
    pub(crate) fn hand_over(mut self) {
        self.close(true);
    }

    fn close(&mut self, is_kept: bool) {
        if let Some(end) = self.end.take() {
            end.send(is_kept).unwrap_or_default();
        }
        if let Some(thread) = self.thread.take() {
            // The thread does not panic; if it did, the files would stay.
            thread.join().unwrap_or_default();
        }
    }
}

impl Drop for JobControl {
    fn drop(&mut self) {
        self.close(false);
    }
}

fn look(files: &Files, shared: &Mutex<Shared>, written: &mut Instant) {
    let request = files.take_request();
    let mut status = None;
    {
        let mut shared = lock(shared);
        if request.is_some() {
            shared.request = request;
        }
        if shared.is_changed && WRITE <= written.elapsed() {
            shared.is_changed = false;
            status = Some(shared.status.clone());
        }
    }
    if let Some(status) = status {
        *written = Instant::now();
        // A disk that is full now may have room later.
        files.write(&status).unwrap_or_default();
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Files of a job.
#[derive(Clone, Debug)]
struct Files {
    status: PathBuf,
    wish: PathBuf,
}

impl Files {
    fn of(folder: &Path, job: &str) -> Self {
        let file = |ending| folder.join(format!("{job}.{ending}"));
        Self { status: file("json"), wish: file("wish") }
    }

    fn write(&self, status: &JobStatus) -> io::Result<()> {
        files::replace(&self.status, &serde_json::to_vec_pretty(status)?)
    }

    /// Takes the request and removes its file, also when it cannot be read.
    fn take_request(&self) -> Option<ResizeRequest> {
        let bytes = fs::read(&self.wish).ok()?;
        fs::remove_file(&self.wish).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    fn remove(&self) {
        for file in [&self.status, &self.wish] {
            fs::remove_file(file).unwrap_or_default();
        }
    }
}

/// Default folder of control files.
pub(crate) fn default_folder() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty())?;
    Some(Path::new(&home).join(".sintonia/jobs"))
}

/// File name of this program.
pub(crate) fn program_name() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns whether others may choose the size: Slurm, whose nodes are others' as well, or a tool that tunes the program.
pub(crate) fn is_led() -> bool {
    slurm_job().is_some() || std::env::var_os("SINTONIA_TUNE").is_some_and(|value| value == "1")
}

/// Id of the Slurm job that this process belongs to.
pub(crate) fn slurm_job() -> Option<u64> {
    std::env::var("SLURM_JOB_ID").ok()?.parse().ok()
}

/// Name for a job that begins here.
pub(crate) fn job_name() -> String {
    slurm_job().map_or_else(
        || format!("{}-{}", files::host_name(), std::process::id()),
        |job| job.to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn status(size: u32) -> JobStatus {
        JobStatus { job: "host-7".to_owned(), size, ..JobStatus::default() }
    }

    /// Regression: a folder that others may write in was used as it was, with the links in it.
    #[test]
    fn a_folder_that_is_not_ours_alone_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("jobs");
        JobControl::open(&folder, status(4)).unwrap();
        JobControl::open(&folder, status(4)).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        let ControlError { source, .. } = JobControl::open(&folder, status(4)).unwrap_err();
        assert!(source.to_string().contains("another user"));
    }

    #[track_caller]
    fn wait_for<T>(look: impl Fn() -> Option<T>) -> T {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(found) = look() {
                return found;
            }
            assert!(Instant::now() < until, "it did not come");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn read(folder: &Path) -> JobStatus {
        serde_json::from_slice(&fs::read(folder.join("host-7.json")).unwrap()).unwrap()
    }

    #[test]
    fn status_is_written_and_wishes_are_taken() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("jobs");
        let control = JobControl::open(&folder, status(4)).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!((read(&folder).size, control.take_request()), (4, None));
        control.say(|status| status.size = 5);
        wait_for(|| (read(&folder).size == 5).then_some(()));
        let request =
            ResizeRequest { id: 1, size: 8, from: "person".to_owned(), hosts: Vec::new() };
        let new = folder.join("new");
        fs::write(&new, serde_json::to_vec(&request).unwrap()).unwrap();
        fs::rename(&new, folder.join("host-7.wish")).unwrap();
        assert_eq!(wait_for(|| control.take_request()), request);
        assert!(!folder.join("host-7.wish").exists());
        drop(control);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }

    #[test]
    fn files_stay_for_the_next_rank_0() {
        let folder = tempfile::tempdir().unwrap();
        JobControl::open(folder.path(), status(4)).unwrap().hand_over();
        assert_eq!(read(folder.path()).size, 4);
    }
}
