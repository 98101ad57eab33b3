//! Formats a decision, and the answer to a wish, as a line.

use super::view::{Decision, ProgramAnswer};
use resize_api::Outcome;
use resize_plan::queue::ResizeReason;
use serde_json::{Value, json};

/// Line about a decision and its reason.
pub(super) fn decision(decision: &Decision) -> (String, Value) {
    let Decision { change, name, program, from_size, size } = decision;
    let (why, waiting) = match change.reason {
        ResizeReason::MakesRoom { job } => (format!("so that job {job} can start"), Some(job)),
        ResizeReason::UsesIdle => ("because nodes are idle".to_owned(), None),
    };
    let (from, to) = (change.from, change.to);
    let sentence = format!(
        "job {name} ({program}) from {from} to {to} nodes, {from_size} to {size} ranks, {why}"
    );
    let value = json!({
        "at": at(), "what": "decision", "job": name, "program": program, "from_nodes": from, "to_nodes": to,
        "from": from_size, "to": size, "waiting_job": waiting,
    });
    (sentence, value)
}

/// Line about a program's answer to a wish.
pub(super) fn answered(answered: &ProgramAnswer) -> (String, Value) {
    let ProgramAnswer { name, program, size, outcome, sentence } = answered;
    let verb = if *outcome == Outcome::Done { "has" } else { "keeps" };
    let text = format!("job {name} ({program}) {verb} {size} ranks: {sentence}");
    let value = json!({
        "at": at(), "what": "answer", "job": name, "program": program, "size": size, "outcome": outcome,
        "sentence": sentence,
    });
    (text, value)
}

fn at() -> String {
    chrono::Local::now().to_rfc3339_opts(chrono::SecondsFormat::Millis, false)
}
