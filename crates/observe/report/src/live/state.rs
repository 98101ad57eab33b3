//! State of the live view, and its changes by keys.

use super::Snapshot;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::cell::Cell;
use std::collections::VecDeque;

/// Maximum number of lines of the program's output kept for scrolling back.
const N_OUTPUT_MAX: usize = 1000;
/// Maximum number of intervals whose efficiency is kept: the width of the widest terminal.
const N_HISTORY_MAX: usize = 512;
/// Number of lines scrolled by page up and page down.
const N_PAGE: usize = 10;

/// Tab of the view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tab {
    /// Overview.
    #[default]
    Overview,
    /// All ranks.
    Ranks,
    /// Operations and call sites.
    Calls,
    /// Output of the program.
    Output,
}

impl Tab {
    /// All tabs in order, with their titles.
    pub const ALL: [(Self, &str); 4] = [
        (Self::Overview, "Overview"),
        (Self::Ranks, "Ranks"),
        (Self::Calls, "Calls"),
        (Self::Output, "Output"),
    ];
}

/// Effect of a key, for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum KeyEffect {
    /// The key has no effect.
    Nothing,
    /// The view has changed and must be drawn.
    Redraw,
    /// Close the view; the program goes on.
    Leave,
    /// Ctrl-C: interrupt the program, which the terminal does not do itself in raw mode.
    Interrupt,
}

/// State of the live view.
#[derive(Clone, Debug, Default)]
pub struct LiveState {
    pub(super) command: String,
    pub(super) color: bool,
    pub(super) snapshot: Snapshot,
    pub(super) output: VecDeque<String>,
    /// Parallel efficiency of each interval, oldest first.
    pub(super) history: VecDeque<f64>,
    pub(super) tab: Tab,
    /// Number of lines scrolled, by tab; in the output tab from its end.
    pub(super) scrolled: [usize; Tab::ALL.len()],
    /// Number of lines visible when last drawn, which limits scrolling.
    pub(super) n_in_sight: Cell<usize>,
}

impl LiveState {
    /// Creates the view of a run that has not started, in color.
    #[must_use]
    pub fn new(command: String) -> Self {
        Self { command, color: true, ..Self::default() }
    }

    /// Sets whether to use color (`NO_COLOR`).
    #[must_use]
    pub fn with_color(self, color: bool) -> Self {
        Self { color, ..self }
    }

    /// Updates the view with a snapshot, and appends its output.
    pub fn update(&mut self, mut snapshot: Snapshot) {
        let lines = std::mem::take(&mut snapshot.output);
        if self.scrolled[Tab::Output as usize] > 0 {
            // A user who has scrolled back keeps the same lines visible.
            self.scrolled[Tab::Output as usize] += lines.len();
        }
        self.output.extend(lines);
        let n_excess = self.output.len().saturating_sub(N_OUTPUT_MAX);
        self.output.drain(..n_excess);
        if !snapshot.ranks.is_empty() {
            self.history.push_back(snapshot.last_interval.parallel_efficiency);
        }
        if self.history.len() > N_HISTORY_MAX {
            self.history.pop_front();
        }
        self.snapshot = snapshot;
        // Ranks may have ended: limits scrolling to the remaining lines.
        self.scroll(0, true);
    }

    /// Processes a key.
    pub fn key(&mut self, key: KeyEvent) -> KeyEffect {
        let n_tabs = Tab::ALL.len();
        match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return KeyEffect::Interrupt;
            }
            KeyCode::Char('q') | KeyCode::Esc => return KeyEffect::Leave,
            KeyCode::Tab | KeyCode::Right => {
                self.tab = Tab::ALL[(self.tab as usize + 1) % n_tabs].0
            }
            KeyCode::BackTab | KeyCode::Left => {
                self.tab = Tab::ALL[(self.tab as usize + n_tabs - 1) % n_tabs].0;
            }
            KeyCode::Up => self.scroll(1, true),
            KeyCode::Down => self.scroll(1, false),
            KeyCode::PageUp => self.scroll(N_PAGE, true),
            KeyCode::PageDown => self.scroll(N_PAGE, false),
            KeyCode::Home => self.scroll(usize::MAX, true),
            KeyCode::End => self.scroll(usize::MAX, false),
            _ => return KeyEffect::Nothing,
        }
        KeyEffect::Redraw
    }

    /// Returns the number of scrollable lines in the selected tab.
    fn n_lines(&self) -> usize {
        match self.tab {
            Tab::Overview => 0,
            Tab::Ranks => self.snapshot.ranks.len() + 1,
            Tab::Calls => self.snapshot.operations.len() + self.snapshot.call_sites.len() + 3,
            Tab::Output => self.output.len(),
        }
    }

    fn scroll(&mut self, n_lines: usize, up: bool) {
        let n_max = self.n_lines().saturating_sub(self.n_in_sight.get().max(1));
        let scrolled = &mut self.scrolled[self.tab as usize];
        // The output is scrolled from its end, so that new lines appear automatically.
        let away_from_start = up == (self.tab == Tab::Output);
        *scrolled = if away_from_start {
            scrolled.saturating_add(n_lines)
        } else {
            scrolled.saturating_sub(n_lines)
        };
        *scrolled = (*scrolled).min(n_max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[track_caller]
    fn check(codes: &[KeyCode], expected_tab: Tab, expected_scrolled: usize) {
        let mut state = LiveState::new("mpirun".to_owned());
        state.update(sample::snapshot(100));
        state.n_in_sight.set(21);
        for code in codes {
            assert_eq!(state.key(KeyEvent::from(*code)), KeyEffect::Redraw);
        }
        assert_eq!(
            (state.tab, state.scrolled[state.tab as usize]),
            (expected_tab, expected_scrolled)
        );
    }

    #[test]
    fn keys_change_the_tab_and_scroll() {
        use KeyCode::{BackTab, Down, End, Home, PageDown, Tab as Next, Up};
        check(&[Next], Tab::Ranks, 0);
        check(&[BackTab], Tab::Output, 0);
        check(&[Down], Tab::Overview, 0);
        check(&[Next, PageDown, Down, Up], Tab::Ranks, 10);
        check(&[Next, End], Tab::Ranks, 80);
        check(&[Next, End, Home], Tab::Ranks, 0);
        check(&[BackTab, Up, Up, Down], Tab::Output, 0);
    }

    #[test]
    fn some_keys_are_for_the_caller() {
        let mut state = LiveState::new("mpirun".to_owned());
        let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(state.key(interrupt), KeyEffect::Interrupt);
        assert_eq!(state.key(KeyEvent::from(KeyCode::Char('q'))), KeyEffect::Leave);
        assert_eq!(state.key(KeyEvent::from(KeyCode::Char('c'))), KeyEffect::Nothing);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut state = LiveState::new("mpirun".to_owned());
        for _ in 0..N_HISTORY_MAX + 5 {
            state.update(Snapshot { output: vec!["line".to_owned(); 3], ..sample::snapshot(2) });
        }
        assert_eq!((state.output.len(), state.history.len()), (N_OUTPUT_MAX, N_HISTORY_MAX));
    }

    #[test]
    fn who_scrolled_back_keeps_the_lines_in_sight() {
        let mut state = LiveState::new("mpirun".to_owned());
        state.update(Snapshot { output: vec!["line".to_owned(); 30], ..Snapshot::default() });
        assert_eq!(state.key(KeyEvent::from(KeyCode::Left)), KeyEffect::Redraw);
        assert_eq!(state.key(KeyEvent::from(KeyCode::Up)), KeyEffect::Redraw);
        state.update(Snapshot { output: vec!["new".to_owned(); 4], ..Snapshot::default() });
        assert_eq!(state.scrolled[Tab::Output as usize], 5);
    }
}
