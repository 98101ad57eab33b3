//! Notices that a program makes no progress any more, and ends it: some libraries hang when a rank dies.
//!
//! A new checkpoint is progress, and nothing else: ranks that wait for each other use their cores as those that compute do.

use super::progress::Progress;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::process::Child;
use std::time::{Duration, Instant, SystemTime};

/// Time for a launcher to end its ranks when it is asked to.
const GRACE: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 10 });

/// Watch over one run of a program.
#[derive(Debug)]
pub(super) struct StallWatch {
    after: Duration,
    seen: Option<SystemTime>,
    since: Instant,
    /// When the launcher was asked to end.
    asked: Option<Instant>,
}

impl StallWatch {
    /// A program is stalled when it has written no checkpoint for this time.
    pub(super) fn new(after: Duration, progress: &Progress) -> Self {
        Self { after, seen: written(progress), since: Instant::now(), asked: None }
    }

    /// Returns whether the program was ended because it had stalled.
    pub(super) fn has_stalled(&self) -> bool {
        self.asked.is_some()
    }

    /// Looks, and ends a launcher whose program has stalled.
    pub(super) fn look(&mut self, progress: &Progress, launcher: &Child) {
        match self.asked {
            None => {
                let newest = written(progress);
                if newest != self.seen {
                    (self.seen, self.since) = (newest, Instant::now());
                }
                if self.after <= self.since.elapsed() {
                    let seconds = self.since.elapsed().as_secs();
                    eprintln!(
                        "sintonia: the program has written no checkpoint for {seconds} s (`--stalled`), and is ended"
                    );
                    self.asked = Some(Instant::now());
                    // It may just have ended by itself.
                    kill_process(Pid::from_child(launcher), Signal::TERM).ok();
                }
            }
            Some(at) if GRACE <= at.elapsed() => kill_all(launcher.id()),
            Some(_) => {}
        }
    }
}

/// When the newest checkpoint was written.
fn written(progress: &Progress) -> Option<SystemTime> {
    fs::metadata(&progress.checkpoint).and_then(|file| file.modified()).ok()
}

/// Kills a process and all that it has started.
fn kill_all(root: u32) {
    let parents: Vec<(u32, u32)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, parent_of(pid)?)))
        .collect();
    let mut family = vec![root];
    let mut at = 0;
    while let Some(parent) = family.get(at).copied() {
        family.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    for pid in family {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        pid.and_then(|pid| kill_process(pid, Signal::KILL).ok());
    }
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, behind_name) = stat.rsplit_once(')')?;
    behind_name.split_whitespace().nth(1)?.parse().ok()
}
