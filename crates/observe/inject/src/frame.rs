//! Frame by which a thread restores its own registers, as the kernel leaves one for a signal handler: returning to the
//! frame takes the thread back to where it was, with its whole state, and without help from another process.
//!
//! # Invariants
//! - The frame has the layout of the kernel's `rt_sigreturn` for x86-64: `struct rt_sigframe`, followed by the
//!   extended state.

use crate::tracee::Registers;
use libc::user_regs_struct;
use std::arch::x86_64::__cpuid_count;
use std::ops::Range;

/// Bytes below its stack pointer that the x86-64 ABI lets a function use.
const RED_ZONE_BYTES: u64 = 128;
/// Size of return address, `ucontext`, `siginfo`.
const FRAME_BYTES: u64 = 8 + 304 + 128;
/// `uc_flags`: the processor's state has flags, is in the order of `xsave`, and segment registers are restored as well.
const FLAGS: u64 = 0b111;
/// Not a valid flag of `sigaltstack`, so the kernel ignores it: the thread keeps its signal stack.
const NO_STACK_FLAG: u32 = 0x7F;

/// Frame and its place.
#[derive(Debug)]
pub(crate) struct Frame {
    /// Address of its first word, to which the stack pointer points when a function returns to the frame.
    pub(crate) address: u64,
    /// Content.
    pub(crate) bytes: Vec<u8>,
}

impl Frame {
    /// Builds the frame below the used part of the thread's stack. `restorer` is code that calls `rt_sigreturn`.
    pub(crate) fn below(registers: &Registers, restorer: u64) -> Self {
        let general = &registers.general;
        let extended = extended_state(&registers.extended);
        let top = general.rsp - RED_ZONE_BYTES;
        let extended_address = (top - extended.len() as u64) & !63;
        // Aligned as at the first instruction of a function.
        let address = ((extended_address - FRAME_BYTES) & !15) - 8;
        let mut words = vec![restorer, FLAGS, 0, 0, NO_STACK_FLAG.into(), 0];
        words.extend(context(general));
        words.extend([0, 0, 0, 0, extended_address]);
        words.extend([0; 8]);
        words.push(registers.blocked_signals);
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.resize(usize::try_from(extended_address - address).unwrap_or(0), 0);
        bytes.extend(extended);
        Self { address, bytes }
    }

    /// Stack pointer for code that calls `rt_sigreturn` itself.
    pub(crate) fn stack_of_return(&self) -> u64 {
        self.address + 8
    }
}

/// General registers in the order of `struct sigcontext`.
fn context(general: &user_regs_struct) -> [u64; 19] {
    let segments = general.cs & 0xFFFF | (general.ss & 0xFFFF) << 48;
    let g = general;
    [
        [g.r8, g.r9, g.r10, g.r11, g.r12, g.r13].as_slice(),
        &[g.r14, g.r15, g.rdi, g.rsi, g.rbp, g.rbx],
        &[g.rdx, g.rax, g.rcx, g.rsp, g.rip, g.eflags, segments],
    ]
    .concat()
    .try_into()
    .unwrap_or([0; 19])
}

/// Offset of the kernel's description of an extended state, in bytes that the processor does not use.
const NOTE_AT: usize = 464;
/// Offset of the bits of the components that are not in their initial state.
const IN_USE_AT: usize = 512;
const HEADER_BYTES: usize = 64;
const MAGIC_BEFORE: u32 = 0x4650_5853;
const MAGIC_BEHIND: u32 = 0x4650_5845;

/// Returns the extended state with the kernel's marks, as long as its components in use: the kernel might not accept
/// from this thread a state with all components that the processor supports.
fn extended_state(state: &[u8]) -> Vec<u8> {
    let word = |at: usize| {
        let bytes = state.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u64::from_le_bytes)
    };
    let (parts, in_use) = (word(NOTE_AT), word(IN_USE_AT));
    let len = (2..63).filter(|part| in_use >> part & 1 == 1).map(end_of_part);
    let len = len.max().unwrap_or(0).max(IN_USE_AT + HEADER_BYTES).min(state.len());
    let mut marked = state[..len].to_vec();
    let size = u32::try_from(len).unwrap_or(0);
    let note = [MAGIC_BEFORE.to_le_bytes(), (size + 4).to_le_bytes()].concat();
    let note = [&note[..], &parts.to_le_bytes(), &size.to_le_bytes(), &[0; 28]].concat();
    if let Some(place) = marked.get_mut(NOTE_AT..NOTE_AT + note.len()) {
        place.copy_from_slice(&note);
    }
    marked.extend(MAGIC_BEHIND.to_le_bytes());
    marked
}

/// Returns the end of a component of the extended state, as reported by the processor.
fn end_of_part(part: u32) -> usize {
    const STATE_PARTS: u32 = 0xD;
    let described = __cpuid_count(STATE_PARTS, part);
    usize::try_from(u64::from(described.eax) + u64::from(described.ebx)).unwrap_or(usize::MAX)
}

/// Returns an extended state with every component in its initial state; as long as that of the thread.
///
/// The oldest components are marked as in use, with their initial values: for components not in use, processors that
/// save the state in its standard form still take the control word of SSE from the thread's area.
pub(crate) fn fresh_state(state: &[u8]) -> Vec<u8> {
    const CONTROL_WORD: [u8; 2] = 0x037F_u16.to_le_bytes();
    const MXCSR: [u8; 4] = 0x1F80_u32.to_le_bytes();
    const MXCSR_MASK: Range<usize> = 28..32;
    const X87_AND_SSE: u8 = 0b11;
    let mask = state.get(MXCSR_MASK).unwrap_or_default();
    let parts = [(0, &CONTROL_WORD[..]), (24, &MXCSR), (28, mask), (IN_USE_AT, &[X87_AND_SSE])];
    let mut fresh = vec![0; state.len()];
    for (at, bytes) in parts {
        if let Some(place) = fresh.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }
    fresh
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::restart::tests::stopped;

    /// Without the marks, processors that save the state uncompacted keep the thread's `MXCSR`.
    #[test]
    fn a_fresh_state_says_what_its_control_words_are() {
        let mut state = vec![0x55; 832];
        state[28..32].copy_from_slice(&[0xFF, 0xFF, 2, 0]);
        let fresh = fresh_state(&state);
        assert_eq!((fresh.len(), &fresh[..2]), (832, &[0x7F, 3][..]));
        assert_eq!(fresh[24..32], [0x80, 0x1F, 0, 0, 0xFF, 0xFF, 2, 0]);
        assert_eq!(fresh[IN_USE_AT..][..8], [3, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(fresh.iter().filter(|byte| **byte != 0).count(), 2 + 2 + 3 + 1);
    }

    #[test]
    fn a_frame_lies_below_the_red_zone_as_the_kernel_wants_it() {
        let general = stopped(-1, 0);
        let registers = Registers { general, extended: vec![0; 2696], blocked_signals: 5 };
        let frame = Frame::below(&registers, 77);
        let word = |at: usize| u64::from_le_bytes(frame.bytes[at..at + 8].try_into().unwrap());
        assert_eq!((frame.address + 8) % 16, 0);
        assert_eq!(word(0), 77);
        // Offsets of `struct rt_sigframe`: registers from 48 on, `rsp` and `rip` among them; the mask at 304.
        assert_eq!((word(48 + 15 * 8), word(48 + 16 * 8), word(304)), (0x7000, 0x1002, 5));
        let state_at = usize::try_from(word(48 + 23 * 8) - frame.address).unwrap();
        assert_eq!((word(48 + 23 * 8) % 64, state_at + 580), (0, frame.bytes.len()));
        assert_eq!(frame.bytes[state_at + NOTE_AT..][..4], MAGIC_BEFORE.to_le_bytes());
        assert_eq!(frame.bytes[state_at + 576..], MAGIC_BEHIND.to_le_bytes());
        assert!(frame.address + frame.bytes.len() as u64 <= general.rsp - RED_ZONE_BYTES);
    }
}
