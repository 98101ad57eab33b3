//! Loads a library into running processes and calls one function of it.
//!
//! The only use of `ptrace` here, and a short one: a thread of the process is stopped, made to call
//! `dlopen` and the function, and let go with all its registers as they were.
//!
//! # Invariants
//! - Whatever fails, the thread goes on where it was stopped, with the registers it had.
//! - Nothing is called while the thread is in the dynamic linker or in the C library's own code, where
//!   it may hold a lock that the call needs; it is let go and stopped again instead, for a bounded time.
//!
//! # Not here
//! What the library does in the process (`probe`), who asks for it (`cli`).

#![expect(unsafe_code, reason = "ptrace and other system calls")]

mod error;
pub mod job;
mod library;
mod permission;
mod remote;
mod tracee;

pub use error::InjectError;
pub use permission::forbidden;
pub use remote::{Call, inject};
