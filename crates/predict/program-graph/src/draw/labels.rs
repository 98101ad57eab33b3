//! Texts beside symbols and in boxes.

use super::text::{cut, times};
use crate::expr::Expr;
use crate::regions::roman;
use crate::shape::{GraphNode, GraphNodeKind, Mpi, NodeMeasurements, Side};
use display::units::{bytes, seconds, whole};

/// Largest number of characters of texts beside symbols.
pub(super) const N_BESIDE_MAX: usize = 46;

/// Formats an expression with compact multiplication signs.
pub(super) fn product(expr: &Expr) -> String {
    expr.to_string().replace(" * ", "·")
}

/// Describes computation as lines, each with its nesting depth.
pub(super) fn describe(node: &GraphNode, indent: usize, lines: &mut Vec<(usize, String)>) {
    match &node.kind {
        GraphNodeKind::Compute(compute) if !compute.is_costly => {}
        GraphNodeKind::Compute(compute) => {
            let label = match compute.label.as_str() {
                "" => format!("{} statements", compute.n_statements),
                label => cut(label, N_BESIDE_MAX),
            };
            lines.push((indent, label));
        }
        GraphNodeKind::Loop(of) => {
            let count = cut(&product(&of.count), 30);
            let variable = of.repeat.as_ref().map(|it| format!(" ({})", it.variable));
            lines.push((indent, format!("↻ {count} ×{}", variable.unwrap_or_default())));
            of.body.iter().for_each(|node| describe(node, indent + 1, lines));
        }
        GraphNodeKind::Call(group) => {
            lines.push((indent, format!("{}()", group.function)));
            group.body.iter().for_each(|node| describe(node, indent + 1, lines));
        }
        _ => node.bodies().into_iter().flatten().for_each(|node| describe(node, indent, lines)),
    }
}

/// Describes the peer, length and tag of an operation.
pub(super) fn beside(mpi: &Mpi) -> String {
    let mut words = Vec::new();
    for transfer in &mpi.transfers {
        let arrow = match transfer.side {
            Side::Sends => "→ ",
            Side::Receives => "← ",
            _ => "",
        };
        let peer = transfer.peer.as_ref().map(|peer| format!("{arrow}{}", product(peer)));
        let n_bytes = transfer.bytes.as_ref().map(|n_bytes| format!("{} B", product(n_bytes)));
        words.push(peer.into_iter().chain(n_bytes).collect::<Vec<_>>().join(", "));
    }
    if let Some(root) = &mpi.root {
        words.insert(0, format!("root {root}"));
    }
    if let Some(tag) = &mpi.tag {
        words.push(tag.to_string());
    }
    if let Some(request) = &mpi.request
        && mpi.transfers.is_empty()
    {
        words.push(request.clone());
    }
    if words.is_empty() && mpi.class != "completion" {
        words.push(mpi.scope.clone());
    }
    words.retain(|word| !word.is_empty());
    words.join(" · ")
}

/// Describes measured values, as means per rank.
pub(super) fn counted(measured: &NodeMeasurements) -> String {
    let n_ranks = per_rank(measured);
    let mut words = vec![format!("{} × per rank", times(measured.count as f64 / n_ranks))];
    if 0.0 < measured.compute_s {
        words.push(format!("{} before", seconds(measured.compute_s / n_ranks)));
    }
    if 0.0 < measured.mpi_s {
        words.push(format!("{} in it", seconds(measured.mpi_s / n_ranks)));
    }
    if 0 < measured.bytes {
        words.push(bytes(whole(measured.bytes as f64 / n_ranks)));
    }
    if 1 < measured.n_places {
        words.push(format!("{} places", measured.n_places));
    }
    words.join(", ")
}

/// Returns the number of ranks, as a divisor.
pub(super) fn per_rank(measured: &NodeMeasurements) -> f64 {
    measured.n_ranks.max(1) as f64
}

/// Returns the file and line of a node, in short form.
pub(super) fn location(node: &GraphNode) -> String {
    let base = node.location.base();
    if base.is_empty() { String::new() } else { format!("{base}:{}", node.location.line) }
}

/// Returns a text that is equal for two bodies with the same contents.
pub(super) fn locations(nodes: &[GraphNode]) -> String {
    let own = |node: &GraphNode| {
        let inner: String = node.bodies().into_iter().map(locations).collect();
        format!("{}:{}({inner})", node.location.file, node.location.line)
    };
    nodes.iter().map(own).collect()
}

/// Returns the number of operations in a sequence.
pub(super) fn n_operations(nodes: &[GraphNode]) -> usize {
    let all = nodes.iter().flat_map(GraphNode::all);
    all.filter(|node| matches!(node.kind, GraphNodeKind::Mpi(_))).count()
}

/// Returns the regions in a body: `XIII to XVI`.
pub(super) fn regions_of(nodes: &[GraphNode]) -> String {
    let found = || nodes.iter().flat_map(GraphNode::all).filter_map(|node| node.region);
    match (found().min(), found().max()) {
        (Some(first), Some(last)) if first != last => {
            format!("{} to {}", roman(first), roman(last))
        }
        (Some(first), _) => roman(first),
        _ => String::new(),
    }
}
