//! Removal of folders in shared memory left behind by runs whose collector was killed.

use crate::node::segments;
use crate::place::{LOCK, RECORD, run_dir_prefix};
use run_record::{RunRecord, RunState};
use rustix::process::{Pid, test_kill_process};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Age below which a folder may belong to a run that is just starting.
const STARTING: Duration = Duration::from_secs(60);
/// Time for which `sintonia report` may still need the data of a killed run.
const WANTED: Duration = Duration::from_secs(24 * 3600);

/// Removes this user's run folders that are no longer used or needed; returns their number.
pub fn remove_abandoned(shm_dir: &Path, now: SystemTime) -> usize {
    let Ok(entries) = fs::read_dir(shm_dir) else { return 0 };
    let (prefix, own_uid) = (run_dir_prefix(), rustix::process::getuid().as_raw());
    let ours = entries.filter_map(Result::ok).filter(|entry| {
        let is_named = entry.file_name().to_string_lossy().starts_with(&prefix);
        is_named && entry.metadata().is_ok_and(|it| it.is_dir() && it.uid() == own_uid)
    });
    let abandoned = ours.map(|entry| entry.path()).filter(|dir| {
        let age = age(dir, now);
        STARTING < age && is_dead(dir) && (WANTED < age || !is_wanted(dir))
    });
    abandoned.filter(|dir| fs::remove_dir_all(dir).is_ok()).count()
}

/// Removes the folder of one run if none of its processes or collectors lives; its contents are in the record.
pub fn remove_dead(run_dir: &Path) {
    if files::private::verify(run_dir).is_ok() && is_dead(run_dir) {
        fs::remove_dir_all(run_dir).ok();
    }
}

fn age(dir: &Path, now: SystemTime) -> Duration {
    let changed = fs::metadata(dir).and_then(|metadata| metadata.modified());
    changed.ok().and_then(|changed| now.duration_since(changed).ok()).unwrap_or_default()
}

fn nodes(run_dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(run_dir) else { return Vec::new() };
    entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()).collect()
}

fn is_dead(run_dir: &Path) -> bool {
    nodes(run_dir).iter().all(|node| {
        is_free(&node.join(LOCK)) && !segments(node).iter().any(|segment| lives(segment))
    })
}

fn is_free(lock: &Path) -> bool {
    File::open(lock).map_or(true, |lock| lock.try_lock_shared().is_ok())
}

/// Returns whether the process lives that is named by the segment's name, `PID-STARTED.segment`.
fn lives(segment: &Path) -> bool {
    let name = segment.file_name().unwrap_or_default().to_string_lossy();
    let pid = name.split('-').next().and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw);
    // A missing permission to send a signal means that the process exists.
    pid.is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

/// Returns whether the record of the run was never finished.
fn is_wanted(run_dir: &Path) -> bool {
    nodes(run_dir).iter().any(|node| {
        let record = fs::read_to_string(node.join(RECORD)).unwrap_or_default();
        RunRecord::open(Path::new(&record)).is_ok_and(|record| record.state() == RunState::Running)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEAD: &str = "1999999999-1f.segment";

    struct Left {
        shm: tempfile::TempDir,
        node: PathBuf,
    }

    fn left(segment: &str) -> Left {
        let shm = tempfile::tempdir().unwrap();
        let node = shm.path().join(format!("{}0123", run_dir_prefix())).join("node");
        fs::create_dir_all(&node).unwrap();
        fs::write(node.join(segment), "").unwrap();
        fs::write(node.join(LOCK), "run").unwrap();
        Left { shm, node }
    }

    #[track_caller]
    fn check(left: &Left, later_s: u64, expected: usize) {
        let now = SystemTime::now() + Duration::from_secs(later_s);
        assert_eq!(remove_abandoned(left.shm.path(), now), expected);
        assert_eq!(left.node.exists(), expected == 0);
    }

    #[test]
    fn a_dead_run_is_removed_when_it_is_not_just_starting() {
        let left = left(DEAD);
        check(&left, 0, 0);
        check(&left, 120, 1);
    }

    #[test]
    fn a_run_with_a_living_process_stays() {
        check(&left(&format!("{}-1f.segment", std::process::id())), 120, 0);
    }

    #[test]
    fn a_run_with_a_collector_stays() {
        let left = left(DEAD);
        let lock = File::open(left.node.join(LOCK)).unwrap();
        lock.lock().unwrap();
        check(&left, 120, 0);
        drop(lock);
        check(&left, 120, 1);
    }

    #[test]
    fn what_an_unfinished_record_needs_stays_for_a_day() {
        let left = left(DEAD);
        let record = left.shm.path().join("record");
        RunRecord::create(&record, run_record::RunStart::default()).unwrap();
        fs::write(left.node.join(RECORD), record.to_str().unwrap()).unwrap();
        check(&left, 120, 0);
        check(&left, 25 * 3600, 1);
    }

    #[test]
    fn what_is_not_ours_stays() {
        let shm = tempfile::tempdir().unwrap();
        let other = shm.path().join("sintonia-4294967294-0123");
        fs::create_dir_all(&other).unwrap();
        let later = SystemTime::now() + Duration::from_secs(99);
        assert_eq!(remove_abandoned(shm.path(), later), 0);
        assert!(other.exists());
    }
}
