//! Drawing of the live view: a header, tabs, the selected tab, and a footer.

use super::{LiveState, OperationRate, RankNow, Tab};
use crate::efficiency::{Term, grade, terms};
use crate::place;
use display::ink::Tone;
use display::units::{bytes, count, percent, plural, rate, seconds, whole};
use display::{bars, text};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::Paragraph;
use run_record::summary::CallSite;

/// Minimum size of the terminal, in columns and lines.
const MINIMUM: (u16, u16) = (60, 15);
const KEYS: &str = "tab: next  ↑↓ pgup pgdn: scroll  q: leave (program goes on)";

/// Draws the view.
pub fn draw(frame: &mut Frame<'_>, state: &LiveState) {
    let area = frame.area();
    if area.width < MINIMUM.0 || area.height < MINIMUM.1 {
        let words = super::plain_line(&state.snapshot);
        frame.render_widget(
            Text::from(format!(
                "{words}\n\nThe view needs {} columns and {} lines.",
                MINIMUM.0, MINIMUM.1
            )),
            area,
        );
        return;
    }
    let [head, body, foot] = parts(area);
    frame.render_widget(Paragraph::new(header(state, area.width.into())), head);
    state.n_in_sight.set(body.height.into());
    let lines = match state.tab {
        _ if state.snapshot.ranks.is_empty() && state.tab != Tab::Output => waiting(state),
        Tab::Overview => overview(state, body),
        Tab::Ranks => rank_lines(state, body),
        Tab::Calls => call_lines(state, body),
        Tab::Output => output(state, body),
    };
    frame.render_widget(Paragraph::new(lines), body);
    frame.render_widget(Paragraph::new(footer(state)), foot);
}

fn parts(area: Rect) -> [Rect; 3] {
    let (n_head, n_foot) = (3, 2);
    let body_height = area.height - n_head - n_foot;
    [
        Rect { height: n_head, ..area },
        Rect { y: area.y + n_head, height: body_height, ..area },
        Rect { y: area.y + n_head + body_height, height: n_foot, ..area },
    ]
}

fn header(state: &LiveState, n_columns: usize) -> Vec<Line<'static>> {
    let snapshot = &state.snapshot;
    let (ranks, nodes) = (plural(snapshot.ranks.len(), "rank"), plural(snapshot.n_nodes, "node"));
    let left =
        format!("sintonia  {}  {}", text::harmless(&snapshot.state), seconds(snapshot.elapsed_s));
    let right = format!("{ranks} on {nodes}");
    let gap = n_columns.saturating_sub(text::width(&left) + text::width(&right));
    let command = text::shorten(&text::harmless(&state.command), n_columns);
    let tabs = Tab::ALL.map(|(one, title)| tab(title, one == state.tab));
    vec![
        Line::from(vec![strong(left), Span::raw(text::spaces(gap)), Span::raw(right)]),
        Line::from(dim(command)),
        Line::from_iter(tabs),
    ]
}

fn footer(state: &LiveState) -> Vec<Line<'static>> {
    let snapshot = &state.snapshot;
    let dropped = match snapshot.records_dropped {
        0 => String::new(),
        n => format!(", {} records dropped", count(n)),
    };
    let share = percent(snapshot.tool_share);
    let cost = format!(
        "observing costs {:.1} ns per call, {share} of the time{dropped}",
        snapshot.ns_per_call
    );
    vec![Line::from(dim(cost)), Line::from(dim(KEYS.to_owned()))]
}

fn waiting(state: &LiveState) -> Vec<Line<'static>> {
    let words = "No MPI process yet: the program has not called MPI_Init.";
    let last = state.output.back().map(|line| Line::from(text::harmless(line)));
    [Line::default(), Line::from(words), Line::default()].into_iter().chain(last).collect()
}

fn output(state: &LiveState, body: Rect) -> Vec<Line<'static>> {
    let n_room = usize::from(body.height);
    let n_scrolled =
        state.scrolled[Tab::Output as usize].min(state.output.len().saturating_sub(n_room));
    let end = state.output.len() - n_scrolled;
    let start = end.saturating_sub(n_room);
    let lines = state.output.range(start..end);
    lines.map(|line| Line::from(text::shorten(&text::harmless(line), body.width.into()))).collect()
}

/// Returns the title of a tab.
pub(crate) fn tab(title: &str, is_selected: bool) -> Span<'static> {
    if is_selected { strong(format!("[{title}] ")) } else { dim(format!(" {title}  ")) }
}

pub(crate) fn strong(text: String) -> Span<'static> {
    Span::styled(text, Style::new().add_modifier(Modifier::BOLD))
}

pub(crate) fn dim(text: String) -> Span<'static> {
    Span::styled(text, Style::new().add_modifier(Modifier::DIM))
}

/// Returns `text` in `color`, if color is enabled.
pub(crate) fn colored(has_color: bool, color: Color, text: String) -> Span<'static> {
    let style = if has_color { Style::new().fg(color) } else { Style::new() };
    Span::styled(text, style)
}

/// Width of three numbers of ten columns each.
const N_NUMBERS: usize = 33;

fn call_lines(state: &LiveState, body: Rect) -> Vec<Line<'static>> {
    let n_name = usize::from(body.width) - N_NUMBERS;
    let snapshot = &state.snapshot;
    let titles = |name: &str, numbers: [&str; 3]| {
        let [a, b, c] = numbers;
        Line::from(vec![strong(text::left(name, n_name)), dim(format!(" {a:>10} {b:>10} {c:>10}"))])
    };
    let mut lines = vec![titles("Operations now", ["calls/s", "bytes/s", "time"])];
    lines.extend(snapshot.operations.iter().map(|operation| operation_line(operation, n_name)));
    lines.push(Line::default());
    lines.push(titles("Call sites so far", ["calls", "bytes", "time"]));
    lines.extend(snapshot.call_sites.iter().map(|site| call_site_line(site, n_name)));
    let n_hidden = lines.len().saturating_sub(usize::from(body.height));
    lines.split_off(state.scrolled[Tab::Calls as usize].min(n_hidden))
}

fn operation_line(operation: &OperationRate, n_name: usize) -> Line<'static> {
    let name = text::shorten(&text::harmless(&operation.name), n_name - 2);
    let numbers = [
        rate(operation.calls_per_s),
        bytes(whole(operation.bytes_per_s)),
        percent(operation.time_share),
    ];
    call_line(&name, &numbers, n_name)
}

fn call_site_line(site: &CallSite, n_name: usize) -> Line<'static> {
    let name = format!("{}  {}", text::harmless(&site.operation), place::place(&site.place));
    let numbers = [count(site.calls), bytes(site.bytes), seconds(site.time_s)];
    call_line(&text::shorten(&name, n_name - 2), &numbers, n_name)
}

fn call_line(name: &str, numbers: &[String; 3], n_name: usize) -> Line<'static> {
    let [a, b, c] = numbers;
    let name = text::left(&format!("  {name}"), n_name);
    Line::from(format!(
        "{name} {} {} {}",
        text::right(a, 10),
        text::right(b, 10),
        text::right(c, 10)
    ))
}

const KEY: &str = "█ computing ▒ MPI";
const N_RANK: usize = 6;
const N_NODE: usize = 10;
/// Width for `100.0 %  12.3 k/s`.
const N_RATES: usize = 19;
/// Width for `MPI_Neighbor…toall 12.3 s`.
const N_NOW: usize = 26;

fn rank_lines(state: &LiveState, body: Rect) -> Vec<Line<'static>> {
    let n_columns = usize::from(body.width);
    let n_room = usize::from(body.height).saturating_sub(1);
    let ranks = &state.snapshot.ranks;
    let first = state.scrolled[Tab::Ranks as usize].min(ranks.len().saturating_sub(n_room));
    let wide = n_columns >= 90;
    let shown = ranks.iter().skip(first).take(n_room);
    let several_worlds = ranks.iter().any(|rank| rank.world > 0);
    std::iter::once(rank_titles(n_columns, wide))
        .chain(shown.map(|rank| rank_line(state, rank, Widths { n_columns, wide, several_worlds })))
        .collect()
}

#[derive(Clone, Copy)]
struct Widths {
    n_columns: usize,
    /// True if there is room for the node's name.
    wide: bool,
    several_worlds: bool,
}

fn n_bar(n_columns: usize, wide: bool) -> usize {
    let fixed = N_RANK + N_RATES + N_NOW + 3 + if wide { N_NODE + 1 } else { 0 };
    n_columns.saturating_sub(fixed)
}

fn rank_titles(n_columns: usize, wide: bool) -> Line<'static> {
    let node = if wide { text::left("node", N_NODE + 1) } else { String::new() };
    let n_bar = n_bar(n_columns, wide);
    let key = if n_bar < text::width(KEY) { "" } else { KEY };
    let bar = text::left(key, n_bar);
    let rates = format!("{:>9} {:>9}", "computing", "calls/s");
    Line::from(dim(format!("{:>5} {node}{bar} {rates}  now", "rank")))
}

fn rank_line(state: &LiveState, rank: &RankNow, widths: Widths) -> Line<'static> {
    let name = if widths.several_worlds {
        format!("{}.{}", rank.world, rank.rank)
    } else {
        rank.rank.to_string()
    };
    let node = text::shorten(&text::harmless(&rank.node), N_NODE);
    let node = if widths.wide { text::left(&node, N_NODE + 1) } else { String::new() };
    let n_bar = n_bar(widths.n_columns, widths.wide);
    let [n_useful, n_mpi] = bars::split([rank.useful_share, rank.mpi_share], n_bar);
    let rates = format!(" {:>9} {:>9}  ", percent(rank.useful_share), rate(rank.calls_per_s));
    Line::from(vec![
        Span::raw(format!("{name:>5} {node}")),
        colored(state.color, Color::Green, "█".repeat(n_useful)),
        colored(state.color, Color::Blue, "▒".repeat(n_mpi)),
        Span::raw(text::spaces(n_bar - n_useful - n_mpi)),
        Span::raw(rates),
        Span::raw(now(rank)),
    ])
}

fn now(rank: &RankNow) -> String {
    if rank.ended {
        return "ended".to_owned();
    }
    let since = seconds(rank.since_s);
    let call =
        rank.call.as_ref().map_or_else(|| "computing".to_owned(), |call| text::harmless(call));
    let room = N_NOW.saturating_sub(text::width(&since) + 2);
    format!("{} {since}", text::shorten(&call, room))
}

/// Maximum depth of terms: the split within and between nodes is left to the report.
const DEPTH_MAX: usize = 2;
const N_NAME: usize = 28;
/// Width for ` 100.0 %  100.0 %  good`.
const N_VALUES: usize = 25;

fn overview(state: &LiveState, body: Rect) -> Vec<Line<'static>> {
    let n_columns = usize::from(body.width);
    let mut lines = waits(state, n_columns);
    lines.push(overview_titles(n_columns));
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

/// Draws why the program stands still.
fn waits(state: &LiveState, n_columns: usize) -> Vec<Line<'static>> {
    let sentences = state.snapshot.waits.iter();
    let lines = sentences.flat_map(|sentence| text::wrap(&text::harmless(sentence), n_columns));
    lines.map(|line| Line::from(strong(line))).collect()
}

fn overview_titles(n_columns: usize) -> Line<'static> {
    let gap = n_columns.saturating_sub(N_VALUES);
    let titles = format!("{:>8} {:>8}", "now", "so far");
    Line::from(vec![strong(text::left("Efficiency", gap)), dim(titles)])
}

fn efficiency(state: &LiveState, now: &Term, so_far: f64, n_columns: usize) -> Line<'static> {
    let n_bar = n_columns - N_NAME - N_VALUES - 1;
    let grade = grade(now.value);
    let [bar, rest] = bars::gauge(now.value, n_bar);
    let indent = if now.depth == 0 { "" } else { "  " };
    let color = match grade {
        Tone::Good => Color::Green,
        Tone::Fair => Color::Yellow,
        _ => Color::Red,
    };
    Line::from(vec![
        Span::raw(text::left(&format!("{indent}{}", now.name), N_NAME)),
        colored(state.color, color, bar),
        dim(rest),
        Span::raw(format!(" {:>8} {:>8}  ", percent(now.value), percent(so_far))),
        colored(state.color, color, grade.grade().to_owned()),
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
