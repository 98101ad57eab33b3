//! Processes without room for probes.

use crate::child;
use crate::forbidden::{become_nobody, forbid};
use instrument::{Instrument, Refusal, Site, SiteEvent, StartError, ThreadHooks};
use ring::RingCursor;
use std::ffi::c_void;
use std::ptr::{null_mut, with_exposed_provenance_mut};

/// Address of the shadow directory, as in the unwind information.
const DIRECTORY: usize = 0x6d00_0000_0000;

extern "C" fn attach() -> *mut RingCursor {
    null_mut()
}

fn start() -> Result<Instrument, StartError> {
    Instrument::start(ThreadHooks { attach })
}

/// Limits the address space to `n_bytes` more than now.
fn limit(n_bytes: u64) {
    let pages = std::fs::read_to_string("/proc/self/statm").expect("`/proc` is mounted");
    let pages: u64 = pages.split(' ').next().and_then(|word| word.parse().ok()).expect("a number");
    let bytes = pages * 4096 + n_bytes;
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: a limit that the system copies.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
}

#[inline(never)]
extern "C" fn probed(x: u64) -> u64 {
    std::hint::black_box(x) * 3 + 1
}

fn site() -> Site {
    let entry = Some(SiteEvent { event: 0, attributes: Vec::new(), is_on: true });
    let function = probed as *const () as usize;
    Site { id: 1, function, n_bytes: 8, n_bytes_to_next: 8, entry, exit: None, is_sync: true }
}

/// Asserts that the only site is refused for lack of memory, by this call, and that the function still works.
#[track_caller]
fn check_refused(probes: &Instrument, wanted: (&'static str, i32)) {
    let (address, (call, errno)) = (site().function, wanted);
    let refusal = Refusal::NoNearMemory { address, call, errno };
    assert_eq!(probes.install(&[site()]), [Err(refusal)]);
    assert_eq!(probed(2), 7);
}

#[test]
fn a_process_without_address_space_says_which_call_failed() {
    child::run("full::a_process_without_address_space_says_which_call_failed", || {
        limit(32 << 20);
        let error = start().expect_err("64 MiB are too many");
        let call = "mmap of the shadow directory";
        assert_eq!(error, StartError::System { call, errno: libc::ENOMEM });
        assert!(error.to_string().ends_with("probes are not available in this process"));
    });
}

#[test]
fn a_process_whose_place_for_return_addresses_is_taken_says_so() {
    child::run("full::a_process_whose_place_for_return_addresses_is_taken_says_so", || {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        let wanted = with_exposed_provenance_mut::<c_void>(DIRECTORY);
        // SAFETY: new memory, where nothing is.
        let place = unsafe { libc::mmap(wanted, 4096, libc::PROT_READ, flags, -1, 0) };
        assert_eq!(place, wanted);
        let call = "mmap of the shadow directory";
        assert_eq!(start().err(), Some(StartError::System { call, errno: libc::EEXIST }));
    });
}

#[test]
fn a_function_without_memory_near_it_is_refused() {
    child::run("full::a_function_without_memory_near_it_is_refused", || {
        let probes = start().expect("nothing forbids it");
        limit(256 << 10);
        check_refused(&probes, ("mmap", libc::ENOMEM));
    });
}

#[test]
fn a_process_that_may_make_no_code_is_told_the_call() {
    child::run("full::a_process_that_may_make_no_code_is_told_the_call", || {
        let probes = start().expect("nothing forbids it");
        become_nobody(true);
        forbid(libc::SYS_memfd_create, libc::EACCES);
        check_refused(&probes, ("memfd_create", libc::EACCES));
    });
}
