//! Code that a thread runs for us in separate memory: loads the library, calls the function, and returns to where the
//! thread was, whether or not this program still exists.
//!
//! # Invariants
//! - It has its own stack, since the program's may be small.
//! - `errno` is preserved.
//! - It waits a moment before it returns, so that this program, if it still exists, can restore what the routine
//!   cannot. It waits by `ppoll`, which preserves the kernel's record of the thread's interrupted call.

use std::arch::global_asm;

/// Names of the functions that the routine calls.
pub(crate) const FUNCTIONS: [&str; 4] = ["dlopen", "dlsym", "dlerror", "__errno_location"];
/// Addresses of [`FUNCTIONS`], in the same order.
pub(crate) type FunctionAddresses = [u64; FUNCTIONS.len()];

/// Outcome of the routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoutineOutcome {
    /// The routine is not finished.
    None,
    /// Result of the function.
    Returned(i32),
    /// The library or the function was not found; address of the dynamic linker's error text.
    NotLoaded(u64),
}

/// Offset of the words that the code reads and writes, behind the code.
const WORDS_AT: usize = 512;
const N_WORDS: usize = 10;
const TEXTS_AT: usize = WORDS_AT + 8 * N_WORDS;
const PAGE_BYTES: usize = 4096;
/// Stack size, enough for `dlopen`, which reads a library's headers onto it, and for the library's constructors.
const STACK_BYTES: usize = 512 << 10;

const DLOPEN: usize = 0;
const DLSYM: usize = 8;
const DLERROR: usize = 16;
const ERRNO: usize = 24;
const IS_DONE: usize = 32;
const RETURNED: usize = 40;
const REASON: usize = 48;
/// Offset of the waiting time: seconds and nanoseconds.
const MOMENT: usize = 56;
const NAME: usize = 72;
const MOMENT_NS: u64 = 200_000_000;
const DONE: u64 = 1;
const FAILED: u64 = 2;

global_asm!(
    ".pushsection .rodata.sintonia_routine, \"a\", @progbits",
    "sintonia_routine_begin:",
    // rbx: the words; rbp: the texts; r12: stack pointer for `rt_sigreturn`.
    "call [rbx + {errno}]",
    "mov r13, rax",
    "mov r14d, [rax]",
    "mov rdi, rbp",
    "mov esi, {flags}",
    "call [rbx + {dlopen}]",
    "test rax, rax",
    "jz 2f",
    "mov rdi, rax",
    "mov rsi, [rbx + {name}]",
    "call [rbx + {dlsym}]",
    "test rax, rax",
    "jz 2f",
    "mov rdi, r15",
    "call rax",
    "mov [rbx + {returned}], rax",
    "mov edx, {done}",
    "jmp 3f",
    "2:",
    "call [rbx + {dlerror}]",
    "mov [rbx + {reason}], rax",
    "mov edx, {failed}",
    "3:",
    "mov [r13], r14d",
    "mov [rbx + {is_done}], rdx",
    "xor edi, edi",
    "xor esi, esi",
    "lea rdx, [rbx + {moment}]",
    "xor r10d, r10d",
    "mov r8d, 8",
    "mov eax, {ppoll}",
    "syscall",
    "mov rsp, r12",
    "mov eax, {rt_sigreturn}",
    "syscall",
    "sintonia_routine_end:",
    ".popsection",
    errno = const ERRNO,
    flags = const libc::RTLD_NOW | libc::RTLD_GLOBAL,
    dlopen = const DLOPEN,
    name = const NAME,
    dlsym = const DLSYM,
    returned = const RETURNED,
    done = const DONE,
    dlerror = const DLERROR,
    reason = const REASON,
    failed = const FAILED,
    is_done = const IS_DONE,
    moment = const MOMENT,
    ppoll = const libc::SYS_ppoll,
    rt_sigreturn = const libc::SYS_rt_sigreturn,
);

unsafe extern "C" {
    static sintonia_routine_begin: u8;
    static sintonia_routine_end: u8;
}

/// Returns the code's bytes, which run at any address.
fn code() -> &'static [u8] {
    let (begin, end) = (&raw const sintonia_routine_begin, &raw const sintonia_routine_end);
    // SAFETY: both labels lie in one section of this program, the second behind the first.
    unsafe { std::slice::from_raw_parts(begin, end.addr() - begin.addr()) }
}

/// Routine, ready to be written into the process.
#[derive(Debug)]
pub(crate) struct Routine {
    functions: FunctionAddresses,
    /// Library, function and argument, each terminated by a zero.
    texts: Vec<u8>,
    name_at: usize,
    argument_at: usize,
}

impl Routine {
    pub(crate) fn new(
        functions: FunctionAddresses,
        [library, function, argument]: [&[u8]; 3],
    ) -> Self {
        let mut texts = Vec::new();
        let mut add = |text: &[u8]| {
            let at = texts.len();
            texts.extend(text.iter().copied().filter(|byte| *byte != 0));
            texts.push(0);
            at
        };
        add(library);
        let (name_at, argument_at) = (add(function), add(argument));
        Self { functions, texts, name_at, argument_at }
    }

    /// Size of its memory in bytes.
    pub(crate) fn len(&self) -> usize {
        (TEXTS_AT + self.texts.len()).next_multiple_of(PAGE_BYTES) + STACK_BYTES
    }

    /// Returns the content of the start of its memory, at `address`.
    pub(crate) fn image(&self, address: u64) -> Vec<u8> {
        let [dlopen, dlsym, dlerror, errno_location] = self.functions;
        let name = address + (TEXTS_AT + self.name_at) as u64;
        let words: [u64; N_WORDS] =
            [dlopen, dlsym, dlerror, errno_location, 0, 0, 0, 0, MOMENT_NS, name];
        let mut image = code().to_vec();
        image.resize(WORDS_AT, 0);
        image.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        image.extend(&self.texts);
        image
    }

    /// Returns the registers at its first instruction; `stack_of_return` belongs to the frame that it returns to.
    pub(crate) fn start(
        &self,
        address: u64,
        stack_of_return: u64,
        before: &libc::user_regs_struct,
    ) -> libc::user_regs_struct {
        /// Interrupts enabled, as always, and no other flag.
        const EFLAGS: u64 = 0x202;
        libc::user_regs_struct {
            rip: address,
            rsp: address + self.len() as u64,
            rbx: address + WORDS_AT as u64,
            rbp: address + TEXTS_AT as u64,
            r12: stack_of_return,
            r15: address + (TEXTS_AT + self.argument_at) as u64,
            eflags: EFLAGS,
            orig_rax: u64::MAX,
            ..*before
        }
    }

    /// Returns address and size in bytes of its words.
    pub(crate) fn words(address: u64) -> (u64, usize) {
        (address + WORDS_AT as u64, 8 * N_WORDS)
    }

    /// Reads the outcome from its words.
    pub(crate) fn outcome(words: &[u8]) -> RoutineOutcome {
        let word = |at: usize| {
            let bytes = words.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, u64::from_le_bytes)
        };
        match word(IS_DONE) {
            #[expect(clippy::cast_possible_truncation, reason = "an int is the lower half of rax")]
            DONE => RoutineOutcome::Returned((word(RETURNED) as u32).cast_signed()),
            FAILED => RoutineOutcome::NotLoaded(word(REASON)),
            _ => RoutineOutcome::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::restart::tests::stopped;

    #[test]
    fn the_code_leaves_room_for_its_words() {
        assert!((100..WORDS_AT).contains(&code().len()), "{} bytes", code().len());
        assert!(code().ends_with(&[0x0F, 0x05]));
    }

    #[test]
    fn the_image_is_code_words_and_texts() {
        let routine = Routine::new([1, 2, 3, 4], [b"/l.so", b"name", b"a\0b"]);
        let image = routine.image(0x1000);
        assert_eq!(&image[TEXTS_AT..], b"/l.so\0name\0ab\0");
        let registers = routine.start(0x1000, 5, &stopped(-1, 0));
        assert_eq!(registers.r15, 0x1000 + TEXTS_AT as u64 + 11);
        assert_eq!((registers.rsp % 16, registers.r12), (0, 5));
        assert_eq!(Routine::outcome(&image[WORDS_AT..]), RoutineOutcome::None);
    }

    #[test]
    fn outcomes_are_read() {
        let mut words = vec![0; 8 * N_WORDS];
        words[IS_DONE] = 1;
        words[RETURNED..RETURNED + 8].copy_from_slice(&(-7_i64).to_le_bytes());
        assert_eq!(Routine::outcome(&words), RoutineOutcome::Returned(-7));
        words[IS_DONE] = 2;
        words[REASON] = 9;
        assert_eq!(Routine::outcome(&words), RoutineOutcome::NotLoaded(9));
    }
}
