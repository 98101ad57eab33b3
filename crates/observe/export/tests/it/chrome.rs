//! Trace JSON, parsed as Chrome would.

use crate::sample;
use export::{ExportError, ExportWriter, FORMATS};
use run_record::{RunRecord, RunStart};
use serde_json::Value;
use std::io::Write;

fn chrome(record: &RunRecord, mut out: impl Write) -> Result<Vec<String>, ExportError> {
    let format = FORMATS.iter().find(|format| format.name == "chrome").unwrap();
    let ExportWriter::File(write) = format.writer else { panic!("`chrome` is one file") };
    write(record, &mut out)
}

#[test]
fn a_trace_as_chrome_reads_it() {
    let sample = sample::three_ranks();
    let mut text = Vec::new();
    let notes = chrome(&sample.record, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    insta::assert_snapshot!("chrome", text);
    insta::assert_snapshot!("chrome_notes", notes.join("\n"));

    let trace: Value = serde_json::from_str(&text).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let calls: Vec<&Value> = events.iter().filter(|e| e["ph"] == "X").collect();
    for arrow in events.iter().filter(|e| e["ph"] == "s" || e["ph"] == "f") {
        let at = arrow["ts"].as_f64().unwrap();
        let inside = |call: &&&Value| {
            let start = call["ts"].as_f64().unwrap();
            let same = (&call["pid"], &call["tid"]) == (&arrow["pid"], &arrow["tid"]);
            same && start <= at && at < start + call["dur"].as_f64().unwrap()
        };
        assert_eq!(calls.iter().filter(inside).count(), 1, "{arrow}");
    }
}

#[test]
fn a_record_without_events_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let record = RunRecord::create(dir.path(), RunStart::default()).unwrap();
    let error = chrome(&record, Vec::new()).unwrap_err();
    assert!(matches!(error, ExportError::NotTraced { .. }), "{error}");
}

#[test]
fn an_output_that_fails_is_an_error() {
    let sample = sample::three_ranks();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let error = chrome(&sample.record, full).unwrap_err();
    assert!(matches!(error, ExportError::Write(_)), "{error}");
}
