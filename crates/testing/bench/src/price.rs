//! Measures the time added to an MPI call on a single rank.

use crate::build_paths::BuildPaths;
use crate::error::BenchError;
use crate::figures::{BenchProgram, Figures};
use crate::library::BenchLibrary;
use crate::tool::{Tool, ToolRole};
use crate::{Report, table};

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
    let (mut text, mut json, mut bars_met) = (String::new(), Vec::new(), true);
    for library in libraries {
        let figures = Figures::take(paths, library, &PROGRAM, n_turns)?;
        text += &format!("Price: nanoseconds added per MPI call, {}\n", library.name);
        text += &table_of(&figures);
        for (tool, case, added_ns) in misses(&figures) {
            bars_met = false;
            text += &format!("  missed: {tool} adds {added_ns:.1} ns to {case}\n");
        }
        text.push('\n');
        json.extend(figures.json(library));
    }
    text += &format!(
        "Bars: statistics at most {STATISTICS_NS_MAX} ns, trace at most {TRACE_NS_MAX} ns.\n"
    );
    Ok(Report { text, json: json.into(), bars_met })
}

fn table_of(figures: &Figures) -> String {
    let watching = || figures.tools.iter().filter(|tool| tool.role != ToolRole::Bare);
    let peer = watching().find(|tool| tool.role == ToolRole::Peer);
    // All of Sintonia if it is built, else its probe alone.
    let ours = watching().rfind(|tool| tool.role == ToolRole::Statistics);
    let ours = ours.map_or("probe", |tool| tool.name);
    let ratio = peer.map(|peer| format!("ratio to {}", peer.name));
    let mut header = vec!["calls", "bare"];
    header.extend(watching().map(|tool| tool.name).chain(ratio.as_deref()));
    let row = |case: &String| {
        let added = |tool: &str| figures.added_ns(tool, case);
        let mut row = vec![case.clone(), format!("{:.1}", figures.bare_ns(case))];
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let times = watching().map(|tool| added(tool.name).map(|ns| format!("{ns:+.1}")));
        row.extend(times.map(or_none));
        let ratio = |peer: &Tool| Some(format!("{:.2}", added(ours)? / added(peer.name)?));
        row.extend(peer.map(|peer| or_none(ratio(peer))));
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
