//! Explanation of a task's state and node, for a terminal.

use super::tasks;
use crate::terminal::Style;
use crate::terminal::page::Page;
use display::ink::Tone;
use display::text::harmless;
use display::units::{moment, seconds};
use task_api::Explanation;

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
