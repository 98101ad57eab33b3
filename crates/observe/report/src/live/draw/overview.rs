//! Overview tab: current and overall efficiencies, their history, ranks, and the call sites with the most time.

use super::{colored, dim, strong};
use crate::efficiency::{Grade, Term, terms};
use crate::live::LiveState;
use crate::place;
use display::units::percent;
use display::{bars, text};
use ratatui::layout::Rect;
use ratatui::style::Color;
use ratatui::text::{Line, Span};
use run_record::summary::CallSite;

/// Maximum depth of terms: the split within and between nodes is left to the report.
const DEPTH_MAX: usize = 2;
const N_NAME: usize = 28;
/// Width for ` 100.0 %  100.0 %  good`.
const N_VALUES: usize = 25;

pub(super) fn lines(state: &LiveState, body: Rect) -> Vec<Line<'static>> {
    let n_columns = usize::from(body.width);
    let mut lines = vec![titles(n_columns)];
    let now = terms(&state.snapshot.last_interval);
    let so_far = terms(&state.snapshot.so_far);
    let pairs =
        now.iter().zip(&so_far).filter(|(term, _)| term.depth <= DEPTH_MAX && term.depth != 1);
    lines.extend(pairs.map(|(now, so_far)| efficiency(state, now, so_far.value, n_columns)));
    lines.push(history(state, n_columns));
    lines.push(rank_shares(state, n_columns));
    let n_left = usize::from(body.height).saturating_sub(lines.len() + 1);
    lines.push(Line::from(strong("Most MPI time so far".to_owned())));
    let total_s: f64 = state.snapshot.call_sites.iter().map(|site| site.time_s).sum();
    let n_sites = if n_left > 10 { n_left - n_left / 3 } else { n_left };
    let sites = state.snapshot.call_sites.iter().take(n_sites);
    lines.extend(sites.map(|site| call_site(site, total_s, n_columns)));
    lines.extend(last_output(
        state,
        usize::from(body.height).saturating_sub(lines.len()),
        n_columns,
    ));
    lines
}

fn titles(n_columns: usize) -> Line<'static> {
    let gap = n_columns.saturating_sub(N_VALUES);
    let titles = format!("{:>8} {:>8}", "now", "so far");
    Line::from(vec![strong(text::left("Efficiency", gap)), dim(titles)])
}

fn efficiency(state: &LiveState, now: &Term, so_far: f64, n_columns: usize) -> Line<'static> {
    let n_bar = n_columns - N_NAME - N_VALUES - 1;
    let grade = Grade::of(now.value);
    let [bar, rest] = bars::gauge(now.value, n_bar);
    let indent = if now.depth == 0 { "" } else { "  " };
    let color = match grade {
        Grade::Good => Color::Green,
        Grade::Fair => Color::Yellow,
        Grade::Poor => Color::Red,
    };
    Line::from(vec![
        Span::raw(text::left(&format!("{indent}{}", now.name), N_NAME)),
        colored(state.color, color, bar),
        dim(rest),
        Span::raw(format!(" {:>8} {:>8}  ", percent(now.value), percent(so_far))),
        colored(state.color, color, grade.word().to_owned()),
    ])
}

/// Draws the parallel efficiency of the last intervals, the newest on the right.
fn history(state: &LiveState, n_columns: usize) -> Line<'static> {
    let room = n_columns - N_NAME;
    let n_hidden = state.history.len().saturating_sub(room);
    let shares: Vec<f64> = state.history.iter().skip(n_hidden).copied().collect();
    let name = Span::raw(text::left("  over the intervals", N_NAME));
    Line::from(vec![name, colored(state.color, Color::Green, bars::columns(&shares))])
}

fn rank_shares(state: &LiveState, n_columns: usize) -> Line<'static> {
    let shares: Vec<f64> = state.snapshot.ranks.iter().map(|rank| rank.useful_share).collect();
    let shown = bars::averaged(&shares, n_columns - N_NAME);
    let name = Span::raw(text::left("  computing, by rank", N_NAME));
    Line::from(vec![name, colored(state.color, Color::Green, bars::columns(&shown))])
}

/// Returns a line with name and place of a call site, and its share of the MPI time.
fn call_site(site: &CallSite, total_s: f64, n_columns: usize) -> Line<'static> {
    let name = format!("{}  {}", text::harmless(&site.operation), place::place(&site.place));
    let room = n_columns - 10;
    let share = display::units::share_of(site.time_s, total_s);
    let name = text::left(&text::shorten(&name, room - 2), room - 2);
    Line::from(format!("  {name} {:>8}", percent(share)))
}

/// Returns the end of the program's output, if there is room for a title and a line.
fn last_output(state: &LiveState, n_room: usize, n_columns: usize) -> Vec<Line<'static>> {
    let n_lines = n_room.saturating_sub(1).min(state.output.len());
    if n_lines == 0 {
        return Vec::new();
    }
    let last = state.output.range(state.output.len() - n_lines..);
    let lines =
        last.map(|line| format!("  {}", text::shorten(&text::harmless(line), n_columns - 2)));
    std::iter::once(Line::from(strong("Output".to_owned()))).chain(lines.map(Line::from)).collect()
}
