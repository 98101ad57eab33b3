//! Finding about the rank and the place that cause most waiting, from a trace.

use super::{Finding, Run, at_site, call_in_words, capital};
use display::units::percent;
use run_record::summary::{CallSite, Doing, RankTime, RankTotals};

/// Share of all waiting from which on a rank is its cause.
const MOST: f64 = 0.3;

pub(super) fn findings(run: &Run<'_>) -> Vec<Finding> {
    finding(run).into_iter().collect()
}

fn finding(run: &Run<'_>) -> Option<Finding> {
    let delays = run.summary.delays.as_ref()?;
    let of_rank = |first: &RankTime| {
        let same = |it: &&RankTime| (it.world, it.rank) == (first.world, first.rank);
        delays.causes.iter().filter(same).map(|it| it.time_s).sum::<f64>()
    };
    let (caused_s, first) = delays
        .causes
        .iter()
        .map(|it| (of_rank(it), it))
        .reduce(|a, b| if a.0 < b.0 { b } else { a })?;
    let of_waiting = caused_s / delays.waiting_s.max(f64::MIN_POSITIVE);
    if of_waiting < MOST {
        return None;
    }
    let rank = rank(run, first)?;
    let share = run.mpi_share(caused_s);
    let text = format!(
        "{} causes {} of the waiting for late ranks, {} of the ranks' time, directly and through ranks that wait in turn: \
         {} of that by {}.",
        capital(&run.rank_in_words(rank)),
        percent(of_waiting.min(1.0)),
        percent(run.share(caused_s)),
        percent(first.time_s / caused_s),
        place_in_words(run, first),
    );
    Some(match site(run, first.to) {
        Some(site) => at_site(site, share, text),
        None => Finding { text, call_site: None, share },
    })
}

fn rank<'a>(run: &Run<'a>, cause: &RankTime) -> Option<&'a RankTotals> {
    run.summary.ranks.iter().find(|rank| (rank.world, rank.rank) == (cause.world, cause.rank))
}

fn site<'a>(run: &Run<'a>, id: Option<usize>) -> Option<&'a CallSite> {
    run.summary.call_sites.get(id?)
}

/// Returns `computing between MPI_Recv at a.c:3 (f) and MPI_Send at a.c:9 (f)`.
fn place_in_words(run: &Run<'_>, cause: &RankTime) -> String {
    let call = |id| site(run, id).map(call_in_words);
    match (cause.doing, call(cause.from), call(cause.to)) {
        (Doing::Calling, _, Some(to)) => format!("its time in {to}"),
        (Doing::Calling, _, None) => "its time in MPI calls".to_owned(),
        (Doing::Computing, Some(from), Some(to)) if from != to => {
            format!("computing between {from} and {to}")
        }
        (Doing::Computing, _, Some(to)) => format!("computing before {to}"),
        (Doing::Computing, Some(from), None) => format!("computing after {from}"),
        (Doing::Computing, None, None) => "computing".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::runs::{SummaryBuilder, check};
    use super::*;
    use run_record::summary::Delays;

    fn cause(
        rank: u32,
        doing: Doing,
        (from, to): (Option<usize>, Option<usize>),
        time_s: f64,
    ) -> RankTime {
        RankTime { world: 0, rank, doing, from, to, time_s }
    }

    fn made(causes: &[RankTime]) -> SummaryBuilder {
        let made = SummaryBuilder::ranks(&[5.0; 4])
            .site("MPI_Send", 9, 72, &[1.0; 4])
            .site("MPI_Recv", 9, 72, &[4.0; 4]);
        made.delays(Delays { waiting_s: 10.0, causes: causes.to_vec(), critical_path: Vec::new() })
    }

    #[test]
    fn the_rank_that_causes_most_waiting_is_named_with_its_place() {
        let first = cause(2, Doing::Computing, (Some(1), Some(0)), 5.0);
        let causes = [
            first,
            cause(1, Doing::Calling, (None, Some(1)), 4.0),
            RankTime { time_s: 1.0, ..first },
        ];
        let words = &[
            "Rank 2 causes 60.0 % of the waiting",
            "15.0 % of the ranks' time",
            "83.3 % of that by computing between MPI_Recv at a.c:1 (f) and MPI_Send at a.c:0 (f).",
        ][..];
        check(findings, made(&causes), &[(0.15, Some(0), words)]);
        let call = cause(1, Doing::Calling, (None, Some(1)), 9.0);
        let words = &["90.0 % of the waiting", "by its time in MPI_Recv at a.c:1 (f)."][..];
        check(findings, made(&[call]), &[(0.225, Some(1), words)]);
    }

    #[test]
    fn waiting_that_all_cause_has_no_culprit() {
        let each = [0, 1, 2, 3].map(|rank| cause(rank, Doing::Computing, (None, Some(0)), 2.5));
        check(findings, made(&each), &[]);
        check(findings, made(&[]), &[]);
        check(findings, SummaryBuilder::ranks(&[5.0; 4]), &[]);
    }
}
