//! Loading a library into processes that run.

mod attach;
