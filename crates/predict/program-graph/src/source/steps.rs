//! Collects steps: consecutive statements are joined.

use super::syntax_node::SyntaxNode;
use crate::expr::Expr;
use crate::shape::{Compute, Kind, Node, SourceLocation};

/// Largest number of labels of one computation; further ones are counted.
const N_LABELS_MAX: usize = 3;

/// Number of statements above which a computation is worth a region.
const N_STATEMENTS_SIMPLE: usize = 20;

/// Steps of a sequence that is being walked.
#[derive(Default)]
pub(super) struct Steps {
    nodes: Vec<Node>,
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
        let open = self.open(location);
        open.n_statements += 1;
    }

    /// Adds something to the open computation that takes time.
    pub(super) fn costly(&mut self, location: SourceLocation, label: &str, n_loops: usize) {
        let open = self.open(location);
        open.n_loops += n_loops;
        if !open.labels.iter().any(|known| known == label) {
            open.labels.push(label.to_owned());
        }
    }

    pub(super) fn push(&mut self, kind: Kind, location: SourceLocation) {
        self.close();
        self.nodes.push(node(kind, location));
    }

    pub(super) fn finish(mut self) -> Vec<Node> {
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
        self.nodes.push(node(Kind::Compute(compute), open.location));
    }
}

pub(super) fn node(kind: Kind, location: SourceLocation) -> Node {
    Node { id: 0, kind, location, region: None, measured: None }
}

/// Returns a name for a number that the source does not give.
pub(super) fn unknown(what: &str, piece: SyntaxNode<'_>) -> Expr {
    let base = piece.file.name.rsplit(['/', '\\']).next().unwrap_or_default();
    Expr::Unknown(format!("{what}@{base}:{}", piece.line()))
}
