//! Tasks for a terminal: a table, and a single ended task with its output.

use crate::terminal::Style;
use crate::terminal::ink::Tone;
use crate::terminal::page::Page;
use crate::terminal::table::{Align, Cell, Column, Table};
use crate::text::harmless;
use crate::units::{bytes, seconds};
use task_api::{EndedTask, Outcome, TaskName, TaskState, TaskStatus, Text};

/// Columns by importance: the last ones are left out if there is no room.
const COLUMNS: [Column; 8] = [
    ("task", Align::Left),
    ("state", Align::Name),
    ("what", Align::Name),
    ("index", Align::Right),
    ("node", Align::Name),
    ("waited", Align::Right),
    ("ran", Align::Right),
    ("start", Align::Right),
];

/// Returns a line for each task, ending in a line feed; `now_ms` is the current time in ms since 1970.
#[must_use]
pub fn tasks(tasks: &[TaskStatus], now_ms: u64, style: Style) -> String {
    let mut page = Page::new(style);
    let mut table = Table::new(&COLUMNS);
    tasks.iter().for_each(|task| table.row(row(task, now_ms)));
    table.write(&mut page);
    page.into_text()
}

/// Returns the outcome and output of an ended task, ending in a line feed.
#[must_use]
pub fn ended(name: &TaskName, task: &EndedTask, style: Style) -> String {
    let mut page = Page::new(style);
    let (outcome, tone) = (task.outcome.to_string(), outcome_tone(&task.outcome));
    let ran = task.started_ms.map_or_else(
        || "never started".to_owned(),
        |started_ms| format!("ran {}", span(started_ms, task.ended_ms)),
    );
    let again =
        if 1 < task.instance { format!(", start {}", task.instance) } else { String::new() };
    let name = page.paint(Tone::Strong, &name.to_string());
    let outcome = page.paint(tone, &harmless(&outcome));
    page.unindented(&format!("{name}  {outcome}  on {}, {ran}{again}", harmless(&task.node)));
    if let Some(output) = &task.output {
        write_text(&mut page, "standard output", &output.stdout);
        write_text(&mut page, "standard error", &output.stderr);
        if output.n_dropped_bytes != 0 {
            let words = format!(
                "{} were not kept; `submit --output-max` keeps more, `--output DIR` all",
                bytes(output.n_dropped_bytes)
            );
            page.sentence("! ", &words, Tone::Fair);
        }
    }
    page.into_text()
}

fn write_text(page: &mut Page, title: &str, text: &Text) {
    if text.0.is_empty() {
        return;
    }
    page.heading(title, "");
    for line in String::from_utf8_lossy(&text.0).lines() {
        page.unindented(&harmless(&line.replace('\t', "    ")));
    }
}

fn row(task: &TaskStatus, now_ms: u64) -> Vec<Cell> {
    let nothing = || "-".to_owned();
    let state = task.outcome.as_ref().map_or_else(|| task.state.to_string(), ToString::to_string);
    let tone = task.outcome.as_ref().map_or_else(|| state_tone(task.state), outcome_tone);
    let waited_until_ms = task.started_ms.or(task.ended_ms).unwrap_or(now_ms);
    let ran = task.started_ms.map_or_else(nothing, |started_ms| {
        let is_running = matches!(task.state, TaskState::Running | TaskState::Leased);
        let until_ms = task.ended_ms.or(is_running.then_some(now_ms));
        until_ms.map_or_else(nothing, |until_ms| span(started_ms, until_ms))
    });
    let plain = |text: String| (text, Tone::Plain);
    vec![
        (task.task.to_string(), Tone::Strong),
        (harmless(&state), tone),
        plain(harmless(&task.title)),
        plain(task.array_index.map_or_else(nothing, |index| index.to_string())),
        plain(task.node.as_deref().map_or_else(nothing, harmless)),
        plain(span(task.submitted_ms, waited_until_ms)),
        plain(ran),
        (task.instance.to_string(), if 1 < task.instance { Tone::Fair } else { Tone::Dim }),
    ]
}

/// Formats a time span. The clocks of two nodes differ, so an end may seem to precede its start.
fn span(from_ms: u64, to_ms: u64) -> String {
    seconds(to_ms.saturating_sub(from_ms) as f64 / 1e3)
}

fn state_tone(state: TaskState) -> Tone {
    match state {
        TaskState::Queued | TaskState::Offered => Tone::Plain,
        TaskState::Leased => Tone::Mpi,
        TaskState::Running => Tone::Useful,
        TaskState::Ended => Tone::Dim,
    }
}

fn outcome_tone(outcome: &Outcome) -> Tone {
    match outcome {
        Outcome::Exit(0) => Tone::Good,
        Outcome::Canceled => Tone::Fair,
        Outcome::Exit(_) | Outcome::Signal(_) | Outcome::NotStarted(_) | Outcome::Lost => {
            Tone::Poor
        }
    }
}
