//! Library to be preloaded: instruments a program as the environment requests, and reports at the program's end.
//!
//! `AGENT_PROGRAM` is the file name of the program, `AGENT_REPORT` the file to be written, and `AGENT` holds orders
//! separated by `;`: see [`order::carry_out`].
#![allow(unsafe_code, reason = "a constructor, and memory for rings")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "an example that tests are made with")]
#![allow(clippy::cast_possible_truncation, reason = "addresses, and numbers of functions")]

mod order;
mod report;
mod rings;
mod table;

use instrument::{Instrument, ThreadHooks};
use std::sync::OnceLock;

static PROBES: OnceLock<(Instrument, table::Table)> = OnceLock::new();

#[used]
// SAFETY: the loader calls every function of this section once.
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    let program = std::env::var("AGENT_PROGRAM").unwrap_or_default();
    let own = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    if own.file_name().is_none_or(|name| name != program.as_str()) {
        return;
    }
    let table = table::Table::of_program();
    let instrument = Instrument::start(ThreadHooks { attach: rings::attach }).unwrap();
    let orders = std::env::var("AGENT").unwrap_or_default();
    order::carry_out(&orders, &instrument, &table);
    assert!(PROBES.set((instrument, table)).is_ok(), "the loader calls constructors once");
    // SAFETY: a function without arguments that stays loaded.
    unsafe { libc::atexit(end) };
}

extern "C" fn end() {
    if let Some((_, table)) = PROBES.get() {
        report::write(table);
    }
}
