//! Tests of POP efficiencies with programs whose imbalance is known, because their ranks sleep for given times.

use run_record::summary::{Efficiencies, RankTotals, Summary};
use suite::library::Library;
use suite::{TestProgram, watch};

/// Tolerance between the tool's clock and the program's own.
const TOLERANCE_OF_CLOCKS: f64 = 0.1;
/// Tolerance: ranks begin and end some milliseconds apart, more if others keep the cores busy.
const TOLERANCE: f64 = 0.05;

/// Efficiencies by TALP's definitions, from the useful times of the ranks, the elapsed time, and the share of it in which
/// ranks had a core.
fn by_definition(useful_s: &[f64], elapsed_s: f64, cores: f64) -> Efficiencies {
    let n = f64::from(u32::try_from(useful_s.len()).expect("a few ranks"));
    let (sum, longest) =
        useful_s.iter().fold((0.0, 0.0_f64), |(sum, max), s| (sum + s, max.max(*s)));
    let communication = (longest / elapsed_s / cores).min(1.0);
    let load_balance = sum / n / elapsed_s / cores / communication;
    Efficiencies {
        parallel_efficiency: sum / n / elapsed_s,
        mpi_parallel_efficiency: sum / n / elapsed_s / cores,
        communication_efficiency: communication,
        load_balance,
        load_balance_in: load_balance,
        load_balance_out: 1.0,
        ..Efficiencies::default()
    }
}

/// Figures that TALP has, with their names.
fn figures(pop: &Efficiencies) -> [(&'static str, f64); 6] {
    [
        ("parallel efficiency", pop.parallel_efficiency),
        ("MPI parallel efficiency", pop.mpi_parallel_efficiency),
        ("communication efficiency", pop.communication_efficiency),
        ("load balance", pop.load_balance),
        ("load balance in nodes", pop.load_balance_in),
        ("load balance between nodes", pop.load_balance_out),
    ]
}

#[track_caller]
fn check_near(seen: &Efficiencies, expected: &Efficiencies, tolerance: f64) {
    for ((name, seen), (_, expected)) in figures(seen).into_iter().zip(figures(expected)) {
        assert!((seen - expected).abs() <= tolerance, "{name}: {seen}, expected {expected}");
    }
}

fn run(library: Library, ms: &[&str]) -> (Summary, Vec<(f64, f64)>) {
    let program = TestProgram::c("imbalance").built(library);
    let watched = watch(&library.launch(ms.len(), &program).arg("20").args(ms));
    let mut measured = Vec::new();
    for line in watched.ended.stdout.lines() {
        let (useful, elapsed) = line.split_once(' ').expect("two numbers for each rank");
        measured.push((useful.parse().expect("a number"), elapsed.parse().expect("a number")));
    }
    assert_eq!(measured.len(), ms.len(), "{}", watched.ended.stderr);
    (watched.summary, measured)
}

/// Checks the efficiencies against those computed from the times of ranks in the record; no time is measured.
#[track_caller]
fn check(library: Library, ms: &[&str]) {
    let (summary, measured) = run(library, ms);
    let cores = summary.pop.core_availability.unwrap_or(1.0);
    let useful_s: Vec<f64> = summary.ranks.iter().map(RankTotals::computing_s).collect();
    check_near(&summary.pop, &by_definition(&useful_s, summary.elapsed_s, cores), TOLERANCE);
    // And against those from what the program prints, by its own clock; waiting for a core is not useful.
    let waited_s = summary.ranks.iter().map(|rank| rank.useful_s - rank.computing_s());
    let own = measured.iter().zip(waited_s).map(|((useful_s, _), waited_s)| useful_s - waited_s);
    let own: Vec<f64> = own.collect();
    let elapsed_s = measured.iter().map(|(_, elapsed)| *elapsed).fold(0.0, f64::max);
    // The program reads its clock at other moments; in between, other tests may have had the core.
    check_near(&summary.pop, &by_definition(&own, elapsed_s, cores), TOLERANCE_OF_CLOCKS);
}

#[test]
fn one_rank_works_alone() {
    check(Library::OpenMpi4, &["40", "0", "0"]);
    check(Library::Mpich4, &["0", "40"]);
}

#[test]
fn a_staircase() {
    check(Library::OpenMpi4, &["10", "20", "30", "40"]);
    check(Library::Mpich4, &["40", "30", "20"]);
}

#[test]
fn balanced() {
    check(Library::OpenMpi5, &["30", "30", "30"]);
    check(Library::Mpich5, &["30", "30"]);
}

/// Useful and MPI time fill the elapsed time of every rank.
#[test]
fn times_of_a_rank_add_up() {
    for library in Library::SYSTEM {
        let (summary, _) = run(library, &["5", "25"]);
        for rank in &summary.ranks {
            let left = rank.elapsed_s - rank.useful_s - rank.mpi_s;
            assert!(left.abs() <= TOLERANCE * rank.elapsed_s, "{library:?}: {rank:?}");
        }
    }
}
