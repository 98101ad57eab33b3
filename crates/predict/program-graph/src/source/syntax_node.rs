//! Nodes of a syntax tree together with their text.

use tree_sitter::{Language, Node, Parser, Tree};

/// A parsed source, or a parsed macro of one.
pub(super) struct Parsed {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) tree: Tree,
    /// Line of the file at which the text starts, from 1.
    pub(super) first_line: u32,
    /// True if it is a macro, whose contents count as located at its call.
    pub(super) is_macro: bool,
}

/// Programming language of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourceLanguage {
    C,
    Cpp,
}

impl SourceLanguage {
    /// Guesses the language by the name of the file; headers may be either.
    pub(super) fn of(name: &str) -> Self {
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        if matches!(extension, "c" | "h") { Self::C } else { Self::Cpp }
    }
}

impl Parsed {
    /// Parses a text; `None` when the parser rejects it, which happens only beyond the limits of its
    /// counters.
    pub(super) fn of(
        name: &str,
        text: String,
        source_language: SourceLanguage,
        first_line: u32,
    ) -> Option<Self> {
        let language: Language = match source_language {
            SourceLanguage::C => tree_sitter_c::LANGUAGE.into(),
            SourceLanguage::Cpp => tree_sitter_cpp::LANGUAGE.into(),
        };
        let mut parser = Parser::new();
        parser.set_language(&language).ok()?;
        let tree = parser.parse(&text, None)?;
        Some(Self { name: name.to_owned(), text, tree, first_line, is_macro: false })
    }

    pub(super) fn root(&self) -> SyntaxNode<'_> {
        SyntaxNode { file: self, node: self.tree.root_node() }
    }
}

/// A node of a syntax tree, with its file.
#[derive(Clone, Copy)]
pub(super) struct SyntaxNode<'t> {
    pub(super) file: &'t Parsed,
    pub(super) node: Node<'t>,
}

impl<'t> SyntaxNode<'t> {
    pub(super) fn kind(self) -> &'t str {
        self.node.kind()
    }

    pub(super) fn text(self) -> &'t str {
        self.file.text.get(self.node.byte_range()).unwrap_or_default()
    }

    /// Returns the text in one line.
    pub(super) fn words(self) -> String {
        self.text().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    pub(super) fn line(self) -> u32 {
        self.line_of(self.node.start_position().row)
    }

    pub(super) fn end_line(self) -> u32 {
        self.line_of(self.node.end_position().row)
    }

    fn line_of(self, row: usize) -> u32 {
        u32::try_from(row).unwrap_or(u32::MAX).saturating_add(self.file.first_line)
    }

    pub(super) fn field(self, name: &str) -> Option<Self> {
        self.node.child_by_field_name(name).map(|node| Self { node, ..self })
    }

    /// Returns the named children without comments.
    pub(super) fn children(self) -> Vec<Self> {
        let mut walk = self.node.walk();
        let children = self.node.named_children(&mut walk);
        children.filter(|node| node.kind() != "comment").map(|node| Self { node, ..self }).collect()
    }

    pub(super) fn parent(self) -> Option<Self> {
        self.node.parent().map(|node| Self { node, ..self })
    }

    /// Returns a key that is unique among all nodes.
    pub(super) fn key(self) -> (usize, usize) {
        (std::ptr::from_ref(self.file).addr(), self.node.id())
    }

    pub(super) fn is(self, other: Self) -> bool {
        self.key() == other.key()
    }

    /// Returns the piece and all its descendants, in text order.
    pub(super) fn all(self) -> Vec<Self> {
        let mut found = Vec::new();
        let mut cursor = self.node.walk();
        let mut depth = 0_usize;
        loop {
            let node = cursor.node();
            if node.is_named() && node.kind() != "comment" {
                found.push(Self { node, ..self });
            }
            if cursor.goto_first_child() {
                depth += 1;
                continue;
            }
            while depth == 0 || !cursor.goto_next_sibling() {
                if depth == 0 {
                    return found;
                }
                cursor.goto_parent();
                depth -= 1;
            }
        }
    }

    /// Returns the last word of a name: `send` for `comm.send`, `Comm::send<int>` and `send`.
    pub(super) fn name(self) -> &'t str {
        let mut inner = self;
        for _ in 0..DEPTH_MAX {
            let next = match inner.kind() {
                "field_expression" => inner.field("field"),
                "qualified_identifier"
                | "template_function"
                | "template_method"
                | "template_type" => inner.field("name"),
                "parenthesized_expression" | "pointer_expression" => {
                    inner.children().into_iter().next()
                }
                "parenthesized_declarator" | "attributed_declarator" | "reference_declarator" => {
                    inner.children().into_iter().next()
                }
                "subscript_expression" => inner.field("argument"),
                "identifier" | "field_identifier" | "type_identifier" => return inner.text(),
                _ => inner.field("declarator"),
            };
            match next {
                Some(next) => inner = next,
                None => return "",
            }
        }
        ""
    }
}

/// Largest nesting depth of names.
const DEPTH_MAX: usize = 32;
