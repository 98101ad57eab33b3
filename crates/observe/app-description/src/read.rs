//! Parser of descriptions.
//!
//! All errors are found in one pass: invalid parts are left out, and references to them are not
//! reported as further errors.

mod attributes;
mod events;
mod fields;
mod points;

use crate::description::{Actor, Application, RankSet};
use crate::near::hint;
use crate::problem::DescriptionProblem;
use events::Iteration;
use fields::{Fields, Findings, LocatedValue, Word, given};
pub(crate) use points::misfit;
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

/// Version of the format that is supported.
pub const FORMAT: u32 = 1;

/// Reads a description.
///
/// The description is returned even with problems, without the parts that they concern, so that it can still be
/// [checked](crate::check()); it is `None` if the text is not TOML or of another format version. With any problem
/// of [`Level::Error`](crate::Level::Error), do not use the description for anything else.
pub fn read(text: &str) -> (Option<Application>, Vec<DescriptionProblem>) {
    let mut findings = Findings::new(text);
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let at = error.span().unwrap_or(0..0);
        findings.error(&at, format!("invalid TOML: {}", error.message()));
    }
    let application = if errors.is_empty() { read_table(&table, &mut findings) } else { None };
    (application, findings.into_problems())
}

fn read_table<'a>(
    table: &'a toml::Spanned<DeTable<'a>>,
    findings: &mut Findings<'a>,
) -> Option<Application> {
    let mut fields = Fields::new("the description", 0..0, table.get_ref());
    read_format(&mut fields, findings)?;
    let mut application =
        Application { program: read_program(&mut fields, findings), ..Default::default() };
    application.libraries = read_libraries(&mut fields, findings);
    let actors = read_actors(&mut fields, findings);
    let events = events::read(&mut fields, &actors, findings);
    application.tuning_points = points::read(&mut fields, &actors, &events, findings);
    match events::read_iteration(&mut fields, &actors, &events, findings) {
        Some(Iteration::Events(mark)) => application.iteration = Some(mark),
        Some(Iteration::Call(call)) => application.iteration_call = Some(call),
        None => {}
    }
    application.tunlet_options = read_options(&mut fields, findings);
    application.actors = actors.items;
    application.events = events.items;
    fields.finish(findings);
    Some(application)
}

/// Returns `None` if the format version is not supported.
fn read_format<'a>(fields: &mut Fields<'a>, findings: &mut Findings<'a>) -> Option<()> {
    let Some(node) = fields.need("format", "1", findings) else {
        return Some(());
    };
    let is_ours = matches!(node.get_ref(), DeValue::Integer(n) if n.as_str() == FORMAT.to_string());
    if !is_ours {
        let given = given(node.get_ref());
        let sentence = format!("`format` is {given}, and this version reads format {FORMAT}");
        findings.error(&node.span(), sentence);
    }
    is_ours.then_some(())
}

fn read_program<'a>(fields: &mut Fields<'a>, findings: &mut Findings<'a>) -> String {
    let Some(program) = fields.need_word("program", "\"xfire\"", findings) else {
        return String::new();
    };
    if program.text.contains('/') {
        let sentence =
            format!("`program` is `{}`; write its file name without folder", program.text);
        findings.error(&program.at, sentence);
    }
    program.text.to_owned()
}

/// Reads the files of libraries that the program loads itself.
fn read_libraries<'a>(fields: &mut Fields<'a>, findings: &mut Findings<'a>) -> Vec<String> {
    let Some(node) = fields.get("libraries") else { return Vec::new() };
    let DeValue::Array(files) = node.get_ref() else {
        let sentence =
            format!("`libraries` is {}; write a list of files in quotes", given(node.get_ref()));
        findings.error(&node.span(), sentence);
        return Vec::new();
    };
    let words = files.iter().filter_map(|file| findings.word("a file of `libraries`", file));
    words.map(|word| word.text.to_owned()).collect()
}

/// Reads `[actors]`: names for sets of ranks.
fn read_actors<'a>(fields: &mut Fields<'a>, findings: &mut Findings<'a>) -> Named<Actor> {
    let mut actors = Named::new("actor");
    let table = fields.need("actors", "{ all = \"all\" }", findings);
    let table = table.and_then(|node| Fields::of("`actors`", node, findings));
    for (name, node) in table.iter().flat_map(Fields::in_order) {
        let what = format!("actor `{}`", name.text);
        let ranks = findings.word(&what, node).and_then(|word| {
            let ranks = ranks(word.text);
            if let Err(reason) = &ranks {
                findings.error(&word.at, format!("{what} is `{}`; {reason}", word.text));
            }
            ranks.ok()
        });
        let line = findings.line(&name.at);
        let actor = ranks.map(|ranks| Actor { name: name.text.to_owned(), ranks, line });
        actors.add(&name, actor, findings);
    }
    actors
}

const FORMS: &str = "write ranks such as `0`, `1-`, `0-3,8` or `all`";

fn ranks(text: &str) -> Result<RankSet, String> {
    if text.trim() == "all" {
        return Ok(RankSet { spans: vec![(0, None)] });
    }
    let spans = text.split(',').map(|span| {
        let (first, last) = match span.split_once('-') {
            None => (number(span)?, Some(number(span)?)),
            Some((first, last)) if last.trim().is_empty() => (number(first)?, None),
            Some((first, last)) => (number(first)?, Some(number(last)?)),
        };
        match last {
            Some(last) if last < first => {
                Err(format!("`{}` is no rank at all; write the smaller number first", span.trim()))
            }
            _ => Ok((first, last)),
        }
    });
    spans.collect::<Result<_, _>>().map(|spans| RankSet { spans })
}

fn number(text: &str) -> Result<u32, String> {
    text.trim().parse().map_err(|_| FORMS.to_owned())
}

/// Reads `[tunlet.NAME]`; the meaning of the options is up to the tunlet.
fn read_options<'a>(
    fields: &mut Fields<'a>,
    findings: &mut Findings<'a>,
) -> BTreeMap<String, BTreeMap<String, String>> {
    let tunlets = fields.get("tunlet").and_then(|node| Fields::of("`tunlet`", node, findings));
    let mut all = BTreeMap::new();
    for (name, node) in tunlets.iter().flat_map(Fields::in_order) {
        let what = format!("tunlet `{}`", name.text);
        let Some(options) = Fields::of(what, node, findings) else {
            continue;
        };
        let mut texts = BTreeMap::new();
        for (key, value) in options.in_order() {
            let text = match value.get_ref() {
                DeValue::String(text) => text.to_string(),
                DeValue::Boolean(truth) => truth.to_string(),
                DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
                DeValue::Float(number) => number.as_str().to_owned(),
                other => {
                    let (what, given) = (options.name_of(key.text), given(other));
                    let remedy = "write text, a decimal number, `true` or `false`";
                    findings.error(&value.span(), format!("{what} is {given}; {remedy}"));
                    continue;
                }
            };
            texts.insert(key.text.to_owned(), text);
        }
        all.insert(name.text.to_owned(), texts);
    }
    all
}

/// Named items of one kind.
struct Named<T> {
    /// Kind of the items: "actor", "event".
    kind: &'static str,
    items: Vec<T>,
    /// Positions by name; `None` for an invalid item.
    positions: BTreeMap<String, Option<usize>>,
}

impl<T> Named<T> {
    fn new(kind: &'static str) -> Self {
        Self { kind, items: Vec::new(), positions: BTreeMap::new() }
    }

    /// Adds an item, or `None` for an invalid one. A duplicate name is a problem.
    fn add(&mut self, name: &Word<'_>, item: Option<T>, findings: &mut Findings<'_>) {
        if self.positions.contains_key(name.text) {
            let Self { kind, .. } = self;
            let sentence =
                format!("there is another {kind} `{}`; give each its own name", name.text);
            findings.error(&name.at, sentence);
            return;
        }
        let position = item.map(|item| {
            self.items.push(item);
            self.items.len() - 1
        });
        self.positions.insert(name.text.to_owned(), position);
    }

    /// Returns the position of the item with this name.
    fn find(&self, what: &str, name: &Word<'_>, findings: &mut Findings<'_>) -> Option<usize> {
        let Some(position) = self.positions.get(name.text) else {
            let Self { kind, .. } = self;
            let names = self.positions.keys().map(String::as_str);
            let hint = hint(name.text, names, &format!("describe that {kind} or name another"));
            findings
                .error(&name.at, format!("{what} is `{}`, which is no {kind}{hint}", name.text));
            return None;
        };
        *position
    }
}

/// Returns the tables of `[[key]]`, each with its name if it has one.
fn tables<'a>(
    fields: &mut Fields<'a>,
    key: &'static str,
    findings: &mut Findings<'a>,
) -> Vec<(Option<Word<'a>>, Fields<'a>)> {
    let mut found = Vec::new();
    for node in list(fields, key, findings) {
        let Some(mut item) = Fields::of(format!("this `[[{key}]]`"), node, findings) else {
            continue;
        };
        let name = item.need_word("name", "\"a_name\"", findings);
        if let Some(name) = &name {
            item.what = format!("{} `{}`", key.replace('_', " "), name.text);
        }
        found.push((name, item));
    }
    found
}

fn list<'a>(
    fields: &mut Fields<'a>,
    key: &'static str,
    findings: &mut Findings<'a>,
) -> &'a [LocatedValue<'a>] {
    let Some(node) = fields.get(key) else { return &[] };
    let DeValue::Array(items) = node.get_ref() else {
        let sentence = format!("`{key}` is written with single brackets; write `[[{key}]]`");
        findings.error(&node.span(), sentence);
        return &[];
    };
    items
}

#[cfg(test)]
mod tests;
