//! Efficiencies of a run as a tree of named terms, with their grades.

use display::ink::Tone;
use run_record::summary::Efficiencies;

/// Returns the grade of an efficiency in 0..=1: good, fair or poor. Above 80 % is acceptable in the POP methodology;
/// below 60 % a run wastes more than most tuning of its kernels would gain.
pub(crate) fn grade(efficiency: f64) -> Tone {
    match efficiency {
        e if e >= 0.8 => Tone::Good,
        e if e >= 0.6 => Tone::Fair,
        _ => Tone::Poor,
    }
}

/// Efficiency at its place in the tree; a term is the product of those below it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Term {
    /// Depth in the tree, 0 for the root.
    pub(crate) depth: usize,
    /// Branch lines before the name (`├─ `).
    pub(crate) branch: &'static str,
    pub(crate) name: &'static str,
    pub(crate) value: f64,
    /// Meaning in plain words.
    pub(crate) meaning: &'static str,
}

/// Returns the terms from the root down, in display order.
pub(crate) fn terms(pop: &Efficiencies) -> Vec<Term> {
    let term = |depth, branch, name, value, meaning| Term { depth, branch, name, value, meaning };
    let mut terms = vec![term(0, "", "Parallel efficiency", pop.parallel_efficiency, PARALLEL)];
    if let Some(cores) = pop.core_availability {
        terms.push(term(1, "├─ ", "Core availability", cores, CORES));
    }
    // Branch lines go on to the factor of OpenMP below those of MPI.
    let by_mpi = match pop.openmp_parallel_efficiency {
        None => ["└─ ", "   ├─ ", "   │  ├─ ", "   │  └─ ", "   └─ ", "      ├─ ", "      └─ "],
        Some(_) => ["├─ ", "│  ├─ ", "│  │  ├─ ", "│  │  └─ ", "│  └─ ", "│     ├─ ", "│     └─ "],
    };
    terms.extend([
        term(1, by_mpi[0], "MPI parallel efficiency", pop.mpi_parallel_efficiency, MPI_PARALLEL),
        term(2, by_mpi[1], "Load balance", pop.load_balance, LOAD_BALANCE),
        term(3, by_mpi[2], "within nodes", pop.load_balance_in, WITHIN_NODES),
        term(3, by_mpi[3], "between nodes", pop.load_balance_out, BETWEEN_NODES),
        term(2, by_mpi[4], "Communication efficiency", pop.communication_efficiency, COMMUNICATION),
    ]);
    if let (Some(serialization), Some(transfer)) =
        (pop.serialization_efficiency, pop.transfer_efficiency)
    {
        terms.push(term(3, by_mpi[5], "serialization", serialization, SERIALIZATION));
        terms.push(term(3, by_mpi[6], "transfer", transfer, TRANSFER));
    }
    if let Some(parallel) = pop.openmp_parallel_efficiency {
        terms.push(term(1, "└─ ", "OpenMP parallel efficiency", parallel, OPENMP_PARALLEL));
    }
    let split = [
        ("   ├─ ", "Load balance", pop.openmp_load_balance, OPENMP_LOAD_BALANCE),
        ("   ├─ ", "Scheduling", pop.openmp_scheduling_efficiency, OPENMP_SCHEDULING),
        ("   └─ ", "Serialization", pop.openmp_serialization_efficiency, OPENMP_SERIALIZATION),
    ];
    let known = split
        .into_iter()
        .filter_map(|(branch, name, value, meaning)| Some(term(2, branch, name, value?, meaning)));
    terms.extend(known);
    terms
}

const PARALLEL: &str = "Share of the processors' time spent in the program's own computation.";
const CORES: &str = "Share of the ranks' time in which no core was missing: low when ranks, threads or other programs share cores.";
const MPI_PARALLEL: &str = "The part of it that MPI answers for; the same without OpenMP.";
const LOAD_BALANCE: &str =
    "Average over longest computation of a rank: low when some ranks have more to do than others.";
const WITHIN_NODES: &str = "Load balance between the ranks of a node.";
const BETWEEN_NODES: &str = "Load balance between the nodes, each as busy as its busiest rank.";
const COMMUNICATION: &str = "Longest computation of a rank over the elapsed time: low when even the busiest rank waits in MPI.";
const SERIALIZATION: &str = "What would remain on a network that takes no time: low when ranks wait for each other in turn.";
const OPENMP_PARALLEL: &str = "The part of it that OpenMP answers for, outside MPI, on the processors of each rank's largest team of threads.";
const OPENMP_LOAD_BALANCE: &str = "Low when threads wait for others of their team.";
const OPENMP_SCHEDULING: &str = "Low when threads begin their part of a region late.";
const OPENMP_SERIALIZATION: &str =
    "Low when much is computed outside of parallel regions, or in regions of fewer threads.";
const TRANSFER: &str = "What the network itself costs: low when messages take long.";

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(efficiency: f64, expected: &str) {
        assert_eq!(grade(efficiency).grade(), expected);
    }

    #[test]
    fn a_grade_starts_at_its_bound() {
        check(1.0, "good");
        check(0.80, "good");
        check(0.79, "fair");
        check(0.60, "fair");
        check(0.59, "poor");
        check(f64::NAN, "poor");
    }

    #[test]
    fn the_split_of_communication_is_shown_only_when_known() {
        let known = Efficiencies {
            serialization_efficiency: Some(0.9),
            transfer_efficiency: Some(0.8),
            ..Efficiencies::default()
        };
        assert_eq!(terms(&Efficiencies::default()).len(), 6);
        assert_eq!(terms(&known).len(), 8);
        let hybrid = Efficiencies { openmp_parallel_efficiency: Some(0.9), ..known };
        assert_eq!(terms(&hybrid).len(), 9);
        let split = Efficiencies { openmp_load_balance: Some(0.9), ..hybrid };
        assert_eq!(terms(&split).last().map(|term| term.name), Some("Load balance"));
        let shared = Efficiencies { core_availability: Some(0.5), ..Efficiencies::default() };
        assert_eq!((terms(&shared).len(), terms(&shared)[1].name), (7, "Core availability"));
    }
}
