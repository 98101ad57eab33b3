//! A stopped thread of another process.

use crate::InjectError;
use crate::permission::explain;
use libc::{c_void, user_regs_struct};
use std::io;
use std::ptr::null_mut;

/// A thread that is stopped as long as this lives, and goes on as it was afterwards.
#[derive(Debug)]
pub(crate) struct Tracee {
    pub(crate) pid: i32,
    is_stopped: bool,
}

/// Registers of a thread: general ones, and all others as the kernel hands them out.
pub(crate) struct Registers {
    pub(crate) general: user_regs_struct,
    extended: Vec<u8>,
}

const NT_X86_XSTATE: usize = 0x202;
/// More than any processor's extended state today.
const XSTATE_BYTES: usize = 16 * 1024;

impl Tracee {
    /// Takes the thread `pid`; it runs on until [`Tracee::stop`].
    pub(crate) fn seize(pid: i32) -> Result<Self, InjectError> {
        // SAFETY: asks for a thread by number; no memory of ours is involved.
        let done = unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0_usize, 0_usize) };
        if done == 0 {
            return Ok(Self { pid, is_stopped: false });
        }
        let source = io::Error::last_os_error();
        Err(match source.raw_os_error() {
            Some(libc::ESRCH) => InjectError::NoProcess { pid },
            Some(libc::EPERM) => match tracer_of(pid) {
                Some(tracer) => InjectError::Traced { pid, tracer },
                None => InjectError::Forbidden { pid, reason: explain(pid) },
            },
            _ => InjectError::System { pid, call: "ptrace(PTRACE_SEIZE)", source },
        })
    }

    /// Stops it.
    pub(crate) fn stop(&mut self) -> Result<(), InjectError> {
        // SAFETY: a thread that is seized.
        let done = unsafe { libc::ptrace(libc::PTRACE_INTERRUPT, self.pid, 0_usize, 0_usize) };
        self.check("ptrace(PTRACE_INTERRUPT)", done)?;
        loop {
            let status = self.wait()?;
            if status >> 16 == libc::PTRACE_EVENT_STOP {
                return Ok(());
            }
            // A signal came first: it is handed on, and the stop follows.
            self.go_on(libc::WSTOPSIG(status))?;
        }
    }

    /// Lets it run, and hands it a signal unless that is 0.
    pub(crate) fn go_on(&mut self, signal: i32) -> Result<(), InjectError> {
        let signal = usize::try_from(signal).unwrap_or(0);
        // SAFETY: a thread that is stopped.
        let done = unsafe { libc::ptrace(libc::PTRACE_CONT, self.pid, 0_usize, signal) };
        self.check("ptrace(PTRACE_CONT)", done)?;
        self.is_stopped = false;
        Ok(())
    }

    /// Waits until it stops; the status as `waitpid` gives it.
    pub(crate) fn wait(&mut self) -> Result<i32, InjectError> {
        let mut status = 0;
        // SAFETY: `status` is ours.
        let waited = unsafe { libc::waitpid(self.pid, &raw mut status, libc::__WALL) };
        self.check("waitpid", waited.min(0).into())?;
        if !libc::WIFSTOPPED(status) {
            return Err(InjectError::Ended { pid: self.pid });
        }
        self.is_stopped = true;
        Ok(status)
    }

    pub(crate) fn registers(&self) -> Result<Registers, InjectError> {
        let general = self.general()?;
        let mut extended = vec![0_u8; XSTATE_BYTES];
        let mut area = area_of(&mut extended);
        let place = (&raw mut area).cast::<c_void>();
        // SAFETY: the kernel writes at most `iov_len` bytes to the vector, and the length it used.
        let done = unsafe { libc::ptrace(libc::PTRACE_GETREGSET, self.pid, NT_X86_XSTATE, place) };
        self.check("ptrace(PTRACE_GETREGSET)", done)?;
        extended.truncate(area.iov_len);
        Ok(Registers { general, extended })
    }

    pub(crate) fn general(&self) -> Result<user_regs_struct, InjectError> {
        // SAFETY: a struct of integers, for which zero is a value.
        let mut general: user_regs_struct = unsafe { std::mem::zeroed() };
        let place = (&raw mut general).cast::<c_void>();
        // SAFETY: the kernel fills the struct.
        let done = unsafe { libc::ptrace(libc::PTRACE_GETREGS, self.pid, 0_usize, place) };
        self.check("ptrace(PTRACE_GETREGS)", done)?;
        Ok(general)
    }

    pub(crate) fn set_general(&self, general: &user_regs_struct) -> Result<(), InjectError> {
        let place = std::ptr::from_ref(general).cast::<c_void>();
        // SAFETY: the kernel reads the struct.
        let done = unsafe { libc::ptrace(libc::PTRACE_SETREGS, self.pid, 0_usize, place) };
        self.check("ptrace(PTRACE_SETREGS)", done)
    }

    pub(crate) fn restore(&self, registers: &mut Registers) -> Result<(), InjectError> {
        let mut area = area_of(&mut registers.extended);
        let place = (&raw mut area).cast::<c_void>();
        // SAFETY: the kernel reads `iov_len` bytes of the vector.
        let done = unsafe { libc::ptrace(libc::PTRACE_SETREGSET, self.pid, NT_X86_XSTATE, place) };
        self.check("ptrace(PTRACE_SETREGSET)", done)?;
        self.set_general(&registers.general)
    }

    /// Writes into its process.
    pub(crate) fn write(&self, address: u64, bytes: &[u8]) -> Result<(), InjectError> {
        let local =
            libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        self.transfer(libc::process_vm_writev, "process_vm_writev", local, address)
    }

    /// Reads from its process.
    pub(crate) fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), InjectError> {
        let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        self.transfer(libc::process_vm_readv, "process_vm_readv", local, address)
    }

    fn transfer(
        &self,
        transfer: Transfer,
        call: &'static str,
        local: libc::iovec,
        address: u64,
    ) -> Result<(), InjectError> {
        let remote = libc::iovec {
            #[expect(clippy::cast_possible_truncation, reason = "addresses have 64 bits")]
            iov_base: std::ptr::without_provenance_mut(address as usize),
            iov_len: local.iov_len,
        };
        // SAFETY: one area of ours, which is valid by its slice, and one of the other process.
        let n_bytes = unsafe { transfer(self.pid, &raw const local, 1, &raw const remote, 1, 0) };
        let is_whole = usize::try_from(n_bytes).is_ok_and(|n_bytes| n_bytes == local.iov_len);
        self.check(call, if is_whole { 0 } else { -1 })
    }

    fn check(&self, call: &'static str, done: i64) -> Result<(), InjectError> {
        if done == 0 {
            return Ok(());
        }
        let source = io::Error::last_os_error();
        Err(match source.raw_os_error() {
            Some(libc::ESRCH | libc::ECHILD) => InjectError::Ended { pid: self.pid },
            _ => InjectError::System { pid: self.pid, call, source },
        })
    }
}

type Transfer = unsafe extern "C" fn(
    i32,
    *const libc::iovec,
    libc::c_ulong,
    *const libc::iovec,
    libc::c_ulong,
    libc::c_ulong,
) -> isize;

fn area_of(bytes: &mut [u8]) -> libc::iovec {
    libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() }
}

impl Drop for Tracee {
    fn drop(&mut self) {
        if !self.is_stopped && self.stop().is_err() {
            return;
        }
        // SAFETY: a thread that is stopped; it runs on.
        unsafe { libc::ptrace(libc::PTRACE_DETACH, self.pid, 0_usize, null_mut::<c_void>()) };
    }
}

fn tracer_of(pid: i32) -> Option<i32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("TracerPid:"))?;
    line.trim().parse().ok().filter(|tracer| *tracer != 0)
}
