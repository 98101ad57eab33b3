//! Measures the latency of 8 bytes between two ranks on cores of their own.

use crate::Report;
use crate::build_paths::BuildPaths;
use crate::error::BenchError;
use crate::figures::{BenchProgram, Figures};
use crate::library::BenchLibrary;
use crate::table::{self, verdict};
use crate::tool::ToolRole;

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
    let (mut rows, mut json, mut bars_met) = (Vec::new(), Vec::new(), true);
    for library in libraries {
        let figures = Figures::take(paths, library, &PROGRAM, n_turns)?;
        for tool in &figures.tools {
            let Some(ratio) = figures.ratio(tool.name, "pingpong") else { continue };
            let added_ns = figures.added_ns(tool.name, "pingpong").unwrap_or_default();
            let is_met = (tool.role == ToolRole::Statistics).then_some(ratio <= RATIO_MAX);
            bars_met &= is_met != Some(false);
            rows.push(vec![
                library.name.to_owned(),
                tool.name.to_owned(),
                format!("{:.1}", figures.bare_ns("pingpong") + added_ns),
                format!("{added_ns:+.1}"),
                format!("{ratio:.3}"),
                verdict(is_met).to_owned(),
            ]);
        }
        json.extend(figures.json(library));
    }
    let header = ["library", "tool", "ns", "added", "ratio to bare", "bar 1.02"];
    let text =
        "Latency: nanoseconds per 8-byte message, 2 ranks on cores of their own\n".to_owned();
    Ok(Report { text: text + &table::render(&header, &rows), json: json.into(), bars_met })
}
