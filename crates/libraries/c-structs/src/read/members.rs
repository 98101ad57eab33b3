//! The members of a struct.

use super::names::{Definition, NamedType, Names};
use super::{Reader, children};
use crate::header::{ElementKind, Factor, Member};
use crate::problem::{MemberFault, ProblemKind};
use tree_sitter::Node;

/// One declaration of one or more members.
struct Declaration<'t> {
    node: Node<'t>,
    /// Its type, in one line.
    c_type: String,
    kind: Result<ElementKind, MemberFault>,
    /// Counts given by the comment behind it.
    counts: Vec<String>,
}

impl Reader<'_> {
    pub(super) fn read_members(
        &mut self,
        names: &Names<'_>,
        place: usize,
        of: &Definition<'_>,
    ) -> Vec<Member> {
        let mut members = Vec::new();
        let n_before = self.problems.len();
        for child in children(of.body) {
            match child.kind() {
                "field_declaration" if !child.has_error() => {
                    self.read_declaration(names, (place, of), child, &mut members);
                }
                "comment" => {}
                kind if kind.starts_with("preproc_if") => {
                    let text = self.text(child).lines().next().unwrap_or_default().to_owned();
                    let of = of.c_type.clone();
                    self.report(child, ProblemKind::Conditional { of, text });
                }
                _ => self.report_syntax(child),
            }
        }
        if members.is_empty() && self.problems.len() == n_before {
            self.report(of.body, ProblemKind::Empty { name: of.c_type.clone() });
        }
        self.resolve_counts(names, of, &mut members);
        members.into_iter().map(|(member, _, _)| member).collect()
    }

    fn read_declaration<'t>(
        &mut self,
        names: &Names<'_>,
        (place, of): (usize, &Definition<'_>),
        node: Node<'t>,
        members: &mut Vec<(Member, Node<'t>, Vec<String>)>,
    ) {
        let Some(type_node) = node.child_by_field_name("type") else { return };
        let c_type = self.words(type_node);
        let kind = kind(names, type_node, &c_type);
        let counts = counts(self, node);
        let declaration = Declaration { node, c_type, kind, counts };
        let declarators: Vec<_> =
            node.children_by_field_name("declarator", &mut node.walk()).collect();
        if declarators.is_empty() {
            self.refuse(of, (type_node, "(without a name)"), &declaration, MemberFault::Nested);
        }
        for declarator in declarators {
            let parts = Declarator::of(self, declarator);
            match self.member(names, place, &declaration, &parts) {
                Ok(member) => members.push((member, declarator, declaration.counts.clone())),
                Err(why) => self.refuse(of, (declarator, &parts.name), &declaration, why),
            }
        }
    }

    fn member(
        &self,
        names: &Names<'_>,
        place: usize,
        declaration: &Declaration<'_>,
        parts: &Declarator<'_>,
    ) -> Result<Member, MemberFault> {
        if parts.is_function {
            return Err(MemberFault::Function);
        }
        let is_bits = |child: &Node<'_>| child.kind() == "bitfield_clause";
        if children(declaration.node).iter().any(is_bits) {
            return Err(MemberFault::BitField);
        }
        let qualifier = qualifier(self, declaration.node).or_else(|| parts.qualifier.clone());
        if let Some(qualifier) = qualifier {
            return Err(MemberFault::Qualified { qualifier });
        }
        let is_pointer = parts.n_pointers != 0;
        if 1 < parts.n_pointers || is_pointer && !parts.sizes.is_empty() {
            return Err(MemberFault::Pointers);
        }
        if is_pointer && declaration.c_type == "void" {
            return Err(MemberFault::Void);
        }
        let kind = declaration.kind.clone()?;
        if matches!(kind, ElementKind::Struct(of) if place <= of && !is_pointer) {
            return Err(MemberFault::UsedBeforeDefinition);
        }
        if is_pointer && declaration.counts.is_empty() {
            return Err(MemberFault::Pointer);
        }
        let extent = |size: &Option<Node<'_>>| {
            let size = size.ok_or(MemberFault::Flexible)?;
            names.constants.count(self.text(size)).ok_or(MemberFault::Size)
        };
        let extents = parts.sizes.iter().map(extent).collect::<Result<_, _>>()?;
        // Placeholder: which counts are members is known only when all members are read.
        let counts = if is_pointer { vec![Factor::Constant(1)] } else { Vec::new() };
        let (name, c_type) = (parts.name.clone(), declaration.c_type.clone());
        Ok(Member { name, c_type, kind, extents, counts })
    }

    /// Resolves the counts of the elements behind pointers to members and constants.
    fn resolve_counts(
        &mut self,
        names: &Names<'_>,
        of: &Definition<'_>,
        members: &mut [(Member, Node<'_>, Vec<String>)],
    ) {
        let counters: Vec<(String, bool)> =
            members.iter().filter_map(|(member, _, _)| counter(member)).collect();
        for (member, node, counts) in members.iter_mut().filter(|(it, _, _)| it.is_dynamic()) {
            member.counts.clear();
            for count in counts {
                let counter = counters.iter().find(|(name, _)| name == count);
                let factor = match counter {
                    Some((name, is_signed)) => {
                        Some(Factor::Member { name: name.clone(), is_signed: *is_signed })
                    }
                    None => names.constants.count(count).map(Factor::Constant),
                };
                if let Some(factor) = factor {
                    member.counts.push(factor);
                } else {
                    let why = MemberFault::Count { count: count.clone() };
                    let text = format!("{} {}", member.c_type, self.words(*node));
                    let (of, member) = (of.c_type.clone(), member.name.clone());
                    self.report(*node, ProblemKind::Member { of, member, text, why });
                }
            }
        }
    }

    fn refuse(
        &mut self,
        of: &Definition<'_>,
        (node, name): (Node<'_>, &str),
        declaration: &Declaration<'_>,
        why: MemberFault,
    ) {
        let text = self.words(declaration.node);
        let text = text.trim_end_matches(';').to_owned();
        let (of, member) = (of.c_type.clone(), name.to_owned());
        self.report(node, ProblemKind::Member { of, member, text, why });
    }
}

/// Returns the name of a member that can be a count, and whether it may be negative.
fn counter(member: &Member) -> Option<(String, bool)> {
    let ElementKind::Number(number) = member.kind else { return None };
    let is_one = member.extents.is_empty() && !member.is_dynamic();
    Some((member.name.clone(), number.is_signed().filter(|_| is_one)?))
}

/// Returns the kind of a member's elements.
fn kind(names: &Names<'_>, node: Node<'_>, c_type: &str) -> Result<ElementKind, MemberFault> {
    if node.child_by_field_name("body").is_some() {
        return Err(if node.kind() == "union_specifier" {
            MemberFault::Union
        } else {
            MemberFault::Nested
        });
    }
    match names.look_up(c_type) {
        Some(NamedType::Number(number)) => Ok(ElementKind::Number(number)),
        Some(NamedType::Enumeration) => Ok(ElementKind::Enumeration),
        Some(NamedType::Struct(of)) => Ok(ElementKind::Struct(of)),
        Some(NamedType::Union) => Err(MemberFault::Union),
        Some(NamedType::Function) => Err(MemberFault::Function),
        None if node.kind() == "union_specifier" => Err(MemberFault::Union),
        None => Err(MemberFault::Type { c_type: c_type.to_owned() }),
    }
}

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

/// Returns the contents of the brackets in the comment on a declaration; empty when there is no such comment.
///
/// The comment begins with a bracket, and stands in the declaration or behind it on the line where it ends.
pub(super) fn counts(reader: &Reader<'_>, declaration: Node<'_>) -> Vec<String> {
    let row = declaration.end_position().row;
    let within = children(declaration).into_iter().filter(|child| child.kind() == "comment");
    let behind = declaration
        .next_named_sibling()
        .filter(|next| next.kind() == "comment" && next.start_position().row == row);
    let comments = within.chain(behind);
    comments
        .map(|comment| in_brackets(reader.text(comment)))
        .find(|it| !it.is_empty())
        .unwrap_or_default()
}

fn in_brackets(comment: &str) -> Vec<String> {
    let inner = comment.trim_start_matches(['/', '*', '!', '<']);
    let mut rest = inner.trim_start();
    let mut counts = Vec::new();
    while let Some((count, behind)) = rest.strip_prefix('[').and_then(|inner| inner.split_once(']'))
    {
        counts.push(count.trim().to_owned());
        rest = behind.trim_start();
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(comment: &str, expected: &[&str]) {
        assert_eq!(in_brackets(comment), expected, "{comment}");
    }

    #[test]
    fn brackets_begin_the_comment() {
        check("/* [n] */", &["n"]);
        check("/*[ n_rows ] [4], in meters*/", &["n_rows", "4"]);
        check("// [n]", &["n"]);
        check("/**< [n] */", &["n"]);
        check("/* in [m] */", &[]);
        check("/* [n */", &[]);
    }
}
