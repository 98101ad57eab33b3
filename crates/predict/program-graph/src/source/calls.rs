//! Calls: of MPI, of the program's own functions, of function pointers, and of other functions.

use super::branches::letter;
use super::call_history::FirstCall;
use super::expression::as_written;
use super::program::{RANKS, SIZES, SourceProgram};
use super::scope::{NameValue, Names, Scope};
use super::syntax_node::SyntaxNode;
use super::walker::Walker;
use crate::expr::Expr;
use crate::shape::{Arm, Branch, Expansion, GraphNode, GraphNodeKind, InlinedCall, JumpKind};

/// Largest depth of nested calls that are followed.
const N_CALLS_MAX: usize = 40;
/// Largest number of loops for which a function without MPI is shown.
const N_LOOPS_SHOWN: usize = 5;

/// An argument of a call, with its value.
struct Argument<'t> {
    piece: SyntaxNode<'t>,
    value: NameValue<'t>,
}

impl<'t> Walker<'_, 't> {
    pub(super) fn call(&mut self, piece: SyntaxNode<'t>) -> Expr {
        let Some(called) = piece.field("function") else { return as_written(piece) };
        let name = called.name();
        let list = piece.field("arguments");
        let list = list.map(SyntaxNode::children).unwrap_or_default();
        if super::program::is_mpi(name) && !self.program.functions.contains_key(name) {
            return self.mpi(name, piece, &list);
        }
        // Removed while its body is walked, because it may call itself.
        if let Some(body) = self.lambdas.remove(name) {
            self.statement(body);
            self.lambdas.insert(name.to_owned(), body);
            return as_written(piece);
        }
        if let Some(class) = temporary(self.program, called) {
            return self.call_named(class, piece, &list);
        }
        if called.kind() != "identifier" {
            self.expression(called);
        }
        let handed = match self.names.value_of(name) {
            Some(NameValue::Functions(names)) => names.clone(),
            _ if self.program.functions.contains_key(name) => Vec::new(),
            _ => self.program.assigned.get(name).into_iter().flatten().copied().collect(),
        };
        if handed.is_empty() {
            self.call_named(name, piece, &list)
        } else {
            self.call_one_of(&handed, piece, &list)
        }
    }

    /// Calls a function of the program, or of a library.
    pub(super) fn call_named(
        &mut self,
        name: &str,
        piece: SyntaxNode<'t>,
        list: &[SyntaxNode<'t>],
    ) -> Expr {
        let arguments: Vec<Argument<'t>> = list.iter().map(|it| self.argument(*it)).collect();
        let program = self.program;
        let Some(function) = program.function(name, list.len(), Some(&piece.file.name)) else {
            self.foreign(name, piece);
            return self.names.result(name, piece, &arguments);
        };
        let name = function.name;
        let n_loops = program.n_loops_below(name);
        if !program.is_of_mpi(name) && N_LOOPS_SHOWN < n_loops {
            let location = self.names.location(piece);
            self.steps.top().costly(location, &format!("{name}()"), n_loops);
            return self.names.result(name, piece, &arguments);
        }
        if self.names.scopes.iter().any(|scope| scope.function == name)
            || N_CALLS_MAX < self.names.scopes.len()
        {
            self.put_elsewhere(name, (Expansion::Around, program.is_of_mpi(name)), piece);
            return self.names.result(name, piece, &arguments);
        }
        let passed = arguments.iter().filter_map(|argument| match &argument.value {
            NameValue::Functions(functions) => Some(functions.iter().copied()),
            _ => None,
        });
        let form = (name, passed.flatten().collect());
        if let Some(has_mpi) = self.history.communicated(&form) {
            self.put_elsewhere(name, (Expansion::Earlier, has_mpi), piece);
            return self.names.result(name, piece, &arguments);
        }
        let mut scope = Scope { function: name, ..Scope::default() };
        scope.n_loops_around = usize::from(self.names.is_in_loop());
        for (parameter, argument) in function.parameters.iter().zip(&arguments) {
            scope.values.insert((*parameter).to_owned(), argument.value.clone());
        }
        let body = function.body;
        let location = self.names.location(piece);
        scope.called_at = body.file.is_macro.then(|| location.clone());
        self.names.scopes.push(scope);
        let n_before = self.n_walked;
        let (steps, flow) = self.in_new_steps(|walker| walker.statement(body));
        let size = self.n_walked - n_before;
        let has_mpi = steps.iter().any(GraphNode::has_mpi);
        self.history.note(form, FirstCall { size, has_mpi });
        let scope = self.names.scopes.pop().unwrap_or_default();
        self.has_ended |= flow == Some(JumpKind::Program);
        self.steps.put_group(name, steps, location);
        self.names.hand_back(&function.parameters, &arguments, &scope);
        let is_single = |value: &Expr| scope.n_returns == 1 && !is_of(value, &scope);
        let single = scope.returned.clone().filter(is_single);
        single.unwrap_or_else(|| self.names.result(name, piece, &[]))
    }

    /// Adds a call of a function whose body is elsewhere; without MPI it is computation.
    fn put_elsewhere(
        &mut self,
        name: &str,
        (expansion, has_mpi): (Expansion, bool),
        piece: SyntaxNode<'t>,
    ) {
        let location = self.names.location(piece);
        let n_loops = match expansion {
            Expansion::Around => 0,
            _ => self.program.n_loops_below(name),
        };
        if has_mpi && expansion == Expansion::Around {
            self.steps.warn(piece, format!("`{name}` is recursive; it is shown once"));
        }
        if has_mpi {
            let group = InlinedCall { function: name.to_owned(), expansion, body: Vec::new() };
            self.steps.push(GraphNodeKind::Call(group), location);
        } else if expansion == Expansion::Around || 0 < n_loops {
            self.steps.top().costly(location, &format!("{name}()"), n_loops);
        } else {
            self.steps.top().statement(location);
        }
    }

    fn argument(&mut self, piece: SyntaxNode<'t>) -> Argument<'t> {
        let is_address = piece.kind() == "pointer_expression" && piece.text().starts_with('&');
        if let Some(to) = piece.key().filter(|_| is_address) {
            return Argument { piece, value: NameValue::Address(to) };
        }
        let mut functions = self.names.functions_in(piece);
        functions.extend(temporary(self.program, piece));
        if !functions.is_empty() {
            return Argument { piece, value: NameValue::Functions(functions) };
        }
        let is_name = piece.kind() == "identifier";
        let known = self.names.value_of(piece.text()).cloned();
        if let Some(known) = known.filter(|it| is_name && !matches!(it, NameValue::Expr(_))) {
            return Argument { piece, value: known };
        }
        Argument { piece, value: NameValue::Expr(self.expression(piece)) }
    }

    /// Calls through a pointer that may point to several functions.
    fn call_one_of(
        &mut self,
        names: &[&'t str],
        piece: SyntaxNode<'t>,
        list: &[SyntaxNode<'t>],
    ) -> Expr {
        if let [name] = names {
            return self.call_named(name, piece, list);
        }
        let location = self.names.location(piece);
        if !names.iter().any(|name| self.program.is_of_mpi(name)) {
            let called = piece.field("function").map_or("", SyntaxNode::name);
            let arguments: Vec<Argument<'t>> = list.iter().map(|it| self.argument(*it)).collect();
            let n_loops = names.iter().map(|it| self.program.n_loops_below(it)).max();
            if let Some(n_loops) = n_loops.filter(|n_loops| 0 < *n_loops) {
                self.steps.top().costly(location, &format!("{called}()"), n_loops);
            }
            return self.names.result(called, piece, &arguments);
        }
        let arms = names.iter().enumerate().map(|(at, name)| {
            let (body, _) = self.in_new_steps(|walker| walker.call_named(name, piece, list));
            Arm { name: letter(at), label: (*name).to_owned(), body, probability: None }
        });
        let arms = arms.collect();
        let called = piece.field("function").map(SyntaxNode::words).unwrap_or_default();
        let condition = format!("which `{called}`");
        self.steps.put_branch(Branch { condition, decides: Expr::Varying(called), arms }, location);
        as_written(piece)
    }

    /// Handles a function that the sources do not define. One that they declare belongs to the program, and may
    /// take time.
    fn foreign(&mut self, name: &str, piece: SyntaxNode<'t>) {
        if self.program.globals.contains(name) {
            let location = self.names.location(piece);
            self.steps.top().costly(location, &format!("{name}()"), 0);
        }
        if self.program.is_of_mpi(name) {
            self.steps
                .warn(piece, format!("the target of `{name}` is unknown; it is not followed"));
        }
        if name.starts_with("MPI_") && !mpi_abi::is_local(name) {
            self.steps.warn(piece, format!("unknown MPI operation `{name}`; it is left out"));
        }
    }

    /// Notes calls inside a piece that is not walked.
    pub(super) fn quiet_calls(&mut self, piece: SyntaxNode<'t>) {
        let program = self.program;
        for call in program.syntax_index.calls(piece) {
            let name = call.field("function").map_or("", SyntaxNode::name);
            if let Some((name, _)) = self.program.functions.get_key_value(name) {
                let n_loops = self.program.n_loops_below(name);
                if 0 < n_loops {
                    let location = self.names.location(call);
                    self.steps.top().costly(location, &format!("{name}()"), n_loops);
                }
            }
        }
    }
}

impl<'t> Names<'_, 't> {
    /// Updates the caller's variables that a call wrote through pointers.
    fn hand_back(&mut self, parameters: &[&str], arguments: &[Argument<'t>], scope: &Scope<'t>) {
        for (parameter, argument) in parameters.iter().zip(arguments) {
            let NameValue::Address(to) = &argument.value else { continue };
            match scope.values.get(&format!("*{parameter}")) {
                Some(NameValue::Expr(value)) if !is_of(value, scope) => {
                    self.assign(to.clone(), value.clone());
                }
                _ => {
                    let is_varying = self.is_in_loop();
                    self.forget(to, is_varying);
                }
            }
        }
    }

    /// Returns functions of the program that are named without being called.
    fn functions_in(&self, piece: SyntaxNode<'t>) -> Vec<&'t str> {
        let is_plain = matches!(
            piece.kind(),
            "identifier"
                | "conditional_expression"
                | "pointer_expression"
                | "parenthesized_expression"
                | "cast_expression"
        );
        if !is_plain {
            return Vec::new();
        }
        let words = piece.all().into_iter().filter(|it| {
            it.kind() == "identifier"
                && self.program.functions.contains_key(it.text())
                && self.value_of(it.text()).is_none()
                && it.parent().is_none_or(|parent| parent.kind() != "call_expression")
        });
        words.map(SyntaxNode::text).collect()
    }

    /// Forgets variables that an unfollowed call may have changed; returns the value of the call.
    fn result(&mut self, name: &str, piece: SyntaxNode<'t>, arguments: &[Argument<'t>]) -> Expr {
        let is_varying = self.is_in_loop();
        let mut values = Vec::new();
        for argument in arguments {
            match &argument.value {
                NameValue::Address(to) => {
                    let to = to.clone();
                    self.forget(&to, is_varying);
                }
                NameValue::Expr(value) => values.push(value.clone()),
                NameValue::Functions(_) => values.push(as_written(argument.piece)),
            }
        }
        match (name, values.len()) {
            ("min" | "fmin" | "MIN", 2) => Expr::Call("min".into(), values),
            ("max" | "fmax" | "MAX", 2) => Expr::Call("max".into(), values),
            ("log2" | "log2f", 1) => Expr::Call("log2".into(), values),
            ("", _) => as_written(piece),
            _ => Expr::Call(name.to_owned(), values),
        }
    }

    /// Handles `MPI_Comm_rank(comm, &rank)` and the like; returns whether the call is one of these.
    pub(super) fn tells_rank(&mut self, name: &str, list: &[SyntaxNode<'t>]) -> bool {
        let value = match name {
            name if RANKS.contains(&name) => Expr::Rank,
            name if SIZES.contains(&name) => Expr::Size,
            _ => return false,
        };
        let comm = list.first().map(|it| it.words()).unwrap_or_default();
        if let Some(to) = list.get(1).and_then(|it| pointed(*it)) {
            if self.parts.contains(&comm) {
                self.forget(&to, true);
            } else {
                self.assign(to, value);
            }
        }
        true
    }
}

/// Returns whether a value depends on local names of a function, which its callers do not know.
fn is_of(value: &Expr, scope: &Scope<'_>) -> bool {
    value.parts().iter().any(|part| match part {
        Expr::Name(name) | Expr::Varying(name) => {
            matches!(scope.values.get(name), Some(NameValue::Expr(own)) if own == *part)
        }
        _ => false,
    })
}

/// Returns the variable that a call writes: `x` for `&x`, `*x` for a pointer `x`.
pub(super) fn pointed(piece: SyntaxNode<'_>) -> Option<String> {
    let key = piece.key()?;
    let is_address = piece.text().trim_start().starts_with('&');
    Some(if is_address { key } else { format!("*{key}") })
}

/// Returns the class of a new object that can be called: `Sum<double>()`, `Sum{}`.
fn temporary<'t>(program: &SourceProgram<'t>, piece: SyntaxNode<'t>) -> Option<&'t str> {
    let of = match piece.kind() {
        "call_expression" => piece.field("function"),
        "compound_literal_expression" => piece.field("type"),
        _ => None,
    };
    program.callable.get(of?.name()).copied()
}
