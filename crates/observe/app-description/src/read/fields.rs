//! Keys and values of a TOML table, taken one by one; remaining keys are reported as misspelled.

use crate::near::hint;
use crate::problem::{DescriptionProblem, Level};
use events::ValueType;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Value with its location.
pub(super) type LocatedValue<'a> = Spanned<DeValue<'a>>;

/// Text with its location.
#[derive(Clone, Debug)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    pub(super) at: Range<usize>,
}

/// The problems found so far.
pub(super) struct Findings<'a> {
    text: &'a str,
    problems: Vec<DescriptionProblem>,
}

/// Table that is being read.
pub(super) struct Fields<'a> {
    /// Name of the table in messages: "event `iteration_start`".
    pub(super) what: String,
    /// Location of the table.
    pub(super) at: Range<usize>,
    entries: &'a DeTable<'a>,
    known: Vec<&'static str>,
}

impl<'a> Findings<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, problems: Vec::new() }
    }

    pub(super) fn error(&mut self, at: &Range<usize>, sentence: impl Into<String>) {
        self.problems.push(DescriptionProblem::at(self.text, at, Level::Error, sentence.into()));
    }

    pub(super) fn line(&self, at: &Range<usize>) -> usize {
        DescriptionProblem::at(self.text, at, Level::Error, String::new()).line
    }

    pub(super) fn into_problems(mut self) -> Vec<DescriptionProblem> {
        self.problems.sort_by_key(|problem| (problem.line, problem.columns.start));
        self.problems
    }

    /// Returns the value if it is nonempty text; otherwise reports a problem.
    pub(super) fn word(&mut self, what: &str, node: &'a LocatedValue<'a>) -> Option<Word<'a>> {
        let sentence = match node.get_ref() {
            DeValue::String(text) if !text.is_empty() => {
                return Some(Word { text, at: node.span() });
            }
            DeValue::String(_) => format!("{what} is empty; write a name"),
            other => format!("{what} is {}; write text in quotes", given(other)),
        };
        self.error(&node.span(), sentence);
        None
    }

    /// Returns the value if it is a finite number; otherwise reports a problem.
    pub(super) fn number(&mut self, what: &str, node: &LocatedValue<'_>) -> Option<f64> {
        let number = match node.get_ref() {
            DeValue::Integer(whole) => {
                i64::from_str_radix(whole.as_str(), whole.radix()).ok().map(|whole| whole as f64)
            }
            DeValue::Float(number) => number.as_str().parse().ok().filter(|n: &f64| n.is_finite()),
            _ => None,
        };
        if number.is_none() {
            let given = given(node.get_ref());
            self.error(&node.span(), format!("{what} is {given}; write a finite number"));
        }
        number
    }

    /// Returns the value if it is `true` or `false`; otherwise reports a problem.
    pub(super) fn truth(&mut self, what: &str, node: &LocatedValue<'_>) -> Option<bool> {
        let truth = node.get_ref().as_bool();
        if truth.is_none() {
            let given = given(node.get_ref());
            self.error(&node.span(), format!("{what} is {given}; write `true` or `false`"));
        }
        truth
    }

    /// Returns the value if it is the name of a type; otherwise reports a problem.
    pub(super) fn kind(&mut self, what: &str, node: &'a LocatedValue<'a>) -> Option<ValueType> {
        let word = self.word(what, node)?;
        let kind = ValueType::ALL
            .into_iter()
            .find(|kind| kind.name() == word.text || other_name(*kind) == Some(word.text));
        if kind.is_none() {
            let names = ValueType::ALL.map(ValueType::name);
            let remedy =
                format!("write one of {}", names.map(|name| format!("`{name}`")).join(", "));
            let hint = hint(word.text, names, &remedy);
            self.error(&word.at, format!("{what} is `{}`, which is no type{hint}", word.text));
        }
        kind
    }
}

/// Returns the C name of a type where it differs.
fn other_name(kind: ValueType) -> Option<&'static str> {
    match kind {
        ValueType::I32 => Some("int"),
        ValueType::I64 => Some("long"),
        _ => None,
    }
}

/// Describes a value for messages.
pub(super) fn given(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the text `{text}`"),
        DeValue::Integer(number) => format!("the number `{}`", number.as_str()),
        DeValue::Float(number) => format!("the number `{}`", number.as_str()),
        DeValue::Boolean(truth) => format!("`{truth}`"),
        DeValue::Datetime(time) => format!("the time `{time}`"),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

impl<'a> Fields<'a> {
    pub(super) fn new(what: impl Into<String>, at: Range<usize>, entries: &'a DeTable<'a>) -> Self {
        Self { what: what.into(), at, entries, known: Vec::new() }
    }

    /// Returns the fields of a value that must be a table.
    pub(super) fn of(
        what: impl Into<String>,
        node: &'a LocatedValue<'a>,
        findings: &mut Findings<'a>,
    ) -> Option<Self> {
        let what = what.into();
        let DeValue::Table(entries) = node.get_ref() else {
            let given = given(node.get_ref());
            findings.error(&node.span(), format!("{what} is {given}; write a table of keys"));
            return None;
        };
        Some(Self::new(what, node.span(), entries))
    }

    /// Returns the value of a key, and marks the key as known.
    pub(super) fn get(&mut self, key: &'static str) -> Option<&'a LocatedValue<'a>> {
        if !self.known.contains(&key) {
            self.known.push(key);
        }
        self.entries.get(key)
    }

    /// Returns the value of a required key.
    pub(super) fn need(
        &mut self,
        key: &'static str,
        example: &str,
        findings: &mut Findings<'a>,
    ) -> Option<&'a LocatedValue<'a>> {
        let value = self.get(key);
        if value.is_none() {
            let Self { what, at, .. } = self;
            findings.error(
                at,
                format!("{what} has no `{key}`; add a line such as `{key} = {example}`"),
            );
        }
        value
    }

    pub(super) fn word(
        &mut self,
        key: &'static str,
        findings: &mut Findings<'a>,
    ) -> Option<Word<'a>> {
        let node = self.get(key)?;
        findings.word(&self.name_of(key), node)
    }

    pub(super) fn need_word(
        &mut self,
        key: &'static str,
        example: &str,
        findings: &mut Findings<'a>,
    ) -> Option<Word<'a>> {
        let node = self.need(key, example, findings)?;
        findings.word(&self.name_of(key), node)
    }

    /// Returns the name of a key's value in messages.
    pub(super) fn name_of(&self, key: &str) -> String {
        format!("`{key}` of {}", self.what)
    }

    /// Returns keys and values in the order of the text.
    pub(super) fn in_order(&self) -> Vec<(Word<'a>, &'a LocatedValue<'a>)> {
        let word =
            |key: &'a Spanned<toml::de::DeString<'a>>| Word { text: key.get_ref(), at: key.span() };
        let mut entries: Vec<_> =
            self.entries.iter().map(|(key, value)| (word(key), value)).collect();
        entries.sort_by_key(|(key, _)| key.at.start);
        entries
    }

    /// Reports keys that were not requested as misspelled; the requested ones that are missing are suggestions.
    pub(super) fn finish(self, findings: &mut Findings<'a>) {
        for (key, _) in self.in_order() {
            if self.known.contains(&key.text) {
                continue;
            }
            let free =
                self.known.iter().copied().filter(|known| !self.entries.contains_key(*known));
            let remedy = format!("valid keys are {}", self.known.join(", "));
            let hint = hint(key.text, free, &remedy);
            findings
                .error(&key.at, format!("{} has an unknown key `{}`{hint}", self.what, key.text));
        }
    }
}
