//! Solutions compared with a direct solver, and bit for bit on any number of ranks.

use crate::matrices::{entries, whole};
use crate::threads::on_ranks;
use cg::{Alone, Cg, CgError, Generator, Model, Settings, of_ones, rows_of};
use malleable::Csr;

/// Solves by the factorization `L L' = A` of the full matrix.
fn cholesky(csr: &Csr, right_side: &[f64]) -> Vec<f64> {
    let n = right_side.len();
    let mut factor = vec![vec![0.0; n]; n];
    for ((row, column), value) in entries(csr) {
        factor[row][column] = value;
    }
    for column in 0..n {
        let pivot = factor[column].clone();
        let square: f64 = pivot[..column].iter().map(|value| value * value).sum();
        let diagonal = (pivot[column] - square).sqrt();
        factor[column][column] = diagonal;
        for row in &mut factor[column + 1..] {
            let sum: f64 = row.iter().zip(&pivot[..column]).map(|(a, b)| a * b).sum();
            row[column] = (row[column] - sum) / diagonal;
        }
    }
    let mut solution = right_side.to_vec();
    for row in 0..n {
        let sum: f64 = factor[row][..row].iter().zip(&solution).map(|(a, b)| a * b).sum();
        solution[row] = (solution[row] - sum) / factor[row][row];
    }
    for row in (0..n).rev() {
        let below = row + 1..n;
        let sum: f64 = below.map(|other| factor[other][row] * solution[other]).sum();
        solution[row] = (solution[row] - sum) / factor[row][row];
    }
    solution
}

fn right_side(n_rows: usize) -> Vec<f64> {
    (0..n_rows).map(|row| (row as f64).sin()).collect()
}

/// Solves on several ranks; returns the solution, the number of iterations, and the residual.
fn solve(model: Model, n_ranks: usize, settings: Settings) -> (Vec<f64>, u64, f64) {
    let ends = on_ranks(n_ranks, |group| {
        let generator = Generator::new(model, 1);
        let n_rows = generator.n_rows();
        let own = rows_of(n_rows, cg::Group::rank(group), n_ranks);
        let right_side = right_side(n_rows)[own.clone()].to_vec();
        let matrix = generator.rows(own);
        let mut cg = Cg::new((n_rows, matrix), right_side.clone(), settings, group).unwrap();
        while cg.goes_on() {
            cg.step(group).unwrap();
        }
        let residual = cg.residual_length(&right_side, group).unwrap();
        assert!((residual - cg.followed_length()).abs() < 1e-9);
        (cg.solution(group).unwrap(), cg.n_iterations(), residual)
    });
    assert!(ends.iter().all(|end| *end == ends[0]), "all ranks end with the same");
    ends[0].clone()
}

#[track_caller]
fn check(model: Model, n_ranks: usize) {
    let settings = Settings { tolerance: 1e-13, n_iterations_max: 3000, ..Settings::default() };
    let (found, n_iterations, _) = solve(model, n_ranks, settings);
    let (n_rows, csr) = whole(model);
    let expected = cholesky(&csr, &right_side(n_rows));
    let largest = expected.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found - expected).abs() < 1e-9 * largest, "{found} {expected} {n_iterations}");
    }
}

#[test]
fn solutions_are_those_of_a_direct_solver() {
    for n_ranks in [1, 2, 3, 5] {
        check(Model::Laplace3d(8), n_ranks);
    }
    check(Model::Tetrahedra([2, 3, 1]), 1);
    check(Model::Tetrahedra([3, 2, 2]), 3);
}

#[test]
fn solutions_have_the_same_bits_on_any_number_of_ranks() {
    let settings = Settings {
        tolerance: 0.0,
        n_iterations_max: 60,
        is_reproducible: true,
        ..Settings::default()
    };
    for model in [Model::Tetrahedra([3, 4, 5]), Model::Laplace3d(17)] {
        let alone = solve(model, 1, settings);
        for n_ranks in [2, 3, 5, 8] {
            assert_eq!(solve(model, n_ranks, settings), alone, "{n_ranks} ranks");
        }
        // The order of the sums makes the difference.
        let other = solve(model, 3, Settings { is_reproducible: false, ..settings });
        assert_ne!(other.0, alone.0);
    }
}

#[test]
fn ones_are_found_again() {
    let (n_rows, csr) = whole(Model::Tetrahedra([3, 4, 5]));
    let settings = Settings { tolerance: 1e-12, ..Settings::default() };
    let right_side = of_ones(n_rows, &csr);
    let mut cg = Cg::new((n_rows, csr), right_side, settings, &Alone).unwrap();
    while cg.goes_on() {
        cg.step(&Alone).unwrap();
    }
    assert!(cg.is_solved() && 20 < cg.n_iterations(), "{}", cg.n_iterations());
    assert!(cg.solution(&Alone).unwrap().iter().all(|x| (x - 1.0).abs() < 1e-8));
}

#[test]
fn a_right_hand_side_of_zeros_is_solved() {
    let (n_rows, csr) = whole(Model::Laplace3d(3));
    let cg = Cg::new((n_rows, csr), vec![0.0; n_rows], Settings::default(), &Alone).unwrap();
    assert!(!cg.goes_on() && cg.is_solved());
}

#[test]
fn a_matrix_that_is_not_positive_is_refused() {
    let (n_rows, mut csr) = whole(Model::Laplace3d(5));
    csr.values = csr.values.iter().map(|value| if *value > 0.0 { 0.5 } else { *value }).collect();
    let mut cg = Cg::new((n_rows, csr), right_side(n_rows), Settings::default(), &Alone).unwrap();
    let error = std::iter::repeat_with(|| cg.step(&Alone)).take(50).find_map(Result::err);
    assert!(matches!(error, Some(CgError::NotPositive { .. })), "{error:?}");
}
