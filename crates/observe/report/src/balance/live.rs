//! Live view of a cluster: nodes with their loads and queues, history, moves, and the tasks of a node.
//!
//! # Invariants
//! - Without color, the view carries the same information.

use super::history::History;
use super::nodes::{durations, in_short, troubles};
use super::page::Queues;
use crate::live::{colored, dim, strong, tab};
use display::bars;
use display::text::{self, harmless};
use display::units::{count, moment, seconds};
use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;
use ratatui::style::Color;
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::Paragraph;
use std::cell::Cell;
use task_api::{HistorySample, NodeLoadState, NodeStatus, Presence, TaskState, TaskStatus};

/// Number of lines scrolled by page up and page down.
const N_PAGE: usize = 10;

/// Tab of the view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BalanceTab {
    /// All nodes.
    #[default]
    Nodes,
    /// Tasks of the queried node.
    Tasks,
    /// Moves of tasks between nodes.
    Moves,
}

impl BalanceTab {
    const ALL: [(Self, &str); 3] =
        [(Self::Nodes, "Nodes"), (Self::Tasks, "Tasks"), (Self::Moves, "Moves")];
}

/// Formats the nodes at a moment, in ms since 1970, as one line without a line feed, for pipes and log files.
#[must_use]
pub fn plain_line(at_ms: u64, nodes: &[NodeStatus]) -> String {
    format!("{}: {}", moment(at_ms as f64 / 1e3), in_short(nodes))
}

/// State of the live view.
#[derive(Clone, Debug, Default)]
pub struct ClusterView {
    node: String,
    has_color: bool,
    at_ms: u64,
    nodes: Vec<NodeStatus>,
    history: History,
    queues: Queues,
    /// Reason why no updates arrive.
    trouble: Option<String>,
    part: BalanceTab,
    scrolled: [usize; BalanceTab::ALL.len()],
    /// Number of lines visible when last drawn, which limits scrolling.
    n_in_sight: Cell<usize>,
}

impl ClusterView {
    /// Creates the view from a node's perspective, before any data have arrived.
    #[must_use]
    pub fn new(node: String, has_color: bool) -> Self {
        Self { node, has_color, ..Self::default() }
    }

    /// Updates the view to the state of the nodes at a moment, in ms since 1970.
    pub fn update(&mut self, at_ms: u64, nodes: Vec<NodeStatus>, queues: Queues) {
        self.history.add(at_ms, &nodes);
        (self.at_ms, self.nodes, self.queues, self.trouble) = (at_ms, nodes, queues, None);
        self.scroll(0, false);
    }

    /// Puts what the nodes have kept of their past, by their names, before what the view has seen.
    pub fn begin(&mut self, pasts: &[(String, Vec<HistorySample>)]) {
        self.history.begin(pasts);
    }

    /// Shows why no updates arrive; the last data stay visible.
    pub fn trouble(&mut self, sentence: String) {
        self.trouble = Some(sentence);
    }

    /// Processes a key; returns `false` if the view is to be closed.
    pub fn key(&mut self, key: KeyEvent) -> bool {
        let n = BalanceTab::ALL.len();
        match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return false,
            KeyCode::Char('q') | KeyCode::Esc => return false,
            KeyCode::Tab | KeyCode::Right => {
                self.part = BalanceTab::ALL[(self.part as usize + 1) % n].0
            }
            KeyCode::BackTab | KeyCode::Left => {
                self.part = BalanceTab::ALL[(self.part as usize + n - 1) % n].0;
            }
            KeyCode::Up => self.scroll(1, true),
            KeyCode::Down => self.scroll(1, false),
            KeyCode::PageUp => self.scroll(N_PAGE, true),
            KeyCode::PageDown => self.scroll(N_PAGE, false),
            KeyCode::Home => self.scroll(usize::MAX, true),
            KeyCode::End => self.scroll(usize::MAX, false),
            _ => {}
        }
        true
    }

    fn n_lines(&self) -> usize {
        match self.part {
            BalanceTab::Nodes => self.nodes.len(),
            BalanceTab::Tasks => {
                let Queues { running, leased, queued } = &self.queues;
                running.len() + leased.len() + queued.len()
            }
            BalanceTab::Moves => self.history.moves().count(),
        }
    }

    fn scroll(&mut self, n_lines: usize, up: bool) {
        let n_max = self.n_lines().saturating_sub(self.n_in_sight.get().max(1));
        let scrolled = &mut self.scrolled[self.part as usize];
        *scrolled = if up {
            scrolled.saturating_sub(n_lines)
        } else {
            scrolled.saturating_add(n_lines).min(n_max)
        };
        *scrolled = (*scrolled).min(n_max);
    }
}

/// Minimum size of the terminal, in columns and lines.
const MINIMUM: (u16, u16) = (60, 12);
const KEYS: &str = "tab: next  ↑↓ pgup pgdn: scroll  q: leave";
const N_HEAD: u16 = 5;
/// Width from which the durations of each node are shown.
const N_WIDE: usize = 110;
const N_NODE: usize = 14;
/// Width for `stopping receiver`.
const N_STATE: usize = 18;
/// Width for ` 1234/1234`.
const N_CORES: usize = 10;
/// Width for ` 12.3 k` four times.
const N_COUNTS: usize = 36;

/// Draws the view.
pub fn draw(frame: &mut Frame<'_>, view: &ClusterView) {
    let area = frame.area();
    if area.width < MINIMUM.0 || area.height < MINIMUM.1 {
        let (columns, lines) = MINIMUM;
        let words = format!(
            "{}\n\nThe view needs {columns} columns and {lines} lines.",
            in_short(&view.nodes)
        );
        frame.render_widget(Text::from(words), area);
        return;
    }
    let n_columns = usize::from(area.width);
    let pace = pace(view);
    let n_head = N_HEAD + u16::from(pace.is_some());
    let head = Rect { height: n_head, ..area };
    let body = Rect { y: area.y + n_head, height: area.height - n_head - 1, ..area };
    let foot = Rect { y: area.y + area.height - 1, height: 1, ..area };
    frame.render_widget(Paragraph::new(header(view, pace, n_columns)), head);
    // The first line of each tab is for column titles.
    view.n_in_sight.set(usize::from(body.height).saturating_sub(1));
    frame.render_widget(Paragraph::new(part(view, n_columns)), body);
    frame.render_widget(Paragraph::new(footer(view)), foot);
}

/// Durations of the tasks that ended, and the time until all have, as far as these are known.
fn pace(view: &ClusterView) -> Option<String> {
    let [half, most] = durations(&view.nodes).map_or([None; 2], |both| both.map(Some));
    let ms = |ms: f64| seconds(ms / 1e3);
    let took = half.zip(most).map(|(half, most)| {
        format!("half of them took at most {}, nine of ten {}", ms(half), ms(most))
    });
    let left = view.history.left_ms().map(|left| format!("about {} left", ms(left as f64)));
    let parts: Vec<String> = took.into_iter().chain(left).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn header(view: &ClusterView, pace: Option<String>, n_columns: usize) -> Vec<Line<'static>> {
    let left = format!("sintonia nodes  as `{}` sees them", harmless(&view.node));
    let right = moment(view.at_ms as f64 / 1e3);
    let gap = n_columns.saturating_sub(text::width(&left) + text::width(&right));
    let tabs = BalanceTab::ALL.map(|(part, title)| tab(title, part == view.part));
    let past = |values: fn(&crate::balance::NodeSample) -> f64| {
        let samples = view.history.samples_after(0);
        let values: Vec<f64> =
            samples.map(|sample| sample.nodes.iter().map(values).sum()).collect();
        let n_hidden = values.len().saturating_sub(n_columns - 9);
        bars::sparkline(&values[n_hidden..])
    };
    let running = past(|point| f64::from(point.n_running));
    let queued = past(|point| point.n_queued as f64);
    let mut lines = vec![
        Line::from(vec![strong(left), Span::raw(text::spaces(gap)), dim(right)]),
        Line::from(in_short(&view.nodes)),
    ];
    lines.extend(pace.map(|pace| Line::from(format!("ended    {pace}"))));
    lines.extend([
        Line::from(vec![Span::raw("running  "), colored(view.has_color, Color::Green, running)]),
        Line::from(vec![Span::raw("queued   "), colored(view.has_color, Color::Yellow, queued)]),
        Line::from_iter(tabs),
    ]);
    lines
}

fn footer(view: &ClusterView) -> Line<'static> {
    let of_nodes = || view.nodes.iter().flat_map(troubles).next();
    match view.trouble.clone().or_else(of_nodes) {
        Some(sentence) => Line::from(colored(view.has_color, Color::Red, harmless(&sentence))),
        None => Line::from(dim(KEYS.to_owned())),
    }
}

fn part(view: &ClusterView, n_columns: usize) -> Vec<Line<'static>> {
    let first = view.scrolled[view.part as usize];
    let n_room = view.n_in_sight.get();
    let (title, lines): (String, Vec<Line<'static>>) = match view.part {
        BalanceTab::Nodes => {
            let nodes = view.nodes.iter().skip(first).take(n_room);
            (node_titles(n_columns), nodes.map(|node| node_line(view, node, n_columns)).collect())
        }
        BalanceTab::Tasks => {
            let queues = &view.queues;
            let tasks = queues.running.iter().chain(&queues.leased).chain(&queues.queued);
            let tasks = tasks.skip(first).take(n_room);
            let title = format!("{:<22}{:<10}{:<15}{:>11}  what", "task", "state", "node", "since");
            (title, tasks.map(|task| task_line(view, task, n_columns)).collect())
        }
        BalanceTab::Moves => {
            let moves = view.history.moves().skip(first).take(n_room);
            let title = format!("{:>10} {:>7} {:>7}  node", "ago", "took", "gave");
            let lines = moves.map(|one| {
                let ago = seconds(view.at_ms.saturating_sub(one.at_ms) as f64 / 1e3);
                let (taken, given) = (count(one.n_taken), count(one.n_given));
                Line::from(format!("{ago:>10} {taken:>7} {given:>7}  {}", harmless(&one.node)))
            });
            (title, lines.collect())
        }
    };
    std::iter::once(Line::from(dim(title))).chain(lines).collect()
}

fn n_bar(n_columns: usize) -> usize {
    let n_more = if n_columns < N_WIDE { 0 } else { N_COUNTS / 4 };
    n_columns.saturating_sub(N_NODE + N_STATE + N_CORES + N_COUNTS + n_more + 1).min(40)
}

fn node_titles(n_columns: usize) -> String {
    let bar = text::left("", n_bar(n_columns));
    let median = if n_columns < N_WIDE { "" } else { "   median" };
    let counts = format!("{:>9}{:>9}{:>9}{:>9}{median}", "queued", "failed", "took", "gave");
    format!("{:<N_NODE$}{:<N_STATE$}{bar}{:>N_CORES$}{counts}", "node", "state", "running")
}

fn node_line(view: &ClusterView, node: &NodeStatus, n_columns: usize) -> Line<'static> {
    let name = text::shorten(&harmless(&node.node), N_NODE - 1);
    let load = node.load.map_or_else(String::new, |load| format!(" {load}"));
    let state = text::left(&format!("{}{load}", node.presence), N_STATE);
    let n_bar = n_bar(n_columns);
    let share = f64::from(node.n_running) / f64::from(node.n_cores.max(1));
    let [bar, rest] = bars::gauge(share, n_bar);
    let cores = format!("{}/{}", node.n_running, node.n_cores);
    let column = |n: u64| format!("{:>9}", count(n));
    let moves = [node.counts.n_moved_in, node.counts.n_moved_out].map(column).concat();
    let median = node.durations.quantile_ms(0.5).filter(|_| N_WIDE <= n_columns);
    let median = median.map_or_else(String::new, |ms| format!("{:>9}", seconds(ms / 1e3)));
    let failed = column(node.counts.n_failed);
    let failed = match node.counts.n_failed {
        0 => Span::raw(failed),
        _ => colored(view.has_color, Color::Red, failed),
    };
    Line::from(vec![
        Span::raw(text::left(&name, N_NODE)),
        colored(view.has_color, state_color(node), state),
        colored(view.has_color, Color::Green, bar),
        dim(rest),
        Span::raw(format!("{cores:>N_CORES$}{}", column(node.n_queued))),
        failed,
        Span::raw(moves),
        Span::raw(median),
    ])
}

fn state_color(node: &NodeStatus) -> Color {
    match (node.presence, node.load) {
        (Presence::Silent, _) => Color::Red,
        (Presence::Stopping | Presence::Left, _) => Color::Magenta,
        (Presence::Up, Some(NodeLoadState::Receiver)) => Color::Green,
        (Presence::Up, Some(NodeLoadState::Sender)) => Color::Yellow,
        (Presence::Up, _) => Color::Blue,
    }
}

fn task_line(view: &ClusterView, task: &TaskStatus, n_columns: usize) -> Line<'static> {
    let since_ms = task.started_ms.unwrap_or(task.submitted_ms);
    let since = seconds(view.at_ms.saturating_sub(since_ms) as f64 / 1e3);
    let name = text::left(&text::shorten(&task.task.to_string(), 21), 22);
    let state = text::left(&task.state.to_string(), 10);
    let node = task.node.as_deref().unwrap_or("-");
    let node = text::left(&text::shorten(&harmless(node), 14), 15);
    let color = match task.state {
        TaskState::Running => Color::Green,
        TaskState::Leased => Color::Blue,
        TaskState::Queued | TaskState::Offered | TaskState::Ended => Color::Yellow,
    };
    let what = text::shorten(&harmless(&task.title), n_columns.saturating_sub(60));
    Line::from(vec![
        Span::raw(name),
        colored(view.has_color, color, state),
        Span::raw(format!("{node}{since:>11}  {what}")),
    ])
}
