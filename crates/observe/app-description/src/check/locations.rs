//! Location of problems in the text of a description.

use crate::problem::{Level, Problem};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Subject of a problem within an item of a description.
#[derive(Clone, Copy, Debug)]
pub(super) enum About<'a> {
    /// A name in quotes.
    Word(&'a str),
    /// Value of a key, or a name if the key is missing.
    Key(&'static str, &'a str),
}

/// Item that begins in a given line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item<'a> {
    pub(super) text: &'a str,
    pub(super) line: usize,
    /// Attribute of the event in which to look for keys, instead of the event itself.
    pub(super) attribute: Option<&'a str>,
}

impl Item<'_> {
    /// Returns the location of the subject, or the start of the item if it is not found.
    pub(super) fn location_of(&self, about: About<'_>) -> Range<usize> {
        match about {
            About::Word(word) => self.word(word),
            About::Key(key, word) => self.value_of(key).unwrap_or_else(|| self.word(word)),
        }
    }

    fn start(&self) -> usize {
        let lines = self.text.split_inclusive('\n').take(self.line.saturating_sub(1));
        lines.map(str::len).sum()
    }

    fn word(&self, word: &str) -> Range<usize> {
        let start = self.start();
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
        let mut here = tables.filter(|(at, _)| self.line_of(at) == self.line).filter(own);
        here.find_map(|(_, table)| Some(table.get(key)?.span()))
    }

    fn line_of(&self, at: &Range<usize>) -> usize {
        Problem::at(self.text, at, Level::Error, String::new()).line
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
