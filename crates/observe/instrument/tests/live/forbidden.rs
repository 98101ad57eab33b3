//! Processes with restricted rights.

use crate::arena::{Arena, quick};
use crate::{child, stress};
use instrument::Refusal;
use std::fs::OpenOptions;

const NOBODY: u32 = 65_534;

/// Gives up root for good; `/proc/self/mem` is usable only if the process may still be dumped.
pub(crate) fn become_nobody(is_dumpable: bool) {
    let option = |number, value: usize| {
        // SAFETY: options of the process, without memory.
        let answer = unsafe { libc::prctl(number, value, 0, 0, 0) };
        assert_eq!(answer, 0);
    };
    // SAFETY: asks for a number.
    if unsafe { libc::geteuid() } == 0 {
        // SAFETY: numbers only.
        assert_eq!(unsafe { libc::setresgid(NOBODY, NOBODY, NOBODY) }, 0);
        // SAFETY: numbers only.
        assert_eq!(unsafe { libc::setresuid(NOBODY, NOBODY, NOBODY) }, 0);
    }
    option(libc::PR_SET_NO_NEW_PRIVS, 1);
    option(libc::PR_SET_DUMPABLE, usize::from(is_dumpable));
}

#[test]
fn without_root_all_is_the_same() {
    child::run("forbidden::without_root_all_is_the_same", || {
        become_nobody(true);
        assert!(OpenOptions::new().write(true).open("/proc/self/mem").is_ok());
        stress::hammer(2, 2_000);
    });
}

#[test]
fn a_process_that_may_not_be_dumped_opens_its_pages() {
    child::run("forbidden::a_process_that_may_not_be_dumped_opens_its_pages", || {
        become_nobody(false);
        assert!(OpenOptions::new().write(true).open("/proc/self/mem").is_err());
        let before = writable_code();
        stress::hammer(2, 1_000);
        assert_eq!(writable_code(), before);
    });
}

/// Number of mappings that are both code and writable.
fn writable_code() -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines().filter(|line| line.contains(" rwx")).count()
}

#[test]
fn without_barrier_nothing_changes_beside_threads() {
    child::run("forbidden::without_barrier_nothing_changes_beside_threads", || {
        child::alone(change_without_barrier);
    });
}

fn change_without_barrier() {
    forbid_membarrier();
    child::start();
    let arena = Arena::new(&[quick(0)]);
    child::beside_sleeper(|| {
        assert_eq!(arena.apply(), [Err(Refusal::NoBarrier(libc::ENOSYS))]);
        assert!(arena.is_original(0));
    });
    child::wait_until(|| child::n_threads() == 1);
    assert_eq!(arena.apply(), [Ok(())]);
    assert_eq!(arena.call(0, [5, 0, 0]), 10);
    assert_eq!(arena.n_counted(0), 1);
}

/// Makes `membarrier` fail as on a system without it.
fn forbid_membarrier() {
    become_nobody(true);
    forbid(libc::SYS_membarrier, libc::ENOSYS);
}

/// Makes a system call fail from now on, in a process that can gain no privileges.
pub(crate) fn forbid(call: libc::c_long, errno: i32) {
    let number = u32::try_from(call).expect("numbers are small");
    let statement = |code: u32, k: u32, jt: u8, jf: u8| libc::sock_filter {
        code: u16::try_from(code).expect("codes are small"),
        jt,
        jf,
        k,
    };
    let failure = libc::SECCOMP_RET_ERRNO | errno.unsigned_abs();
    let mut filter = [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, number, 0, 1),
        statement(libc::BPF_RET | libc::BPF_K, failure, 0, 0),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0),
    ];
    let program = libc::sock_fprog { len: 4, filter: filter.as_mut_ptr() };
    // SAFETY: a filter of four statements, which the kernel copies.
    let answer = unsafe {
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program, 0, 0)
    };
    assert_eq!(answer, 0);
}
