//! Values of names at the walker's position.

use super::program::SourceProgram;
use super::syntax_node::SyntaxNode;
use crate::expr::Expr;
use crate::shape::SourceLocation;
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of parts of an expression that replaces a name.
const N_PARTS_MAX: usize = 9;

/// Value of a name.
#[derive(Clone, Debug)]
pub(super) enum NameValue<'t> {
    Expr(Expr),
    /// One of these functions.
    Functions(Vec<&'t str>),
    /// The address of this variable of the caller.
    Address(String),
}

/// Names of a function that is being walked.
#[derive(Default)]
pub(super) struct Scope<'t> {
    pub(super) function: &'t str,
    pub(super) values: BTreeMap<String, NameValue<'t>>,
    /// Call site of a macro, while it is walked.
    pub(super) called_at: Option<SourceLocation>,
    pub(super) n_loops_around: usize,
    pub(super) n_returns: usize,
    pub(super) returned: Option<Expr>,
}

/// Values of all names, as far as they are known.
pub(super) struct Names<'p, 't> {
    pub(super) program: &'p SourceProgram<'t>,
    pub(super) scopes: Vec<Scope<'t>>,
    globals: BTreeMap<String, NameValue<'t>>,
    /// Members of structs that hold the rank, or the number of ranks.
    members: BTreeMap<String, Expr>,
    /// Communicators that are parts of another, in which ranks are renumbered.
    pub(super) parts: BTreeSet<String>,
}

impl<'p, 't> Names<'p, 't> {
    pub(super) fn new(program: &'p SourceProgram<'t>) -> Self {
        Self {
            program,
            scopes: Vec::new(),
            globals: BTreeMap::new(),
            members: BTreeMap::new(),
            parts: BTreeSet::new(),
        }
    }

    /// Returns the place of a piece, that of the call while a macro is walked.
    pub(super) fn location(&self, piece: SyntaxNode<'t>) -> SourceLocation {
        if let Some(location) = self.scopes.last().and_then(|scope| scope.called_at.clone()) {
            return location;
        }
        SourceLocation {
            file: piece.file.name.clone(),
            line: piece.line(),
            end_line: piece.end_line(),
            function: self.scopes.last().map_or("", |scope| scope.function).to_owned(),
        }
    }

    pub(super) fn scope(&mut self) -> &mut Scope<'t> {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::default());
        }
        self.scopes.last_mut().expect("there is one, made above if need be")
    }

    pub(super) fn is_in_loop(&self) -> bool {
        self.scopes.iter().any(|scope| 0 < scope.n_loops_around)
    }

    pub(super) fn value_of(&self, key: &str) -> Option<&NameValue<'t>> {
        let local = self.scopes.last().and_then(|scope| scope.values.get(key));
        local.or_else(|| self.globals.get(key))
    }

    /// Returns the value of a variable where it is read.
    pub(super) fn read_variable(&self, piece: SyntaxNode<'t>) -> Expr {
        let Some(key) = piece.key() else { return Expr::Varying(piece.words()) };
        if let Some(NameValue::Expr(expr)) = self.value_of(&key) {
            return expr.clone();
        }
        if let Some(expr) = self.members.get(piece.name()) {
            return expr.clone();
        }
        match key.as_str() {
            "NULL" => Expr::Number(0),
            _ => Expr::Name(key),
        }
    }

    /// Records the value of a variable from here on.
    pub(super) fn assign(&mut self, key: String, value: Expr) {
        let is_known = self.value_of(&key).is_some() || self.program.globals.contains(key.as_str());
        // Members of a class appear in its functions like undeclared variables.
        let is_member = key.contains(['.', '>']) || !is_known && !key.starts_with('*');
        let is_of_ranks = value.parts().iter().any(|it| matches!(it, Expr::Rank | Expr::Size));
        let is_varying = value.has_rank() || self.is_in_loop();
        let value = if is_kept(&value, &key) { value } else { unknown(&key, is_varying) };
        if is_member && !is_of_ranks {
            self.scope().values.remove(&key);
        } else if is_member && self.is_in_loop() {
            self.forget(&key, true);
        } else if is_member {
            let name = key.rsplit(['.', '>']).next().unwrap_or_default();
            self.members.insert(name.to_owned(), value);
        } else if self.is_global(&key) {
            if !self.program.unsteady.contains(key.as_str()) {
                self.globals.insert(key, NameValue::Expr(value));
            }
        } else {
            self.scope().values.insert(key, NameValue::Expr(value));
        }
    }

    fn is_global(&self, key: &str) -> bool {
        let is_local = self.scopes.last().is_some_and(|scope| scope.values.contains_key(key));
        !is_local && self.program.globals.contains(key)
    }

    /// Records that the value of a variable is not known.
    pub(super) fn forget(&mut self, key: &str, is_varying: bool) {
        let is_member = key.contains(['.', '>']);
        if self.is_global(key) {
            self.globals.remove(key);
        } else if is_member && !is_varying {
            self.scope().values.remove(key);
        } else {
            let value = NameValue::Expr(unknown(key, is_varying));
            self.scope().values.insert(key.to_owned(), value);
        }
    }

    /// Does the same for all variables that a piece changes.
    pub(super) fn forget_changed(&mut self, piece: SyntaxNode<'t>, is_varying: bool) {
        let program = self.program;
        let changed: BTreeSet<&str> =
            program.syntax_index.changes(piece).map(|(key, _)| key).collect();
        for key in changed {
            self.forget(key, is_varying);
        }
    }
}

/// Returns the expression for a variable whose value is not known.
fn unknown(key: &str, is_varying: bool) -> Expr {
    if is_varying { Expr::Varying(key.to_owned()) } else { Expr::Name(key.to_owned()) }
}

/// Returns whether an expression is more informative than the variable's name.
fn is_kept(value: &Expr, key: &str) -> bool {
    let parts = value.parts();
    parts.len() <= N_PARTS_MAX
        && parts.iter().all(|part| match part {
            Expr::Varying(text) => {
                text != key && text.chars().all(|c| c.is_alphanumeric() || c == '_')
            }
            Expr::Name(text) => text != key,
            Expr::Call(name, _) => matches!(name.as_str(), "log2" | "min" | "max" | "sizeof"),
            _ => true,
        })
}
