//! Springs between the nodes of a mesh: three rows per node, one for each direction of movement.
//!
//! With `e` the unit vector from one node to another and `k` the spring's stiffness, the pair has the block
//! `B = k ((1 - s) e e' + s I)`: it resists along the spring, and by the share `s` across it. The matrix has `-B` where the two
//! nodes meet, and for each node the sum of its blocks plus a weak spring to the ground: symmetric and positive
//! definite. Nodes are slightly off the grid, and springs differ, by the seed, so that no value is zero.

use super::mesh::Mesh;
use super::tetrahedra::Point;
use std::ops::Range;

type Block = [[f64; 3]; 3];

/// Stiffness across a spring, as a share of that along it.
const ACROSS: f64 = 0.1;
/// Mean stiffness of the springs to the ground.
const GROUND: f64 = 4e-3;
/// Node number that stands for the ground.
const THE_GROUND: u32 = u32::MAX;
/// Largest displacement of a node, in distances of nodes.
const OFF: f64 = 0.2;

/// Nodes, their springs, and the seed of the random numbers.
#[derive(Debug)]
pub(super) struct Springs {
    mesh: Mesh,
    seed: u64,
}

impl Springs {
    pub(super) fn new(cells: [u32; 3], n_spokes: u64, seed: u64) -> Self {
        Self { mesh: Mesh::new(cells, n_spokes), seed }
    }

    pub(super) fn n_rows(&self) -> usize {
        3 * self.mesh.n_nodes()
    }

    pub(super) fn lengths(&self, rows: Range<usize>) -> Vec<u32> {
        let mut coupled = Vec::new();
        let mut lengths = Vec::with_capacity(rows.len());
        for node in rows.start / 3..rows.end.div_ceil(3) {
            self.mesh.coupled(self.mesh.place(node), &mut coupled);
            let length = u32::try_from(3 * coupled.len()).expect("at most 345");
            lengths.extend(own_rows(node, &rows).map(|_| length));
        }
        lengths
    }

    pub(super) fn fill(&self, rows: Range<usize>, columns: &mut [u32], values: &mut [f64]) {
        let (mut coupled, mut blocks, mut at) = (Vec::new(), Vec::new(), 0);
        for node in rows.start / 3..rows.end.div_ceil(3) {
            let place = self.mesh.place(node);
            self.mesh.coupled(place, &mut coupled);
            self.blocks(place, &coupled, &mut blocks);
            for axis in own_rows(node, &rows) {
                for (other, block) in coupled.iter().zip(&blocks) {
                    let first = 3 * self.mesh.number(*other);
                    columns[at..at + 3].copy_from_slice(&[first, first + 1, first + 2]);
                    values[at..at + 3].copy_from_slice(&block[axis]);
                    at += 3;
                }
            }
        }
    }

    /// Computes a block for each node coupled with a node.
    fn blocks(&self, place: Point, coupled: &[Point], blocks: &mut Vec<Block>) {
        let mut own = [[0.0; 3]; 3];
        blocks.clear();
        for other in coupled {
            let spring = if *other == place { [[0.0; 3]; 3] } else { self.spring(place, *other) };
            for (own, spring) in own.iter_mut().flatten().zip(spring.iter().flatten()) {
                *own += spring;
            }
            blocks.push(spring.map(|row| row.map(|value| -value)));
        }
        let mut random = self.random(self.mesh.number(place), THE_GROUND);
        for (axis, row) in own.iter_mut().enumerate() {
            row[axis] += 2.0 * GROUND * random.share();
        }
        let at = coupled.iter().position(|other| *other == place);
        blocks[at.expect("a node is coupled with itself")] = own;
    }

    /// Block of two nodes: the same, bit for bit, seen from either of them.
    fn spring(&self, a: Point, b: Point) -> Block {
        let (a_number, b_number) = (self.mesh.number(a), self.mesh.number(b));
        let (low, high) = (a_number.min(b_number), a_number.max(b_number));
        let mut random = self.random(low, high);
        let stiffness = 0.5 + random.share();
        let (from, to) = (self.position(a, a_number), self.position(b, b_number));
        let way = [to[0] - from[0], to[1] - from[1], to[2] - from[2]];
        let square = way[0] * way[0] + way[1] * way[1] + way[2] * way[2];
        let along = stiffness * (1.0 - ACROSS) / square;
        let mut block = way.map(|row| way.map(|column| along * (row * column)));
        for (axis, row) in block.iter_mut().enumerate() {
            row[axis] += stiffness * ACROSS;
        }
        block
    }

    /// Random numbers of a pair of nodes, or of a node with itself or with the ground.
    fn random(&self, a: u32, b: u32) -> Random {
        Random::new(self.seed, u64::from(a) << 32 | u64::from(b))
    }

    fn position(&self, place: Point, number: u32) -> [f64; 3] {
        let mut random = self.random(number, number);
        place.map(|along| f64::from(along) + OFF * (2.0 * random.share() - 1.0))
    }
}

/// Axes, 0 to 2, of a node's rows that are in a range.
fn own_rows(node: usize, rows: &Range<usize>) -> impl Iterator<Item = usize> + use<> {
    let rows = rows.clone();
    (0..3).filter(move |axis| rows.contains(&(3 * node + axis)))
}

/// Portable random numbers: SplitMix64 (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn new(seed: u64, key: u64) -> Self {
        let mut random = Self(seed);
        Self(random.next() ^ key)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Uniform in `[0, 1)`.
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_published_one() {
        let mut random = Random(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973];
        assert_eq!([random.next(), random.next()], expected);
    }
}
