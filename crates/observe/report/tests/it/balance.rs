//! Presentation of a cluster: text, live view, page.

use crate::browser;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Color;
use report::balance::live::{ClusterView, draw};
use report::balance::{self, History, PageState, Queues};
use report::sample;
use report::terminal::Style;
use task_api::{EndedTask, HistorySample, Output, OutputText, TaskOutcome, TaskState};

const USUAL: Style = Style { color: false, width: 100 };
const NARROW: Style = Style { color: false, width: 60 };
const WIDE: Style = Style { color: false, width: 140 };

#[test]
fn nodes_and_tasks_are_lines() {
    let (_, nodes) = sample::nodes();
    insta::assert_snapshot!("nodes", balance::nodes(&nodes, WIDE));
    insta::assert_snapshot!("nodes_narrow", balance::nodes(&nodes, NARROW));
    assert!(balance::nodes(&nodes, Style { color: true, ..USUAL }).contains("\u{1b}[31msilent"));
    let (now_ms, tasks) = sample::tasks();
    insta::assert_snapshot!("tasks", balance::tasks(&tasks, now_ms, USUAL));
    let (now_ms, explanation) = sample::explanation();
    insta::assert_snapshot!("explained", balance::explanation(&explanation, now_ms, USUAL));
}

#[test]
fn a_task_that_ended_shows_what_it_wrote_and_commands_no_terminal() {
    let (_, tasks) = sample::tasks();
    let output = Output {
        stdout: OutputText(b"step 1\tdone\n\x1b[2Jstep 2\n".to_vec()),
        stderr: OutputText(b"\xff no such file\n".to_vec()),
        n_dropped_bytes: 2048,
    };
    let ended = EndedTask {
        number: 2,
        node: "beta".to_owned(),
        instance: 2,
        started_ms: Some(1000),
        ended_ms: 3500,
        outcome: TaskOutcome::Exit(3),
        output: Some(output),
        is_brief: false,
        why: Some("\u{fffd} no such file".to_owned()),
        usage: task_api::Usage::default(),
        output_folder: None,
    };
    insta::assert_snapshot!("ended", balance::ended(&tasks[1].task, &ended, NARROW));
}

fn queues() -> Queues {
    let (_, tasks) = sample::tasks();
    let of = |state| tasks.iter().filter(|task| task.state == state).cloned().collect();
    Queues {
        running: of(TaskState::Running),
        leased: of(TaskState::Leased),
        queued: of(TaskState::Queued),
    }
}

/// Returns a view after 30 s, in which tasks moved.
fn view(has_color: bool, keys: &[KeyCode]) -> ClusterView {
    let (now_ms, mut nodes) = sample::nodes();
    let mut view = ClusterView::new("alpha".to_owned(), has_color);
    for second in 0..30 {
        nodes[0].n_queued -= 100;
        nodes[3].n_running = 2 + second % 3;
        if second % 10 == 9 {
            nodes[0].counts.n_moved_out += 4;
            nodes[3].counts.n_moved_in += 4;
        }
        view.update(now_ms + 1000 * u64::from(second), nodes.clone(), queues());
    }
    for key in keys {
        assert!(view.key(KeyEvent::from(*key)));
    }
    view
}

fn drawn(view: &ClusterView, size: (u16, u16)) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
    terminal.draw(|frame| draw(frame, view)).unwrap();
    terminal
}

#[test]
fn the_view_has_parts() {
    use KeyCode::{BackTab, Tab};
    let check = |name: &str, keys: &[KeyCode], size| {
        insta::assert_snapshot!(name, drawn(&view(false, keys), size).backend());
    };
    check("cluster_nodes", &[], (100, 14));
    check("cluster_nodes_narrow", &[], (60, 12));
    check("cluster_tasks", &[Tab], (100, 14));
    check("cluster_moves", &[BackTab], (100, 14));
    check("cluster_too_small", &[], (40, 8));
}

#[test]
fn the_view_shows_durations_and_the_time_that_is_left() {
    let (now_ms, mut nodes) = sample::nodes();
    let mut view = ClusterView::new("alpha".to_owned(), false);
    let past = (0..60).map(|age| HistorySample {
        at_ms: now_ms - 60_000 + 1_000 * age,
        n_running: 4,
        n_queued: 20_000,
        n_succeeded: 0,
        n_failed: 0,
    });
    view.begin(&[("alpha".to_owned(), past.collect())]);
    (0..100).for_each(|ms| nodes[0].durations.add(20 * ms));
    view.update(now_ms, nodes, queues());
    let text = drawn(&view, (120, 14)).backend().to_string();
    assert!(text.contains("half of them took at most 980 ms"), "{text}");
    assert!(text.contains("about") && text.contains("left") && text.contains("median"), "{text}");
    assert!(drawn(&view, (60, 12)).backend().to_string().contains("delta"));
}

#[test]
fn the_view_keeps_what_it_heard_last_and_says_why() {
    let mut view = view(false, &[]);
    view.trouble("the daemon of node `alpha` does not answer".to_owned());
    let text = drawn(&view, (100, 14)).backend().to_string();
    assert!(text.contains("does not answer") && text.contains("beta"), "{text}");
}

#[test]
fn the_view_is_left_by_its_keys() {
    let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    for key in [KeyEvent::from(KeyCode::Char('q')), KeyEvent::from(KeyCode::Esc), interrupt] {
        assert!(!view(false, &[]).key(key));
    }
    assert!(view(false, &[]).key(KeyEvent::from(KeyCode::Char('c'))));
}

#[test]
fn a_long_list_is_scrolled_to_its_end_and_no_further() {
    let (now_ms, nodes) = sample::nodes();
    let many = (0..40).map(|number| {
        let node = format!("n{number:02}");
        task_api::NodeStatus { node, ..nodes[1].clone() }
    });
    let mut view = ClusterView::new("n00".to_owned(), false);
    view.update(now_ms, many.collect(), Queues::default());
    drawn(&view, (100, 16));
    for code in [KeyCode::End, KeyCode::Down, KeyCode::PageDown] {
        assert!(view.key(KeyEvent::from(code)));
    }
    let text = drawn(&view, (100, 16)).backend().to_string();
    assert!(text.contains("n39") && text.contains("n31") && !text.contains("n30 "), "{text}");
}

#[test]
fn color_only_where_it_is_wanted() {
    for has_color in [true, false] {
        let terminal = drawn(&view(has_color, &[]), (100, 14));
        let cells = terminal.backend().buffer().content();
        assert_eq!(cells.iter().any(|cell| cell.fg != Color::Reset), has_color);
    }
}

fn page_state() -> PageState {
    let (now_ms, mut nodes) = sample::nodes();
    let mut history = History::default();
    for second in 0..20 {
        nodes[0].counts.n_moved_out += 3;
        history.add(now_ms + 1000 * second, &nodes);
    }
    PageState::new("alpha", nodes, &history, 0).with_queues(queues())
}

#[test]
fn a_browser_shows_the_page_and_says_that_the_daemon_is_gone() {
    let mut state = page_state();
    let evil = "</script><script>document.documentElement.dataset.errors='owned'</script>";
    state.queues.queued[0].title = evil.to_owned();
    let page = balance::page(&state);
    assert!(!page.contains(evil));
    // A page opened from a file has no daemon behind it.
    let document = browser::document_of(&page, "");
    assert_eq!(browser::root_attribute(&document, "errors"), Some(""));
    assert_eq!(browser::root_attribute(&document, "updates"), Some("1"));
    assert!(browser::root_attribute(&document, "trouble").is_some());
    for part in [
        "<tr data-node=\"alpha\">",
        "<tr data-node=\"delta\">",
        "<span class=\"tag silent\">silent</span>",
        "<tr data-task=\"alpha.5\">",
        "alpha gave 3",
        "The daemon cannot be reached",
        "12.3 k",
        "<td class=\"number poor\">17</td>",
    ] {
        assert!(document.contains(part), "{part} is not in the page");
    }
}

#[test]
fn the_state_is_what_is_new() {
    let (now_ms, nodes) = sample::nodes();
    let mut history = History::default();
    (0..5).for_each(|second| history.add(now_ms + second, &nodes));
    let state = PageState::new("alpha", nodes, &history, now_ms + 2);
    assert_eq!((state.history.len(), state.at_ms), (2, now_ms + 4));
    let json = serde_json::to_string(&state).unwrap();
    assert_eq!(serde_json::from_str::<PageState>(&json).unwrap(), state);
}
