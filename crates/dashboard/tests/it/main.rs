//! The crate from outside: what a person would see.

mod browser;
mod html;
mod samples;
mod terminal;
