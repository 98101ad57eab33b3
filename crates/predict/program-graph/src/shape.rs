//! The data structure of a graph: roles, each a sequence of steps, some of which contain sequences themselves.
//!
//! # Invariants
//! - Numbers of nodes are unique in a graph and ascend in program order, role by role.
//! - The arms of a branch are its alternatives; an `if` without `else` has an empty second arm.

mod step;

use crate::expr::Expr;
use serde::Serialize;
use std::collections::BTreeMap;

pub use step::{DataTransfer, Mpi, SendMode, Side};

/// Actions of a program, role by role.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// Origin of the graph.
    pub origin: Origin,
    /// Roles, sorted by their smallest rank.
    pub roles: Vec<Role>,
    /// Named integer constants of the program.
    pub constants: BTreeMap<String, i64>,
    /// Parts that were not understood.
    pub warnings: Vec<Warning>,
    /// Number of ranks of the measured run.
    pub n_ranks: Option<usize>,
}

/// Origin of a graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Origin {
    /// Sources of the program.
    #[default]
    #[serde(rename = "source")]
    Source,
    /// A recorded run.
    #[serde(rename = "run")]
    Run,
    /// Sources, with measurements of a run.
    #[serde(rename = "source and run")]
    Both,
}

/// Ranks that execute the same steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Role {
    /// Name: `master`, `workers`, `rank 0`, `ranks 1-`.
    pub name: String,
    /// Its ranks in words: `rank 0`, `ranks 1-`, `even ranks`.
    pub ranks: String,
    /// The program's conditions on the rank, in order, each with whether it holds for these ranks; names are
    /// resolved.
    pub conditions: Vec<(Expr, bool)>,
    /// Ranks of the measured run that have this role.
    pub measured_ranks: Vec<u32>,
    /// Steps, in order.
    pub body: Vec<GraphNode>,
}

/// Returns runs of consecutive ranks, as first and last.
pub(crate) fn rank_spans(ranks: impl IntoIterator<Item = i64>) -> Vec<(i64, i64)> {
    let mut spans: Vec<(i64, i64)> = Vec::new();
    for rank in ranks {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => spans.push((rank, rank)),
        }
    }
    spans
}

/// Returns the names of roles, given their ranks in words: rank 0 and all others are `master` and `workers`.
pub(crate) fn role_names(ranks: &[String]) -> Vec<String> {
    match ranks {
        [first, others] if first == "rank 0" && others == "ranks 1-" => {
            vec!["master".to_owned(), "workers".to_owned()]
        }
        ranks => ranks.to_vec(),
    }
}

/// A step of a role.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphNode {
    /// Number in the graph.
    pub id: usize,
    /// Kind of step.
    pub kind: GraphNodeKind,
    /// Place in the sources.
    pub location: SourceLocation,
    /// Number of its region within the role, from 1; `None` for a container or a step that takes no time.
    pub region: Option<u32>,
    /// Measurements.
    pub measured: Option<NodeMeasurements>,
}

/// A place in the sources.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceLocation {
    /// Name of the file as given; empty when unknown.
    pub file: String,
    /// First line, from 1; 0 when unknown.
    pub line: u32,
    /// Last line.
    pub end_line: u32,
    /// Function that contains it.
    pub function: String,
}

/// Kind of a step.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum GraphNodeKind {
    /// Computation without MPI.
    Compute(Compute),
    /// A loop.
    Loop(Loop),
    /// A conditional.
    Branch(Branch),
    /// A call of one of the program's own functions.
    Call(InlinedCall),
    /// An MPI operation.
    Mpi(Mpi),
    /// An early end of an iteration, a loop, a function or the program.
    Jump(Jump),
}

/// Computation between two other steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compute {
    /// Functions called and loops not shown: `config_read()`.
    pub label: String,
    /// Number of statements.
    pub n_statements: usize,
    /// Number of loops within it that are not shown.
    pub n_loops: usize,
    /// True if it calls functions or has loops; otherwise it is part of a neighboring region.
    pub is_costly: bool,
}

/// A loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// Number of iterations each time the loop is reached.
    pub count: Expr,
    /// Header in one line: `for (i = 0; i < n; i++)`.
    pub header: String,
    /// Loop variable, where there is one.
    pub repeat: Option<Repeat>,
    /// Steps of an iteration.
    pub body: Vec<GraphNode>,
}

/// A variable that counts iterations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// Name of the variable.
    pub variable: String,
    /// Its value in the first iteration.
    pub first: Expr,
    /// Increment after each iteration.
    pub step: Expr,
}

/// A conditional, with arms of which one is taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// Condition as written in the program.
    pub condition: String,
    /// Condition as an expression.
    pub decides: Expr,
    /// Arms; the first is for a condition that holds.
    pub arms: Vec<Arm>,
}

/// One alternative of a branch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arm {
    /// Name: `A`, `B`, and so on.
    pub name: String,
    /// Condition for taking it: `yes`, `no`, `case TAG_WORK`.
    pub label: String,
    /// Steps of the arm.
    pub body: Vec<GraphNode>,
    /// Share of the executions of the branch that took this arm, where it was measured.
    pub probability: Option<f64>,
}

/// Body of a function at a call.
#[derive(Clone, Debug, PartialEq)]
pub struct InlinedCall {
    /// Name of the function.
    pub function: String,
    /// Whether its body is here.
    pub expansion: Expansion,
    /// Steps of the function; empty if it is not here.
    pub body: Vec<GraphNode>,
}

/// Where the body of a called function is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expansion {
    /// At this call.
    #[default]
    Here,
    /// Around this call: the function is called within itself.
    Around,
    /// At an earlier call of the same role, because the function is large.
    Earlier,
}

/// An early exit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jump {
    /// Construct that is left.
    pub leaves: JumpKind,
    /// Condition; empty for an unconditional exit.
    pub condition: String,
}

/// Construct that an exit leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JumpKind {
    /// The iteration (`continue`).
    Iteration,
    /// The loop (`break`).
    Loop,
    /// The function (`return`).
    Function,
    /// The program (`exit`).
    Program,
}

impl JumpKind {
    /// Returns its word in C.
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

/// Measurements of a step, over all ranks of its role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct NodeMeasurements {
    /// Number of executions.
    pub count: u64,
    /// Number of ranks that executed it.
    pub n_ranks: usize,
    /// Computing time before the MPI call that ends it, in s.
    pub compute_s: f64,
    /// Time inside the MPI call, in s.
    pub mpi_s: f64,
    /// Number of bytes moved.
    pub bytes: u64,
    /// Iterations of a loop each time it was reached.
    pub iterations: Option<f64>,
    /// Number of places in the graph that share these numbers because they are the same line of the program; 1 if
    /// there is only one.
    pub n_places: usize,
}

/// A part of a source that was not understood.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Warning {
    /// File as given.
    pub file: String,
    /// Line, from 1; 0 for the whole file.
    pub line: u32,
    /// Problem and its effect, in a sentence.
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

impl SourceLocation {
    /// Returns the name of the file without its folders.
    #[must_use]
    pub fn base(&self) -> &str {
        self.file.rsplit(['/', '\\']).next().unwrap_or_default()
    }
}

impl GraphNode {
    /// Creates a node without a number, a region and measurements.
    pub(crate) fn new(kind: GraphNodeKind, location: SourceLocation) -> Self {
        Self { id: 0, kind, location, region: None, measured: None }
    }

    /// Returns the node and all nodes in it, in program order.
    pub fn all(&self) -> Vec<&Self> {
        let inner = self.bodies().into_iter().flatten().flat_map(Self::all);
        std::iter::once(self).chain(inner).collect()
    }

    /// Returns the label used in measurements: `matmul.c:88 MPI_Send`; `None` for nodes other than MPI operations.
    #[must_use]
    pub fn label(&self) -> Option<String> {
        let GraphNodeKind::Mpi(mpi) = &self.kind else { return None };
        Some(format!("{}:{} {}", self.location.base(), self.location.line, mpi.operation))
    }

    /// Returns the sequences that it contains, in order.
    pub fn bodies(&self) -> Vec<&[GraphNode]> {
        match &self.kind {
            GraphNodeKind::Loop(of) => vec![&of.body],
            GraphNodeKind::Call(of) => vec![&of.body],
            GraphNodeKind::Branch(of) => of.arms.iter().map(|arm| arm.body.as_slice()).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the same sequences, mutably.
    pub fn bodies_mut(&mut self) -> Vec<&mut Vec<GraphNode>> {
        match &mut self.kind {
            GraphNodeKind::Loop(of) => vec![&mut of.body],
            GraphNodeKind::Call(of) => vec![&mut of.body],
            GraphNodeKind::Branch(of) => of.arms.iter_mut().map(|arm| &mut arm.body).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns whether it is or contains an MPI operation, or is a call of a function that does and is shown elsewhere.
    #[must_use]
    pub fn has_mpi(&self) -> bool {
        let is_elsewhere = |group: &InlinedCall| group.expansion != Expansion::Here;
        matches!(&self.kind, GraphNodeKind::Call(group) if is_elsewhere(group))
            || matches!(self.kind, GraphNodeKind::Mpi(_))
            || self.bodies().into_iter().flatten().any(GraphNode::has_mpi)
    }
}
