//! Header of the report: command, machine, duration and outcome.

use super::page::{INDENT, Page};
use crate::ranking;
use display::ink::Tone;
use display::text;
use display::units::{moment, plural, seconds};
use run_record::Summary;
use run_record::summary::Outcome;

/// Maximum number of unfinished ranks listed; the rest is counted.
const N_MAX: usize = 8;
/// Text of a report without numbers.
pub(crate) const NO_MPI: &str = "No MPI process was seen: the command started none, or they run a statically linked MPI \
    or drop LD_PRELOAD on their way.";

pub(super) fn write(page: &mut Page, summary: &Summary) {
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
pub(crate) fn outcome_words(outcome: &Outcome) -> String {
    match (outcome.complete, outcome.signal, outcome.exit_code) {
        (false, _, _) => "not finished: what was seen so far".to_owned(),
        _ if outcome.goes_on => "detached, the program goes on".to_owned(),
        (true, Some(signal), _) => format!("ended by signal {signal}"),
        (true, None, None | Some(0)) => "finished".to_owned(),
        (true, None, Some(code)) => format!("finished with exit code {code}"),
    }
}

fn outcome_tone(outcome: &Outcome) -> Tone {
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
