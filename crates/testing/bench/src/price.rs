//! Measures the time added to an MPI call on a single rank.

use crate::build_paths::BuildPaths;
use crate::error::BenchError;
use crate::figures::{BenchProgram, Figures};
use crate::library::BenchLibrary;
use crate::tool::ToolRole;
use crate::{Report, table};
use serde_json::{Value, json};

/// Most time that statistics may add to a call, in ns.
const STATISTICS_NS_MAX: f64 = 25.0;
/// Most time that recording may add to a call, in ns.
const TRACE_NS_MAX: f64 = 40.0;

const PROGRAM: BenchProgram<'_> =
    BenchProgram { source: "calls.c", arguments: &["15", "30000"], n_ranks: 1 };

/// Runs the loops of calls under every tool.
pub(crate) fn measure(
    paths: &BuildPaths,
    libraries: &[BenchLibrary],
    n_turns: usize,
) -> Result<Report, BenchError> {
    let mut report = Report { text: String::new(), json: json!([]), bars_met: true };
    for library in libraries {
        let figures = Figures::take(paths, library, &PROGRAM, n_turns)?;
        report.text += &format!("Price: nanoseconds added per MPI call, {}\n", library.name);
        report.text += &text(&figures);
        report.bars_met &= misses(&figures).is_empty();
        for (tool, case, added_ns) in misses(&figures) {
            report.text += &format!("  missed: {tool} adds {added_ns:.1} ns to {case}\n");
        }
        report.text.push('\n');
        if let (Value::Array(all), Value::Array(more)) = (&mut report.json, figures.json(library)) {
            all.extend(more);
        }
    }
    report.text += &format!(
        "Bars: statistics at most {STATISTICS_NS_MAX} ns, trace at most {TRACE_NS_MAX} ns.\n"
    );
    Ok(report)
}

fn text(figures: &Figures) -> String {
    let watching = || figures.tools.iter().filter(|tool| tool.role != ToolRole::Bare);
    let peer = watching().find(|tool| tool.role == ToolRole::Peer);
    // All of Sintonia if it is built, else its probe alone.
    let ours = watching().rfind(|tool| tool.role == ToolRole::Statistics);
    let ours = ours.map_or("probe", |tool| tool.name);
    let mut header = vec!["calls".to_owned(), "bare".to_owned()];
    header.extend(watching().map(|tool| tool.name.to_owned()));
    header.extend(peer.map(|peer| format!("ratio to {}", peer.name)));
    let row = |case: &String| {
        let added = |tool: &str| figures.added_ns(tool, case);
        let mut row = vec![case.clone(), format!("{:.1}", figures.bare_ns(case))];
        row.extend(watching().map(|tool| match added(tool.name) {
            Some(ns) => format!("{ns:+.1}"),
            None => "-".to_owned(),
        }));
        row.extend(peer.map(|peer| match (added(ours), added(peer.name)) {
            (Some(ours), Some(theirs)) => format!("{:.2}", ours / theirs),
            _ => "-".to_owned(),
        }));
        row
    };
    table::render(&header, &figures.cases.iter().map(row).collect::<Vec<_>>())
}

/// Tools of ours, with the cases above their bar.
fn misses(figures: &Figures) -> Vec<(&'static str, &str, f64)> {
    let bar = |role| match role {
        ToolRole::Statistics => Some(STATISTICS_NS_MAX),
        ToolRole::Trace => Some(TRACE_NS_MAX),
        ToolRole::Bare | ToolRole::Bound | ToolRole::Peer => None,
    };
    let barred = figures.tools.iter().filter_map(|tool| Some((tool.name, bar(tool.role)?)));
    let all = barred.flat_map(|(tool, bar_ns)| {
        figures.cases.iter().filter_map(move |case| {
            let added_ns = figures.added_ns(tool, case)?;
            (bar_ns < added_ns).then_some((tool, case.as_str(), added_ns))
        })
    });
    all.collect()
}
