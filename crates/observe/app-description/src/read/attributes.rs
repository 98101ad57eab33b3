//! Reads the `attributes` of an event.

use super::fields::{Fields, Findings, LocatedValue, Word};
use super::list;
use crate::description::{AttributeSource, EventAttribute};
use events::{ProbePoint, ValueType};
use std::collections::BTreeSet;
use toml::de::DeValue;

pub(super) fn read_attributes<'a>(
    item: &mut Fields<'a>,
    place: Option<ProbePoint>,
    findings: &mut Findings<'a>,
) -> Vec<EventAttribute> {
    let event = item.what.clone();
    let mut names = BTreeSet::new();
    let mut attributes = Vec::new();
    let nodes = match item.get("attributes") {
        Some(node) if node.get_ref().is_array() => list(item, "attributes", findings),
        Some(node) => {
            let sentence = format!("`attributes` of {event} is no list; write `[\"name\"]`");
            findings.error(&node.span(), sentence);
            &[]
        }
        None => &[],
    };
    for node in nodes {
        let Some((name, attribute)) = read_attribute(&event, node, place, findings) else {
            continue;
        };
        if !names.insert(name.text) {
            let sentence =
                format!("{event} has another attribute `{}`; name one otherwise", name.text);
            findings.error(&name.at, sentence);
        }
        attributes.extend(attribute);
    }
    attributes
}

/// Returns the name of an attribute, and the attribute if it is valid.
fn read_attribute<'a>(
    event: &str,
    node: &'a LocatedValue<'a>,
    place: Option<ProbePoint>,
    findings: &mut Findings<'a>,
) -> Option<(Word<'a>, Option<EventAttribute>)> {
    let line = findings.line(&node.span());
    if !matches!(node.get_ref(), DeValue::Table(_)) {
        let name = findings.word(&format!("this attribute of {event}"), node)?;
        let source = Some(AttributeSource::Variable(name.text.to_owned()));
        let attribute = attribute(&name, source, None, line);
        return Some((name, attribute));
    }
    let mut item = Fields::of(format!("this attribute of {event}"), node, findings)?;
    let name = item.need_word("name", "\"rows\"", findings)?;
    item.what = format!("attribute `{}` of {event}", name.text);
    let source = read_source(&mut item, &name, place, findings);
    let kind = item.get("type").and_then(|node| findings.kind(&item.name_of("type"), node));
    item.finish(findings);
    let attribute = attribute(&name, source, kind, line);
    Some((name, attribute))
}

fn attribute(
    name: &Word<'_>,
    source: Option<AttributeSource>,
    kind: Option<ValueType>,
    line: usize,
) -> Option<EventAttribute> {
    Some(EventAttribute { name: name.text.to_owned(), source: source?, kind, line })
}

fn read_source<'a>(
    item: &mut Fields<'a>,
    name: &Word<'a>,
    place: Option<ProbePoint>,
    findings: &mut Findings<'a>,
) -> Option<AttributeSource> {
    let (argument, returned) = (item.get("argument"), item.get("returned"));
    let has_variable = item.get("variable").is_some();
    let n_sources =
        [argument.is_some(), returned.is_some(), has_variable].iter().filter(|has| **has).count();
    if 1 < n_sources {
        let sentence = "keep one of `variable`, `argument` and `returned`";
        findings.error(&item.at, format!("{} has several sources; {sentence}", item.what));
        return None;
    }
    if let Some(node) = argument {
        return read_argument(item, node, place, findings);
    }
    if let Some(node) = returned {
        return read_returned(item, node, place, findings);
    }
    let variable = item.word("variable", findings);
    if has_variable && variable.is_none() {
        return None;
    }
    let variable = variable.map_or(name.text, |variable| variable.text);
    Some(AttributeSource::Variable(variable.to_owned()))
}

fn read_argument(
    item: &Fields<'_>,
    node: &LocatedValue<'_>,
    place: Option<ProbePoint>,
    findings: &mut Findings<'_>,
) -> Option<AttributeSource> {
    if place == Some(ProbePoint::Exit) {
        let sentence = "arguments are gone at an exit; measure it at the entry";
        findings.error(&node.span(), format!("{}: {sentence}", item.what));
        return None;
    }
    let what = item.name_of("argument");
    let number = findings.number(&what, node)?;
    let argument = (1..=u8::MAX).find(|argument| f64::from(*argument).total_cmp(&number).is_eq());
    if argument.is_none() {
        findings.error(&node.span(), format!("{what} is `{number}`; count arguments from 1"));
    }
    argument.map(|argument| AttributeSource::Argument(argument.into()))
}

fn read_returned(
    item: &Fields<'_>,
    node: &LocatedValue<'_>,
    place: Option<ProbePoint>,
    findings: &mut Findings<'_>,
) -> Option<AttributeSource> {
    if place == Some(ProbePoint::Entry) {
        let sentence = "nothing is returned yet at an entry; measure it at the exit";
        findings.error(&node.span(), format!("{}: {sentence}", item.what));
        return None;
    }
    let what = item.name_of("returned");
    let is_returned = findings.truth(&what, node)?;
    if !is_returned {
        let sentence = format!("{what} is `false`; leave it out or say where the value comes from");
        findings.error(&node.span(), sentence);
    }
    is_returned.then_some(AttributeSource::Returned)
}
