//! The part of a member's declaration after its type: `*values`, `cells[4][4]`, `(*compare)(int)`.

use super::{Reader, children};
use tree_sitter::Node;

/// A parsed declarator.
#[derive(Debug, Default)]
pub(super) struct Declarator<'t> {
    pub(super) name: String,
    /// Sizes of an array, from the outermost; `None` for an empty pair of brackets.
    pub(super) sizes: Vec<Option<Node<'t>>>,
    pub(super) n_pointers: usize,
    pub(super) is_function: bool,
    /// Qualifier that forbids writing the member.
    pub(super) qualifier: Option<String>,
}

impl<'t> Declarator<'t> {
    pub(super) fn of(reader: &Reader<'_>, node: Node<'t>) -> Self {
        let mut found = Self::default();
        let mut inner = Some(node);
        while let Some(node) = inner {
            inner = node.child_by_field_name("declarator");
            match node.kind() {
                "array_declarator" => found.sizes.insert(0, node.child_by_field_name("size")),
                "pointer_declarator" => found.n_pointers += 1,
                "function_declarator" => found.is_function = true,
                "parenthesized_declarator" => {
                    inner = children(node).into_iter().find(|child| child.kind() != "comment");
                }
                _ => reader.text(node).clone_into(&mut found.name),
            }
            found.qualifier = found.qualifier.or_else(|| qualifier(reader, node));
        }
        found
    }
}

/// Returns the first qualifier among a node's children.
pub(super) fn qualifier(reader: &Reader<'_>, node: Node<'_>) -> Option<String> {
    let found = children(node).into_iter().find(|child| child.kind() == "type_qualifier");
    found.map(|node| reader.text(node).to_owned())
}
