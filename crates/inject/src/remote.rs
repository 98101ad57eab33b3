//! Calling functions in another process.

use crate::InjectError;
use crate::library::CLibrary;
use crate::tracee::{Registers, Tracee};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// What is done in the process.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Library to load; absolute.
    pub library: &'a Path,
    /// Function in it, `int function(const char *)`.
    pub function: &'a str,
    /// Its argument.
    pub argument: &'a str,
}

const N_TRIES: u32 = 400;
const BETWEEN_TRIES: Duration = Duration::from_micros(500);
/// What the x86-64 ABI lets a function use below its stack pointer.
const RED_ZONE_BYTES: u64 = 128;

/// Loads the library into process `pid` and calls the function; gives what it returned.
///
/// # Errors
/// See [`InjectError`]; the process then goes on as if nothing had been tried.
pub fn inject(pid: i32, call: Call) -> Result<i32, InjectError> {
    if !Path::new(&format!("/proc/{pid}")).exists() {
        return Err(InjectError::NoProcess { pid });
    }
    // Before its memory is looked at: only this names what forbids it.
    let mut tracee = Tracee::seize(pid)?;
    let c_library = CLibrary::of(pid).ok_or(InjectError::Static { pid })?;
    check_seen(pid, call.library)?;
    stop_where_it_is_safe(&mut tracee, &c_library)?;
    let mut before = tracee.registers()?;
    let result = load_and_call(&mut tracee, &c_library, &before, call);
    if !matches!(result, Err(InjectError::Ended { .. })) {
        tracee.restore(&mut before)?;
    }
    result
}

/// The same file has to be there for the process.
fn check_seen(pid: i32, library: &Path) -> Result<(), InjectError> {
    let unseen = || InjectError::Unseen { pid, library: library.into() };
    let inside = format!("/proc/{pid}/root{}", library.display());
    let (ours, theirs) = (std::fs::metadata(library), std::fs::metadata(inside));
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) if ours.ino() == theirs.ino() && ours.dev() == theirs.dev() => {
            Ok(())
        }
        _ => Err(unseen()),
    }
}

fn stop_where_it_is_safe(tracee: &mut Tracee, c_library: &CLibrary) -> Result<(), InjectError> {
    for _ in 0..N_TRIES {
        tracee.stop()?;
        let registers = tracee.general()?;
        // In a system call the thread holds no lock of the C library, but for calls that its allocator makes.
        const OF_ALLOCATOR: [i64; 6] = [
            libc::SYS_brk,
            libc::SYS_mmap,
            libc::SYS_munmap,
            libc::SYS_mprotect,
            libc::SYS_madvise,
            libc::SYS_mremap,
        ];
        let number = registers.orig_rax.cast_signed();
        let is_in_call = 0 <= number && !OF_ALLOCATOR.contains(&number);
        if is_in_call || !c_library.holds(registers.rip) {
            return Ok(());
        }
        tracee.go_on(0)?;
        std::thread::sleep(BETWEEN_TRIES);
    }
    Err(InjectError::NeverSafe { pid: tracee.pid })
}

fn load_and_call(
    tracee: &mut Tracee,
    c_library: &CLibrary,
    before: &Registers,
    call: Call,
) -> Result<i32, InjectError> {
    let mut caller = Caller::new(tracee, before);
    let library = caller.text(call.library.as_os_str().as_bytes())?;
    let flags = u64::try_from(libc::RTLD_NOW | libc::RTLD_GLOBAL).unwrap_or(0);
    let handle = caller.call(c_library.dlopen, [library, flags])?;
    if handle == 0 {
        return Err(caller.not_loaded(c_library, call.library)?);
    }
    let name = caller.text(call.function.as_bytes())?;
    let function = caller.call(c_library.dlsym, [handle, name])?;
    if function == 0 {
        return Err(caller.not_loaded(c_library, call.library)?);
    }
    let argument = caller.text(call.argument.as_bytes())?;
    let returned = caller.call(function, [argument, 0])?;
    #[expect(clippy::cast_possible_truncation, reason = "an int is the lower half of rax")]
    Ok((returned as u32).cast_signed())
}

/// Calls functions on the stack of a stopped thread.
struct Caller<'a> {
    tracee: &'a mut Tracee,
    registers: libc::user_regs_struct,
    /// Everything from here on is in use.
    stack: u64,
}

impl<'a> Caller<'a> {
    fn new(tracee: &'a mut Tracee, before: &Registers) -> Self {
        let mut registers = before.general;
        // The system call that was interrupted is started again later, not now.
        registers.orig_rax = u64::MAX;
        Self { tracee, registers, stack: registers.rsp - RED_ZONE_BYTES }
    }

    /// Puts a text on the stack.
    fn text(&mut self, bytes: &[u8]) -> Result<u64, InjectError> {
        let text: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 0).collect();
        let text = CString::new(text).unwrap_or_default();
        let bytes = text.as_bytes_with_nul();
        self.stack = (self.stack - bytes.len() as u64) & !15;
        self.tracee.write(self.stack, bytes)?;
        Ok(self.stack)
    }

    /// Calls a function and gives what it returned. It returns to address 0, which stops the thread.
    fn call(&mut self, function: u64, [first, second]: [u64; 2]) -> Result<u64, InjectError> {
        let stack = self.stack - 8;
        self.tracee.write(stack, &0_u64.to_le_bytes())?;
        let registers = libc::user_regs_struct {
            rip: function,
            rsp: stack,
            rbp: 0,
            rdi: first,
            rsi: second,
            rax: 0,
            ..self.registers
        };
        self.tracee.set_general(&registers)?;
        let mut signal = 0;
        loop {
            self.tracee.go_on(signal)?;
            let status = self.tracee.wait()?;
            signal = libc::WSTOPSIG(status);
            let after = self.tracee.general()?;
            if signal == libc::SIGSEGV && after.rip == 0 {
                return Ok(after.rax);
            }
            if status >> 16 != 0 {
                // Group stops and the like are not signals.
                signal = 0;
            }
        }
    }

    fn not_loaded(
        &mut self,
        c_library: &CLibrary,
        library: &Path,
    ) -> Result<InjectError, InjectError> {
        let at = self.call(c_library.dlerror, [0, 0])?;
        let mut reason = Vec::new();
        let mut byte = [0];
        while at != 0 && reason.len() < 400 {
            self.tracee.read(at + reason.len() as u64, &mut byte)?;
            if byte == [0] {
                break;
            }
            reason.extend(byte);
        }
        let reason = String::from_utf8_lossy(&reason).into_owned();
        Ok(InjectError::NotLoaded { pid: self.tracee.pid, library: library.into(), reason })
    }
}
