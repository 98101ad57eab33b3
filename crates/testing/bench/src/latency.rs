//! Measures the latency of 8 bytes between two ranks on cores of their own.

use crate::build_paths::BuildPaths;
use crate::error::BenchError;
use crate::figures::{BenchProgram, Figures};
use crate::library::BenchLibrary;
use crate::tool::ToolRole;
use crate::{Report, table};
use serde_json::{Value, json};

/// Largest ratio by which statistics may lengthen a message.
const RATIO_MAX: f64 = 1.02;

// Many short batches: in the fastest one, neither core did anything else.
const PROGRAM: BenchProgram<'_> =
    BenchProgram { source: "pingpong.c", arguments: &["401", "1000"], n_ranks: 2 };

/// Runs the ping-pong under every tool.
pub(crate) fn measure(
    paths: &BuildPaths,
    libraries: &[BenchLibrary],
    n_turns: usize,
) -> Result<Report, BenchError> {
    let text = "Latency: nanoseconds per 8-byte message, 2 ranks on cores of their own\n";
    let mut report = Report { text: text.to_owned(), json: json!([]), bars_met: true };
    let mut rows = Vec::new();
    for library in libraries {
        let figures = Figures::take(paths, library, &PROGRAM, n_turns)?;
        for tool in &figures.tools {
            let Some(ratio) = figures.ratio(tool.name, "pingpong") else { continue };
            let added_ns = figures.added_ns(tool.name, "pingpong").unwrap_or_default();
            let is_barred = tool.role == ToolRole::Statistics;
            report.bars_met &= !is_barred || ratio <= RATIO_MAX;
            rows.push(vec![
                library.name.to_owned(),
                tool.name.to_owned(),
                format!("{:.1}", figures.bare_ns("pingpong") + added_ns),
                format!("{added_ns:+.1}"),
                format!("{ratio:.3}"),
                verdict(is_barred, ratio).to_owned(),
            ]);
        }
        if let (Value::Array(all), Value::Array(more)) = (&mut report.json, figures.json(library)) {
            all.extend(more);
        }
    }
    let header = ["library", "tool", "ns", "added", "ratio to bare", "bar 1.02"].map(str::to_owned);
    report.text += &table::render(&header, &rows);
    Ok(report)
}

fn verdict(is_barred: bool, ratio: f64) -> &'static str {
    match (is_barred, ratio <= RATIO_MAX) {
        (false, _) => "",
        (true, true) => "met",
        (true, false) => "missed",
    }
}
