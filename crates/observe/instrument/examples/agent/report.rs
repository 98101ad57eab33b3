//! Report at the program's end: `count FUNCTION ENTRIES EXITS TAILS UNWOUND` for every function that was called,
//! every record of those with attributes or numbers, and notes.

use crate::rings;
use crate::table::Table;
use events::function::{EXIT_BY_EXCEPTION, EXIT_BY_TAIL_CALL};
use events::{EventRecord, FunctionKind};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;

static NOTES: Mutex<String> = Mutex::new(String::new());

pub(crate) fn note(text: &str) {
    writeln!(NOTES.lock().unwrap(), "{text}").unwrap();
}

pub(crate) fn write(table: &Table) {
    let Ok(path) = std::env::var("AGENT_REPORT") else { return };
    let (threads, n_dropped) = rings::read();
    let mut counts: BTreeMap<usize, [u64; 4]> = BTreeMap::new();
    let mut text = std::mem::take(&mut *NOTES.lock().unwrap());
    for records in &threads {
        let mut last_ticks = 0;
        for record in records.iter().filter_map(EventRecord::of) {
            assert!(last_ticks <= record.ticks, "time goes on");
            last_ticks = record.ticks;
            let function = record.event as usize / 2;
            let is_exit = record.event % 2 == 1;
            let name = &table.functions[function].name;
            if record.hit != 0 || record.values() != [0; 5] {
                let what =
                    if record.kind == FunctionKind::MoreValues as u16 { "more" } else { "record" };
                let side = if is_exit { "exit" } else { "entry" };
                let [a, b, c, d, e] = record.values();
                let (hit, exit) = (record.hit, record.exit_kind);
                writeln!(text, "{what} {name} {side} {hit} {exit} {a} {b} {c} {d} {e}").unwrap();
            }
            if record.kind == FunctionKind::Event as u16 {
                let column = match (is_exit, record.exit_kind) {
                    (false, _) => 0,
                    (true, EXIT_BY_TAIL_CALL) => 2,
                    (true, EXIT_BY_EXCEPTION) => 3,
                    (true, _) => 1,
                };
                counts.entry(function).or_default()[column] += 1;
            }
        }
    }
    for (function, [entries, exits, tails, unwound]) in counts {
        let name = &table.functions[function].name;
        writeln!(text, "count {name} {entries} {exits} {tails} {unwound}").unwrap();
    }
    writeln!(text, "dropped {n_dropped}").unwrap();
    std::fs::write(path, text).unwrap();
}
