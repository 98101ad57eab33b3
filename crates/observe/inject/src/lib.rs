//! Loads a library into running processes and calls one function of it.
//!
//! `ptrace` is used only here, and briefly: a thread of the process is stopped, made to call `dlopen` and
//! the function, and released with all its registers restored.
//!
//! ```text
//! stopped      its registers are read, and written below its stack as a frame of `rt_sigreturn`   frame
//! mmap         an instruction of the C library, called as a handler of a signal would be          library, tracee
//! routine      in that memory: `dlopen`, `dlsym`, the function; waits a moment                    routine
//! stopped      `munmap`; registers, mask of signals and extended state as they were               remote
//! ```
//!
//! # Invariants
//! - Whatever fails, the thread continues where it was stopped, with the registers it had.
//! - **The thread does not depend on us.** This program may be killed at each of its own instructions and of the
//!   thread's: what the thread then does by itself ends in the frame, which takes it back to where it was. So every
//!   change is one call that sets all general registers, to code that returns to the frame; and the frame restores all
//!   other changes.
//! - No signal is handled meanwhile: a handler that jumps away would leave the dynamic linker locked.
//! - Nothing is called while the thread is in the dynamic linker or in the C library's own code, where it may hold a lock
//!   that the call needs, nor in code that these have called, as hooks of network libraries in `mmap`; it is resumed and
//!   stopped again instead, for a bounded time.
//!
//! # Not here
//! Behavior of the library in the process (`probe`), user interface (`watch`).

#![expect(unsafe_code, reason = "ptrace and other system calls")]

mod error;
mod frame;
pub mod job;
mod library;
mod permission;
mod remote;
mod restart;
mod routine;
mod stack;
mod tracee;

pub use error::InjectError;
pub use permission::forbidden;
pub use remote::{CallInProcess, inject};
pub use stack::{Stack, stack};
