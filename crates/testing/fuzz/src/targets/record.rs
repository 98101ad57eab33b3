//! Target: a run record that is damaged, or was never one.

use super::folder::Folder;
use run_record::RunRecord;

/// Files of a record, in the order of the bytes that stand for them.
const FILES: [&str; 7] = [
    "summary.json",
    "regions.parquet",
    "events.parquet",
    "function-events.parquet",
    "tuning.jsonl",
    "resizes.jsonl",
    "dealt.json",
];

/// Header of a record as the first version wrote it: without checksums, so that everything behind them is reached.
const HEADER: &str = r#"{"format_version":1,"sintonia_version":"0.1.0","run_id":"0","command":[],
"started_s":0.0,"host":"","pid":1,"state":"finished"}"#;

/// Reads everything of a record with one file of these bytes; the first byte says which file, 7 is `run.json`.
pub(crate) fn run(bytes: &[u8]) {
    let Some((kind, content)) = bytes.split_first() else { return };
    let folder = Folder::new("record");
    let name = FILES.get(usize::from(*kind) % (FILES.len() + 1)).copied().unwrap_or("run.json");
    std::fs::write(folder.path().join("run.json"), HEADER).expect("a folder of ours");
    std::fs::write(folder.path().join(name), content).expect("a folder of ours");
    if let Ok(record) = RunRecord::open(folder.path()) {
        read(&record);
    }
}

/// Reads each file, which succeeds or fails with a sentence.
fn read(record: &RunRecord) {
    record.read_summary().map_err(|error| error.to_string()).ok();
    record.read_regions().map_err(|error| error.to_string()).ok();
    if let Ok(Some(events)) = record.events() {
        events.batches().take_while(Result::is_ok).for_each(drop);
    }
    if let Ok(Some(events)) = record.function_events() {
        events.batches().take_while(Result::is_ok).for_each(drop);
    }
    record.read_tuning().map_err(|error| error.to_string()).ok();
    record.read_resizes().map_err(|error| error.to_string()).ok();
    record.read_dealt().map_err(|error| error.to_string()).ok();
}
