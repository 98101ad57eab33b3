//! Tasks for a terminal: a table, a single ended task with its output, and the explanation of a task's state.

use crate::terminal::Style;
use crate::terminal::page::Page;
use display::ink::Tone;
use display::table::{Cell, Table};
use display::text::harmless;
use display::units::{bytes, moment, seconds};
use task_api::{
    Bytes, EndedTask, Explanation, OutputText, TaskName, TaskOutcome, TaskState, TaskStatus,
};

/// Returns a line for each task, ending in a line feed; `now_ms` is the current time in ms since 1970.
#[must_use]
pub fn tasks(tasks: &[TaskStatus], now_ms: u64, style: Style) -> String {
    let mut page = Page::new(style);
    page.table(&table(tasks, now_ms));
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
    let is_said = matches!(task.outcome, TaskOutcome::NotStarted(_));
    if let Some(why) = task.why.as_ref().filter(|_| !is_said) {
        page.sentence("! ", why, tone);
    }
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

fn write_text(page: &mut Page, title: &str, text: &OutputText) {
    if text.0.is_empty() {
        return;
    }
    page.heading(title, "");
    for line in String::from_utf8_lossy(&text.0).lines() {
        page.unindented(&harmless(&line.replace('\t', "    ")));
    }
}

/// Columns by importance: the last ones are left out if there is no room.
fn table(tasks: &[TaskStatus], now_ms: u64) -> Table<&TaskStatus> {
    let nothing = || "-".to_owned();
    // Reasons need the room.
    let is_told = tasks.iter().all(|task| task.why.is_none());
    Table::new(tasks)
        .left("task", |task| Cell::from(task.task.to_string()).tone(Tone::Strong))
        .name("state", |task| match &task.outcome {
            // The reason has a column of its own.
            Some(outcome @ TaskOutcome::NotStarted(_)) if task.why.is_some() => {
                Cell::from("not started").tone(outcome_tone(outcome))
            }
            Some(outcome) => Cell::from(harmless(&outcome.to_string())).tone(outcome_tone(outcome)),
            None => Cell::from(task.state.to_string()).tone(state_tone(task.state)),
        })
        .name("why", |task| task.why.as_deref().map_or_else(nothing, harmless))
        .when(tasks.iter().any(|task| task.why.is_some()))
        .name("what", |task| harmless(&task.title))
        .right("index", |task| task.array_index.map_or_else(nothing, |index| index.to_string()))
        .name("node", |task| task.node.as_deref().map_or_else(nothing, harmless))
        .right("waited", |task| {
            span(task.submitted_ms, task.started_ms.or(task.ended_ms).unwrap_or(now_ms))
        })
        .right("ran", |task| {
            let is_running = matches!(task.state, TaskState::Running | TaskState::Leased);
            let until_ms = task.ended_ms.or(is_running.then_some(now_ms));
            let times = task.started_ms.zip(until_ms);
            times.map_or_else(nothing, |(started_ms, until_ms)| span(started_ms, until_ms))
        })
        .right("cpu", |task| {
            let used = task.usage.filter(|used| 0 < used.cpu_ms);
            used.map_or_else(nothing, |used| seconds(used.cpu_ms as f64 / 1e3))
        })
        .when(is_told)
        .right("memory", |task| {
            let used = task.usage.filter(|used| 0 < used.memory_max_kib);
            used.map_or_else(nothing, |used| Bytes(used.memory_max_kib * 1024).to_string())
        })
        .when(is_told)
        .right("start", |task| {
            let tone = if 1 < task.instance { Tone::Fair } else { Tone::Dim };
            Cell::from(task.instance.to_string()).tone(tone)
        })
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

fn outcome_tone(outcome: &TaskOutcome) -> Tone {
    match outcome {
        TaskOutcome::Exit(0) => Tone::Good,
        TaskOutcome::Canceled => Tone::Fair,
        TaskOutcome::Exit(_)
        | TaskOutcome::Signal(_)
        | TaskOutcome::NotStarted(_)
        | TaskOutcome::Lost
        | TaskOutcome::TimeLimit
        | TaskOutcome::MemoryLimit => Tone::Poor,
    }
}

/// Returns the task, the reasons and its history, ending in a line feed.
#[must_use]
pub fn explanation(explanation: &Explanation, now_ms: u64, style: Style) -> String {
    let mut page = Page::new(style);
    let mut text = tasks(std::slice::from_ref(&explanation.status), now_ms, style);
    page.heading("Why", "");
    explanation.because.iter().for_each(|because| page.sentence("- ", because, Tone::Plain));
    write_home(&mut page, explanation);
    page.heading("What happened", "");
    write_steps(&mut page, explanation);
    text.push_str(&page.into_text());
    text
}

fn write_home(page: &mut Page, explanation: &Explanation) {
    let home = &explanation.home;
    let load = home.load.map_or_else(String::new, |load| format!(" and is a {load}"));
    let index = home.index.map_or_else(String::new, |index| format!(" with index {index:.2}"));
    let policy = home.policy.as_deref().map_or_else(String::new, |name| format!("; policy {name}"));
    let words = format!(
        "its home `{}` runs {} on {} cores, {} wait{load}{index}{policy}",
        home.node, home.n_running, home.n_cores, home.n_queued
    );
    page.sentence("- ", &words, Tone::Dim);
}

fn write_steps(page: &mut Page, explanation: &Explanation) {
    let first_ms = explanation.status.submitted_ms;
    let begun = format!("{:>10}  {}", "at", moment(first_ms as f64 / 1e3));
    page.line(&page.paint(Tone::Dim, &begun));
    if explanation.n_dropped_steps != 0 {
        page.line(&format!(
            "{:>10}  {} earlier steps are not kept",
            "…", explanation.n_dropped_steps
        ));
    }
    for step in &explanation.steps {
        let after = format!("+{}", seconds(step.at_ms.saturating_sub(first_ms) as f64 / 1e3));
        page.sentence(&format!("{after:>10}  "), &harmless(&step.what.to_string()), Tone::Plain);
    }
}
