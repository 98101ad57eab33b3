//! Numbers regions: I, II, and so on, in each role.
//!
//! An MPI operation is a region, and so is the computation between two of them where it has loops or calls
//! functions. Simple statements belong to a neighboring region.

use crate::shape::{Graph, GraphNode, GraphNodeKind};

/// Assigns numbers to nodes and regions.
pub(crate) fn number(graph: &mut Graph) {
    let mut next_id = 0;
    for role in &mut graph.roles {
        let mut next_region = Next { region: 1, is_over: false };
        number_nodes(&mut role.body, &mut next_id);
        number_regions(&mut role.body, &mut next_region);
    }
}

fn number_nodes(nodes: &mut [GraphNode], next: &mut usize) {
    for node in nodes {
        node.id = *next;
        *next += 1;
        node.bodies_mut().into_iter().for_each(|body| number_nodes(body, next));
    }
}

/// Next region number; numbering ends with MPI, because nothing after it is measured.
struct Next {
    region: u32,
    is_over: bool,
}

fn number_regions(nodes: &mut [GraphNode], next: &mut Next) {
    // Number of the computation that the last nodes belong to.
    let mut computation = None;
    for node in nodes.iter_mut() {
        if next.is_over {
            break;
        }
        match &node.kind {
            GraphNodeKind::Mpi(mpi) if mpi.class == "environment" => {
                next.is_over = matches!(mpi.operation.as_str(), "MPI_Finalize");
                computation = None;
            }
            GraphNodeKind::Mpi(_) => {
                node.region = Some(next.region);
                next.region += 1;
                computation = None;
            }
            _ if node.has_mpi() => {
                node.bodies_mut().into_iter().for_each(|body| number_regions(body, next));
                computation = None;
            }
            _ if is_costly(node) => {
                let region = computation.unwrap_or(next.region);
                next.region = next.region.max(region + 1);
                computation = Some(region);
                give(node, region);
            }
            _ => {}
        }
    }
    join_simple(nodes);
}

/// Assigns simple statements to the next region, or else to the previous one.
fn join_simple(nodes: &mut [GraphNode]) {
    let regions: Vec<Option<u32>> = nodes.iter().map(|node| node.region).collect();
    for (at, node) in nodes.iter_mut().enumerate() {
        if matches!(node.kind, GraphNodeKind::Compute(_)) && node.region.is_none() {
            let after = regions.get(at + 1..).unwrap_or_default().iter().flatten().next();
            let before = regions.get(..at).unwrap_or_default().iter().rev().flatten().next();
            node.region = after.or(before).copied();
        }
    }
}

fn give(node: &mut GraphNode, region: u32) {
    node.region = Some(region);
    for inner in node.bodies_mut().into_iter().flatten() {
        give(inner, region);
    }
}

/// Returns whether a computation takes enough time to be a region.
pub(crate) fn is_costly(node: &GraphNode) -> bool {
    match &node.kind {
        GraphNodeKind::Compute(compute) => compute.is_costly,
        GraphNodeKind::Loop(_) => true,
        _ => node.bodies().into_iter().flatten().any(is_costly),
    }
}

/// Formats a number in Roman numerals, as the source of these graphs does: IV for 4.
#[must_use]
pub fn roman(number: u32) -> String {
    const SIGNS: [(u32, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let mut left = number.min(3999);
    let mut text = String::new();
    for (value, sign) in SIGNS {
        while value <= left {
            text.push_str(sign);
            left -= value;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(number: u32, expected: &str) {
        assert_eq!(roman(number), expected);
    }

    #[test]
    fn numbers_are_roman() {
        check(1, "I");
        check(4, "IV");
        check(9, "IX");
        check(14, "XIV");
        check(49, "XLIX");
        check(1994, "MCMXCIV");
    }
}
