//! Policies from outside: what they deal, and that they deal it once.

mod laws;
mod peers;
mod published;
