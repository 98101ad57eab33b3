//! Stack of a thread of another process: where it is, without running anything there.

use crate::InjectError;
use crate::tracee::Tracee;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// Bytes of a stack that are read.
const STACK_BYTES: usize = 64 * 1024;

/// Position of a thread, and the top of its stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stack {
    /// Address of the instruction that the thread executes next.
    pub instruction: u64,
    /// Words of the stack from the stack pointer on.
    pub words: Vec<u64>,
}

/// Reads the stack of a thread. One that runs is stopped for an instant; one in a system call is not touched.
///
/// # Errors
/// The thread has ended, or may not be traced.
pub fn stack(pid: i32, tid: i32) -> Result<Stack, InjectError> {
    if let Some((stack_pointer, instruction)) = in_system_call(pid, tid) {
        return Ok(Stack { instruction, words: words(pid, stack_pointer) });
    }
    let mut thread = Tracee::seize(tid)?;
    thread.stop()?;
    let registers = thread.general()?;
    // Read while the thread is stopped.
    Ok(Stack { instruction: registers.rip, words: words(pid, registers.rsp) })
}

/// Returns stack pointer and instruction of a thread in a system call; `None` if it runs.
fn in_system_call(pid: i32, tid: i32) -> Option<(u64, u64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).ok()?;
    let mut numbers = text.split_ascii_whitespace().rev();
    let mut number = || u64::from_str_radix(numbers.next()?.strip_prefix("0x")?, 16).ok();
    let instruction = number()?;
    Some((number()?, instruction))
}

/// Returns the bytes of a stack from an address on, as many as can be read.
pub(crate) fn bytes(pid: i32, address: u64) -> Vec<u8> {
    let mut bytes = vec![0; STACK_BYTES];
    let memory = File::open(format!("/proc/{pid}/mem"));
    let n_bytes = memory.and_then(|memory| memory.read_at(&mut bytes, address)).unwrap_or(0);
    bytes.truncate(n_bytes);
    bytes
}

/// Returns the same as words.
fn words(pid: i32, address: u64) -> Vec<u64> {
    let bytes = bytes(pid, address);
    let (words, _rest) = bytes.as_chunks::<8>();
    words.iter().map(|word| u64::from_le_bytes(*word)).collect()
}
