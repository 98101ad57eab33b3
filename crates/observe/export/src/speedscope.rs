//! Export of samples for Speedscope (speedscope.app): a profile for each rank.
//!
//! Source: the file format's JSON schema, `https://www.speedscope.app/file-format-schema.json`.

use crate::error::ExportError;
use crate::format::{ExportFormat, ExportWriter};
use run_record::sample_file::SEPARATOR;
use run_record::{RunRecord, SampleRow};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::io::Write;

/// Entry of the registry.
pub(crate) const FORMAT: ExportFormat = ExportFormat {
    name: "speedscope",
    sentence: "Samples of the call paths, for speedscope.app; needs no --trace",
    writer: ExportWriter::File(|record, out| speedscope(record, out)),
};

/// Writes the samples of the record as JSON; returns sentences about what the format could not hold.
///
/// # Errors
/// The record cannot be read, has no samples, or `out` cannot be written.
fn speedscope(record: &RunRecord, mut out: impl Write) -> Result<Vec<String>, ExportError> {
    let rows = record.read_samples()?;
    if rows.is_empty() {
        return Err(ExportError::NotSampled(record.dir().to_owned()));
    }
    let summary = record.read_summary()?;
    let mut frames = Frames::default();
    let mut profiles: BTreeMap<(u32, u32), Profile> = BTreeMap::new();
    for row in &rows {
        profiles.entry((row.world, row.rank)).or_default().add(row, &mut frames);
    }
    let n_worlds = profiles.keys().map(|(world, _)| world + 1).max().unwrap_or(1);
    let profiles: Vec<Value> = profiles
        .into_iter()
        .map(|((world, rank), profile)| match n_worlds {
            1 => profile.into_json(&format!("rank {rank}")),
            _ => profile.into_json(&format!("rank {world}.{rank}")),
        })
        .collect();
    let file = json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": summary.command.join(" "),
        "exporter": format!("sintonia {}", env!("CARGO_PKG_VERSION")),
        "activeProfileIndex": 0,
        "shared": { "frames": frames.all },
        "profiles": profiles,
    });
    writeln!(out, "{file}")?;
    out.flush()?;
    Ok(Vec::new())
}

/// Functions, each once.
#[derive(Default)]
struct Frames {
    all: Vec<Value>,
    known: HashMap<String, usize>,
}

impl Frames {
    /// Returns the number of a function; file and line are those of the first one executed.
    fn number(&mut self, name: &str, place: Option<(&str, u32)>) -> usize {
        let next = self.all.len();
        let number = *self.known.entry(name.to_owned()).or_insert(next);
        if number == next {
            self.all.push(json!({ "name": name }));
        }
        if let Some((file, line)) = place.filter(|(file, _)| !file.is_empty())
            && let Some(frame) = self.all[number].as_object_mut()
            && !frame.contains_key("file")
        {
            frame.insert("file".to_owned(), file.into());
            frame.insert("line".to_owned(), line.into());
        }
        number
    }
}

/// Samples of one rank.
#[derive(Default)]
struct Profile {
    samples: Vec<Vec<usize>>,
    weights: Vec<f64>,
}

impl Profile {
    fn add(&mut self, row: &SampleRow, frames: &mut Frames) {
        let names: Vec<&str> = row.call_path.split(SEPARATOR).collect();
        let last = names.len().saturating_sub(1);
        let number = |(idx, name): (usize, &&str)| {
            frames.number(name, (idx == last).then_some((&*row.file, row.line)))
        };
        self.samples.push(names.iter().enumerate().map(number).collect());
        self.weights.push(row.time_s);
    }

    fn into_json(self, name: &str) -> Value {
        json!({
            "type": "sampled",
            "name": name,
            "unit": "seconds",
            "startValue": 0,
            "endValue": self.weights.iter().sum::<f64>(),
            "samples": self.samples,
            "weights": self.weights,
        })
    }
}
