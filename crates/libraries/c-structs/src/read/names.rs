//! Definitions of a header: structs, type names, constants.

use super::{Reader, children};
use crate::number::NumberType;
use crate::problem::ProblemKind;
use expression::Expression;
use std::collections::BTreeMap;
use tree_sitter::Node;

/// Definition of a struct.
pub(super) struct Definition<'t> {
    pub(super) name: String,
    pub(super) c_type: String,
    pub(super) body: Node<'t>,
}

/// Meaning of a type name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum NamedType {
    Number(NumberType),
    Enumeration,
    Struct(usize),
    Union,
    Function,
}

#[derive(Default)]
pub(super) struct Names<'t> {
    pub(super) structs: Vec<Definition<'t>>,
    pub(super) constants: Constants,
    /// Types by their names in C: `body`, `struct body`, `enum color`.
    types: BTreeMap<String, NamedType>,
    /// Pairs of name and type from `typedef struct body body;`, before or after the definition of the
    /// struct.
    aliases: Vec<(String, String)>,
}

impl<'t> Names<'t> {
    pub(super) fn of(reader: &mut Reader<'_>, root: Node<'t>) -> Self {
        let mut names = Self::default();
        names.visit(reader, root);
        for (alias, meant) in std::mem::take(&mut names.aliases) {
            if let Some(named) = names.types.get(&meant).copied() {
                names.types.insert(alias, named);
            }
        }
        names
    }

    /// Returns the meaning of a type, given its words.
    pub(super) fn look_up(&self, words: &str) -> Option<NamedType> {
        NumberType::of(words).map(NamedType::Number).or_else(|| self.types.get(words).copied())
    }

    fn visit(&mut self, reader: &mut Reader<'_>, node: Node<'t>) {
        for child in children(node) {
            match child.kind() {
                "preproc_ifdef"
                | "preproc_if"
                | "preproc_else"
                | "preproc_elif"
                | "linkage_specification"
                | "declaration_list" => self.visit(reader, child),
                "preproc_def" => self.constants.define(reader, child),
                "type_definition" => self.typedef(reader, child),
                "struct_specifier" | "union_specifier" | "enum_specifier" => {
                    self.specifier(reader, child, None);
                }
                "declaration" => {
                    if let Some(specifier) = child.child_by_field_name("type") {
                        self.specifier(reader, specifier, None);
                    }
                    self.check(reader, child);
                }
                "ERROR" => reader.report_syntax(child),
                _ => self.check(reader, child),
            }
        }
    }

    /// Reports text that is not C in a construct that is not read otherwise.
    #[expect(clippy::unused_self, reason = "a step of the visit")]
    fn check(&self, reader: &mut Reader<'_>, node: Node<'t>) {
        if reader.is_cpp(node) || node.has_error() && !is_struct(node) {
            reader.report_syntax(node);
        }
    }

    fn typedef(&mut self, reader: &mut Reader<'_>, node: Node<'t>) {
        let Some(specifier) = node.child_by_field_name("type") else { return };
        let declarators: Vec<_> =
            node.children_by_field_name("declarator", &mut node.walk()).collect();
        let plain = declarators.iter().find(|it| it.kind() == "type_identifier");
        let name = plain.map(|node| reader.text(*node).to_owned());
        if declarators.iter().any(|it| it.kind() == "function_declarator") {
            return self.typedef_function(reader, &declarators);
        }
        self.specifier(reader, specifier, name.clone());
        let Some(name) = name else { return };
        let words = without_body(reader, specifier);
        match self.look_up(&words) {
            Some(named) => drop(self.types.insert(name, named)),
            None => self.aliases.push((name, words)),
        }
    }

    fn typedef_function(&mut self, reader: &Reader<'_>, declarators: &[Node<'t>]) {
        for declarator in declarators {
            let words = reader.words(*declarator);
            let inner = words.trim_start_matches(['(', '*', ' ']);
            let name: String =
                inner.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            self.types.insert(name, NamedType::Function);
        }
    }

    /// Reads a struct, union or enum, which may have a body, and the name that a typedef gives it.
    fn specifier(&mut self, reader: &mut Reader<'_>, node: Node<'t>, alias: Option<String>) {
        let Some(body) = node.child_by_field_name("body") else { return };
        let tag = node.child_by_field_name("name").map(|name| reader.text(name).to_owned());
        let named = match node.kind() {
            "enum_specifier" => {
                self.constants.enumerate(reader, body);
                NamedType::Enumeration
            }
            "union_specifier" => NamedType::Union,
            "struct_specifier" => {
                let Some(name) = alias.clone().or_else(|| tag.clone()) else {
                    return reader.report(node, ProblemKind::Nameless);
                };
                if self.structs.iter().any(|found| found.name == name) {
                    return reader.report(node, ProblemKind::Twice { name });
                }
                let c_type = alias.clone().unwrap_or_else(|| format!("struct {name}"));
                self.structs.push(Definition { name, c_type, body });
                NamedType::Struct(self.structs.len() - 1)
            }
            _ => return,
        };
        let keyword = node.kind().trim_end_matches("_specifier");
        let tagged = tag.map(|tag| format!("{keyword} {tag}"));
        self.types.extend(tagged.into_iter().chain(alias).map(|name| (name, named)));
    }
}

/// Returns the type without its members: `struct body`.
fn without_body(reader: &Reader<'_>, specifier: Node<'_>) -> String {
    match (specifier.child_by_field_name("body"), specifier.child_by_field_name("name")) {
        (Some(_), Some(name)) => {
            format!("{} {}", specifier.kind().trim_end_matches("_specifier"), reader.text(name))
        }
        _ => reader.words(specifier),
    }
}

fn is_struct(node: Node<'_>) -> bool {
    let specifier = node.child_by_field_name("type");
    specifier.is_some_and(|specifier| specifier.kind() == "struct_specifier")
}

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
