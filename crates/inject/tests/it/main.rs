//! Loading a library into processes that run.
#![expect(unsafe_code, reason = "traces and kills the one who traces")]

mod attach;
mod killed;
