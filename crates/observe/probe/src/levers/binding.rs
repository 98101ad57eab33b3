//! Cores of this process: its share of the cores of the job on this node.
//!
//! All ranks of the node compute the same shares from the same list: which ranks there are, and which cores the process
//! that started them may use. That is done when the change is prepared, before any rank has moved.
//!
//! # Not here
//! Threads that were bound by somebody else, and the way back: `affinity`.
#![allow(unsafe_code, reason = "asks the system for the parent process")]

use crate::affinity::{self, BoundThreads, cores_of, main_thread, threads};
use crate::monitoring;
use crate::openmp;
use ring::SegmentReader;
use std::ffi::c_int;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Cores that were computed for this process, and its threads that have them.
struct Share {
    cores: Vec<usize>,
    threads: BoundThreads,
}

static SHARE: Mutex<Share> =
    Mutex::new(Share { cores: Vec::new(), threads: BoundThreads::with(Vec::new()) });

/// Computes the share of this process.
pub(super) fn applies() -> Result<(), String> {
    affinity::bound_by_program(openmp::is_present()).map_or(Ok(()), Err)?;
    let process = monitoring::process().ok_or("it is not monitored")?;
    let mut pids = ranks_of_node(&process.folder);
    pids.sort_unstable();
    let own = std::process::id();
    let idx = pids.iter().position(|(_, pid)| *pid == own).ok_or("its rank is not known here")?;
    let cores = of_job(&pids)?;
    let share = share(&cores, idx, pids.len());
    if share.is_empty() {
        return Err(format!("there are {} ranks for {} cores", pids.len(), cores.len()));
    }
    locked().cores = share;
    Ok(())
}

/// Binds all threads of this process to its share, or to the cores that they had before.
pub(super) fn set(is_on: bool) -> Result<(), c_int> {
    let mut share = locked();
    share.threads.release();
    affinity::note_moved(&[]);
    if is_on {
        // Threads with other cores than the first one were bound by somebody who knows why.
        share.threads = BoundThreads::with(cores_of(main_thread()).ok_or(libc::EPERM)?);
        threads().into_iter().for_each(|tid| share.threads.add(tid));
        let cores = share.cores.clone();
        if let Err(errno) = share.threads.bind(&cores) {
            share.threads.release();
            return Err(errno);
        }
        affinity::note_moved(&cores);
    }
    Ok(())
}

fn locked() -> MutexGuard<'static, Share> {
    SHARE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ranks of the run on this node, with their processes.
fn ranks_of_node(folder: &Path) -> Vec<(u32, u32)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let segments = paths.filter(|path| path.extension().is_some_and(|ext| ext == "segment"));
    let views = segments.filter_map(|path| Some(SegmentReader::open(&path).ok()?.process()));
    views.map(|view| (view.rank, view.key.pid)).collect()
}

/// Cores of the job on this node: those of the process that started the ranks; under Slurm, whose daemon may use all
/// cores, those of the ranks together.
fn of_job(ranks: &[(u32, u32)]) -> Result<Vec<usize>, String> {
    // SAFETY: a system call without arguments.
    let parent = unsafe { libc::getppid() };
    let name = std::fs::read_to_string(format!("/proc/{parent}/comm")).unwrap_or_default();
    if !name.starts_with("slurmstepd") {
        return cores_of(parent)
            .ok_or_else(|| "the cores of its launcher are not known".to_owned());
    }
    let mut all = Vec::new();
    for (_, pid) in ranks {
        all.extend(c_int::try_from(*pid).ok().and_then(cores_of).ok_or("a rank has ended")?);
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

/// Cores of the rank at `idx` of `n_ranks` on the node: as many as everybody has, side by side.
fn share(cores: &[usize], idx: usize, n_ranks: usize) -> Vec<usize> {
    let first = idx * cores.len() / n_ranks;
    let end = (idx + 1) * cores.len() / n_ranks;
    if cores.len() < n_ranks { Vec::new() } else { cores[first..end].to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(cores: &[usize], n_ranks: usize, expected: &[&[usize]]) {
        let shares: Vec<_> = (0..n_ranks).map(|idx| share(cores, idx, n_ranks)).collect();
        assert_eq!(shares, expected);
    }

    #[test]
    fn each_core_goes_to_one_rank() {
        check(&[0, 1], 2, &[&[0], &[1]]);
        check(&[2, 4, 6, 8, 9], 2, &[&[2, 4], &[6, 8, 9]]);
        check(&[0], 2, &[&[], &[]]);
    }
}
