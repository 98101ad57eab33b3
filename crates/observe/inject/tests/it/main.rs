//! Loading a library into running processes.
#![allow(clippy::unwrap_used, reason = "tests")]
#![expect(unsafe_code, reason = "traces and kills the one who traces")]

mod attach;
mod killed;
