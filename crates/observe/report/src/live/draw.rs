//! Drawing of the live view: a header, tabs, the selected tab, and a footer.

mod calls;
mod overview;
mod ranks;

use super::{LiveState, Tab};
use display::text;
use display::units::{count, percent, plural, seconds};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::Paragraph;

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
    state.saw(body.height.into());
    let lines = match state.tab {
        _ if state.snapshot.ranks.is_empty() && state.tab != Tab::Output => waiting(state),
        Tab::Overview => overview::lines(state, body),
        Tab::Ranks => ranks::lines(state, body),
        Tab::Calls => calls::lines(state, body),
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
    let tabs = Tab::ALL.into_iter().map(|tab| {
        if tab == state.tab {
            strong(format!("[{}] ", tab.title()))
        } else {
            dim(format!(" {}  ", tab.title()))
        }
    });
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
