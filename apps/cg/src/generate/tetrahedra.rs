//! The six tetrahedra of a cube, and the nodes that they couple.
//!
//! A cube is divided along the diagonal from its first to its last corner, with a tetrahedron for each order of walking
//! the three axes (Kuhn's triangulation); it matches those of the neighboring cubes. A quadratic tetrahedron has ten
//! nodes: its corners and the midpoints of its edges. In units of half an edge, nodes are all points with integer
//! coordinates, and corners those with even coordinates.

/// Coordinates of a node, or vector between nodes, in halves of an edge.
pub(super) type Point = [i32; 3];

/// Surroundings of a node, relative to it.
#[derive(Debug)]
pub(super) struct Neighborhood {
    /// For each tetrahedron that the node belongs to: the origin of its cube.
    pub(super) cubes: Vec<Point>,
    /// All nodes of these tetrahedra, including the node itself, in the order of rows; with the cubes whose tetrahedra
    /// couple the two.
    pub(super) nodes: Vec<(Point, Vec<Point>)>,
}

const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// Surroundings of nodes of each of the eight kinds; see [`kind`].
pub(super) fn around() -> [Neighborhood; 8] {
    std::array::from_fn(|kind| {
        let places = points(0..=2).filter(|place| self::kind(*place) == kind);
        let tetrahedra: Vec<_> = places.flat_map(at).collect();
        let all = points(-2..=2).map(|node| {
            let coupling = tetrahedra.iter().filter(|(_, nodes)| nodes.contains(&node));
            let mut cubes: Vec<Point> = coupling.map(|(cube, _)| *cube).collect();
            in_order(&mut cubes);
            (node, cubes)
        });
        let nodes = all.filter(|(_, cubes)| !cubes.is_empty()).collect();
        Neighborhood { cubes: tetrahedra.into_iter().map(|(cube, _)| cube).collect(), nodes }
    })
}

/// Kind of a node, by which of its coordinates are odd: corners, and midpoints of edges in seven directions.
pub(super) fn kind(node: Point) -> usize {
    node.iter().rev().fold(0, |kind, along| 2 * kind + usize::from(along % 2 != 0))
}

/// Sorts in the order of rows, and removes duplicates.
pub(super) fn in_order(nodes: &mut Vec<Point>) {
    nodes.sort_unstable_by_key(|[x, y, z]| [*z, *y, *x]);
    nodes.dedup();
}

/// All points with coordinates in a range, in the order of rows.
pub(super) fn points(range: std::ops::RangeInclusive<i32>) -> impl Iterator<Item = Point> {
    let (y, x) = (range.clone(), range.clone());
    range.flat_map(move |z| {
        let x = x.clone();
        y.clone().flat_map(move |y| x.clone().map(move |x| [x, y, z]))
    })
}

pub(super) fn plus(a: Point, b: Point) -> Point {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// Vector from `b` to `a`.
pub(super) fn minus(a: Point, b: Point) -> Point {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// Tetrahedra of a cube with a node at this position, relative to it.
fn at(place: Point) -> impl Iterator<Item = (Point, [Point; 10])> {
    let all = ORDERS.into_iter().map(tetrahedron);
    let those = all.filter(move |nodes| nodes.contains(&place));
    those.map(move |nodes| (minus([0; 3], place), nodes.map(|node| minus(node, place))))
}

/// Nodes of a tetrahedron in the cube at the origin.
fn tetrahedron(order: [usize; 3]) -> [Point; 10] {
    let mut corners = [[0; 3]; 4];
    for (at, axis) in order.into_iter().enumerate() {
        corners[at + 1] = corners[at];
        corners[at + 1][axis] += 2;
    }
    let pairs = [(0, 0), (1, 1), (2, 2), (3, 3), (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
    pairs.map(|(a, b): (usize, usize)| plus(corners[a], corners[b]).map(|twice| twice / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(node: Point, n_tetrahedra: usize, n_nodes: usize) {
        let around = &around()[kind(node)];
        assert_eq!((around.cubes.len(), around.nodes.len()), (n_tetrahedra, n_nodes));
        assert!(around.nodes.iter().any(|(other, _)| *other == [0; 3]));
        // Couplings are symmetric.
        let all = super::around();
        for (other, _) in &around.nodes {
            let mut back = all[kind(plus(node, *other))].nodes.iter();
            assert!(back.any(|(back, _)| *back == minus([0; 3], *other)), "{other:?}");
        }
    }

    #[test]
    fn inside_a_node_has_its_ring_of_tetrahedra() {
        check([0, 0, 0], 24, 65);
        check([4, 2, 5], 6, 27);
        check([1, 1, 2], 4, 19);
        check([-1, 2, -3], 4, 19);
        check([1, 3, 5], 6, 27);
    }
}
