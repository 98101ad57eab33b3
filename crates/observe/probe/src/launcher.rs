//! Actions when the probe is loaded, and a number that distinguishes one `mpirun` from the next.
//!
//! The probe is preloaded into the launcher as well. There it only puts a number of its own into the
//! environment that the launcher passes to its ranks.
#![allow(unsafe_code, reason = "runs before main, sets the environment of a launcher")]

use crate::options::is_tuned;
use crate::{binding, forwarding, probes, thread};
use ring::clock;
use std::ffi::{CStr, c_char};
use std::hash::{DefaultHasher, Hash, Hasher};

const LAUNCH: &CStr = c"SINTONIA_LAUNCH";

unsafe extern "C" {
    /// Program's name without its folder; glibc sets it before constructors run.
    static program_invocation_short_name: *const c_char;
}

#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = before_main;

extern "C" fn before_main() {
    // SAFETY: a look-up in the environment, in a process of one thread.
    if unsafe { libc::getenv(c"SINTONIA_RUN".as_ptr()) }.is_null() {
        return;
    }
    let _nothing = std::panic::catch_unwind(|| {
        mark_launcher();
        thread::watch_ends();
        if is_tuned() {
            probes::reserve_signals();
        }
        binding::hide_wrappers();
    });
}

/// In a launcher, sets a number common to its ranks.
fn mark_launcher() {
    // SAFETY: set once, before any other code runs.
    let name = unsafe { program_invocation_short_name };
    if name.is_null() {
        return;
    }
    // SAFETY: glibc's own string.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    let launchers: [&[u8]; 5] = [b"mpirun", b"mpiexec", b"prterun", b"orterun", b"srun"];
    if !launchers.iter().any(|launcher| name.starts_with(launcher)) {
        return;
    }
    let mut digits = [0_u8; 17];
    let number = clock::ticks().rotate_left(32) ^ u64::from(std::process::id());
    for (place, digit) in digits.iter_mut().take(16).zip(0..) {
        *place = b"0123456789abcdef"[(number >> (4 * digit) & 15) as usize];
    }
    // SAFETY: both are C strings; no other thread exists before `main`.
    unsafe { libc::setenv(LAUNCH.as_ptr(), digits.as_ptr().cast(), 1) };
    forwarding::forward();
}

/// Returns the number of this process's world: a hash of the launcher's number and of what distinguishes
/// spawned worlds.
pub(crate) fn world(size: u32, is_spawned: bool, launch: &str) -> u64 {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    (launch, size, is_spawned).hash(&mut hasher);
    let namespace = variable("PMIX_NAMESPACE");
    if namespace.is_empty() {
        (variable("SLURM_JOB_ID"), variable("SLURM_STEP_ID")).hash(&mut hasher);
        if is_spawned {
            // MPICH starts a proxy per spawn and node; nothing else distinguishes one spawn from another.
            std::os::unix::process::parent_id().hash(&mut hasher);
        }
    } else {
        namespace.hash(&mut hasher);
    }
    hasher.finish()
}
