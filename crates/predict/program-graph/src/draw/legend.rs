//! Legend: meaning of the symbols that occur in a picture.

use super::View;
use super::fragment::{Fragment, SMALL};
use super::symbol::{HALF, HEIGHT, symbol};
use super::text::width;
use crate::regions;
use crate::shape::{Graph, GraphNode, GraphNodeKind, Mpi, Side};
use std::collections::BTreeMap;

/// Draws the legend within this width.
pub(super) fn legend(graph: &Graph, view: View, width_max: f64) -> Fragment {
    let nodes = || graph.roles.iter().flat_map(|role| &role.body).flat_map(GraphNode::all);
    let has = |wanted: &dyn Fn(&GraphNode) -> bool| nodes().any(wanted);
    let has_branch = has(&|node| matches!(node.kind, GraphNodeKind::Branch(_)));
    let has_loop = has(&|node| matches!(node.kind, GraphNodeKind::Loop(_)));
    let has_call = has(&|node| matches!(node.kind, GraphNodeKind::Call(_)));
    let is_full = view == View::Full;
    let numbers = "<text x=\"0\" y=\"17\" class=\"p\">I, II</text>".to_owned();
    let rows = [
        (is_full && has(&regions::is_costly), sample("comp", "", true), "computation"),
        (is_full, sample("else", "", false), "solid: blocking"),
        (is_full, sample("else", " dash", false), "dashed: non-blocking, persistent"),
        (is_full && has_branch, sample("cond", "", true), "branch, arms A, B"),
        (!is_full, sample("region", "", true), "region"),
        (!is_full && has_branch, sample("cond", "", true), "fork; ways join below"),
        (has_loop, sample("loop", "", true), "loop with its iterations"),
        (is_full && has_call, sample("call", "", true), "function"),
        (is_full, numbers, "region"),
    ];
    let mut entries = if is_full { operations(nodes()) } else { Vec::new() };
    let shown = rows.into_iter().filter(|(is_shown, ..)| *is_shown);
    entries.extend(shown.map(|(_, drawing, words)| (drawing, words.to_owned())));
    lay_out(&entries, width_max)
}

fn lay_out(entries: &[(String, String)], width_max: f64) -> Fragment {
    let cell = entries.iter().map(|(_, words)| width(words, SMALL)).fold(0.0, f64::max)
        + 2.0 * HALF
        + 26.0;
    let mut fragment = Fragment::default();
    let (mut x, mut y) = (0.0, 0.0);
    for (drawing, words) in entries {
        if width_max < x + cell && 0.0 < x {
            (x, y) = (0.0, y + HEIGHT + 10.0);
        }
        fragment.place(drawing, x + HALF, y);
        fragment.text(x + 2.0 * HALF + 6.0, y + HEIGHT / 2.0 + 3.5, "s", words);
        x += cell;
        fragment.right = fragment.right.max(x);
    }
    fragment.height = y + HEIGHT;
    fragment
}

fn sample(class: &str, dashed: &str, is_small: bool) -> String {
    let (w, h, y) = if is_small { (36.0, 18.0, 4.0) } else { (2.0 * HALF, HEIGHT, 0.0) };
    format!(
        "<rect class=\"{class}{dashed}\" x=\"{:.1}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"4\"/>",
        -w / 2.0
    )
}

/// Returns one of each symbol with its words, sorted by family and words.
fn operations<'a>(nodes: impl Iterator<Item = &'a GraphNode>) -> Vec<(String, String)> {
    let mut found = BTreeMap::new();
    for node in nodes {
        if let GraphNodeKind::Mpi(mpi) = &node.kind
            && mpi.class != "environment"
        {
            let words = format!("{}{}", mpi.operation.trim_start_matches("MPI_"), side(mpi));
            found.entry((mpi.class, words.clone())).or_insert_with(|| (symbol(mpi), words));
        }
    }
    found.into_values().collect()
}

fn side(mpi: &Mpi) -> &'static str {
    match (mpi.root.is_some(), mpi.side) {
        (true, Side::Sends) => ", sending side",
        (true, Side::Receives) => ", receiving side",
        (true, Side::Both) => ", either side",
        _ => "",
    }
}
