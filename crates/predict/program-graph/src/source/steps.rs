//! Collects steps: consecutive statements are joined, branches and groups simplified.

use super::syntax_node::SyntaxNode;
use crate::expr::Expr;
use crate::shape::{
    Arm, Branch, Compute, Expansion, GraphNode, GraphNodeKind, InlinedCall, Jump, JumpKind,
    SourceLocation, Warning,
};
use std::collections::BTreeSet;

/// Largest number of labels of one computation; further ones are counted.
const N_LABELS_MAX: usize = 3;

/// Number of statements above which a computation is worth a region.
const N_STATEMENTS_SIMPLE: usize = 20;

/// Steps of a sequence that is being walked.
#[derive(Default)]
pub(super) struct Steps {
    nodes: Vec<GraphNode>,
    open: Option<ComputeBuilder>,
}

#[derive(Default)]
struct ComputeBuilder {
    location: SourceLocation,
    labels: Vec<String>,
    n_statements: usize,
    n_loops: usize,
}

impl Steps {
    /// Adds a statement without MPI.
    pub(super) fn statement(&mut self, location: SourceLocation) {
        self.open(location).n_statements += 1;
    }

    /// Adds something to the open computation that takes time.
    pub(super) fn costly(&mut self, location: SourceLocation, label: &str, n_loops: usize) {
        let open = self.open(location);
        open.n_loops += n_loops;
        if !open.labels.iter().any(|known| known == label) {
            open.labels.push(label.to_owned());
        }
    }

    pub(super) fn push(&mut self, kind: GraphNodeKind, location: SourceLocation) {
        self.close();
        self.nodes.push(GraphNode::new(kind, location));
    }

    pub(super) fn finish(mut self) -> Vec<GraphNode> {
        self.close();
        self.nodes
    }

    fn open(&mut self, location: SourceLocation) -> &mut ComputeBuilder {
        let open = self.open.get_or_insert_with(|| ComputeBuilder {
            location: location.clone(),
            ..ComputeBuilder::default()
        });
        if open.location.file == location.file {
            open.location.end_line = open.location.end_line.max(location.end_line);
        }
        open
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let is_long = N_STATEMENTS_SIMPLE < open.n_statements;
        let is_costly = !open.labels.is_empty() || 0 < open.n_loops || is_long;
        let shown = open.labels.len().min(N_LABELS_MAX);
        let mut label = open.labels.get(..shown).unwrap_or_default().join(", ");
        if shown < open.labels.len() {
            label.push_str(&format!(" and {} more", open.labels.len() - shown));
        }
        let compute =
            Compute { label, n_statements: open.n_statements, n_loops: open.n_loops, is_costly };
        self.nodes.push(GraphNode::new(GraphNodeKind::Compute(compute), open.location));
    }
}

/// Sequences being walked, the innermost last, and what is counted over all of them.
#[derive(Default)]
pub(super) struct StepStack {
    outermost: Steps,
    inner: Vec<Steps>,
    n_nodes: usize,
    warnings: BTreeSet<Warning>,
}

impl StepStack {
    /// Returns the innermost sequence.
    pub(super) fn top(&mut self) -> &mut Steps {
        self.inner.last_mut().unwrap_or(&mut self.outermost)
    }

    /// Begins a sequence inside the present one.
    pub(super) fn begin(&mut self) {
        self.inner.push(Steps::default());
    }

    /// Ends the innermost sequence.
    pub(super) fn end(&mut self) -> Vec<GraphNode> {
        self.inner.pop().unwrap_or_default().finish()
    }

    /// Returns the outermost sequence, and the warnings.
    pub(super) fn finish(self) -> (Vec<GraphNode>, BTreeSet<Warning>) {
        (self.outermost.finish(), self.warnings)
    }

    /// Number of nodes of all sequences.
    pub(super) fn n_nodes(&self) -> usize {
        self.n_nodes
    }

    pub(super) fn push(&mut self, kind: GraphNodeKind, location: SourceLocation) {
        self.n_nodes += 1;
        self.top().push(kind, location);
    }

    /// Adds an unconditional exit.
    pub(super) fn exit(&mut self, leaves: JumpKind, location: SourceLocation) {
        self.push(GraphNodeKind::Jump(Jump { leaves, condition: String::new() }), location);
    }

    /// Adds the body of a function at a call, or a statement if nothing in it is shown.
    pub(super) fn put_group(&mut self, name: &str, body: Vec<GraphNode>, location: SourceLocation) {
        let is_shown =
            |node: &GraphNode| is_shown(node) && !matches!(node.kind, GraphNodeKind::Jump(_));
        if body.iter().any(is_shown) {
            let group = InlinedCall { function: name.to_owned(), expansion: Expansion::Here, body };
            self.push(GraphNodeKind::Call(group), location);
        } else {
            self.top().statement(location);
        }
    }

    /// Adds a branch, in simplified form.
    pub(super) fn put_branch(&mut self, mut branch: Branch, location: SourceLocation) {
        for arm in &mut branch.arms {
            if !arm.body.iter().any(is_shown) {
                arm.body.clear();
            }
        }
        branch.arms.iter_mut().for_each(give_up);
        if branch.arms.iter().all(|arm| arm.body.is_empty()) {
            return self.top().statement(location);
        }
        if let [one, other] = branch.arms.as_slice() {
            let (alone, empty, is_not) =
                if other.body.is_empty() { (one, other, false) } else { (other, one, true) };
            let shown: Vec<&GraphNode> = alone.body.iter().filter(|it| is_shown(it)).collect();
            if let ([GraphNode { kind: GraphNodeKind::Jump(exit), .. }], true) =
                (shown.as_slice(), empty.body.is_empty())
            {
                let condition =
                    if is_not { format!("not {}", branch.condition) } else { branch.condition };
                return self
                    .push(GraphNodeKind::Jump(Jump { condition, ..exit.clone() }), location);
            }
        }
        self.push(GraphNodeKind::Branch(branch), location);
    }

    pub(super) fn warn(&mut self, piece: SyntaxNode<'_>, text: impl Into<String>) {
        let (file, line) = (piece.file.name.clone(), piece.line());
        self.warnings.insert(Warning { file, line, text: text.into() });
    }
}

/// Reduces an arm that ends the program, after at most one MPI operation, to its exit.
fn give_up(arm: &mut Arm) {
    let ends = |node: &GraphNode| matches!(&node.kind, GraphNodeKind::Jump(exit) if exit.leaves == JumpKind::Program);
    if n_operations(&arm.body) <= 1 && arm.body.last().is_some_and(ends) {
        arm.body.drain(..arm.body.len() - 1);
    }
}

fn n_operations(nodes: &[GraphNode]) -> usize {
    let is_operation = |node: &&GraphNode| matches!(&node.kind, GraphNodeKind::Mpi(mpi) if mpi.class != "environment");
    nodes.iter().flat_map(GraphNode::all).filter(is_operation).count()
}

fn is_shown(node: &GraphNode) -> bool {
    !matches!(&node.kind, GraphNodeKind::Compute(compute) if !compute.is_costly)
}

/// Returns a name for a number that the source does not give.
pub(super) fn unknown(what: &str, piece: SyntaxNode<'_>) -> Expr {
    let base = piece.file.name.rsplit(['/', '\\']).next().unwrap_or_default();
    Expr::Unknown(format!("{what}@{base}:{}", piece.line()))
}
