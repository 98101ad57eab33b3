//! Cores of this process: its share of the cores of the job on this node.
//!
//! All ranks of the node compute the same shares from the same list: which ranks there are, and which cores the process
//! that started them may use. That is done when the change is prepared, before any rank has moved.
#![allow(unsafe_code, reason = "asks the system about cores")]

use crate::monitoring;
use ring::SegmentReader;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

type Mask = libc::cpu_set_t;

/// Cores that were computed for this process, and those of each of its threads before.
struct Share {
    cores: Vec<usize>,
    before: Vec<(c_int, Mask)>,
}

static SHARE: Mutex<Share> = Mutex::new(Share { cores: Vec::new(), before: Vec::new() });

/// Computes the share of this process.
pub(super) fn applies() -> Result<(), String> {
    let process = monitoring::process().ok_or("it is not monitored")?;
    let mut pids = ranks_of_node(&process.folder);
    pids.sort_unstable();
    let own = std::process::id();
    let idx = pids.iter().position(|(_, pid)| *pid == own).ok_or("its rank is not known here")?;
    let cores = cores(&of_job(&pids)?);
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
    if !is_on {
        for (tid, mask) in share.before.drain(..) {
            bind(tid, &mask);
        }
        return Ok(());
    }
    let new = mask_of(&share.cores);
    let main = mask(0).ok_or(libc::EPERM)?;
    let threads = threads().into_iter().filter_map(|tid| Some((tid, mask(tid)?)));
    // Threads with cores of their own were bound by somebody who knows why.
    let movable = threads.filter(|(_, mask)| cores(mask) == cores(&main));
    let before: Vec<(c_int, Mask)> = movable.collect();
    for (tid, _) in &before {
        bind(*tid, &new);
    }
    share.before = before;
    Ok(())
}

fn locked() -> std::sync::MutexGuard<'static, Share> {
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
fn of_job(ranks: &[(u32, u32)]) -> Result<Mask, String> {
    // SAFETY: a system call without arguments.
    let parent = unsafe { libc::getppid() };
    let name = std::fs::read_to_string(format!("/proc/{parent}/comm")).unwrap_or_default();
    if !name.starts_with("slurmstepd") {
        return mask(parent).ok_or_else(|| "the cores of its launcher are not known".to_owned());
    }
    let mut all = Vec::new();
    for (_, pid) in ranks {
        let mask = c_int::try_from(*pid).ok().and_then(mask).ok_or("a rank has ended")?;
        all.extend(cores(&mask));
    }
    Ok(mask_of(&all))
}

/// Cores of the rank at `idx` of `n_ranks` on the node: as many as everybody has, side by side.
fn share(cores: &[usize], idx: usize, n_ranks: usize) -> Vec<usize> {
    let first = idx * cores.len() / n_ranks;
    let end = (idx + 1) * cores.len() / n_ranks;
    if cores.len() < n_ranks { Vec::new() } else { cores[first..end].to_vec() }
}

fn threads() -> Vec<c_int> {
    let entries = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Cores of a thread; 0 is the first one of this process.
fn mask(tid: c_int) -> Option<Mask> {
    let tid = if tid == 0 { std::process::id().cast_signed() } else { tid };
    let mut mask = MaybeUninit::<Mask>::zeroed();
    // SAFETY: fills the mask.
    let failed = unsafe { libc::sched_getaffinity(tid, size_of::<Mask>(), mask.as_mut_ptr()) };
    // SAFETY: zeros are a valid mask, too.
    (failed == 0).then(|| unsafe { mask.assume_init() })
}

fn bind(tid: c_int, mask: &Mask) {
    // SAFETY: reads the mask. A thread that has ended is not there, which is no harm.
    unsafe { libc::sched_setaffinity(tid, size_of::<Mask>(), mask) };
}

fn cores(mask: &Mask) -> Vec<usize> {
    let n_cores = 8 * size_of::<Mask>();
    // SAFETY: within the mask.
    (0..n_cores).filter(|core| unsafe { libc::CPU_ISSET(*core, mask) }).collect()
}

fn mask_of(cores: &[usize]) -> Mask {
    // SAFETY: zeros are an empty mask.
    let mut mask = unsafe { MaybeUninit::<Mask>::zeroed().assume_init() };
    for core in cores {
        // SAFETY: cores that a mask has had.
        unsafe { libc::CPU_SET(*core, &mut mask) };
    }
    mask
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

    #[test]
    fn cores_survive_the_mask() {
        assert_eq!(cores(&mask_of(&[0, 3, 70])), [0, 3, 70]);
        assert!(mask(0).is_some_and(|mask| !cores(&mask).is_empty()));
        assert!(threads().contains(&std::process::id().cast_signed()));
    }
}
