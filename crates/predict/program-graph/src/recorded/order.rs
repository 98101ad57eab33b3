//! Reconstructs the order of call sites, and the loops, from their successions.

use std::collections::{BTreeMap, BTreeSet};

/// Number of times a site followed another.
pub(super) type Flows = BTreeMap<(Option<u32>, u32), u64>;

/// A loop: the sites between a back edge and its target, by position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LoopSpan {
    pub(super) first: usize,
    pub(super) last: usize,
    /// Number of times the back edge was taken.
    pub(super) n_back: u64,
    /// Mean iterations each time the loop was reached.
    pub(super) iterations: f64,
}

/// Returns the sites in program order: sites behind a loop come after it.
pub(super) fn order(flows: &Flows) -> Vec<u32> {
    let mut done: Vec<u32> = Vec::new();
    let mut seen: BTreeSet<u32> = BTreeSet::new();
    // Iterative depth-first search: a site is done when all its successors are.
    let all = flows.keys().map(|(_, to)| *to);
    for root in after(None, flows).into_iter().rev().chain(all.collect::<Vec<_>>()) {
        if !seen.insert(root) {
            continue;
        }
        let mut path = vec![(root, after(Some(root), flows))];
        while let Some((site, next)) = path.last_mut() {
            match next.pop() {
                Some(next) if seen.insert(next) => path.push((next, after(Some(next), flows))),
                Some(_) => {}
                None => {
                    done.push(*site);
                    path.pop();
                }
            }
        }
    }
    done.reverse();
    done
}

/// Returns the successors of a site, the rarest last: a loop exit is rarer than the loop's body, and is visited
/// first.
fn after(site: Option<u32>, flows: &Flows) -> Vec<u32> {
    let mut next: Vec<(u64, u32)> =
        flows.iter().filter(|((from, _), _)| *from == site).map(|((_, to), n)| (*n, *to)).collect();
    next.sort_unstable_by(|one, other| other.cmp(one));
    next.into_iter().map(|(_, to)| to).collect()
}

/// Returns the loops, outer ones first; overlapping loops become one.
pub(super) fn spans(order: &[u32], flows: &Flows) -> Vec<LoopSpan> {
    let position = |site: u32| order.iter().position(|it| *it == site);
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for (from, to) in flows.keys() {
        if let (Some(from), Some(to)) = (from.and_then(position), position(*to))
            && to <= from
        {
            spans.push((to, from));
        }
    }
    merge(&mut spans);
    spans.into_iter().map(|span| counted(span, order, flows)).collect()
}

/// Merges loops with the same head (a loop with a condition in it) and those that partially overlap, until none
/// do.
fn merge(spans: &mut Vec<(usize, usize)>) {
    loop {
        spans.sort_unstable_by_key(|(first, last)| (*first, std::cmp::Reverse(*last)));
        spans.dedup_by_key(|(first, _)| *first);
        let crossing = spans.iter().enumerate().find_map(|(at, one)| {
            let other = spans
                .iter()
                .enumerate()
                .skip(at + 1)
                .find(|(_, other)| one.0 < other.0 && other.0 <= one.1 && one.1 < other.1);
            other.map(|(other, _)| (at, other))
        });
        let Some((at, other)) = crossing else { return };
        let (_, last) = spans.remove(other);
        if let Some(one) = spans.get_mut(at) {
            one.1 = last;
        }
    }
}

fn counted((first, last): (usize, usize), order: &[u32], flows: &Flows) -> LoopSpan {
    let position = |site: u32| order.iter().position(|it| *it == site);
    let head = order.get(first).copied();
    let (mut n_back, mut n_in) = (0, 0);
    for ((from, to), n) in flows {
        let from = from.and_then(position);
        let is_inside = |at: Option<usize>| at.is_some_and(|at| (first..=last).contains(&at));
        if is_inside(position(*to)) && !is_inside(from) {
            n_in += n;
        } else if Some(*to) == head {
            n_back += n;
        }
    }
    LoopSpan { first, last, n_back, iterations: 1.0 + n_back as f64 / n_in.max(1) as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(flows: &[(Option<u32>, u32, u64)], expected: &[u32], loops: &[(usize, usize, f64)]) {
        let flows = flows.iter().map(|(from, to, n)| ((*from, *to), *n)).collect();
        let order = order(&flows);
        assert_eq!(order, expected);
        let found: Vec<(usize, usize, f64)> =
            spans(&order, &flows).iter().map(|it| (it.first, it.last, it.iterations)).collect();
        assert_eq!(found, loops);
    }

    #[test]
    fn sites_stand_in_the_order_of_the_program() {
        check(&[], &[], &[]);
        check(&[(None, 1, 1), (Some(1), 0, 1)], &[1, 0], &[]);
        // A loop of two sites, left after ten iterations.
        check(
            &[(None, 5, 1), (Some(5), 6, 10), (Some(6), 5, 9), (Some(6), 2, 1)],
            &[5, 6, 2],
            &[(0, 1, 10.0)],
        );
        // A loop in a loop.
        check(
            &[(None, 1, 1), (Some(1), 2, 4), (Some(2), 2, 12), (Some(2), 1, 3), (Some(2), 3, 1)],
            &[1, 2, 3],
            &[(0, 1, 4.0), (1, 1, 4.0)],
        );
        // A loop with two back edges.
        check(
            &[(None, 1, 1), (Some(1), 1, 6), (Some(1), 2, 3), (Some(2), 1, 3), (Some(1), 3, 1)],
            &[1, 2, 3],
            &[(0, 1, 10.0)],
        );
        // Two alternative paths.
        check(
            &[(None, 1, 4), (Some(1), 2, 1), (Some(1), 3, 3), (Some(2), 4, 1), (Some(3), 4, 3)],
            &[1, 3, 2, 4],
            &[],
        );
    }
}
