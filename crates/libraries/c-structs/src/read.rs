//! Reads a header: first its definitions in order, then the members of its structs.

mod members;
mod names;

use crate::header::{Header, Struct};
use crate::problem::{HeaderProblem, ProblemKind};
use names::{Definition, Names};
use tree_sitter::{Node, Parser};

/// Returns the structs of a header, and the problems found. With problems the header is incomplete.
#[must_use]
pub fn read(text: &str) -> (Header, Vec<HeaderProblem>) {
    let text = &for_c(text);
    let mut reader = Reader { text, problems: Vec::new() };
    let mut parser = Parser::new();
    let is_set = parser.set_language(&tree_sitter_c::LANGUAGE.into()).is_ok();
    // The parser has no time limit, so it always returns a tree.
    let Some(tree) = parser.parse(text, None).filter(|_| is_set) else {
        return (Header::default(), reader.problems);
    };
    let names = Names::of(&mut reader, tree.root_node());
    let mut header = Header::default();
    for (place, definition) in names.structs.iter().enumerate() {
        let found = reader.read_struct(&names, place, definition, &header);
        header.structs.push(found);
    }
    if reader.problems.is_empty()
        && let Some(node) = first_error(tree.root_node())
    {
        reader.report_syntax(node);
    }
    if header.structs.is_empty() && reader.problems.is_empty() {
        let (kind, n_bytes) = (ProblemKind::NoStruct, 0);
        reader.problems.push(HeaderProblem { kind, line: 1, column: 1, n_bytes });
    }
    reader.problems.sort_by_key(|problem| (problem.line, problem.column));
    (header, reader.problems)
}

struct Reader<'a> {
    text: &'a str,
    problems: Vec<HeaderProblem>,
}

impl<'a> Reader<'a> {
    /// Returns the text of a node.
    fn text(&self, node: Node<'_>) -> &'a str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Returns the text of a node in one line.
    fn words(&self, node: Node<'_>) -> String {
        self.text(node).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn report(&mut self, node: Node<'_>, kind: ProblemKind) {
        let start = node.start_position();
        let n_bytes = node.end_byte() - node.start_byte();
        self.problems.push(HeaderProblem {
            kind,
            line: start.row + 1,
            column: start.column + 1,
            n_bytes,
        });
    }

    fn first_word(&self, node: Node<'_>) -> &'a str {
        let text = self.text(node).trim_start();
        text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default()
    }

    /// Returns whether the node begins with a word that only C++ has.
    fn is_cpp(&self, node: Node<'_>) -> bool {
        CPP.contains(&self.first_word(node))
    }

    /// Reports text that is not C.
    fn report_syntax(&mut self, node: Node<'_>) {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let kind = if self.text(node).split(|c| !is_word(c)).any(|word| COMPLEX.contains(&word)) {
            ProblemKind::Complex { text: self.words(node).chars().take(SHOWN_MAX).collect() }
        } else if self.is_cpp(node) {
            ProblemKind::Cpp { text: self.first_word(node).to_owned() }
        } else {
            ProblemKind::Syntax { text: self.words(node).chars().take(SHOWN_MAX).collect() }
        };
        self.report(node, kind);
    }

    fn read_struct(
        &mut self,
        names: &Names<'_>,
        place: usize,
        definition: &Definition<'_>,
        before: &Header,
    ) -> Struct {
        let members = self.read_members(names, place, definition);
        let is_flat = members.iter().all(|member| {
            let is_flat = match member.kind {
                crate::ElementKind::Struct(of) => {
                    before.structs.get(of).is_some_and(|of| of.is_flat)
                }
                _ => true,
            };
            is_flat && !member.is_dynamic()
        });
        let (name, c_type) = (definition.name.clone(), definition.c_type.clone());
        Struct { name, c_type, is_flat, members }
    }
}

/// Words that begin constructs of C++ only.
const CPP: [&str; 6] = ["class", "namespace", "public", "private", "template", "using"];
/// Keywords of complex numbers.
const COMPLEX: [&str; 3] = ["complex", "_Complex", "__complex__"];
/// Longest shown part of text that is not understood, in characters.
const SHOWN_MAX: usize = 40;

/// Returns the innermost node that the parser could not understand, or missed.
fn first_error(node: Node<'_>) -> Option<Node<'_>> {
    let mut inner = node.has_error().then_some(node)?;
    // Down to the innermost node with an error.
    while let Some(child) = inner.children(&mut inner.walk()).find(Node::has_error) {
        inner = child;
    }
    Some(inner)
}

/// Returns the named children of a node.
fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.named_children(&mut node.walk()).collect()
}

/// Returns the text with spaces in place of the parts for C++, so that everything else keeps its place.
///
/// The usual `#ifdef __cplusplus`, `extern "C" {`, `#endif` opens a brace in one conditional and closes it in another,
/// which no grammar can follow.
fn for_c(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    // Depth of conditionals at which the C++ conditional began, and whether its lines are removed.
    let mut part: Option<(usize, bool)> = None;
    let mut depth: usize = 0;
    for line in text.split_inclusive('\n') {
        let directive = directive(line);
        let is_own = part.is_some_and(|(began, _)| began == depth);
        match directive {
            "ifdef" | "ifndef" | "if" => {
                depth += 1;
                if part.is_none() && line.contains("__cplusplus") {
                    part = Some((depth, directive != "ifndef"));
                    blank(line, &mut plain);
                    continue;
                }
            }
            "else" if is_own => {
                part = part.map(|(began, is_out)| (began, !is_out));
                blank(line, &mut plain);
                continue;
            }
            "endif" => {
                depth = depth.saturating_sub(1);
                if is_own {
                    part = None;
                    blank(line, &mut plain);
                    continue;
                }
            }
            _ => {}
        }
        match part {
            Some((_, true)) => blank(line, &mut plain),
            _ => plain.push_str(line),
        }
    }
    plain
}

/// Returns the word behind `#`, or an empty string.
fn directive(line: &str) -> &str {
    let word = line.trim_start().strip_prefix('#').unwrap_or_default().trim_start();
    word.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default()
}

/// Appends as many blanks as `line` has bytes, keeping line ends.
fn blank(line: &str, to: &mut String) {
    to.extend(line.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let plain = for_c(text);
        assert_eq!(plain.len(), text.len());
        let lines: Vec<_> = plain.lines().filter(|line| !line.trim().is_empty()).collect();
        assert_eq!(lines.join("|"), expected);
    }

    #[test]
    fn what_is_for_cpp_is_left_out() {
        check("a\n#ifdef __cplusplus\nextern \"C\" {\n#endif\nb\n", "a|b");
        check("#if defined(__cplusplus)\nx\n#else\ny\n#endif\nb", "y|b");
        check("#ifndef __cplusplus\nx\n#else\ny\n#endif\n", "x");
        check(
            "#ifdef A\n# ifdef __cplusplus\n# if 1\nx é\n# endif\n# endif\nb\n#endif\n",
            "#ifdef A|b|#endif",
        );
        check("#ifdef A\nx\n#else\ny\n#endif\n", "#ifdef A|x|#else|y|#endif");
    }
}
