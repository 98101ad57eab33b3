//! Samples of all processes of a node, read by a thread of their own.

use crate::process::SampledProcess;
use crate::sections::SectionCache;
use events::ProcessKey;
use ring::samples::{SUFFIX, SampleReader};
use rustix::time::{ClockId, clock_gettime};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};
use wire::samples::ProcessSamples;

/// Time between two readings: the smallest ring must not fill up in between.
const READ_EVERY: Duration = Duration::from_millis(60);
/// Time between two looks for new threads.
const SCAN_EVERY: Duration = Duration::from_millis(500);
/// Minimum time between two deliveries of a running process.
const HAND_ON_EVERY: Duration = Duration::from_secs(20);
/// Maximum number of processes that are sampled on a node.
const N_PROCESSES_MAX: usize = 1024;

/// Sampler of the processes of a node.
#[derive(Debug, Default)]
pub struct Sampler {
    shared: Option<Arc<Shared>>,
    is_off: bool,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    processes: HashMap<ProcessKey, SampledProcess>,
    files: SectionCache,
    is_over: bool,
}

impl Sampler {
    /// Creates a sampler that samples nothing.
    #[must_use]
    pub fn off() -> Self {
        Self { shared: None, is_off: true }
    }

    /// Starts to sample the process whose segment is the file `segment`. If it takes samples of itself, in a file beside
    /// that, these are read, and the file is removed.
    pub fn follow(&mut self, process: ProcessKey, segment: &Path) {
        if self.is_off {
            return;
        }
        let shared = self.shared.get_or_insert_with(start);
        let mut state = lock(&shared.state);
        if N_PROCESSES_MAX <= state.processes.len() {
            return;
        }
        let path = segment.with_extension(SUFFIX);
        let own = SampleReader::open(&path);
        std::fs::remove_file(path).ok();
        let sampled = SampledProcess::new(process, own, Instant::now());
        state.processes.insert(process, sampled);
        drop(state);
        shared.changed.notify_one();
    }

    /// Returns all samples of a process so far, if they are due: `ends` says that no other occasion may come.
    pub fn samples(&self, process: ProcessKey, ends: bool) -> Option<ProcessSamples> {
        let mut state = lock(&self.shared.as_ref()?.state);
        let State { processes, files, .. } = &mut *state;
        let sampled = processes.get_mut(&process)?;
        let now = Instant::now();
        if ends {
            sampled.read(files, now);
        }
        sampled.hand_on(if ends { Duration::ZERO } else { HAND_ON_EVERY }, now)
    }

    /// Forgets a process.
    pub fn forget(&self, process: ProcessKey) {
        if let Some(shared) = &self.shared {
            lock(&shared.state).processes.remove(&process);
        }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        if let Some(shared) = &self.shared {
            lock(&shared.state).is_over = true;
            shared.changed.notify_one();
        }
    }
}

fn start() -> Arc<Shared> {
    let shared = Arc::new(Shared::default());
    let of_thread = Arc::clone(&shared);
    // Without the thread, only the samples that have room are read, when the process ends.
    Builder::new().name("samples".to_owned()).spawn(move || read_all(&of_thread)).ok();
    shared
}

fn read_all(shared: &Shared) {
    let mut next_scan = Instant::now();
    let mut state = lock(&shared.state);
    while !state.is_over {
        let now = Instant::now();
        let is_scan = next_scan <= now;
        if is_scan {
            next_scan = now + SCAN_EVERY;
        }
        let State { processes, files, .. } = &mut *state;
        for sampled in processes.values_mut().filter(|it| !it.is_refused()) {
            let before = cpu_time();
            sampled.next_interval(files, now, is_scan);
            sampled.cost += cpu_time().saturating_sub(before);
        }
        state = match state.processes.is_empty() {
            true => shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            false => {
                drop(state);
                std::thread::sleep(READ_EVERY);
                lock(&shared.state)
            }
        };
    }
}

/// Returns the processor time of this thread.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    /// Where the system does not allow samples, the reason must be there.
    #[test]
    fn a_process_that_computes_has_samples_or_a_reason() {
        let loop_forever = "while :; do :; done";
        let mut child =
            Command::new("sh").args(["-c", loop_forever]).stdin(Stdio::null()).spawn().unwrap();
        let key = ProcessKey { pid: child.id(), started: 1 };
        let mut sampler = Sampler::default();
        sampler.follow(key, Path::new("/nowhere/1.segment"));
        let deadline = Instant::now() + Duration::from_secs(20);
        let found = loop {
            let found = sampler.samples(key, true);
            let is_found =
                found.as_ref().is_some_and(|it| 5 < it.samples || !it.problem.is_empty());
            if is_found || deadline < Instant::now() {
                break found;
            }
            std::thread::yield_now();
        };
        child.kill().unwrap();
        child.wait().unwrap();
        let found = found.expect("samples or a reason");
        assert!(!found.problem.is_empty() || found.nodes.len() > 2, "{found:?}");
        sampler.forget(key);
        assert!(sampler.samples(key, true).is_none());
    }
}
