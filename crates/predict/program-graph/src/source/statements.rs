//! Walks through statements of each kind.

use super::expression::{as_written, short};
use super::program::SourceProgram;
use super::scope::NameValue;
use super::syntax_node::SyntaxNode;
use super::walker::{Flow, Walker};
use crate::expr::Expr;
use crate::shape::JumpKind;

impl<'t> Walker<'_, 't> {
    /// Walks through a statement.
    pub(super) fn statement(&mut self, piece: SyntaxNode<'t>) -> Flow {
        let flow = self.deeper(piece, |walker| walker.statement_within(piece));
        if std::mem::take(&mut self.has_ended) { Some(JumpKind::Program) } else { flow }
    }

    /// Walks through statements until one leaves the sequence.
    pub(super) fn sequence(&mut self, pieces: &[SyntaxNode<'t>]) -> Flow {
        pieces.iter().find_map(|piece| self.statement(*piece))
    }

    fn statement_within(&mut self, piece: SyntaxNode<'t>) -> Flow {
        match piece.kind() {
            "compound_statement" | "declaration_list" => self.sequence(&piece.children()),
            "if_statement" => self.if_statement(piece),
            "switch_statement" => self.switch_statement(piece),
            _ if piece.is_loop() => self.repeat(piece),
            "return_statement" | "co_return_statement" => {
                self.return_statement(piece);
                Some(JumpKind::Function)
            }
            "throw_statement" => Some(JumpKind::Function),
            "break_statement" => Some(JumpKind::Loop),
            "continue_statement" => Some(JumpKind::Iteration),
            "goto_statement" => {
                self.steps.warn(
                    piece,
                    "`goto` is not followed; the statement behind it is taken as next",
                );
                None
            }
            "labeled_statement" | "attributed_statement" => {
                let statements = piece.children().into_iter().filter(is_statement);
                self.sequence(&statements.collect::<Vec<_>>())
            }
            "try_statement" => self.try_statement(piece),
            "declaration" => self.declaration(piece),
            "preproc_ifdef" | "preproc_if" | "preproc_elif" | "preproc_elifdef"
            | "preproc_else" => self.conditional_text(piece),
            "ERROR" => {
                self.steps.warn(piece, format!("not understood: `{}`", short(piece)));
                self.sequence(&piece.children())
            }
            // Without effect on a graph.
            "comment"
            | "preproc_include"
            | "preproc_def"
            | "preproc_function_def"
            | "preproc_call"
            | "struct_specifier"
            | "enum_specifier"
            | "union_specifier"
            | "class_specifier"
            | "type_definition"
            | "function_definition"
            | "using_declaration"
            | "alias_declaration"
            | "namespace_alias_definition" => None,
            "expression_statement" => {
                let inner = piece.children();
                let flow = inner.iter().find_map(|it| ends_program(self.program, *it));
                inner.into_iter().for_each(|it| drop(self.expression(it)));
                self.plain(piece);
                flow
            }
            _ => {
                self.expression(piece);
                self.plain(piece);
                ends_program(self.program, piece)
            }
        }
    }

    fn return_statement(&mut self, piece: SyntaxNode<'t>) {
        let value = piece.children().first().map(|it| self.expression(*it));
        let scope = self.names.scope();
        scope.n_returns += 1;
        scope.returned = value.filter(|_| scope.n_returns == 1);
    }

    /// Walks through `try { ... }`, without its `catch` clauses.
    fn try_statement(&mut self, piece: SyntaxNode<'t>) -> Flow {
        let body = piece.field("body");
        let caught = piece.children().into_iter().filter(|it| it.kind() == "catch_clause");
        for one in caught.filter(|it| self.program.reaches_mpi(*it)).collect::<Vec<_>>() {
            self.steps.warn(one, "MPI within `catch` is left out");
        }
        body.and_then(|body| self.statement(body))
    }

    fn declaration(&mut self, piece: SyntaxNode<'t>) -> Flow {
        let mut walk = piece.node.walk();
        let declarators: Vec<SyntaxNode<'t>> = piece
            .node
            .children_by_field_name("declarator", &mut walk)
            .map(|node| SyntaxNode { node, ..piece })
            .collect();
        for one in &declarators {
            let name = one.name();
            let lambda = one.field("value").filter(|it| it.kind() == "lambda_expression");
            if let Some(body) = lambda.and_then(|it| it.field("body")) {
                self.lambdas.insert(name.to_owned(), body);
            } else if let Some(value) = one.field("value") {
                let value = self.expression(value);
                // A local name hides a global one.
                self.names.scope().values.remove(name);
                let is_plain = one.field("declarator").is_some_and(|it| it.kind() == "identifier");
                if is_plain {
                    let local = NameValue::Expr(as_written(*one));
                    self.names.scope().values.insert(name.to_owned(), local);
                    self.names.assign(name.to_owned(), value);
                }
            } else if !name.is_empty() && one.kind() == "identifier" {
                let value = NameValue::Expr(Expr::Name(name.to_owned()));
                self.names.scope().values.insert(name.to_owned(), value);
            }
        }
        if !declarators.is_empty() {
            self.constructor(piece);
        }
        if declarators.iter().any(|one| one.field("value").is_some()) {
            self.plain(piece);
        }
        None
    }

    /// Calls the constructor: `Window window(comm);` calls the function `Window`.
    fn constructor(&mut self, piece: SyntaxNode<'t>) {
        let Some(of) = piece.field("type").map(SyntaxNode::name) else { return };
        let is_one = self.program.functions.contains_key(of) && !self.program.callable.contains(of);
        if is_one && self.program.is_of_mpi(of) {
            self.call_named(of, piece, &[]);
        }
    }

    /// Walks through one side of an `#if`: the first, or the only one with MPI.
    fn conditional_text(&mut self, piece: SyntaxNode<'t>) -> Flow {
        if piece.kind() == "preproc_else" {
            return self.sequence(&piece.children());
        }
        let other = piece.field("alternative");
        let given = piece.field("condition").or_else(|| piece.field("name"));
        let first: Vec<SyntaxNode<'t>> = piece
            .children()
            .into_iter()
            .filter(|it| !other.is_some_and(|other| other.is(*it)))
            .filter(|it| !given.is_some_and(|given| given.is(*it)))
            .collect();
        let reaches = |it: &SyntaxNode<'t>| self.program.reaches_mpi(*it);
        let (has_first, has_other) =
            (first.iter().any(reaches), other.as_ref().is_some_and(reaches));
        let is_never = given.is_some_and(|it| it.text().trim() == "0");
        if is_never || has_other && !has_first {
            return other.and_then(|other| self.statement(other));
        }
        if has_first && has_other {
            let name = given.map(short).unwrap_or_default();
            self.steps
                .warn(piece, format!("both sides of `#if {name}` communicate; the first is taken"));
        }
        self.sequence(&first)
    }
}

fn is_statement(piece: &SyntaxNode<'_>) -> bool {
    piece.kind().ends_with("statement") || piece.kind() == "declaration"
}

/// Returns whether the piece calls a function that does not return.
fn ends_program(program: &SourceProgram<'_>, piece: SyntaxNode<'_>) -> Flow {
    const ENDS: [&str; 6] = ["exit", "_exit", "abort", "quick_exit", "MPI_Abort", "_Exit"];
    let called = piece.field("function").filter(|_| piece.kind() == "call_expression")?;
    let name = called.name();
    (ENDS.contains(&name) && !program.functions.contains_key(name)).then_some(JumpKind::Program)
}
