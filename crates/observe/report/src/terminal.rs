//! The report at the end of a run, as text for a terminal.
//!
//! # Invariants
//! - The report uses 60 to 140 columns of [`Style::width`]; no line is wider, except paths, which must stay copyable.
//! - Without [`Style::color`], the text contains no escape sequences and the same information.

pub(crate) mod page;
mod ranks;
mod resizes;
mod tuning;

pub use display::ink::Style;
pub use display::units::seconds;

use crate::efficiency::{Term, grade, terms};
use crate::resizes::program_of;
use crate::sampled::sampled;
use crate::{place, ranking, tables};
use dealing_report::DealingReport;
use display::bars;
use display::ink::Tone;
use display::text::{self, harmless};
use display::units::{bytes, count, moment, percent, plural};
use page::{INDENT, Page};
use resize_api::Resize;
use run_record::Summary;
use run_record::summary::{CommandOutcome, Finding, Hang, ToolCost};
use std::collections::BTreeMap;

/// Largest number of groups of waiting ranks that are shown while a program runs.
const N_WAITING_MAX: usize = 16;

/// Paths of files about the run, for the last lines of the report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputPaths {
    /// Folder of the run record.
    pub record: Option<String>,
    /// Path of the HTML report.
    pub html: Option<String>,
}

/// Returns the report of a run, ending in a line feed.
#[must_use]
pub fn report(summary: &Summary, paths: &OutputPaths, style: Style) -> String {
    let mut page = Page::new(style);
    write_header(&mut page, summary);
    if !summary.ranks.is_empty() {
        write_efficiencies(&mut page, summary);
        write_findings(&mut page, summary);
        tuning::write(&mut page, summary);
        write_dealt(&mut page, summary.dealt.as_ref());
        resizes::write(&mut page, &summary.resizes, program_of(summary));
        ranks::write(&mut page, summary);
        tables::all(summary, page.medium()).for_each(|listing| page.listing(&listing));
        write_sizes(&mut page, summary);
    }
    write_cost(&mut page, summary);
    write_paths(&mut page, paths);
    page.into_text()
}

/// Returns the report of work dealt by a master, ending in a line feed.
#[must_use]
pub fn dealt(dealt: &DealingReport, style: Style) -> String {
    let mut page = Page::new(style);
    write_dealt(&mut page, Some(dealt));
    page.into_text()
}

/// Returns the report of a malleable program's resizes, ending in a line feed.
#[must_use]
pub fn resizes(resizes: &[Resize], style: Style) -> String {
    let mut page = Page::new(style);
    resizes::write(&mut page, resizes, None);
    page.into_text()
}

fn write_dealt(page: &mut Page, dealt: Option<&DealingReport>) {
    let lines =
        dealt.map(|dealt| dealing_report::lines(dealt, page.width() - INDENT)).unwrap_or_default();
    if !lines.is_empty() {
        page.heading("Master and workers", "who computed, and what the others waited for");
    }
    lines.iter().for_each(|line| page.line(&harmless(line)));
}

/// Width of tree and longest name: `   ├─ Communication efficiency`.
const N_NAME: usize = 31;
/// Width for ` 100.0 %  good`.
const N_VALUE: usize = 15;
const N_FINDINGS_MAX: usize = 8;

fn write_efficiencies(page: &mut Page, summary: &Summary) {
    page.heading("Efficiency", "100 % = all processors compute all the time");
    for term in terms(&summary.pop) {
        let line = efficiency_line(page, &term);
        page.line(&line);
    }
}

fn efficiency_line(page: &Page, term: &Term) -> String {
    let n_bar = (page.width() - INDENT - N_NAME - N_VALUE - 1).min(40);
    let tone = grade(term.value);
    let n_name = N_NAME - text::width(term.branch);
    let name = text::left(term.name, n_name);
    let name_tone = if term.depth == 0 { Tone::Strong } else { Tone::Plain };
    let [bar, rest] = bars::gauge(term.value, n_bar);
    format!(
        "{}{} {}{}{}  {}",
        page.paint(Tone::Dim, term.branch),
        page.paint(name_tone, &name),
        page.paint(tone, &bar),
        page.paint(Tone::Dim, &rest),
        text::right(&percent(term.value), 8),
        page.paint(tone, tone.grade()),
    )
}

/// Returns the explanation of ranks that wait: sentences, then a table of the ranks.
pub fn hang_text(hang: &Hang) -> String {
    const N_COLUMNS: usize = 118;
    let sentences =
        hang.sentences.iter().flat_map(|sentence| text::wrap(&harmless(sentence), N_COLUMNS));
    let has_worlds = hang.ranks.iter().any(|ranks| ranks.world != 0);
    let ranks = hang.ranks.iter().take(N_WAITING_MAX);
    let table = tables::waiting_ranks(ranks, has_worlds).lines(N_COLUMNS, false);
    sentences.chain(table).map(|line| format!("  {line}\n")).collect()
}

fn write_findings(page: &mut Page, summary: &Summary) {
    if summary.findings.is_empty() {
        return;
    }
    page.heading("What limits this run", "share of the ranks' time");
    for (idx, finding) in summary.findings.iter().enumerate().take(N_FINDINGS_MAX) {
        write_finding(page, summary, idx + 1, finding);
    }
    page.rest(summary.findings.len(), N_FINDINGS_MAX);
}

fn write_finding(page: &mut Page, summary: &Summary, number: usize, finding: &Finding) {
    let bullet = format!("{number}. ");
    let share =
        if finding.share > 0.0 { format!(" [{}]", percent(finding.share)) } else { String::new() };
    page.sentence(&bullet, &format!("{}{share}", finding.text), Tone::Plain);
    let Some(call) = finding.call_site.and_then(|id| place::call(summary, id)) else { return };
    let room = page.width() - INDENT - text::width(&bullet) - 2;
    let call = text::shorten(&call, room);
    let line =
        format!("{}→ {}", text::spaces(text::width(&bullet)), page.paint(Tone::Strong, &call));
    page.line(&line);
}

fn write_cost(page: &mut Page, summary: &Summary) {
    let tool = &summary.tool;
    if summary.ranks.is_empty() && tool.warnings.is_empty() {
        return;
    }
    page.heading("Cost of observing", "");
    if !summary.ranks.is_empty() {
        page.sentence("", &price(tool), Tone::Plain);
        page.sentence("", &kept(tool), Tone::Plain);
    }
    if let Some(sampled) = sampled(summary) {
        page.sentence("", &sampled, Tone::Plain);
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

fn write_paths(page: &mut Page, paths: &OutputPaths) {
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

/// Maximum number of unfinished ranks listed; the rest is counted.
const N_MAX: usize = 8;
/// Text of a report without numbers.
pub(crate) const NO_MPI: &str = "No MPI process was seen: the command started none, or they run a statically linked MPI \
    or drop LD_PRELOAD on their way.";

fn write_header(page: &mut Page, summary: &Summary) {
    write_title(page, summary);
    page.line(&text::shorten(&command(summary), page.width() - INDENT));
    if summary.ranks.is_empty() && summary.mpi.is_empty() {
        page.line(&format!("{} in all", seconds(summary.wall_s)));
        page.unindented("");
        page.sentence("", NO_MPI, Tone::Fair);
        return;
    }
    page.sentence("", &summary.mpi, Tone::Dim);
    page.sentence("", &size(summary), Tone::Plain);
    write_cut_short(page, summary);
    if 1 < summary.worlds.len() {
        page.listing(&crate::tables::worlds(summary, page.medium()));
    }
}

fn write_title(page: &mut Page, summary: &Summary) {
    let name = format!("sintonia {}", text::harmless(&summary.sintonia_version));
    let started = if summary.started_s > 0.0 { moment(summary.started_s) } else { String::new() };
    let (how, tone) = (outcome_words(&summary.outcome), outcome_tone(&summary.outcome));
    let left = format!("{}  {started}", name.trim_end());
    let gap = page.width().saturating_sub(text::width(&left) + text::width(&how)).max(1);
    let line = format!(
        "{}{}{}",
        page.paint(Tone::Strong, &left),
        text::spaces(gap),
        page.paint(tone, &how)
    );
    page.unindented(&line);
}

/// Returns the command as one line.
pub(crate) fn command(summary: &Summary) -> String {
    text::harmless(&summary.command.join(" "))
}

/// Describes the outcome of the run.
pub(crate) fn outcome_words(outcome: &CommandOutcome) -> String {
    match (outcome.complete, outcome.signal, outcome.exit_code) {
        (false, _, _) => "not finished: what was seen so far".to_owned(),
        _ if outcome.goes_on => "detached, the program goes on".to_owned(),
        (true, Some(signal), _) => format!("ended by signal {signal}"),
        (true, None, None | Some(0)) => "finished".to_owned(),
        (true, None, Some(code)) => format!("finished with exit code {code}"),
    }
}

pub(crate) fn outcome_tone(outcome: &CommandOutcome) -> Tone {
    match (outcome.complete, outcome.signal, outcome.exit_code) {
        (false, _, _) => Tone::Fair,
        (true, None, Some(0)) => Tone::Good,
        (true, None, None) => Tone::Plain,
        _ => Tone::Poor,
    }
}

fn size(summary: &Summary) -> String {
    let ranks = plural(summary.n_ranks, "rank");
    let nodes = plural(summary.n_nodes, "node");
    let worlds = match summary.worlds.len() {
        0 | 1 => String::new(),
        n => format!(" in {}", plural(n, "world")),
    };
    let (mpi_s, all_s) = (seconds(summary.elapsed_s), seconds(summary.wall_s));
    format!(
        "{ranks} on {nodes}{worlds} · {mpi_s} between MPI_Init and MPI_Finalize, {all_s} in all"
    )
}

fn write_cut_short(page: &mut Page, summary: &Summary) {
    let cut_short = ranking::cut_short(summary);
    for rank in cut_short.iter().take(N_MAX) {
        let name = ranking::name(summary, rank);
        let seen = rank
            .last_seen_in
            .as_ref()
            .map_or(String::new(), |call| format!(", last seen in {call}"));
        let who =
            format!("rank {name} (process {} on {}): {}{seen}", rank.pid, rank.node, rank.end);
        page.sentence("! ", &who, Tone::Poor);
    }
    if cut_short.len() > N_MAX {
        let more = format!("! and {} more", plural(cut_short.len() - N_MAX, "rank"));
        page.line(&more);
    }
}

/// Width of a size label on the axis under the sparkline.
const N_TICK: usize = 8;

/// Returns the number of calls over all operations by smallest size of the bin, without gaps between the ends.
pub(crate) fn sizes_of_all<'a>(sizes: impl Iterator<Item = &'a [(u64, u64)]>) -> Vec<(u64, u64)> {
    let mut by_size: BTreeMap<u64, u64> = BTreeMap::new();
    for (smallest_bytes, n_calls) in sizes.flatten() {
        let bin = by_size.entry(*smallest_bytes).or_default();
        *bin = bin.saturating_add(*n_calls);
    }
    by_size.retain(|_, n_calls| 0 < *n_calls);
    let (Some(first), Some(last)) = (by_size.keys().next(), by_size.keys().next_back()) else {
        return Vec::new();
    };
    let steps = std::iter::successors(Some(*first), |size| {
        Some(if *size == 0 { 1 } else { size.checked_mul(2)? })
    });
    for size in steps.take_while(|size| size < last).collect::<Vec<_>>() {
        by_size.entry(size).or_default();
    }
    by_size.into_iter().collect()
}

/// Returns the sizes of all operations but those that complete requests, whose messages other calls have announced.
pub(crate) fn sizes_of_messages(summary: &Summary) -> Vec<(u64, u64)> {
    let moving = summary.operations.values().filter(|totals| totals.class != "completion");
    sizes_of_all(moving.map(|totals| totals.sizes.as_slice()))
}

fn write_sizes(page: &mut Page, summary: &Summary) {
    let sizes = sizes_of_messages(summary);
    if sizes.is_empty() {
        return;
    }
    page.heading("Message sizes", "calls by bytes of one call");
    let counts: Vec<f64> = sizes.iter().map(|(_, n_calls)| *n_calls as f64).collect();
    // Two columns for each size: there are at most 43 bins, and a terminal usually has 80 columns or more.
    let n_wide = if sizes.len() * 2 <= page.width() - 4 { 2 } else { 1 };
    let line: String =
        bars::sparkline(&counts).chars().flat_map(|c| std::iter::repeat_n(c, n_wide)).collect();
    let line = page.paint(Tone::Mpi, &line);
    page.line(&line);
    let axis = page.paint(Tone::Dim, &axis(&sizes, n_wide));
    page.line(&axis);
    write_extremes(page, &sizes);
}

fn axis(sizes: &[(u64, u64)], n_wide: usize) -> String {
    let every = N_TICK.div_ceil(n_wide);
    let ticks = sizes.iter().step_by(every).map(|(size, _)| format!("╵{}", size_tick(*size)));
    ticks.map(|tick| text::left(&tick, every * n_wide)).collect()
}

/// Formats a power of two without decimals.
pub(crate) fn size_tick(size: u64) -> String {
    let exponent = size.checked_ilog2().unwrap_or(0) / 10;
    let unit = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"][exponent as usize];
    format!("{}{unit}", size >> (10 * exponent))
}

fn write_extremes(page: &mut Page, sizes: &[(u64, u64)]) {
    let n_calls = sizes.iter().map(|(_, n)| n).sum::<u64>();
    let Some((most, n_most)) = sizes.iter().max_by_key(|(_, n)| *n) else { return };
    let range = if *most == 0 {
        "0 B".to_owned()
    } else {
        format!("{} to {}", bytes(*most), bytes(most.saturating_mul(2) - 1))
    };
    let text = format!("most often {range}: {} of {} calls", count(*n_most), count(n_calls));
    page.sentence("", &text, Tone::Dim);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sizes: &[&[(u64, u64)]], expected: &[(u64, u64)]) {
        assert_eq!(sizes_of_all(sizes.iter().copied()), expected);
    }

    #[test]
    fn sizes_add_up_and_leave_no_gap() {
        check(&[], &[]);
        check(&[&[(8, 2)], &[(8, 3)]], &[(8, 5)]);
        check(&[&[(0, 1), (4, 2)]], &[(0, 1), (1, 0), (2, 0), (4, 2)]);
        check(&[&[(1 << 41, 1)]], &[(1 << 41, 1)]);
    }

    #[test]
    fn a_tick_is_short() {
        assert_eq!(size_tick(0), "0");
        assert_eq!(size_tick(512), "512");
        assert_eq!(size_tick(1 << 21), "2Mi");
    }
}
