//! Live view of a cluster: nodes with their loads and queues, history, moves, and the tasks of a node.
//!
//! # Invariants
//! - Without color, the view carries the same information.

mod draw;

use super::history::History;
use super::page::Queues;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::cell::Cell;
use task_api::NodeStatus;

pub use draw::draw;

/// Number of lines scrolled by page up and page down.
const N_PAGE: usize = 10;

/// Tab of the view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// All nodes.
    #[default]
    Nodes,
    /// Tasks of the queried node.
    Tasks,
    /// Moves of tasks between nodes.
    Moves,
}

impl Part {
    const ALL: [Self; 3] = [Self::Nodes, Self::Tasks, Self::Moves];

    fn title(self) -> &'static str {
        match self {
            Self::Nodes => "Nodes",
            Self::Tasks => "Tasks",
            Self::Moves => "Moves",
        }
    }
}

/// Formats the nodes at a moment, in ms since 1970, as one line without a line feed, for pipes and log files.
#[must_use]
pub fn plain_line(at_ms: u64, nodes: &[NodeStatus]) -> String {
    format!("{}: {}", display::units::moment(at_ms as f64 / 1e3), super::nodes::in_short(nodes))
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
    part: Part,
    scrolled: [usize; Part::ALL.len()],
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

    /// Shows why no updates arrive; the last data stay visible.
    pub fn trouble(&mut self, sentence: String) {
        self.trouble = Some(sentence);
    }

    /// Processes a key; returns `false` if the view is to be closed.
    pub fn key(&mut self, key: KeyEvent) -> bool {
        let n = Part::ALL.len();
        match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return false,
            KeyCode::Char('q') | KeyCode::Esc => return false,
            KeyCode::Tab | KeyCode::Right => self.part = Part::ALL[(self.part as usize + 1) % n],
            KeyCode::BackTab | KeyCode::Left => {
                self.part = Part::ALL[(self.part as usize + n - 1) % n];
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
            Part::Nodes => self.nodes.len(),
            Part::Tasks => {
                let Queues { running, leased, queued } = &self.queues;
                running.len() + leased.len() + queued.len()
            }
            Part::Moves => self.history.moves().count(),
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
