//! Named whole numbers of a header, and expressions over them.

use super::{Reader, children};
use std::collections::BTreeMap;
use tree_sitter::Node;

/// Names and their values.
#[derive(Debug, Default)]
pub(super) struct Constants {
    values: BTreeMap<String, i128>,
}

impl Constants {
    /// Adds `#define NAME VALUE`; a value that is not a whole number is ignored.
    pub(super) fn define(&mut self, reader: &Reader<'_>, node: Node<'_>) {
        let field = |name| node.child_by_field_name(name).map(|node| reader.text(node));
        let (Some(name), Some(text)) = (field("name"), field("value")) else { return };
        let text = text.split("/*").next().unwrap_or_default();
        let text = text.split("//").next().unwrap_or_default();
        if let Some(value) = self.value(text) {
            self.values.insert(name.to_owned(), value);
        }
    }

    /// Adds the names of an enumeration.
    pub(super) fn enumerate(&mut self, reader: &Reader<'_>, body: Node<'_>) {
        let mut next = Some(0);
        for one in children(body).into_iter().filter(|one| one.kind() == "enumerator") {
            if let Some(value) = one.child_by_field_name("value") {
                next = self.value(reader.text(value));
            }
            if let (Some(name), Some(value)) = (one.child_by_field_name("name"), next) {
                self.values.insert(reader.text(name).to_owned(), value);
            }
            next = next.and_then(|value| value.checked_add(1));
        }
    }

    /// Evaluates an expression of whole numbers, names, `+ - * / %` and parentheses.
    pub(super) fn value(&self, text: &str) -> Option<i128> {
        let mut rest = Expression { constants: self, rest: text.trim() };
        let value = rest.sum()?;
        rest.rest.is_empty().then_some(value)
    }

    /// Evaluates an expression for a number of elements, which must be positive.
    pub(super) fn count(&self, text: &str) -> Option<u64> {
        u64::try_from(self.value(text)?).ok().filter(|count| *count != 0)
    }
}

struct Expression<'a> {
    constants: &'a Constants,
    rest: &'a str,
}

impl Expression<'_> {
    fn take(&mut self, sign: char) -> bool {
        let rest = self.rest.strip_prefix(sign);
        if let Some(rest) = rest {
            self.rest = rest.trim_start();
        }
        rest.is_some()
    }

    fn sum(&mut self) -> Option<i128> {
        let mut value = self.product()?;
        loop {
            if self.take('+') {
                value = value.checked_add(self.product()?)?;
            } else if self.take('-') {
                value = value.checked_sub(self.product()?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn product(&mut self) -> Option<i128> {
        let mut value = self.operand()?;
        loop {
            if self.take('*') {
                value = value.checked_mul(self.operand()?)?;
            } else if self.take('/') {
                value = value.checked_div(self.operand()?)?;
            } else if self.take('%') {
                value = value.checked_rem(self.operand()?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn operand(&mut self) -> Option<i128> {
        // A loop, so that a text of many signs causes no deep recursion.
        let mut is_negative = false;
        while self.take('-') {
            is_negative = !is_negative;
        }
        if self.take('(') {
            if DEPTH_MAX < self.rest.matches('(').count() {
                return None;
            }
            let value = self.sum()?;
            return self.take(')').then_some(if is_negative { -value } else { value });
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        let value = number(word).or_else(|| self.constants.values.get(word).copied())?;
        Some(if is_negative { -value } else { value })
    }
}

/// Largest depth of nested parentheses.
const DEPTH_MAX: usize = 50;

/// Parses a C integer literal.
fn number(word: &str) -> Option<i128> {
    let digits = word.trim_end_matches(['u', 'U', 'l', 'L']);
    let lower = digits.to_ascii_lowercase();
    if let Some(hexadecimal) = lower.strip_prefix("0x") {
        return i64::from_str_radix(hexadecimal, 16).ok().map(i128::from);
    }
    if lower.len() > 1 && lower.starts_with('0') {
        return i64::from_str_radix(&lower, 8).ok().map(i128::from);
    }
    lower.parse::<i64>().ok().map(i128::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<i128>) {
        let values = [("N".to_owned(), 4)].into();
        assert_eq!(Constants { values }.value(text), expected, "{text}");
    }

    #[test]
    fn expressions_have_values() {
        check("12", Some(12));
        check("0x10UL", Some(16));
        check("010", Some(8));
        check("2 * N + 1", Some(9));
        check("2 * (N - -1) / 3", Some(3));
        check("- - N % 3", Some(1));
        check("M", None);
        check("N N", None);
        check("(N", None);
        check("N / 0", None);
        check("", None);
        check(&"(".repeat(100_000), None);
    }
}
