//! Loads a library into running processes and calls one function of it.
//!
//! The only use of `ptrace` here, and a short one: a thread of the process is stopped, made to call
//! `dlopen` and the function, and let go with all its registers as they were.
//!
//! ```text
//! stopped      its registers are read, and written below its stack as a frame of `rt_sigreturn`   frame
//! mmap         an instruction of the C library, called as a handler of a signal would be          library, tracee
//! routine      in that memory: `dlopen`, `dlsym`, the function; waits a moment                    routine
//! stopped      `munmap`; registers, mask of signals and extended state as they were               remote
//! ```
//!
//! # Invariants
//! - Whatever fails, the thread goes on where it was stopped, with the registers it had.
//! - **Nobody has to come back.** At each instruction of this program and of the thread, this program may be killed: what
//!   the thread would then do by itself ends in the frame, which takes it to where it was. So every change is one call
//!   that sets all general registers, to code that returns to the frame; and what else is changed, the frame restores.
//! - No signal is handled meanwhile: a handler that jumps away would leave the dynamic linker locked.
//! - Nothing is called while the thread is in the dynamic linker or in the C library's own code, where
//!   it may hold a lock that the call needs; it is let go and stopped again instead, for a bounded time.
//!
//! # Not here
//! What the library does in the process (`probe`), who asks for it (`cli`).

#![expect(unsafe_code, reason = "ptrace and other system calls")]

mod error;
mod frame;
pub mod job;
mod library;
mod permission;
mod remote;
mod routine;
mod tracee;

pub use error::InjectError;
pub use permission::forbidden;
pub use remote::{Call, inject};
