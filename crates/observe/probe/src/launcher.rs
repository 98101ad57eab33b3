//! Actions when the probe is loaded, and a number that distinguishes one `mpirun` from the next.
//!
//! The probe is preloaded into the launcher as well. There it only puts a number of its own into the
//! environment that the launcher passes to its ranks.
#![allow(unsafe_code, reason = "runs before main, sets the environment of a launcher")]

use crate::options::is_tuned;
use crate::{binding, forwarding, thread};
use ring::clock;
use std::ffi::{CStr, c_char};

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
            // Without its signals there are no probes: an order to install some is then refused with the reason.
            let _taken = instrument::live::reserve();
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
