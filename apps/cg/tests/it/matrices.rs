//! Generated matrices: symmetric, positive definite, and the same however their rows are divided.

use cg::{Generator, Model, rows_of};
use malleable::Csr;
use std::collections::BTreeMap;

pub(crate) fn whole(model: Model) -> (usize, Csr) {
    let generator = Generator::new(model, 1);
    (generator.n_rows(), generator.rows(0..generator.n_rows()))
}

/// All entries by row and column.
pub(crate) fn entries(csr: &Csr) -> BTreeMap<(usize, usize), f64> {
    let rows = csr.rows().enumerate();
    let entries = rows.flat_map(|(row, entries)| {
        entries.map(move |at| ((row, csr.columns[at] as usize), csr.values[at]))
    });
    entries.collect()
}

const SMALL: [Model; 3] =
    [Model::Tetrahedra([2, 3, 4]), Model::Tetrahedra([1, 1, 9]), Model::Laplace3d(9)];

#[test]
fn halves_are_equal() {
    for model in SMALL {
        let (n_rows, csr) = whole(model);
        let entries = entries(&csr);
        assert_eq!(entries.len(), csr.n_entries(), "no entry is there twice");
        for ((row, column), value) in &entries {
            assert!(*column < n_rows);
            assert_eq!(entries[&(*column, *row)].to_bits(), value.to_bits(), "{row} {column}");
            assert!(*value != 0.0);
        }
    }
}

#[test]
fn columns_ascend() {
    for model in SMALL {
        let csr = whole(model).1;
        for row in csr.rows() {
            assert!(csr.columns[row].is_sorted());
        }
    }
}

#[test]
fn rows_are_the_same_wherever_they_are_made() {
    for model in SMALL {
        let (n_rows, csr) = whole(model);
        let generator = Generator::new(model, 1);
        for n_ranks in [2, 3, 5] {
            let parts = (0..n_ranks).map(|rank| generator.rows(rows_of(n_rows, rank, n_ranks)));
            let parts: Vec<Csr> = parts.collect();
            let columns: Vec<u32> = parts.iter().flat_map(|part| part.columns.to_vec()).collect();
            let values: Vec<f64> = parts.iter().flat_map(|part| part.values.to_vec()).collect();
            assert_eq!((&*columns, &*values), (&*csr.columns, &*csr.values));
        }
    }
}

#[test]
fn another_seed_has_other_springs() {
    let model = Model::Tetrahedra([2, 2, 2]);
    let [one, other] = [1, 2].map(|seed| Generator::new(model, seed).rows(0..30));
    assert_eq!(one.columns, other.columns);
    assert!(one.values.iter().zip(&*other.values).all(|(a, b)| a.to_bits() != b.to_bits()));
}

/// The numbers are those of the matrix in the SuiteSparse collection.
#[test]
fn rows_are_as_long_as_those_of_audikw_1() {
    let generator = Generator::new(Model::Audikw1, 1);
    let lengths = generator.lengths(0..generator.n_rows());
    assert_eq!(lengths.len(), 943_695);
    assert_eq!(lengths.iter().map(|length| u64::from(*length)).sum::<u64>(), 77_651_847);
    assert_eq!((lengths.iter().min(), lengths.iter().max()), (Some(&21), Some(&345)));
}

#[test]
fn values_are_those_of_before() {
    let row = Generator::new(Model::Audikw1, 1).rows(400_000..400_001);
    let near = |found: f64, expected: f64| (found - expected).abs() < 1e-12;
    assert!(near(row.values[0], -0.095_833_431_944_406_09), "{}", row.values[0]);
}
