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

    pub(super) fn is(self, other: Self) -> bool {
        std::ptr::eq(self.file, other.file) && self.node.id() == other.node.id()
    }

    pub(super) fn is_loop(self) -> bool {
        LOOPS.contains(&self.kind())
    }

    /// Returns the key of a variable: `rank`, `w->rank`, `*rank`.
    pub(super) fn key(self) -> Option<String> {
        match self.kind() {
            "identifier" => Some(self.text().to_owned()),
            "field_expression" => Some(self.words()),
            "parenthesized_expression" => self.children().first()?.key(),
            "pointer_expression" => {
                let sign = if self.text().starts_with('&') { "" } else { "*" };
                Some(format!("{sign}{}", self.children().first()?.key()?))
            }
            _ => None,
        }
    }

    /// Returns the piece and all its descendants, in text order.
    pub(super) fn all(self) -> Vec<Self> {
        let mut found = Vec::new();
        self.visit(|piece, _| found.push(piece));
        found
    }

    /// Visits the piece and all its descendants, each named node before its parts.
    pub(super) fn visit(self, mut see: impl FnMut(Self, &Context<'t>)) {
        let mut cursor = self.node.walk();
        let mut around: Vec<Context<'t>> = vec![Context::default()];
        loop {
            let node = cursor.node();
            let top = around.last().copied().unwrap_or_default();
            if node.is_named() && node.kind() != "comment" {
                see(Self { node, ..self }, &top);
            }
            if cursor.goto_first_child() {
                around.push(top.within(node));
                continue;
            }
            while around.len() == 1 || !cursor.goto_next_sibling() {
                if around.len() == 1 {
                    return;
                }
                cursor.goto_parent();
                around.pop();
            }
        }
    }

    /// Returns the class whose member this definition is; empty for a function outside of classes.
    pub(super) fn class(self) -> &'t str {
        let mut declarator = self.field("declarator");
        while let Some(inner) = declarator {
            if let Some(scope) = inner.field("scope") {
                return scope.name();
            }
            declarator = inner.field("declarator");
        }
        let mut around = self.parent();
        for _ in 0..CLASS_DEPTH_MAX {
            match around {
                Some(of) if matches!(of.kind(), "class_specifier" | "struct_specifier") => {
                    return of.field("name").map_or("", Self::name);
                }
                other => around = other.and_then(Self::parent),
            }
        }
        ""
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
                "parenthesized_declarator"
                | "attributed_declarator"
                | "reference_declarator"
                | "dependent_name" => inner.children().into_iter().next(),
                "subscript_expression" => inner.field("argument"),
                "identifier" | "field_identifier" | "type_identifier" | "operator_name" => {
                    return inner.text();
                }
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

/// Largest number of pieces between a member function and its class.
const CLASS_DEPTH_MAX: usize = 4;
/// Largest nesting depth of names.
const DEPTH_MAX: usize = 32;

const LOOPS: [&str; 4] = ["for_statement", "while_statement", "do_statement", "for_range_loop"];

/// Context of a visited piece.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Context<'t> {
    pub(super) parent: Option<Node<'t>>,
    pub(super) grandparent: Option<Node<'t>>,
    /// True if it is inside a function, or a part of one.
    pub(super) is_in_function: bool,
    /// First byte behind the start of the loop or `switch` that `break` leaves; 0 without one.
    pub(super) loop_limit: usize,
    /// The same for the lambda that `return` leaves.
    pub(super) lambda_limit: usize,
}

impl<'t> Context<'t> {
    /// Returns the context of the children of a node.
    fn within(self, node: Node<'t>) -> Self {
        let mut inner = Self { parent: Some(node), grandparent: self.parent, ..self };
        let limit = node.start_byte() + 1;
        match node.kind() {
            "function_definition" | "compound_statement" => inner.is_in_function = true,
            "lambda_expression" => inner.lambda_limit = limit,
            kind if kind == "switch_statement" || LOOPS.contains(&kind) => inner.loop_limit = limit,
            _ => {}
        }
        inner
    }
}
