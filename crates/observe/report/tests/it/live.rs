//! The live view, on a terminal that records what is drawn.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui::style::Color;
use report::live::{KeyEffect, LiveState, Snapshot, draw};
use report::sample;

const NARROW: (u16, u16) = (60, 15);
const USUAL: (u16, u16) = (100, 30);

fn drawn(state: &LiveState, size: (u16, u16)) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
    terminal.draw(|frame| draw(frame, state)).unwrap();
    terminal
}

fn state_of(snapshot: Snapshot, keys: &[KeyCode]) -> LiveState {
    let mut state = LiveState::new("mpirun -np 8 ./xfire fires/gestosa.toml".to_owned());
    state.update(snapshot);
    for key in keys {
        assert_eq!(state.key(KeyEvent::from(*key)), KeyEffect::Redraw);
    }
    state
}

#[track_caller]
fn check(name: &str, snapshot: Snapshot, keys: &[KeyCode], size: (u16, u16)) {
    insta::assert_snapshot!(name, drawn(&state_of(snapshot, keys), size).backend());
}

#[test]
fn an_overview_at_any_size() {
    let waiting = Snapshot { state: "waiting for MPI".to_owned(), ..Snapshot::default() };
    check("live_waiting", waiting, &[], NARROW);
    check("live_overview_narrow", sample::snapshot(8), &[], NARROW);
    check("live_overview", sample::snapshot(8), &[], USUAL);
    check("live_overview_wide", sample::snapshot(512), &[], (160, 50));
    check("live_too_small", sample::snapshot(8), &[], (40, 10));
}

#[test]
fn every_tab() {
    use KeyCode::{BackTab, PageDown, Tab};
    check("live_ranks_narrow", sample::snapshot(8), &[Tab], NARROW);
    check("live_ranks_scrolled", sample::snapshot(512), &[Tab, PageDown, PageDown], USUAL);
    check("live_calls", sample::snapshot(8), &[Tab, Tab], USUAL);
    check("live_output", sample::snapshot(8), &[BackTab], NARROW);
}

#[test]
fn no_color_where_none_is_wanted() {
    for color in [true, false] {
        let state = state_of(sample::snapshot(8), &[]).with_color(color);
        let terminal = drawn(&state, USUAL);
        let cells = terminal.backend().buffer().content();
        assert_eq!(cells.iter().any(|cell| cell.fg != Color::Reset), color);
    }
}
