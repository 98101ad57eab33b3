//! A state with data of every class, whose contents encode their positions.

use malleable::{Bridge, Comm, Csr, Cut, Data, State};
use resize_plan::Partition;
use std::sync::Arc;

/// Cells of a field of 10 rows with 6 columns.
const N_CELLS: u64 = 60;
/// Number of rows of a second group.
const N_OTHERS: u64 = 7;

/// State with data of every class.
#[derive(Clone, Debug)]
pub(crate) struct Cells {
    pub(crate) n: u64,
    pub(crate) cut: Cut,
    /// Whether the state has no rows of different lengths.
    pub(crate) is_dense: bool,
    /// Whether the state registers other names.
    pub(crate) is_otherwise: bool,
    pub(crate) x: Vec<f64>,
    names: Vec<u16>,
    step: u32,
    history: Vec<f64>,
    matrix: Csr<f64, u64>,
    b: Arc<[u8]>,
    y: Vec<u16>,
    /// Numbers of particles in the cells, and the particles.
    crowds: Vec<u32>,
    particles: Vec<u16>,
    others: Arc<[u64]>,
}

impl State for Cells {
    fn data<'a>(&'a mut self, data: &mut Data<'a>) {
        let (n, cut) = (self.n, self.cut);
        data.constant(if self.is_otherwise { "m" } else { "n" }, &mut self.n);
        data.constant_list("names", &mut self.names);
        data.variable("step", &mut self.step);
        data.variable_list("history", &mut self.history);
        data.rows_of(n, cut);
        data.rows("x", &mut self.x);
        if !self.is_dense {
            data.constant_csr("matrix", &mut self.matrix);
        }
        data.constant_rows_wide("b", 3, &mut self.b);
        data.rows_wide("y", 2, &mut self.y);
        if !self.is_dense {
            data.uneven_rows("particles", &mut self.crowds, &mut self.particles);
        }
        data.rows_of(N_OTHERS, Cut::Even);
        data.constant_rows("others", &mut self.others);
    }
}

impl Cells {
    /// State of a rank that has no data yet.
    fn empty(cut: Cut) -> Self {
        let cut = match cut {
            Cut::Aligned(_) => Cut::Aligned(1),
            Cut::Cyclic(_) => Cut::Cyclic(1),
            Cut::Blocks2d { .. } => Cut::Blocks2d { n_columns: 1 },
            Cut::Blocks3d { .. } => Cut::Blocks3d { n_rows: 1, n_columns: 1 },
            other => other,
        };
        Self {
            n: 0,
            cut,
            is_dense: false,
            is_otherwise: false,
            x: Vec::new(),
            names: Vec::new(),
            step: 0,
            history: Vec::new(),
            matrix: Csr::default(),
            b: [].into(),
            y: Vec::new(),
            crowds: Vec::new(),
            particles: Vec::new(),
            others: [].into(),
        }
    }

    /// State of the rank that holds these rows.
    fn of(cut: Cut, rows: &[u64], others: &[u64]) -> Self {
        let entries = || rows.iter().flat_map(|row| (0..length(*row)).map(move |at| (*row, at)));
        Self {
            n: N_CELLS,
            cut,
            x: rows.iter().map(|row| *row as f64 / 2.0).collect(),
            names: vec![7, 8, 9],
            step: 3,
            history: vec![1.5, 2.5],
            matrix: Csr {
                lengths: rows.iter().map(|row| length(*row)).collect(),
                columns: entries().map(|(row, at)| (row << 40) + u64::from(at)).collect(),
                values: entries().map(|(row, at)| row as f64 + f64::from(at) / 8.0).collect(),
            },
            b: rows.iter().flat_map(|row| [*row as u8, 1, *row as u8 + 1]).collect(),
            y: rows.iter().flat_map(|row| [*row as u16, 1000 + *row as u16]).collect(),
            crowds: rows.iter().map(|row| crowd(*row)).collect(),
            particles: rows.iter().flat_map(|row| particles(*row)).collect(),
            others: others.iter().map(|row| row * row).collect(),
            ..Self::empty(cut)
        }
    }

    /// Computes an iteration.
    pub(crate) fn compute(&mut self) {
        self.step += 1;
        self.history.push(self.step.into());
        self.x.iter_mut().for_each(|x| *x = 1.0 - *x);
        self.y.iter_mut().for_each(|y| *y += 1);
        let mut before = std::mem::take(&mut self.particles).into_iter();
        for crowd in &mut self.crowds {
            let cell = before.by_ref().take(*crowd as usize).collect::<Vec<_>>();
            self.particles.extend(cell.iter().copied().chain(cell.iter().map(|one| one + 1)));
            *crowd *= 2;
        }
    }

    /// The state after an iteration, if there is anything to compute.
    pub(crate) fn computed(mut self) -> Self {
        if 0 < self.n {
            self.compute();
        }
        self
    }

    /// Returns an error that shows the difference, if there is one.
    pub(crate) fn same_as(&self, expected: &Self) -> Result<(), String> {
        let is_same = self.n == expected.n
            && self.x == expected.x
            && self.names == expected.names
            && self.step == expected.step
            && self.history == expected.history
            && self.matrix == expected.matrix
            && *self.matrix.values == *expected.matrix.values
            && self.b == expected.b
            && self.y == expected.y
            && self.crowds == expected.crowds
            && self.particles == expected.particles
            && self.others == expected.others;
        if is_same { Ok(()) } else { Err(format!("{self:?} instead of {expected:?}")) }
    }
}

fn length(row: u64) -> u32 {
    (row * 7 % 5) as u32
}

/// Number of particles in a cell at first.
fn crowd(row: u64) -> u32 {
    (row * 5 % 4) as u32
}

fn particles(row: u64) -> impl Iterator<Item = u16> {
    (0..crowd(row)).map(move |at| row as u16 * 100 + at as u16)
}

/// Change of the ranks that hold the cells.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) sources: &'static [u32],
    pub(crate) targets: &'static [u32],
    pub(crate) cut: Cut,
}

impl Change {
    /// All ranks of `comm`, as a bridge.
    pub(crate) fn bridge<'c>(&self, comm: &'c Comm) -> Bridge<'c> {
        Bridge { comm, sources: self.sources.to_vec(), targets: self.targets.to_vec() }
    }

    /// State of a rank before.
    pub(crate) fn before(&self, rank: u32) -> Cells {
        // A program may begin with any blocks.
        let cut = if matches!(self.cut, Cut::Weighted) { Cut::Even } else { self.cut };
        held(self.sources, rank, self.cut, cut)
    }

    /// State of a target afterwards, and after an iteration.
    pub(crate) fn after(&self, rank: u32) -> Cells {
        held(self.targets, rank, self.cut, self.cut).computed()
    }

    /// Size of constant and of variable data, in bytes.
    pub(crate) fn bytes(&self) -> [u64; 2] {
        let n_entries = (0..N_CELLS).map(|row| u64::from(length(row))).sum::<u64>();
        let constant = 8 + 3 * 2 + N_CELLS * (4 + 3) + n_entries * (8 + 8) + N_OTHERS * 8;
        // An iteration doubles the particles.
        let n_particles = 2 * (0..N_CELLS).map(|row| u64::from(crowd(row))).sum::<u64>();
        [constant, 4 + 3 * 8 + N_CELLS * (8 + 4 + 4) + n_particles * 2]
    }
}

fn held(ranks: &[u32], rank: u32, cut: Cut, by: Cut) -> Cells {
    let Some(part) = ranks.iter().position(|one| *one == rank) else { return Cells::empty(cut) };
    let n_parts = ranks.len() as u32;
    let rows = |partition: Partition| partition.rows_of(part as u32).flatten().collect::<Vec<_>>();
    let lengths = || (0..N_CELLS).map(|row| u64::from(length(row))).collect::<Vec<_>>();
    // Not by `Cut::partition`, which the moves use: that is under test.
    let own = match by {
        Cut::Even => Partition::even(N_CELLS, n_parts),
        Cut::Weighted => Partition::weighted(&lengths(), n_parts),
        Cut::Aligned(block) => Partition::aligned(N_CELLS, n_parts, block),
        Cut::Cyclic(block) => Partition::cyclic(N_CELLS, n_parts, block),
        Cut::Blocks2d { n_columns } => {
            Partition::blocks_2d(N_CELLS / n_columns, n_columns, n_parts)
        }
        Cut::Blocks3d { n_rows, n_columns } => {
            let (n_rows, n_columns) = (n_rows.into(), n_columns.into());
            Partition::blocks_3d([N_CELLS / n_rows / n_columns, n_rows, n_columns], n_parts)
        }
        Cut::Given(bounds) => Partition::given(bounds(N_CELLS, n_parts)),
    };
    let others = Partition::even(N_OTHERS, n_parts).expect("there are parts");
    Cells::of(cut, &rows(own.expect("there are parts")), &rows(others))
}
