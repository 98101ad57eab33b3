//! What a graph consists of: roles, each a sequence of steps, some of which hold sequences themselves.
//!
//! # Invariants
//! - Numbers of nodes are unique in a graph and ascend in the order of the program, role by role.
//! - The arms of a branch are those that can be taken; an `if` without `else` has an empty second one.
//!
//! # Not here
//! How a graph comes about (`source`, `recorded`), how long it takes (`compose`).

mod step;

use crate::expr::Expr;
use std::collections::BTreeMap;

pub use step::{Mpi, SendMode, Side, Transfer};

/// What a program does, role by role.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// Where it comes from.
    pub origin: Origin,
    /// Ranks that do the same, by their smallest rank.
    pub roles: Vec<Role>,
    /// Whole numbers that the program gives names to.
    pub constants: BTreeMap<String, i64>,
    /// What was not understood.
    pub warnings: Vec<Warning>,
    /// Ranks of the run that was measured.
    pub n_ranks: Option<usize>,
}

/// Where a graph comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// The sources of the program.
    #[default]
    Source,
    /// A run that was recorded.
    Run,
    /// The sources, with what was measured in a run.
    Both,
}

/// Ranks that do the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Role {
    /// `master`, `workers`, `rank 0`, `ranks 1-`.
    pub name: String,
    /// Which ranks these are: `rank 0`, `ranks 1-`, `even ranks`.
    pub ranks: String,
    /// For each condition on the rank of the program in turn, whether it holds for these ranks; the condition as
    /// the program has it, with names resolved.
    pub conditions: Vec<(Expr, bool)>,
    /// Ranks of the measured run that have it.
    pub measured_ranks: Vec<u32>,
    /// What they do, in order.
    pub body: Vec<Node>,
}

/// A step of a role.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its number in the graph.
    pub id: usize,
    /// What it is.
    pub kind: Kind,
    /// Where it stands.
    pub place: Place,
    /// Number of its region within the role, from 1; none for what holds others or does nothing that takes time.
    pub region: Option<u32>,
    /// What was measured of it.
    pub measured: Option<Measured>,
}

/// A place in the sources.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Name of the file, as it was given; empty when unknown.
    pub file: String,
    /// First line, from 1; 0 when unknown.
    pub line: u32,
    /// Last line.
    pub end_line: u32,
    /// Function in which it stands.
    pub function: String,
}

/// What a step is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Kind {
    /// Computation without MPI.
    Compute(Compute),
    /// A loop.
    Loop(Loop),
    /// Arms of which one is taken.
    Branch(Branch),
    /// A call of one of the program's own functions.
    Group(Group),
    /// An MPI operation.
    Mpi(Mpi),
    /// The end of a loop, a function or the program, before its last line.
    Exit(Exit),
}

/// Computation between two other steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compute {
    /// Functions that are called, loops that are not shown: `config_read()`.
    pub label: String,
    /// Statements.
    pub n_statements: usize,
    /// Loops within it that are not shown.
    pub n_loops: usize,
    /// Whether it calls functions or has loops; what does not is part of the region beside it.
    pub is_costly: bool,
}

/// A loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// How often its body is passed each time the loop is reached.
    pub count: Expr,
    /// How it is written: `for (i = 0; i < n; i++)`, in one line.
    pub header: String,
    /// What counts, where something does.
    pub repeat: Option<Repeat>,
    /// What is repeated.
    pub body: Vec<Node>,
}

/// A variable that counts iterations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// The variable.
    pub variable: String,
    /// Its value in the first iteration.
    pub first: Expr,
    /// What is added after each.
    pub step: Expr,
}

/// Arms of which one is taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// What decides, as the program has it.
    pub condition: String,
    /// The same as an expression.
    pub decides: Expr,
    /// The arms, the first for a condition that holds.
    pub arms: Vec<Arm>,
}

/// One way through a branch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arm {
    /// `A`, `B`, and so on.
    pub name: String,
    /// When it is taken: `yes`, `no`, `case TAG_WORK`.
    pub label: String,
    /// What is done there.
    pub body: Vec<Node>,
    /// Share of the passages of the branch that took this arm, where that was measured.
    pub probability: Option<f64>,
}

/// The body of a function where it is called.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The function.
    pub function: String,
    /// Whether it is called within itself; then its body is not shown again.
    pub is_recursive: bool,
    /// What it does.
    pub body: Vec<Node>,
}

/// A way out before the last line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// What is left.
    pub leaves: Leave,
    /// When; empty for always.
    pub condition: String,
}

/// What an exit leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// The iteration (`continue`).
    Iteration,
    /// The loop (`break`).
    Loop,
    /// The function (`return`).
    Function,
    /// The program (`exit`).
    Program,
}

impl Leave {
    /// The word for it in C.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Iteration => "continue",
            Self::Loop => "break",
            Self::Function => "return",
            Self::Program => "exit",
        }
    }
}

/// What was measured of a step, over all ranks of its role.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// Passages.
    pub count: u64,
    /// Ranks on which it was passed.
    pub n_ranks: usize,
    /// Computation before the MPI call that ends it, in seconds.
    pub compute_s: f64,
    /// Time inside the MPI call, in seconds.
    pub mpi_s: f64,
    /// Bytes moved.
    pub bytes: u64,
    /// Of a loop: iterations each time it was reached.
    pub iterations: Option<f64>,
    /// Places of the graph that share these numbers, because one line of the program stands behind them all; 1 for
    /// one.
    pub n_places: usize,
}

/// Something in a source that was not understood.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Warning {
    /// The file, as it was given.
    pub file: String,
    /// The line, from 1; 0 for the whole file.
    pub line: u32,
    /// What it is and what became of it, in a sentence.
    pub text: String,
}

impl std::fmt::Display for Warning {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => write!(to, "{}: {}", self.file, self.text),
            line => write!(to, "{}:{line}: {}", self.file, self.text),
        }
    }
}

impl Place {
    /// The name of the file without its folders.
    #[must_use]
    pub fn base(&self) -> &str {
        self.file.rsplit(['/', '\\']).next().unwrap_or_default()
    }
}

impl Node {
    /// The name by which measurements know it: `matmul.c:88 MPI_Send`; none for what is no MPI operation.
    #[must_use]
    pub fn label(&self) -> Option<String> {
        let Kind::Mpi(mpi) = &self.kind else { return None };
        Some(format!("{}:{} {}", self.place.base(), self.place.line, mpi.operation))
    }

    /// The sequences that it holds, in order.
    pub fn bodies(&self) -> Vec<&[Node]> {
        match &self.kind {
            Kind::Loop(of) => vec![&of.body],
            Kind::Group(of) => vec![&of.body],
            Kind::Branch(of) => of.arms.iter().map(|arm| arm.body.as_slice()).collect(),
            _ => Vec::new(),
        }
    }

    /// The same, to change them.
    pub fn bodies_mut(&mut self) -> Vec<&mut Vec<Node>> {
        match &mut self.kind {
            Kind::Loop(of) => vec![&mut of.body],
            Kind::Group(of) => vec![&mut of.body],
            Kind::Branch(of) => of.arms.iter_mut().map(|arm| &mut arm.body).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether it is an MPI operation, or holds one, or calls again what does.
    #[must_use]
    pub fn has_mpi(&self) -> bool {
        let is_again = matches!(&self.kind, Kind::Group(group) if group.is_recursive);
        is_again
            || matches!(self.kind, Kind::Mpi(_))
            || self.bodies().into_iter().flatten().any(Node::has_mpi)
    }
}
