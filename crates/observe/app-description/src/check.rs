//! Checks a description against its program.

mod kinds;

pub use kinds::complete;

use crate::description::{Application, AttributeSource, ChangeKind, EventPoint, TuningPoint};
use crate::problem::{DescriptionProblem, Level};
use crate::program::{FunctionFacts, ProgramNames};
use crate::read::misfit;
use events::ValueType;
use kinds::{Kinds, NoKind};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Returns every statement of the description about functions and variables that does not hold for the program.
///
/// `text` is the source of the description, in which problems are located.
pub fn check(
    text: &str,
    application: &Application,
    program: &dyn ProgramNames,
) -> Vec<DescriptionProblem> {
    let mut check = Check { text, program, problems: Vec::new() };
    for event in &application.events {
        check.event(event);
    }
    for point in &application.tuning_points {
        check.sync(point);
        check.change(point);
    }
    check.problems.sort_by_key(|problem| (problem.line, problem.columns.start));
    check.problems
}

struct Check<'a> {
    text: &'a str,
    program: &'a dyn ProgramNames,
    problems: Vec<DescriptionProblem>,
}

/// Part of a description to which a problem refers.
struct Part {
    line: usize,
    what: String,
    attribute: Option<String>,
}

impl Check<'_> {
    fn event(&mut self, event: &EventPoint) {
        let what = format!("event `{}`", event.name);
        let part = Part { line: event.line, what, attribute: None };
        let function = self.probeable(&part, &event.function);
        if let Some(callers) = function.as_ref().and_then(inlined_in) {
            let sentence = format!(
                "`{}` was inlined in {callers}, and is not seen there; compile it with `__attribute__((noinline))`",
                event.function
            );
            self.report(Level::Warning, &part, &event.function, &sentence);
        }
        for attribute in &event.attributes {
            let what = format!("attribute `{}` of event `{}`", attribute.name, event.name);
            let name = Some(attribute.name.clone());
            let part = Part { line: attribute.line, what, attribute: name };
            let kinds = Kinds { program: self.program, declared: attribute.kind };
            let (word, kind) = match &attribute.source {
                AttributeSource::Variable(name) => {
                    (name, kinds.of_variable(name, &event.function, event.place))
                }
                AttributeSource::Argument(place) => {
                    let Some(facts) = &function else { continue };
                    (&attribute.name, kinds.of_argument(&event.function, facts, *place))
                }
                AttributeSource::Returned => {
                    let Some(facts) = &function else { continue };
                    (&attribute.name, kinds.of_returned(&event.function, facts))
                }
            };
            if let Err(no_kind) = kind {
                self.report_kind(&part, word, &no_kind);
            }
        }
    }

    /// Every call must pass a sync point: otherwise some ranks would change and others would not.
    fn sync(&mut self, point: &TuningPoint) {
        let part = part_of(point);
        let facts = self.probeable(&part, &point.sync_function);
        let Some(callers) = facts.as_ref().and_then(inlined_in) else { return };
        let (level, remedy) = if point.is_forced {
            (Level::Warning, "it is changed only where the function itself is called")
        } else {
            (
                Level::Error,
                "take another function, compile it with `__attribute__((noinline))`, or add `force = true`",
            )
        };
        let sentence =
            format!("its sync point `{}` was inlined in {callers}; {remedy}", point.sync_function);
        self.report(level, &part, &point.sync_function, &sentence);
    }

    fn change(&mut self, point: &TuningPoint) {
        let part = part_of(point);
        let kinds = Kinds { program: self.program, declared: point.kind };
        match &point.change {
            ChangeKind::Variable(name) => {
                let kind = kinds.of_variable(name, &point.sync_function, point.sync_place);
                self.range(point, &part, name, kind);
                if let Ok(Some(_)) = kinds::reached(self.program, name, &point.sync_function) {
                    return;
                }
                let facts = self.program.variable(name).ok();
                if let Some(sentence) = facts.and_then(|facts| facts.not_settable) {
                    self.report(Level::Error, &part, name, &sentence);
                } else if let Some(sentence) = self.program.unseen(name, &point.sync_function) {
                    self.report(Level::Warning, &part, name, &sentence);
                }
            }
            ChangeKind::Call(name) => {
                if let Some(facts) = self.function(&part, name) {
                    let kind = kinds.of_only_argument(name, &facts);
                    self.range(point, &part, name, kind);
                }
            }
            ChangeKind::Load(_) | ChangeKind::Lever(_) => {}
            ChangeKind::Replace { function, by } => self.replace(&part, function, by),
        }
    }

    /// Checks that the type is as declared and that the range fits it.
    fn range(
        &mut self,
        point: &TuningPoint,
        part: &Part,
        name: &str,
        kind: Result<ValueType, NoKind>,
    ) {
        let kind = match kind {
            Ok(kind) => kind,
            Err(no_kind) => return self.report_kind(part, name, &no_kind),
        };
        // A range that does not fit the declared type was already reported when the description was read.
        let range = point.range.filter(|_| point.kind.is_none());
        if let Some(bound) = range.and_then(|range| misfit(kind, &[range.low, range.high])) {
            let sentence = format!(
                "its range has {bound}, which is no {}, the type of `{name}`; bring it into the type",
                kind.name()
            );
            self.report_at(Level::Error, part, (Some("range"), name), &sentence);
        }
    }

    fn replace(&mut self, part: &Part, function: &str, by: &str) {
        let facts = self.probeable(part, function);
        if let Some(callers) = facts.as_ref().and_then(inlined_in) {
            let sentence =
                format!("`{function}` was inlined in {callers}, and is not replaced there");
            self.report(Level::Warning, part, function, &sentence);
        }
        if ChangeKind::library_of(by).is_some() {
            return;
        }
        let by_facts = self.function(part, by);
        let (Some(facts), Some(by_facts)) = (facts, by_facts) else {
            return;
        };
        if let Some(difference) = difference(&facts, &by_facts) {
            let sentence = format!(
                "`{by}` cannot take the place of `{function}`: {difference}; give it the same signature"
            );
            self.report(Level::Error, part, by, &sentence);
        }
    }

    fn probeable(&mut self, part: &Part, name: &str) -> Option<FunctionFacts> {
        let facts = self.function(part, name)?;
        if ["main", "MAIN__"].contains(&name) {
            let sentence = format!(
                "`{name}` is entered before there are probes and left after the last of them; take a function \
                 that it calls"
            );
            self.report(Level::Error, part, name, &sentence);
        }
        if let Some(reason) = &facts.not_probeable {
            let sentence = format!("`{name}` cannot have probes: {reason}; take one that calls it");
            self.report(Level::Error, part, name, &sentence);
        }
        Some(facts)
    }

    fn function(&mut self, part: &Part, name: &str) -> Option<FunctionFacts> {
        let facts = self.program.function(name);
        if let Err(sentence) = &facts {
            self.report(Level::Error, part, name, sentence);
        }
        facts.ok()
    }

    fn report_kind(&mut self, part: &Part, word: &str, no_kind: &NoKind) {
        let key = no_kind.is_declared.then_some("type");
        self.report_at(Level::Error, part, (key, word), &no_kind.sentence);
    }

    fn report(&mut self, level: Level, part: &Part, word: &str, sentence: &str) {
        self.report_at(level, part, (None, word), sentence);
    }

    /// Reports a problem of the value of a key, or else of a word in quotes.
    fn report_at(
        &mut self,
        level: Level,
        part: &Part,
        (key, word): (Option<&str>, &str),
        sentence: &str,
    ) {
        let sentence = format!("{}: {sentence}", part.what);
        let item = Item { text: self.text, line: part.line, attribute: part.attribute.as_deref() };
        let at = key.and_then(|key| item.value_of(key)).unwrap_or_else(|| item.word(word));
        self.problems.push(DescriptionProblem::at(self.text, &at, level, sentence));
    }
}

fn part_of(point: &TuningPoint) -> Part {
    let what = format!("tuning point `{}`", point.name);
    Part { line: point.line, what, attribute: None }
}

/// Returns the functions with inlined copies, as `a`, `b` and `c`; `None` if there are none.
fn inlined_in(facts: &FunctionFacts) -> Option<String> {
    let quoted: Vec<String> = facts.inlined_in.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last()? {
        (only, []) => Some(only.clone()),
        (last, rest) => Some(format!("{} and {last}", rest.join(", "))),
    }
}

/// Returns the first known difference between two signatures.
fn difference(one: &FunctionFacts, other: &FunctionFacts) -> Option<String> {
    let (ours, theirs) = (one.arguments.as_ref()?, other.arguments.as_ref()?);
    if ours.len() != theirs.len() {
        return Some(format!("it takes {} arguments, not {}", theirs.len(), ours.len()));
    }
    let arguments = ours.iter().zip(theirs).enumerate();
    let places = arguments.map(|(idx, (our, their))| (format!("argument {}", idx + 1), our, their));
    let returned = one.returns.as_ref().zip(other.returns.as_ref());
    let returned = returned.map(|(our, their)| ("what it returns".to_owned(), our, their));
    places.chain(returned).find(|(_, our, their)| our != their).map(|(place, our, their)| {
        format!("{place} is `{}`, not `{}`", their.type_name, our.type_name)
    })
}

/// Item that begins in a given line.
#[derive(Clone, Copy, Debug)]
struct Item<'a> {
    text: &'a str,
    line: usize,
    /// Attribute of the event in which to look for keys, instead of the event itself.
    attribute: Option<&'a str>,
}

impl Item<'_> {
    /// Returns the location of a word in quotes, or the start of the item if it is not found.
    fn word(&self, word: &str) -> Range<usize> {
        let lines = self.text.split_inclusive('\n').take(self.line.saturating_sub(1));
        let start: usize = lines.map(str::len).sum();
        let item = &self.text[start..];
        let end = item.find("\n[").unwrap_or(item.len());
        let quoted = ['"', '\'']
            .iter()
            .filter_map(|quote| item[..end].find(&format!("{quote}{word}{quote}")));
        match quoted.min() {
            Some(at) => start + at..start + at + word.len() + 2,
            None => start..start,
        }
    }

    fn value_of(&self, key: &str) -> Option<Range<usize>> {
        let (whole, _) = DeTable::parse_recoverable(self.text);
        let lists = ["event", "tuning_point", "attributes"];
        let tables = tables(whole.get_ref(), &lists).into_iter();
        // Two attributes may be in the same line.
        let own = |(_, table): &(Range<usize>, &DeTable<'_>)| {
            self.attribute.is_none_or(|name| is_called(table, name))
        };
        let line_of = |at: &Range<usize>| {
            DescriptionProblem::at(self.text, at, Level::Error, String::new()).line
        };
        let mut here = tables.filter(|(at, _)| line_of(at) == self.line).filter(own);
        here.find_map(|(_, table)| Some(table.get(key)?.span()))
    }
}

/// Returns all tables in lists of these names, including nested ones, with their locations.
fn tables<'a>(table: &'a DeTable<'a>, lists: &[&str]) -> Vec<(Range<usize>, &'a DeTable<'a>)> {
    let mut found = Vec::new();
    for list in lists {
        let items = table.get(*list).and_then(|node| node.get_ref().as_array());
        for item in items.into_iter().flatten() {
            if let Some(inner) = item.get_ref().as_table() {
                found.push((item.span(), inner));
                found.extend(tables(inner, lists));
            }
        }
    }
    found
}

fn is_called(table: &DeTable<'_>, name: &str) -> bool {
    let text = |node: &Spanned<DeValue<'_>>| node.get_ref().as_str() == Some(name);
    table.get("name").is_some_and(text)
}

#[cfg(test)]
mod tests;
