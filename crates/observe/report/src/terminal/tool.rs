//! Cost of the observation, data that were lost, and paths of the run's files.

use super::OutputPaths;
use super::page::Page;
use display::ink::Tone;
use display::text;
use display::units::{bytes, count, percent};
use run_record::Summary;
use run_record::summary::ToolCost;

pub(super) fn write_cost(page: &mut Page, summary: &Summary) {
    let tool = &summary.tool;
    if summary.ranks.is_empty() && tool.warnings.is_empty() {
        return;
    }
    page.heading("Cost of observing", "");
    if !summary.ranks.is_empty() {
        page.sentence("", &price(tool), Tone::Plain);
        page.sentence("", &kept(tool), Tone::Plain);
    }
    for loss in losses(tool) {
        page.sentence("! ", &loss, Tone::Poor);
    }
    for warning in &tool.warnings {
        page.sentence("! ", warning, Tone::Fair);
    }
}

/// Describes the cost of a call.
pub(crate) fn price(tool: &ToolCost) -> String {
    let calls = count(tool.calls);
    let share = percent(tool.share_of_time);
    format!(
        "{:.1} ns per MPI call, measured on this run; {calls} calls: {share} of the ranks' time",
        tool.ns_per_call
    )
}

/// Describes the recorded data.
pub(crate) fn kept(tool: &ToolCost) -> String {
    let memory = bytes(tool.shared_memory_bytes);
    if tool.records == 0 && tool.records_dropped == 0 {
        return format!("{memory} of shared memory, statistics only (no --trace)");
    }
    let dropped = if tool.records_dropped == 0 { "none dropped" } else { "see below" };
    format!("{memory} of shared memory, {} records, {dropped}", count(tool.records))
}

/// Describes the lost data, with one sentence for each kind of loss.
pub(crate) fn losses(tool: &ToolCost) -> Vec<String> {
    let losses = [
        (tool.records_dropped, "records found the ring full and are not in the trace"),
        (
            tool.calls_without_region,
            "calls are counted by operation only: the region table was full",
        ),
        (tool.threads_refused, "calls of threads that found no room are not counted"),
    ];
    let lost = losses.into_iter().filter(|(n, _)| 0 < *n);
    lost.map(|(n, what)| format!("{} {what}", count(n))).collect()
}

pub(super) fn write_paths(page: &mut Page, paths: &OutputPaths) {
    let paths = [("record", &paths.record), ("report", &paths.html)];
    if paths.iter().all(|(_, path)| path.is_none()) {
        return;
    }
    page.unindented("");
    for (what, path) in paths {
        // Paths are never shortened, so that they can be copied.
        if let Some(path) = path {
            let line =
                format!("{}{}", page.paint(Tone::Dim, &text::left(what, 8)), text::harmless(path));
            page.unindented(&line);
        }
    }
}
