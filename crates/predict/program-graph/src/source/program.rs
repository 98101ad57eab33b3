//! Definitions of a program: functions, constants, and which functions use MPI.
//!
//! # Invariants
//! - Both sides of an `#if` are included; which one counts is decided where it is used.

use super::pointers::{self, AssignedFunctions, Known};
use super::syntax_index::SyntaxIndex;
use super::syntax_node::{Context, Parsed, SourceLanguage, SyntaxNode};
use std::collections::{BTreeMap, BTreeSet};

/// A function with its body, or a function-like macro.
pub(super) struct SourceFunction<'t> {
    pub(super) name: &'t str,
    pub(super) parameters: Vec<&'t str>,
    pub(super) body: SyntaxNode<'t>,
    /// Number of loops in its own body.
    pub(super) n_loops: usize,
}

#[derive(Default)]
pub(super) struct SourceProgram<'t> {
    pub(super) functions: BTreeMap<&'t str, Vec<SourceFunction<'t>>>,
    pub(super) constants: BTreeMap<String, i64>,
    /// Functions that reach an MPI operation, or query the rank.
    mpi: BTreeSet<&'t str>,
    /// Number of loops of each function and of all that it calls.
    n_loops_below: BTreeMap<&'t str, usize>,
    /// Names of parameters and members that are called, and may point to one of these functions.
    pointers: BTreeSet<&'t str>,
    /// Classes whose objects are called like functions; the call operator has the name of its class.
    pub(super) callable: BTreeSet<&'t str>,
    /// Functions that variables and members are set to, and classes that they are objects of.
    pub(super) assigned: AssignedFunctions<'t>,
    /// Global variables that are assigned more than once.
    pub(super) unsteady: BTreeSet<&'t str>,
    /// Global variables.
    pub(super) globals: BTreeSet<&'t str>,
    /// Index of the files.
    pub(super) syntax_index: SyntaxIndex<'t>,
}

/// Returns the macros of a source that call MPI, each as a function.
pub(super) fn macros(file: &Parsed) -> Vec<Parsed> {
    let all = file.root().all();
    let wanted = all.iter().filter(|piece| piece.kind() == "preproc_function_def");
    wanted
        .filter_map(|piece| {
            let value = piece.field("value")?;
            let (name, parameters) = (piece.field("name")?.text(), piece.field("parameters")?);
            if !value.text().contains("MPI_") {
                return None;
            }
            let body = value.text().replace("\\\n", " \n").replace("\\\r\n", " \r\n");
            let words: Vec<&str> = parameters.children().iter().map(|it| it.text()).collect();
            let text = format!("void {name}(int {}) {{ {body} ; }}", words.join(", int "));
            let parsed = Parsed::of(&file.name, text, SourceLanguage::Cpp, piece.line())?;
            Some(Parsed { is_macro: true, ..parsed })
        })
        .collect()
}

/// Returns whether this function communicates, or returns the rank or the number of ranks.
pub(super) fn is_mpi(name: &str) -> bool {
    let name = name.strip_prefix('P').filter(|rest| rest.starts_with("MPI_")).unwrap_or(name);
    mpi_abi::find(name).is_some() || RANKS.contains(&name) || SIZES.contains(&name)
}

/// Functions that return the rank.
pub(super) const RANKS: [&str; 4] =
    ["MPI_Comm_rank", "PMPI_Comm_rank", "Get_rank", "MPI_Group_rank"];
/// Functions that return the number of ranks.
pub(super) const SIZES: [&str; 4] =
    ["MPI_Comm_size", "PMPI_Comm_size", "Get_size", "MPI_Group_size"];

impl<'t> SourceProgram<'t> {
    pub(super) fn of(files: &'t [Parsed]) -> Self {
        let mut program = Self { syntax_index: SyntaxIndex::of(files), ..Self::default() };
        for file in files {
            file.root().visit(|piece, around| program.define(piece, around));
        }
        files.iter().for_each(|file| program.define_broken(file.root()));
        program.find_globals(files);
        program.assigned = pointers::assigned(
            files,
            &Known {
                is_function: &|name| program.functions.contains_key(name),
                is_callable: &|class| program.callable.contains(class),
                parameters: &|name| program.parameters(name),
            },
        );
        program.find_mpi(files);
        let mut syntax_index = std::mem::take(&mut program.syntax_index);
        syntax_index.find_mpi(files, |name| program.is_of_mpi(name));
        program.syntax_index = syntax_index;
        program
    }

    /// Returns `main`: of several, one that reaches MPI is preferred.
    pub(super) fn main(&self) -> Option<&SourceFunction<'t>> {
        let rank = |function: &&SourceFunction<'t>| {
            (!self.reaches_mpi(function.body), function.parameters.len() != 2)
        };
        self.functions.get("main")?.iter().min_by_key(rank)
    }

    /// Returns the function that a call refers to: of several with this name, one in the same file is
    /// preferred, then one with as many parameters, then one that reaches MPI, because stubs replace it where there is
    /// none.
    pub(super) fn function(
        &self,
        name: &str,
        n_arguments: usize,
        file: Option<&str>,
    ) -> Option<&SourceFunction<'t>> {
        let all = self.functions.get(name)?;
        let rank = |function: &&SourceFunction<'t>| {
            let is_near = file.is_some_and(|file| function.body.file.name == file);
            let fits = function.parameters.len() == n_arguments;
            // `min_by_key` returns the first of the best.
            (!is_near, !fits, !self.reaches_mpi(function.body))
        };
        all.iter().min_by_key(rank)
    }

    fn parameters(&self, name: &str) -> &[&'t str] {
        let first = self.functions.get(name).and_then(|all| all.first());
        first.map_or(&[], |function| &function.parameters)
    }

    /// Returns the number of loops of a function and of all that it calls.
    pub(super) fn n_loops_below(&self, name: &str) -> usize {
        self.n_loops_below.get(name).copied().unwrap_or_default()
    }

    /// Returns whether the piece reaches an MPI operation.
    pub(super) fn reaches_mpi(&self, piece: SyntaxNode<'t>) -> bool {
        self.syntax_index.has_mpi(piece)
    }

    /// Returns whether the piece contains a statement that leaves it, past an MPI operation of the same function.
    pub(super) fn leaves_mpi(&self, piece: SyntaxNode<'t>) -> bool {
        self.syntax_index.leaves(piece) && self.syntax_index.has_mpi_behind(piece)
    }

    pub(super) fn is_of_mpi(&self, name: &str) -> bool {
        self.mpi.contains(name) || self.pointers.contains(name) || is_mpi(name)
    }

    fn define(&mut self, piece: SyntaxNode<'t>, around: &Context<'t>) {
        match piece.kind() {
            "function_definition" => {
                if let (Some(declarator), Some(body)) =
                    (piece.field("declarator"), piece.field("body"))
                {
                    match declarator.name() {
                        "operator()" => {
                            let class = piece.class();
                            self.callable.insert(class);
                            self.add_as(class, declarator, body);
                        }
                        name => self.add_as(name, declarator, body),
                    }
                }
            }
            // `main(argc, argv)` in old C, with the body behind it.
            "call_expression" => self.define_untyped(piece, around),
            "preproc_def" => {
                let value = piece.field("value").map_or("", SyntaxNode::text);
                let value = value.split("/*").next().unwrap_or_default();
                let value = value.split("//").next().unwrap_or_default();
                if let Some(name) = piece.field("name") {
                    self.constant(name.text(), value);
                }
            }
            "enumerator_list" => self.enumerate(piece),
            "declaration" if piece.text().trim_start().contains("const") => {
                for one in piece.children().into_iter().filter(|it| it.kind() == "init_declarator")
                {
                    let value = one.field("value").map_or("", SyntaxNode::text);
                    if one.field("declarator").is_some_and(|it| it.kind() == "identifier") {
                        self.constant(one.name(), value);
                    }
                }
            }
            _ => {}
        }
    }

    fn add_as(&mut self, name: &'t str, declarator: SyntaxNode<'t>, body: SyntaxNode<'t>) {
        let function = declarator.all().into_iter().find(|it| it.kind() == "function_declarator");
        let list = function.unwrap_or(declarator).field("parameters");
        self.add_named(name, list, body);
    }

    fn add_named(
        &mut self,
        name: &'t str,
        parameters: Option<SyntaxNode<'t>>,
        body: SyntaxNode<'t>,
    ) {
        let parameters = parameters.map(SyntaxNode::children).unwrap_or_default();
        let parameters = parameters.into_iter().map(SyntaxNode::name).collect();
        let n_loops = self.syntax_index.n_loops(body);
        if !name.is_empty() {
            let function = SourceFunction { name, parameters, body, n_loops };
            self.functions.entry(name).or_default().push(function);
        }
    }

    /// Adds the understood part of functions whose end the parser did not find.
    fn define_broken(&mut self, root: SyntaxNode<'t>) {
        let broken =
            root.all().into_iter().filter(|it| it.node.is_error() && it.text().contains('{'));
        for piece in broken {
            let declarators = piece.children();
            let declarator = declarators.into_iter().find(|it| it.kind() == "function_declarator");
            if let Some(declarator) = declarator
                && !self.functions.contains_key(declarator.name())
            {
                self.add_as(declarator.name(), declarator, piece);
            }
        }
    }

    fn define_untyped(&mut self, call: SyntaxNode<'t>, around: &Context<'t>) {
        let Some(statement) = around.parent.filter(|it| it.kind() == "expression_statement") else {
            return;
        };
        let is_outside = around.grandparent.is_some_and(|it| it.kind() == "translation_unit");
        let (Some(name), Some(list)) = (call.field("function"), call.field("arguments")) else {
            return;
        };
        // Old C declares the parameter types in between.
        let mut next = if is_outside { statement.next_named_sibling() } else { None };
        while next.is_some_and(|it| matches!(it.kind(), "declaration" | "comment")) {
            next = next.and_then(|it| it.next_named_sibling());
        }
        if let Some(node) = next.filter(|it| it.kind() == "compound_statement") {
            self.add_named(name.name(), Some(list), SyntaxNode { node, ..call });
        }
    }

    fn enumerate(&mut self, list: SyntaxNode<'t>) {
        let mut next = Some(0_i64);
        for one in list.children().into_iter().filter(|it| it.kind() == "enumerator") {
            if let Some(value) = one.field("value") {
                next = self.number(value.text());
            }
            if let (Some(name), Some(value)) = (one.field("name"), next) {
                self.constants.insert(name.text().to_owned(), value);
            }
            next = next.and_then(|value| value.checked_add(1));
        }
    }

    fn constant(&mut self, name: &str, value: &str) {
        if let Some(value) = self.number(value) {
            self.constants.insert(name.to_owned(), value);
        }
    }

    fn number(&self, text: &str) -> Option<i64> {
        super::expression::constant(text, &self.constants)
    }

    fn find_globals(&mut self, files: &'t [Parsed]) {
        let mut n_assigned: BTreeMap<&'t str, usize> = BTreeMap::new();
        let mut see = |piece: SyntaxNode<'t>, around: &Context<'t>| match piece.kind() {
            "declaration" if !around.is_in_function => {
                let mut walk = piece.node.walk();
                for node in piece.node.children_by_field_name("declarator", &mut walk) {
                    self.globals.insert(SyntaxNode { node, ..piece }.name());
                }
            }
            "assignment_expression" => {
                if let Some(left) = piece.field("left") {
                    *n_assigned.entry(left.name()).or_default() += 1;
                }
            }
            "update_expression" => {
                *n_assigned
                    .entry(piece.field("argument").map_or("", SyntaxNode::name))
                    .or_default() += 2;
            }
            _ => {}
        };
        files.iter().for_each(|file| file.root().visit(&mut see));
        let many = n_assigned.into_iter().filter(|(_, n)| 1 < *n).map(|(name, _)| name);
        self.unsteady = many.collect();
    }

    /// Finds functions that reach MPI, by iterating over the names that each uses.
    fn find_mpi(&mut self, files: &'t [Parsed]) {
        let mut uses: Vec<(&'t str, BTreeSet<&'t str>)> = Vec::new();
        for function in self.functions.values().flatten() {
            let all = function.body.all();
            let calls = all.iter().filter_map(|it| it.field("function")).map(|it| it.name());
            let words =
                all.iter().filter(|it| matches!(it.kind(), "identifier" | "field_identifier"));
            // A pointer to a function counts where it is called.
            let words = words.map(|it| it.text()).filter(|word| {
                self.functions.contains_key(word) || !self.assigned.contains_key(word)
            });
            uses.push((function.name, words.chain(calls).collect()));
        }
        uses.extend(self.assigned.iter().map(|(name, functions)| (*name, functions.clone())));
        self.count_loops(&uses);
        self.spread(&uses);
        if self.is_one_handed_on(files) {
            self.pointers = self.called_pointers(&pointers::members(files));
            self.spread(&uses);
        }
    }

    fn count_loops(&mut self, uses: &[(&'t str, BTreeSet<&'t str>)]) {
        let mut called: BTreeMap<&'t str, BTreeSet<&'t str>> = BTreeMap::new();
        for (name, words) in uses {
            let is_known = |word: &&&str| {
                self.functions.contains_key(*word) || self.assigned.contains_key(*word)
            };
            let functions = words.iter().filter(is_known);
            called.entry(name).or_default().extend(functions);
        }
        for name in called.keys() {
            let mut seen = BTreeSet::new();
            let mut left = vec![*name];
            let mut n_loops = 0;
            while let Some(one) = left.pop() {
                if seen.insert(one) {
                    let function = self.functions.get(one).and_then(|all| all.first());
                    n_loops += function.map_or(0, |function| function.n_loops);
                    left.extend(called.get(one).into_iter().flatten());
                }
            }
            self.n_loops_below.insert(name, n_loops);
        }
    }

    fn spread(&mut self, uses: &[(&'t str, BTreeSet<&'t str>)]) {
        loop {
            let n_before = self.mpi.len();
            for (name, words) in uses {
                if words.iter().any(|word| self.is_of_mpi(word)) {
                    self.mpi.insert(name);
                }
            }
            if self.mpi.len() == n_before {
                return;
            }
        }
    }

    /// Returns whether a function that reaches MPI is used as an argument or a value.
    fn is_one_handed_on(&self, files: &'t [Parsed]) -> bool {
        let mut is_one = false;
        let mut see = |piece: SyntaxNode<'t>, around: &Context<'t>| {
            let is_named = piece.kind() == "identifier" && self.mpi.contains(piece.text());
            is_one |= is_named
                && around.parent.is_some_and(|parent| {
                    let called = parent.child_by_field_name("function");
                    let is_called = called.is_some_and(|it| it.id() == piece.node.id());
                    !is_called && !parent.kind().contains("declarator")
                });
        };
        files.iter().for_each(|file| file.root().visit(&mut see));
        is_one
    }

    /// Returns parameters and members that are called.
    fn called_pointers(&self, members: &BTreeSet<&'t str>) -> BTreeSet<&'t str> {
        let mut found = BTreeSet::new();
        for function in self.functions.values().flatten() {
            for call in function.body.all().into_iter().filter(|it| it.kind() == "call_expression")
            {
                let Some(called) = call.field("function") else { continue };
                let name = called.name();
                let is_member = called.kind() == "field_expression" && members.contains(name);
                let is_known =
                    self.functions.contains_key(name) || self.assigned.contains_key(name);
                if !is_known && (is_member || function.parameters.contains(&name)) {
                    found.insert(name);
                }
            }
        }
        found
    }
}
