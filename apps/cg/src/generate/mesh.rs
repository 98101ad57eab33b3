//! Box of quadratic tetrahedra, and the couplings of its nodes.
//!
//! Nodes are the corners of tetrahedra and the midpoints of their edges; two nodes are coupled when they belong to a
//! common tetrahedron. This gives long and short rows: inside, a corner has 65 nodes around it and a midpoint 19 or 27,
//! and fewer at the surface. Two rules produce the extremes of `audikw_1`:
//!
//!  - *Slender edges*: a midpoint that belongs to one tetrahedron only, at edges of the box, is coupled only with nodes
//!    of edges that meet its own: 7.
//!  - *Hubs*: some corners inside have spokes to up to 50 nodes beyond their tetrahedra: 115.
//!
//! # Invariants
//! - Couplings are symmetric, and computed from the node's own number.

use super::tetrahedra::{Neighborhood, Point, around, in_order, kind, minus, plus, points};

/// Largest number of spokes of a hub.
const HUB_SPOKES: u64 = 50;
/// Distance between corners that may be hubs, so that their spokes do not meet.
const HUB_PITCH: i32 = 4;

/// Box of nodes.
#[derive(Debug)]
pub(super) struct Mesh {
    sides: Point,
    around: [Neighborhood; 8],
    /// Directions of a hub's spokes.
    beyond: Vec<Point>,
    n_spokes: u64,
}

impl Mesh {
    /// Creates a box of cubes of six tetrahedra.
    pub(super) fn new(cells: [u32; 3], n_spokes: u64) -> Self {
        let sides = cells.map(|cells| 2 * i32::try_from(cells).expect("at most 1000") + 1);
        let around = around();
        let mut beyond: Vec<Point> = points(-2..=2).collect();
        beyond.retain(|node| around[0].nodes.iter().all(|(other, _)| other != node));
        beyond.sort_by_key(|node| node.iter().map(|along| along * along).sum::<i32>());
        Self { sides, around, beyond, n_spokes }
    }

    pub(super) fn n_nodes(&self) -> usize {
        self.sides.iter().map(|side| side.unsigned_abs() as usize).product()
    }

    /// Position of a node.
    pub(super) fn place(&self, node: usize) -> Point {
        let [x, y, _] = self.sides.map(|side| side.unsigned_abs() as usize);
        [node % x, node / x % y, node / (x * y)]
            .map(|along| i32::try_from(along).expect("a side is at most 2001 long"))
    }

    /// Number of the node at a position.
    pub(super) fn number(&self, [x, y, z]: Point) -> u32 {
        ((z * self.sides[1] + y).unsigned_abs()) * self.sides[0].unsigned_abs() + x.unsigned_abs()
    }

    /// Collects the nodes coupled with a node, including itself, in the order of their numbers.
    pub(super) fn coupled(&self, node: Point, coupled: &mut Vec<Point>) {
        let around = &self.around[kind(node)];
        coupled.clear();
        if self.is_deep(node) {
            coupled.extend(around.nodes.iter().map(|(way, _)| plus(node, *way)));
        } else {
            let inside = around.nodes.iter().filter(|(_, cubes)| self.has_any(node, cubes));
            coupled.extend(inside.map(|(way, _)| plus(node, *way)));
            let is_slender = self.is_slender(node);
            coupled.retain(|other| {
                !(is_slender || self.is_slender(*other)) || *other == node || meet(node, *other)
            });
        }
        if self.n_spokes != 0 {
            let n_own = coupled.len();
            self.add_spokes(node, coupled);
            if n_own < coupled.len() {
                in_order(coupled);
            }
        }
    }

    /// Returns whether the surroundings of a node are those of an infinite mesh.
    fn is_deep(&self, node: Point) -> bool {
        node.iter().zip(self.sides).all(|(along, side)| (3..side - 3).contains(along))
    }

    /// Returns whether any of these cubes, relative to a node, belongs to the box.
    fn has_any(&self, node: Point, cubes: &[Point]) -> bool {
        cubes.iter().any(|cube| self.has(node, *cube))
    }

    fn has(&self, node: Point, cube: Point) -> bool {
        let begin = plus(node, cube);
        begin.iter().zip(self.sides).all(|(begin, side)| (0..side - 2).contains(begin))
    }

    fn is_slender(&self, node: Point) -> bool {
        let at_faces =
            node.iter().zip(self.sides).filter(|(at, side)| **at == 0 || *at + 1 == *side);
        if kind(node) == 0 || at_faces.count() < 2 {
            return false;
        }
        let cubes = &self.around[kind(node)].cubes;
        cubes.iter().filter(|cube| self.has(node, **cube)).count() == 1
    }

    fn add_spokes(&self, node: Point, coupled: &mut Vec<Point>) {
        for steps in points(0..=1) {
            // The nearest candidates below and above in each direction; where both are the same, one is too far.
            let hub = [0, 1, 2].map(|axis| {
                let below = (node[axis] - 2).div_euclid(HUB_PITCH) * HUB_PITCH + 2;
                below + HUB_PITCH * steps[axis]
            });
            let spokes = &self.beyond[..self.n_spokes_of(hub)];
            if hub == node {
                coupled.extend(spokes.iter().map(|way| plus(hub, *way)));
            } else if spokes.contains(&minus(node, hub)) {
                coupled.push(hub);
            }
        }
    }

    /// Number of spokes at a position: hubs are as far from each other as their number allows.
    fn n_spokes_of(&self, place: Point) -> usize {
        let along = self.sides.map(|side| u64::from(((side - 1) / HUB_PITCH).unsigned_abs()));
        let is_inside = place.iter().zip(self.sides).all(|(at, side)| (2..side - 2).contains(at));
        if !is_inside {
            return 0;
        }
        let [x, y, z] = place.map(|at| u64::from((at / HUB_PITCH).unsigned_abs()));
        let candidate = (z * along[1] + y) * along[0] + x;
        let n_hubs = self.n_spokes.div_ceil(HUB_SPOKES);
        let before = |candidate: u64| candidate * n_hubs / along.iter().product::<u64>();
        let hub = before(candidate);
        if before(candidate + 1) == hub {
            return 0;
        }
        usize::try_from((self.n_spokes - hub * HUB_SPOKES).min(HUB_SPOKES)).expect("at most 50")
    }
}

/// Returns whether the edges of two nodes share an end; a corner is both ends of its own edge.
fn meet(a: Point, b: Point) -> bool {
    let ends = |node: Point| {
        let half = node.map(|along| along.rem_euclid(2));
        [minus(node, half), plus(node, half)]
    };
    ends(a).iter().any(|end| ends(b).contains(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn lengths(mesh: &Mesh) -> BTreeMap<usize, usize> {
        let mut coupled = Vec::new();
        let mut lengths = BTreeMap::new();
        for node in 0..mesh.n_nodes() {
            mesh.coupled(mesh.place(node), &mut coupled);
            *lengths.entry(coupled.len()).or_default() += 1;
        }
        lengths
    }

    #[test]
    fn couplings_go_both_ways() {
        let mesh = Mesh::new([3, 5, 4], 73);
        let (mut coupled, mut back) = (Vec::new(), Vec::new());
        for number in 0..mesh.n_nodes() {
            let node = mesh.place(number);
            assert_eq!(mesh.number(node) as usize, number);
            mesh.coupled(node, &mut coupled);
            assert!(coupled.contains(&node));
            assert!(coupled.is_sorted_by_key(|node| mesh.number(*node)));
            for other in &coupled {
                mesh.coupled(*other, &mut back);
                assert!(back.contains(&node), "{node:?} {other:?}");
            }
        }
    }

    #[test]
    fn a_spoke_is_a_coupling_more_for_two_nodes() {
        let n_couplings =
            |mesh: &Mesh| lengths(mesh).iter().map(|(length, n)| length * n).sum::<usize>();
        let [without, with] = [0, 73].map(|n_spokes| Mesh::new([3, 5, 4], n_spokes));
        assert_eq!(n_couplings(&with), n_couplings(&without) + 2 * 73);
        assert_eq!(lengths(&with).into_keys().next_back(), Some(115));
    }

    #[test]
    fn the_shortest_are_at_edges_of_the_box() {
        // At half of the twelve edges, two midpoints each.
        let lengths = lengths(&Mesh::new([2, 2, 2], 0));
        assert_eq!(lengths.first_key_value(), Some((&7, &12)));
        assert_eq!(lengths.last_key_value(), Some((&65, &1)));
    }
}
