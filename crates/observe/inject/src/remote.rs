//! Calls of functions in another process.

use crate::InjectError;
use crate::frame::{self, Frame};
use crate::library::{CLibrary, Gadgets};
use crate::restart;
use crate::routine::{Routine, RoutineOutcome};
use crate::stack;
use crate::tracee::{Registers, Tracee};
use sampler::{CallPath, CallPaths};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Call to be made in the process.
#[derive(Clone, Copy, Debug)]
pub struct CallInProcess<'a> {
    /// Absolute path of the library to load.
    pub library: &'a Path,
    /// Name of its function, `int function(const char *)`.
    pub function: &'a str,
    /// Argument of the function.
    pub argument: &'a str,
}

const N_TRIES: u32 = 400;
/// Tries after which a path is taken for what is known of it: code without unwind tables may be all that the thread executes.
const N_TRIES_FOR_WHOLE_PATH: u32 = 300;
const RETRY_INTERVAL: Duration = Duration::from_micros(500);
/// Time limit for loading the library and calling the function.
const TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_micros(100);
/// Values that a system call returns in place of an address on errors.
const ERRORS: std::ops::RangeInclusive<i64> = -4095..=-1;

/// Loads the library into process `pid` and calls the function; returns the function's result.
///
/// # Errors
/// See [`InjectError`]; the process then continues as if nothing had been tried.
pub fn inject(pid: i32, call: CallInProcess) -> Result<i32, InjectError> {
    if !Path::new(&format!("/proc/{pid}")).exists() {
        return Err(InjectError::NoProcess(pid));
    }
    // Before reading its memory: only this error names the setting that forbids it.
    let mut tracee = Tracee::seize(pid)?;
    let c_library = CLibrary::of(pid).ok_or(InjectError::Static(pid))?;
    check_visible(pid, call.library)?;
    if has_shadow_stack(pid) {
        return Err(InjectError::ShadowStack(pid));
    }
    let texts = [call.library.as_os_str().as_bytes(), call.function.as_bytes()];
    let routine = Routine::new(c_library.functions, [texts[0], texts[1], call.argument.as_bytes()]);
    stop_where_it_is_safe(&mut tracee, &c_library)?;
    let gadgets = c_library.gadgets;
    let (before, frame) = prepare(&tracee, gadgets)?;
    let mut remote_call = RemoteCall { tracee, gadgets, before, frame, is_ours: true };
    let result = remote_call.carry_out(&routine, call.library);
    remote_call.end().and(result)
}

/// Checks that the process sees the same file.
fn check_visible(pid: i32, library: &Path) -> Result<(), InjectError> {
    let file = |path: &Path| std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    let inside = format!("/proc/{pid}/root{}", library.display());
    let ours = file(library);
    if ours.is_some() && ours == file(Path::new(&inside)) {
        return Ok(());
    }
    Err(InjectError::NotVisible { pid, library: library.into() })
}

fn stop_where_it_is_safe(tracee: &mut Tracee, c_library: &CLibrary) -> Result<(), InjectError> {
    let mut paths = CallPaths::of(tracee.pid);
    for n_tried in 0..N_TRIES {
        tracee.stop()?;
        let registers = tracee.restart_call()?;
        // In a system call the thread holds no lock of the C library, except in calls made by the allocator,
        // and in `fork`, which holds the locks of the allocator during the call.
        const OF_ALLOCATOR: [i64; 10] = [
            libc::SYS_brk,
            libc::SYS_mmap,
            libc::SYS_munmap,
            libc::SYS_mprotect,
            libc::SYS_madvise,
            libc::SYS_mremap,
            libc::SYS_clone,
            libc::SYS_clone3,
            libc::SYS_fork,
            libc::SYS_vfork,
        ];
        let number = registers.orig_rax.cast_signed();
        let is_in_call =
            0 <= number && !OF_ALLOCATOR.contains(&number) && !c_library.is_loading(registers.rip);
        let is_outside = is_in_call || !c_library.holds(registers.rip);
        if is_outside {
            let path = call_path(&mut paths, tracee.pid, &registers);
            let is_known = !path.is_cut || N_TRIES_FOR_WHOLE_PATH <= n_tried;
            if is_known && !has_called(c_library, &path) {
                return Ok(());
            }
        }
        tracee.resume(0)?;
        std::thread::sleep(RETRY_INTERVAL);
    }
    Err(InjectError::NeverSafe(tracee.pid))
}

/// Returns whether the C library or the dynamic linker has called other code on this path, and waits for its end. What starts a
/// thread, or the program, does so too, and holds no lock; the innermost functions may be those of a system call.
fn has_called(c_library: &CLibrary, path: &CallPath<'_>) -> bool {
    let CallPath { addresses: path, is_cut, .. } = *path;
    let is_its = |behind: &&u64| c_library.holds(behind.wrapping_sub(1));
    let is_other = |behind: &&u64| !is_its(behind);
    let n_inner = path.iter().take_while(is_its).count();
    let n_start = path.iter().rev().skip_while(is_other).skip_while(is_its).count();
    let n_known = if is_cut { path.len() } else { n_start };
    path.get(n_inner..n_known).unwrap_or_default().iter().any(|behind| is_its(&behind))
}

/// Returns the call path of a stopped thread.
fn call_path<'a>(paths: &'a mut CallPaths, pid: i32, at: &libc::user_regs_struct) -> CallPath<'a> {
    let registers = [
        at.rax, at.rbx, at.rcx, at.rdx, at.rsi, at.rdi, at.rbp, at.rsp, at.rip, at.r8, at.r9,
        at.r10, at.r11, at.r12, at.r13, at.r14, at.r15,
    ];
    paths.path(registers, &stack::bytes(pid, at.rsp))
}

/// Returns whether functions of the process can return only to where they were called.
fn has_shadow_stack(pid: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let features = status.lines().find_map(|line| line.strip_prefix("x86_Thread_features:"));
    features.is_some_and(|features| features.contains("shstk"))
}

/// Stopped thread, with a frame on its stack by which it continues without us.
struct RemoteCall {
    tracee: Tracee,
    gadgets: Gadgets,
    /// Registers of the thread when it was stopped.
    before: Registers,
    frame: Frame,
    /// Whether the thread is stopped in our code, and must be restored: a running thread returns by itself.
    is_ours: bool,
}

/// Saves the registers of a stopped thread, and writes the frame on its stack.
fn prepare(tracee: &Tracee, gadgets: Gadgets) -> Result<(Registers, Frame), InjectError> {
    let before = tracee.registers()?;
    let mut code = [0; 7];
    let code_at = before.general.rip.saturating_sub(code.len() as u64);
    // If the code is unreadable, it is not the instruction searched for.
    let code = tracee.read(code_at, &mut code).map_or([0; 7], |()| code);
    let resumed = restart::resume_registers(before.general, code);
    let resumed = Registers { general: resumed, ..before.clone() };
    let frame = Frame::below(&resumed, gadgets.restorer);
    tracee.write_on_stack(frame.address, &frame.bytes)?;
    Ok((before, frame))
}

impl RemoteCall {
    fn carry_out(&mut self, routine: &Routine, library: &Path) -> Result<i32, InjectError> {
        let pid = self.tracee.pid;
        let address = self.map(routine.len() as u64)?;
        self.tracee.write(address, &routine.image(address))?;
        let start = routine.start(address, self.frame.stack_of_return(), &self.before.general);
        self.tracee.set_general(&start)?;
        // Only now: if the thread continued in its original code, it would lack its own values.
        self.tracee.set_extended(&frame::fresh_state(&self.before.extended))?;
        self.is_ours = false;
        self.tracee.resume(0)?;
        let outcome = self.wait_for_outcome(address, library)?;
        let result = match outcome {
            RoutineOutcome::Returned(returned) => Ok(returned),
            RoutineOutcome::NotLoaded(text) => {
                let reason = self.text(text);
                Err(InjectError::NotLoaded { pid, library: library.into(), reason })
            }
            RoutineOutcome::None => Err(InjectError::Ended(pid)),
        };
        self.tracee.stop()?;
        let memory = address..address + routine.len() as u64;
        if self.take_over(&memory)? {
            self.unmap(memory)?;
        }
        result
    }

    /// Takes over the thread, which is stopped again, unless nothing can be called there; the memory then stays.
    fn take_over(&mut self, memory: &Range<u64>) -> Result<bool, InjectError> {
        let general = self.tracee.general()?;
        if memory.contains(&general.rip) {
            self.is_ours = true;
            return Ok(true);
        }
        // The thread has stopped waiting for us: this is a first stop in its own code.
        self.tracee.restart_call()?;
        // Otherwise it is in a handler of a signal that is never blocked, and returns to the routine.
        let is_back = !memory.contains(&general.rsp)
            && self.tracee.blocked_signals()? == self.before.blocked_signals;
        if is_back && let Ok((before, frame)) = prepare(&self.tracee, self.gadgets) {
            (self.before, self.frame, self.is_ours) = (before, frame, true);
        }
        Ok(self.is_ours)
    }

    /// Restores the thread's original state.
    fn end(self) -> Result<(), InjectError> {
        if self.is_ours { self.tracee.restore(&self.before) } else { Ok(()) }
    }

    fn wait_for_outcome(
        &mut self,
        address: u64,
        library: &Path,
    ) -> Result<RoutineOutcome, InjectError> {
        let (place, n_bytes) = Routine::words(address);
        let mut words = vec![0; n_bytes];
        let until = Instant::now() + TIMEOUT;
        loop {
            self.tracee.forward_signals()?;
            self.tracee.read(place, &mut words)?;
            match Routine::outcome(&words) {
                RoutineOutcome::None if until < Instant::now() => {
                    let (pid, library) = (self.tracee.pid, library.into());
                    let patience_s = TIMEOUT.as_secs();
                    return Err(InjectError::Waiting { pid, library, patience_s });
                }
                RoutineOutcome::None => std::thread::sleep(POLL_INTERVAL),
                outcome => return Ok(outcome),
            }
        }
    }

    fn map(&mut self, n_bytes: u64) -> Result<u64, InjectError> {
        let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let words = [protection, kind].map(|flags| u64::from(flags.cast_unsigned()));
        let returned =
            self.call_system(libc::SYS_mmap, [0, n_bytes, words[0], words[1], u64::MAX, 0])?;
        if !ERRORS.contains(&returned.cast_signed()) {
            return Ok(returned);
        }
        let code = i32::try_from(-returned.cast_signed()).unwrap_or(0);
        let source = std::io::Error::from_raw_os_error(code);
        Err(InjectError::NoMemory { pid: self.tracee.pid, source })
    }

    /// If the system refuses, the memory stays.
    fn unmap(&mut self, memory: Range<u64>) -> Result<(), InjectError> {
        let n_bytes = memory.end - memory.start;
        self.call_system(libc::SYS_munmap, [memory.start, n_bytes, 0, 0, 0, 0]).map(drop)
    }

    fn call_system(&mut self, number: i64, words: [u64; 6]) -> Result<u64, InjectError> {
        let [rdi, rsi, rdx, r10, r8, r9] = words;
        let rax = number.cast_unsigned();
        let registers = libc::user_regs_struct {
            rip: self.gadgets.syscall,
            rsp: self.frame.address,
            rax,
            orig_rax: u64::MAX,
            rdi,
            rsi,
            rdx,
            r10,
            r8,
            r9,
            ..self.before.general
        };
        self.tracee.call_system(&registers)
    }

    fn text(&self, address: u64) -> String {
        let mut reason = Vec::new();
        let mut byte = [0];
        while address != 0 && reason.len() < 400 {
            let is_read = self.tracee.read(address + reason.len() as u64, &mut byte).is_ok();
            if !is_read || byte == [0] {
                break;
            }
            reason.extend(byte);
        }
        String::from_utf8_lossy(&reason).into_owned()
    }
}
