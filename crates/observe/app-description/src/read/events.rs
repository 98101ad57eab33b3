//! Reads `[[event]]` and `[iteration]`.

use super::attributes::read_attributes;
use super::fields::{Fields, Findings, Word};
use super::{Named, tables};
use crate::description::{Actor, EventPoint, IterationMark};
use crate::near::hint;
use events::ProbePoint;
use std::ops::Range;

pub(super) fn read<'a>(
    fields: &mut Fields<'a>,
    actors: &Named<Actor>,
    findings: &mut Findings<'a>,
) -> Named<EventPoint> {
    let mut events = Named::new("event");
    for (name, item) in tables(fields, "event", findings) {
        let at = item.at.clone();
        let event = read_event(name.as_ref(), item, actors, findings);
        if let Some(event) = &event {
            refuse_second(event, &events, &at, findings);
        }
        if let Some(name) = name {
            events.add(&name, event, findings);
        }
    }
    events
}

fn read_event<'a>(
    name: Option<&Word<'a>>,
    mut item: Fields<'a>,
    actors: &Named<Actor>,
    findings: &mut Findings<'a>,
) -> Option<EventPoint> {
    let actor = read_actor(&mut item, actors, findings);
    let function = item.need_word("function", "\"solve\"", findings);
    let place = read_place(&mut item, findings);
    let attributes = read_attributes(&mut item, place, findings);
    let line = findings.line(&item.at);
    item.finish(findings);
    Some(EventPoint {
        name: name?.text.to_owned(),
        actor: actor?,
        function: function?.text.to_owned(),
        place: place?,
        attributes,
        line,
    })
}

pub(super) fn read_actor<'a>(
    item: &mut Fields<'a>,
    actors: &Named<Actor>,
    findings: &mut Findings<'a>,
) -> Option<usize> {
    let actor = item.need_word("actor", "\"all\"", findings)?;
    actors.find(&item.name_of("actor"), &actor, findings)
}

pub(super) fn read_place<'a>(
    item: &mut Fields<'a>,
    findings: &mut Findings<'a>,
) -> Option<ProbePoint> {
    let place = item.need_word("at", "\"entry\"", findings)?;
    match place.text {
        "entry" => Some(ProbePoint::Entry),
        "exit" => Some(ProbePoint::Exit),
        other => {
            let hint = hint(other, ["entry", "exit"], "write `entry` or `exit`");
            findings.error(&place.at, format!("{} is `{other}`{hint}", item.name_of("at")));
            None
        }
    }
}

/// Reports a second event at the same place of a function.
fn refuse_second(
    event: &EventPoint,
    others: &Named<EventPoint>,
    at: &Range<usize>,
    findings: &mut Findings<'_>,
) {
    let place = (&event.function, event.place);
    if let Some(other) = others.items.iter().find(|other| (&other.function, other.place) == place) {
        let sentence = format!(
            "events `{}` and `{}` are at the same place; keep one, with an actor that covers the ranks of both",
            event.name, other.name
        );
        findings.error(at, sentence);
    }
}

pub(super) fn read_iteration<'a>(
    fields: &mut Fields<'a>,
    actors: &Named<Actor>,
    events: &Named<EventPoint>,
    findings: &mut Findings<'a>,
) -> Option<Iteration> {
    let node = fields.get("iteration")?;
    let mut item = Fields::of("`iteration`", node, findings)?;
    if let Some(call) = item.word("call", findings) {
        item.finish(findings);
        return is_call_site(&call, findings).then(|| Iteration::Call(call.text.to_owned()));
    }
    let start = item.need_word("start", "\"iteration_start\"", findings);
    let end = item.need_word("end", "\"iteration_end\"", findings);
    let work = item.word("work", findings);
    let found = |what: &str, word: &Option<Word<'a>>, findings: &mut Findings<'a>| {
        let word = word.as_ref()?;
        let position = events.find(what, word, findings)?;
        let actor = &actors.items[events.items[position].actor];
        check_on_one_rank(what, word, actor, findings).then_some(position)
    };
    let start_idx = found(&item.name_of("start"), &start, findings);
    let end_idx = found(&item.name_of("end"), &end, findings);
    let work = work.map(|word| find_work(start_idx, &word, events, findings));
    item.finish(findings);
    let (start, end) = (start_idx?, end_idx?);
    check_apart(&events.items[start], &events.items[end], &node.span(), findings);
    Some(Iteration::Events(IterationMark { start, end, work: work.flatten() }))
}

/// An iteration, as the description defines it.
pub(super) enum Iteration {
    /// From one event to another.
    Events(IterationMark),
    /// From one passage of a call site to the next.
    Call(String),
}

/// Checks that a call site is written as `solve.c:120` or as `MPI_Allreduce in solve`.
fn is_call_site(call: &Word<'_>, findings: &mut Findings<'_>) -> bool {
    let is_line = |text: &str| {
        text.rsplit_once(':').is_some_and(|(file, line)| {
            !file.is_empty() && line.parse().is_ok_and(|line: u32| line != 0)
        })
    };
    let is_call = match call.text.split_once(" in ") {
        Some((operation, function)) => operation.starts_with("MPI_") && !function.is_empty(),
        None => is_line(call.text),
    };
    if !is_call {
        let sentence = format!(
            "`call` of `iteration` is `{}`; write the line of an MPI call, such as `solve.c:120`, or its operation \
             and function, such as `MPI_Allreduce in solve`",
            call.text
        );
        findings.error(&call.at, sentence);
    }
    is_call
}

/// Checks that iterations are measured on one rank: several ranks have no common iteration.
fn check_on_one_rank(
    what: &str,
    word: &Word<'_>,
    actor: &Actor,
    findings: &mut Findings<'_>,
) -> bool {
    let is_one = matches!(actor.ranks.spans[..], [(first, Some(last))] if first == last);
    if !is_one {
        let sentence = format!(
            "{what} is on actor `{}`, which may be several ranks; name an event on an actor of one rank",
            actor.name
        );
        findings.error(&word.at, sentence);
    }
    is_one
}

fn check_apart(
    start: &EventPoint,
    end: &EventPoint,
    at: &Range<usize>,
    findings: &mut Findings<'_>,
) {
    if start.name == end.name {
        let sentence = format!(
            "`iteration` starts and ends with event `{}`; end it with another, such as the exit of `{}`",
            start.name, start.function
        );
        findings.error(at, sentence);
    } else if start.actor != end.actor {
        let sentence = format!(
            "events `{}` and `{}` of `iteration` are on two actors; take one",
            start.name, end.name
        );
        findings.error(at, sentence);
    }
}

fn find_work(
    start: Option<usize>,
    work: &Word<'_>,
    events: &Named<EventPoint>,
    findings: &mut Findings<'_>,
) -> Option<usize> {
    let start = &events.items[start?];
    let position = start.attributes.iter().position(|attribute| attribute.name == work.text);
    if position.is_none() {
        let names = start.attributes.iter().map(|attribute| attribute.name.as_str());
        let hint = hint(work.text, names, "add it to its `attributes`");
        let sentence =
            format!("`work` is `{}`, which event `{}` does not have{hint}", work.text, start.name);
        findings.error(&work.at, sentence);
    }
    position
}
