//! What an action finds of the passage that carries it out: its number, and the arguments of the function.
#![allow(unsafe_code, reason = "reads saved registers and the stack")]

/// Words from the saved frame pointer of `outside` to the saved rdi, rsi, rdx, rcx, r8 and r9.
const ARGUMENT_WORDS: [isize; 6] = [-3, -2, 8, -1, -4, -5];
/// Words from there to the first argument on the stack.
const STACK_ARGUMENT_WORD: isize = 12;

/// Passage of a site by a thread.
#[derive(Debug)]
pub struct Passage<'a> {
    /// Number of the passage.
    pub hit: u32,
    /// Frame of the code that calls outside, at an entry.
    frame: Option<&'a u64>,
}

impl<'a> Passage<'a> {
    pub(crate) fn new(hit: u32, frame: Option<&'a u64>) -> Self {
        Self { hit, frame }
    }

    /// Integer or pointer argument of this number, at an entry; the function must have that many.
    pub fn argument(&self, number: u8) -> Option<u64> {
        let frame = std::ptr::from_ref(self.frame?);
        let words = ARGUMENT_WORDS.get(usize::from(number)).copied();
        let words = words.unwrap_or(STACK_ARGUMENT_WORD + isize::from(number) - 6);
        // SAFETY: the code that calls outside has saved the register there, or the caller of the function has put the
        // argument there.
        Some(unsafe { frame.wrapping_offset(words).read() })
    }
}
