//! Thread of another process that can be stopped and controlled.

use crate::InjectError;
use crate::permission::explain;
use crate::restart;
use libc::{c_void, user_regs_struct};
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt;
use std::ptr::null_mut;

/// Thread of another process, seized as long as this value lives.
///
/// The kernel releases the thread when this process ends, and the thread continues with the registers that it then has.
#[derive(Debug)]
pub(crate) struct Tracee {
    pub(crate) pid: i32,
    is_stopped: bool,
}

/// Registers of a thread: general ones, and all others as the kernel returns them.
#[derive(Clone)]
pub(crate) struct Registers {
    pub(crate) general: user_regs_struct,
    /// Extended state, as written by `xsave`.
    pub(crate) extended: Vec<u8>,
    pub(crate) blocked_signals: u64,
}

/// Stop at the beginning or end of a system call, distinguished from a plain `SIGTRAP` by its high bit.
const AT_SYSTEM_CALL: i32 = libc::SIGTRAP | 0x80;
/// Signals raised by the thread's own faults; they end the process if they are blocked.
const NEVER_BLOCKED: [i32; 7] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGTRAP,
    libc::SIGABRT,
    libc::SIGSYS,
];

const NT_X86_XSTATE: usize = 0x202;
/// Upper bound of the extended state of today's processors.
const XSTATE_BYTES: usize = 16 * 1024;

impl Tracee {
    /// Seizes the thread `pid`, which keeps running until [`Tracee::stop`].
    pub(crate) fn seize(pid: i32) -> Result<Self, InjectError> {
        let options = usize::try_from(libc::PTRACE_O_TRACESYSGOOD).unwrap_or(0);
        // SAFETY: asks for a thread by number; no memory of ours is involved.
        let done = unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0_usize, options) };
        if done == 0 {
            return Ok(Self { pid, is_stopped: false });
        }
        let source = io::Error::last_os_error();
        Err(match source.raw_os_error() {
            Some(libc::ESRCH) => InjectError::NoProcess(pid),
            Some(libc::EPERM) => match tracer_of(pid) {
                Some(tracer) => InjectError::Traced { pid, tracer },
                None => InjectError::Forbidden { pid, reason: explain(pid) },
            },
            _ => InjectError::System { pid, call: "ptrace(PTRACE_SEIZE)", source },
        })
    }

    /// Stops the thread.
    pub(crate) fn stop(&mut self) -> Result<(), InjectError> {
        // SAFETY: a thread that is seized.
        let done = unsafe { libc::ptrace(libc::PTRACE_INTERRUPT, self.pid, 0_usize, 0_usize) };
        self.check("ptrace(PTRACE_INTERRUPT)", done)?;
        if self.is_stopped {
            self.resume(0)?;
        }
        loop {
            let status = self.wait()?;
            if status >> 16 == libc::PTRACE_EVENT_STOP {
                return Ok(());
            }
            // A signal came first: pass it on; the stop follows.
            self.resume(libc::WSTOPSIG(status))?;
        }
    }

    /// Resumes the thread, and passes it a signal unless that is 0.
    pub(crate) fn resume(&mut self, signal: i32) -> Result<(), InjectError> {
        self.resume_with(libc::PTRACE_CONT, signal)
    }

    /// Resumes the thread until the next beginning or end of a system call.
    fn resume_to_system_call(&mut self) -> Result<(), InjectError> {
        let mut signal = 0;
        loop {
            self.resume_with(libc::PTRACE_SYSCALL, signal)?;
            let status = self.wait()?;
            if libc::WSTOPSIG(status) == AT_SYSTEM_CALL {
                return Ok(());
            }
            signal = signal_of(status);
        }
    }

    fn resume_with(&mut self, how: libc::c_uint, signal: i32) -> Result<(), InjectError> {
        let signal = usize::try_from(signal).unwrap_or(0);
        // SAFETY: a thread that is stopped.
        let done = unsafe { libc::ptrace(how, self.pid, 0_usize, signal) };
        self.check("ptrace(PTRACE_CONT)", done)?;
        self.is_stopped = false;
        Ok(())
    }

    /// Waits until the thread stops; returns the status of `waitpid`.
    pub(crate) fn wait(&mut self) -> Result<i32, InjectError> {
        self.wait_with(0).map(|status| status.unwrap_or(0))
    }

    /// Passes on the signals that have stopped the thread, without waiting.
    pub(crate) fn forward_signals(&mut self) -> Result<(), InjectError> {
        while let Some(status) = self.wait_with(libc::WNOHANG)? {
            self.resume(signal_of(status))?;
        }
        Ok(())
    }

    fn wait_with(&mut self, options: i32) -> Result<Option<i32>, InjectError> {
        let mut status = 0;
        let waited = loop {
            // SAFETY: `status` is ours.
            let waited =
                unsafe { libc::waitpid(self.pid, &raw mut status, libc::__WALL | options) };
            // A signal to this program does not concern the thread.
            if waited != -1 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                break waited;
            }
        };
        self.check("waitpid", waited.min(0).into())?;
        if waited == 0 {
            return Ok(None);
        }
        if !libc::WIFSTOPPED(status) {
            return Err(InjectError::Ended(self.pid));
        }
        self.is_stopped = true;
        Ok(Some(status))
    }

    /// Makes the thread execute a system call, by an instruction followed by a return, and stops it before the
    /// return. The given registers must return to a place from which the thread can continue by itself.
    pub(crate) fn call_system(&mut self, registers: &user_regs_struct) -> Result<u64, InjectError> {
        self.set_general(registers)?;
        self.block_signals()?;
        self.resume_to_system_call()?;
        self.resume_to_system_call()?;
        let returned = self.general()?.rax;
        // A stop like the first one: only after such a stop the kernel restarts interrupted calls.
        self.stop()?;
        Ok(returned)
    }

    pub(crate) fn registers(&self) -> Result<Registers, InjectError> {
        let general = self.general()?;
        let blocked_signals = self.blocked_signals()?;
        let mut extended = vec![0_u8; XSTATE_BYTES];
        let mut area = area_of(&mut extended);
        let place = (&raw mut area).cast::<c_void>();
        // SAFETY: the kernel writes at most `iov_len` bytes to the vector, and the length it used.
        let done = unsafe { libc::ptrace(libc::PTRACE_GETREGSET, self.pid, NT_X86_XSTATE, place) };
        self.check("ptrace(PTRACE_GETREGSET)", done)?;
        extended.truncate(area.iov_len);
        Ok(Registers { general, extended, blocked_signals })
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

    /// Restores a thread that is in our code; its position (general registers) comes last.
    pub(crate) fn restore(&self, registers: &Registers) -> Result<(), InjectError> {
        self.set_extended(&registers.extended)?;
        self.set_blocked_signals(registers.blocked_signals)?;
        self.set_general(&registers.general)
    }

    pub(crate) fn set_extended(&self, extended: &[u8]) -> Result<(), InjectError> {
        let mut extended = extended.to_vec();
        let mut area = area_of(&mut extended);
        let place = (&raw mut area).cast::<c_void>();
        // SAFETY: the kernel reads `iov_len` bytes of the vector.
        let done = unsafe { libc::ptrace(libc::PTRACE_SETREGSET, self.pid, NT_X86_XSTATE, place) };
        self.check("ptrace(PTRACE_SETREGSET)", done)
    }

    pub(crate) fn blocked_signals(&self) -> Result<u64, InjectError> {
        let mut mask = 0_u64;
        let place = (&raw mut mask).cast::<c_void>();
        let bytes = size_of_val(&mask);
        // SAFETY: the kernel fills the word.
        let done = unsafe { libc::ptrace(libc::PTRACE_GETSIGMASK, self.pid, bytes, place) };
        self.check("ptrace(PTRACE_GETSIGMASK)", done)?;
        Ok(mask)
    }

    fn set_blocked_signals(&self, mask: u64) -> Result<(), InjectError> {
        let place = (&raw const mask).cast::<c_void>().cast_mut();
        let bytes = size_of_val(&mask);
        // SAFETY: the kernel reads the word.
        let done = unsafe { libc::ptrace(libc::PTRACE_SETSIGMASK, self.pid, bytes, place) };
        self.check("ptrace(PTRACE_SETSIGMASK)", done)
    }

    fn block_signals(&self) -> Result<(), InjectError> {
        let bit = |signal: i32| 1_u64 << (signal - 1);
        let kept = NEVER_BLOCKED.into_iter().fold(0, |mask, signal| mask | bit(signal));
        self.set_blocked_signals(!kept)
    }

    /// Lets the kernel repeat a call that our stop interrupted; call it before anything else. Returns the new
    /// registers.
    pub(crate) fn restart_call(&self) -> Result<user_regs_struct, InjectError> {
        let registers = self.general()?;
        let Some(restarted) = restart::with_restart(registers) else { return Ok(registers) };
        self.set_general(&restarted)?;
        Ok(restarted)
    }

    /// Writes into the memory of the process.
    pub(crate) fn write(&self, address: u64, bytes: &[u8]) -> Result<(), InjectError> {
        let local =
            libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        self.transfer(libc::process_vm_writev, "process_vm_writev", local, address)
    }

    /// Writes below the used part of the thread's stack, which grows if the kernel manages its growth.
    pub(crate) fn write_on_stack(&self, address: u64, bytes: &[u8]) -> Result<(), InjectError> {
        if self.write(address, bytes).is_ok() {
            return Ok(());
        }
        let no_room = || InjectError::NoStack(self.pid);
        // Elsewhere this would write into memory that the thread may not access.
        if !is_below_growing_stack(self.pid, address) {
            return Err(no_room());
        }
        let memory = OpenOptions::new().write(true).open(format!("/proc/{}/mem", self.pid));
        let written = memory.and_then(|memory| memory.write_all_at(bytes, address));
        written.map_err(|_| no_room())
    }

    /// Reads from the memory of the process.
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
            Some(libc::ESRCH | libc::ECHILD) => InjectError::Ended(self.pid),
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
        // This may have been the only stop. A thread that has ended has no call either.
        drop(self.restart_call());
        // SAFETY: a thread that is stopped; it continues.
        unsafe { libc::ptrace(libc::PTRACE_DETACH, self.pid, 0_usize, null_mut::<c_void>()) };
    }
}

/// Returns the signal that stopped a thread; 0 if something else did.
fn signal_of(status: i32) -> i32 {
    let is_signal = status >> 16 == 0 && libc::WSTOPSIG(status) != AT_SYSTEM_CALL;
    if is_signal { libc::WSTOPSIG(status) } else { 0 }
}

/// Returns whether an address is at most a few pages below the first thread's stack, and not mapped yet.
fn is_below_growing_stack(pid: i32, address: u64) -> bool {
    const GROWTH_BYTES: u64 = 64 << 10;
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let start_of = |line: &str| u64::from_str_radix(line.split('-').next()?, 16).ok();
    let end_of = |line: &str| u64::from_str_radix(line.split(['-', ' ']).nth(1)?, 16).ok();
    let stack = maps.lines().find(|line| line.ends_with("[stack]")).and_then(start_of);
    let is_taken = |line| start_of(line) <= Some(address) && Some(address) < end_of(line);
    let is_near = stack.is_some_and(|stack| address < stack && stack - address < GROWTH_BYTES);
    is_near && !maps.lines().any(is_taken)
}

fn tracer_of(pid: i32) -> Option<i32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("TracerPid:"))?;
    line.trim().parse().ok().filter(|tracer| *tracer != 0)
}
