//! Named whole numbers of a header, and expressions over them.

use super::{Reader, children};
use expression::Expression;
use std::collections::BTreeMap;
use tree_sitter::Node;

/// Names and their values.
#[derive(Debug, Default)]
pub(super) struct Constants {
    values: BTreeMap<String, i64>,
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

    /// Evaluates an expression of whole numbers, names and operators.
    pub(super) fn value(&self, text: &str) -> Option<i64> {
        Expression::read(text).ok()?.value(&self.values).ok()
    }

    /// Evaluates an expression for a number of elements, which must be positive.
    pub(super) fn count(&self, text: &str) -> Option<u64> {
        u64::try_from(self.value(text)?).ok().filter(|count| *count != 0)
    }
}
