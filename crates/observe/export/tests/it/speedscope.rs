//! Tests of the export for Speedscope.

use crate::sample;
use export::{ExportWriter, FORMATS};
use run_record::{RunRecord, SampleRow};
use serde_json::Value;

fn exported(record: &RunRecord) -> Result<Value, String> {
    let format = FORMATS.iter().find(|format| format.name == "speedscope").unwrap();
    let ExportWriter::File(write) = format.writer else { panic!("it is one file") };
    let mut bytes = Vec::new();
    write(record, &mut bytes).map_err(|error| error.to_string())?;
    Ok(serde_json::from_slice(&bytes).unwrap())
}

fn row(rank: u32, path: &str, time_s: f64) -> SampleRow {
    SampleRow {
        world: 0,
        rank,
        call_path: path.into(),
        call_site: None,
        module: "/bin/a".into(),
        file: "a.c".into(),
        line: 7,
        samples: 1,
        time_s,
    }
}

#[test]
fn a_rank_is_a_profile_and_a_function_is_one_frame() {
    let sample = sample::three_ranks();
    let rows =
        [row(0, "main;solve", 0.5), row(0, "main;solve;dot", 0.25), row(1, "main;solve", 1.0)];
    sample.record.write_samples(&rows).unwrap();
    let file = exported(&sample.record).unwrap();
    assert_eq!(file["shared"]["frames"].as_array().unwrap().len(), 3);
    assert_eq!(file["shared"]["frames"][1]["line"], 7);
    assert_eq!(file["profiles"][0]["samples"][1], serde_json::json!([0, 1, 2]));
    assert_eq!(file["profiles"][0]["endValue"], 0.75);
    assert_eq!(file["profiles"][1]["name"], "rank 1");
}

#[test]
fn a_run_without_samples_cannot_be_exported() {
    let error = exported(&sample::three_ranks().record).unwrap_err();
    assert!(error.contains("no samples"), "{error}");
}
