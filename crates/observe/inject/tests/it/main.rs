//! Loading a library into running processes.
#![expect(unsafe_code, reason = "traces and kills the one who traces")]

mod attach;
mod killed;
