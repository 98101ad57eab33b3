//! Findings about ranks that died, or were still running when the command ended.

use super::{Finding, Run, capital, site_in_words};
use run_record::summary::RankTotals;

pub(super) fn findings(run: &Run<'_>) -> Vec<Finding> {
    let died = ranks(run, "ended without MPI_Finalize");
    let running = if run.summary.outcome.complete { ranks(run, "running") } else { Vec::new() };
    let died = finding(run, &died, "ended without MPI_Finalize");
    died.into_iter().chain(finding(run, &running, "had not ended when the command did")).collect()
}

fn ranks<'a>(run: &Run<'a>, end: &str) -> Vec<&'a RankTotals> {
    run.summary.ranks.iter().filter(|rank| rank.end == end).collect()
}

fn finding(run: &Run<'_>, ranks: &[&RankTotals], what: &str) -> Option<Finding> {
    // The first rank to end is the likely cause; the others may only have waited for it.
    let first = ranks.iter().min_by(|a, b| a.elapsed_s.total_cmp(&b.elapsed_s))?;
    let n_ranks = run.summary.n_ranks;
    let who = match ranks.len() {
        1 => format!(
            "{} (process {} on {})",
            capital(&run.rank_in_words(first)),
            first.pid,
            first.node
        ),
        n if n == n_ranks => format!("All {n} ranks"),
        n => format!("{n} of {n_ranks} ranks"),
    };
    let seen = first.last_seen_in.as_deref();
    let whose = if ranks.len() == 1 {
        "it".into()
    } else {
        format!("{}, the first of them,", run.rank_in_words(first))
    };
    let doing = match seen {
        Some(call) => format!("{whose} was last seen in {call}"),
        None => format!("{whose} was last seen outside MPI"),
    };
    Some(Finding {
        text: format!("{who} {what}: {doing}."),
        call_site: seen.and_then(|call| site_in_words(run.summary, call)).map(|site| site.id),
        share: run.share(ranks.iter().map(|rank| rank.elapsed_s).sum()),
    })
}

#[cfg(test)]
mod tests {
    use super::super::runs::SummaryBuilder;
    use super::*;

    /// Checks the sentence for ranks with these ends and last calls; at most one is expected.
    #[track_caller]
    fn check(ends: &[(&str, Option<&str>)], expected: Option<(&str, Option<usize>)>) {
        let useful = vec![5.0; ends.len()];
        let mut summary =
            SummaryBuilder::ranks(&useful).site("MPI_Recv", 1, 8, &vec![5.0; ends.len()]).summary();
        for (rank, (end, seen)) in summary.ranks.iter_mut().zip(ends) {
            rank.end = (*end).into();
            rank.last_seen_in = seen.map(Into::into);
        }
        summary.ranks[0].elapsed_s = 4.0;
        let found = findings(&Run::new(&summary));
        assert_eq!(found.first().map(|f| (f.text.as_str(), f.call_site)), expected);
    }

    #[test]
    fn dead_and_late_ranks_are_named() {
        const DEAD: &str = "ended without MPI_Finalize";
        let recv = Some("MPI_Recv at a.c:0 (f)");
        check(&[("finalized", None), ("finalized", None)], None);
        let one = "Rank 1 (process 0 on node0) ended without MPI_Finalize: it was last seen in MPI_Recv at a.c:0 (f).";
        check(&[("finalized", None), (DEAD, recv)], Some((one, Some(0))));
        let two = "2 of 3 ranks ended without MPI_Finalize: rank 0, the first of them, was last seen outside MPI.";
        check(&[(DEAD, None), (DEAD, recv), ("finalized", None)], Some((two, None)));
        let all = "All 2 ranks had not ended when the command did: rank 0, the first of them, was last seen in MPI_Recv at a.c:0 (f).";
        check(&[("running", recv), ("running", recv)], Some((all, Some(0))));
    }
}
