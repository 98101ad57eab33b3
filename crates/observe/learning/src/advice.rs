//! Sentences about what only the user can set.

use crate::candidates::{is_collective, small_collective};
use crate::facts::{Facts, Library};
use crate::rank_order::RankOrder;
use display::units::{bytes, count, percent};

/// Ranks for each core from which on they are too many.
const CROWDED: f64 = 1.05;
/// Calls of single ranks on files, their mean size in bytes, and their share of the time, from which on that is worth a word.
const N_SINGLE_CALLS: u64 = 1000;
const SINGLE_CALL_BYTES: u64 = 64 << 10;
const FILE_SHARE: f64 = 0.05;

/// Returns advice from the facts of a run.
pub(crate) fn advice(facts: &Facts, order: Option<&RankOrder>) -> Vec<String> {
    let all = [order.map(RankOrder::in_words), n_ranks(facts), joined(facts), single(facts)];
    all.into_iter().flatten().collect()
}

fn n_ranks(facts: &Facts) -> Option<String> {
    (CROWDED < facts.ranks_per_core).then(|| {
        let (n, per_core) = (facts.n_ranks, facts.ranks_per_core);
        let fewer = (n as f64 / per_core).floor().max(1.0);
        format!(
            "{per_core:.1} ranks share a core: compare with {fewer:.0} ranks instead of {n}, if the program can be run so"
        )
    })
}

/// Open MPI reads hints from no variable.
fn joined(facts: &Facts) -> Option<String> {
    let Library::OpenMpi { major } = facts.library() else { return None };
    let reason = small_collective(facts, is_collective, "reads and writes")?;
    let component = if major < 5 { "romio321" } else { "romio341" };
    Some(format!(
        "{reason}: compare with `--mca io {component}` and a file of `romio_cb_write enable` and `romio_cb_read enable` \
         that the variable ROMIO_HINTS names"
    ))
}

fn single(facts: &Facts) -> Option<String> {
    let (n, n_bytes, share) = facts.files_of(|name| !is_collective(name));
    let mean = n_bytes.checked_div(n)?;
    let is_worth = N_SINGLE_CALLS <= n && mean < SINGLE_CALL_BYTES && FILE_SHARE <= share;
    is_worth.then(|| {
        let (n, mean, share) = (count(n), bytes(mean), percent(share));
        format!(
            "{n} MPI-IO calls of single ranks, of {mean} on average, took {share} of the time: the library can join them \
             if the program makes collective ones (`MPI_File_write_at_all`)"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::FileUse;

    #[track_caller]
    fn check(facts: &Facts, expected: &[&str]) {
        let found = advice(facts, None);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        assert!(found.iter().zip(expected).all(|(text, part)| text.contains(part)), "{found:?}");
    }

    #[test]
    fn advice_has_a_reason() {
        check(&Facts::default(), &[]);
        let crowded = Facts { n_ranks: 8, ranks_per_core: 4.0, ..Facts::default() };
        check(&crowded, &["compare with 2 ranks instead of 8"]);
        let operation = "MPI_File_write_all".to_owned();
        let written = FileUse { operation, n: 200, bytes: 200, time_s: 5.0 };
        let files = vec![written.clone()];
        let mpi = "Open MPI v5.0.11".to_owned();
        check(&Facts { files, mpi, ranks_s: 9.0, ..Facts::default() }, &["--mca io romio341"]);
        let operation = "MPI_File_write_at".to_owned();
        let files = vec![FileUse { operation, n: 2000, ..written }];
        check(&Facts { files, ranks_s: 9.0, ..Facts::default() }, &["collective ones"]);
    }
}
