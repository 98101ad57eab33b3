//! Findings about collective operations: their cost, and late arrivals.
//!
//! The time that even the last rank to arrive spends in a collective is the cost of the operation itself; any
//! excess in other ranks is time spent waiting for the last one. Where another rank is the last one each time, all
//! wait for a while, and the operation itself is what its bytes may need at most.

use super::{Finding, Run, at_site, call_in_words};
use display::units::{bytes, count, percent};
use run_record::summary::CallSite;

/// Longest time of an operation on a slow network: for each doubling of the ranks, in s, and for each byte of each rank.
const DOUBLING_S: f64 = 50e-6;
const S_PER_BYTE: f64 = 10e-9;

/// Time at a site, split into the operation itself and waiting.
#[derive(Clone, Copy)]
struct Split {
    own_s: f64,
    waiting_s: f64,
}

pub(super) fn findings(run: &Run<'_>) -> Vec<Finding> {
    let sites: Vec<(&CallSite, Split)> = ["collective", "neighborhood"]
        .into_iter()
        .flat_map(|class| run.sites_of(class))
        .map(|site| (site, split(run, site)))
        .collect();
    cost(run, &sites).into_iter().chain(late_arrivals(run, &sites)).collect()
}

fn split(run: &Run<'_>, site: &CallSite) -> Split {
    let own_s = run.worlds().map(|ranks| {
        let time_s = |at: usize| site.time_by_rank_s.get(at).copied().unwrap_or_default();
        let times = || ranks.iter().map(|(at, _)| time_s(*at)).filter(|time_s| 0.0 < *time_s);
        let least_s = times().fold(f64::INFINITY, f64::min);
        let n_ranks = times().count() as f64;
        // With a single rank, waiting cannot be separated from work.
        if n_ranks < 2.0 { 0.0 } else { least_s.min(needed_s(site, n_ranks)) * n_ranks }
    });
    let own_s: f64 = own_s.sum();
    Split { own_s, waiting_s: (site.time_s - own_s).max(0.0) }
}

/// Returns the time in s that the calls of one of these ranks need at most, if nobody is late.
fn needed_s(site: &CallSite, n_ranks: f64) -> f64 {
    let latency_s = site.calls as f64 / n_ranks * n_ranks.log2().ceil() * DOUBLING_S;
    latency_s + site.bytes as f64 * S_PER_BYTE
}

fn cost(run: &Run<'_>, sites: &[(&CallSite, Split)]) -> Option<Finding> {
    let total_s: f64 = sites.iter().map(|(_, split)| split.own_s).sum();
    let (site, _) = sites.iter().max_by(|a, b| a.1.own_s.total_cmp(&b.1.own_s))?;
    let share = run.mpi_share(total_s);
    let n_bytes = site.bytes / site.calls.max(1);
    let advice = if n_bytes < 1024 {
        "Join several small ones, or use the non-blocking form and compute meanwhile."
    } else {
        "Move less, or use the non-blocking form and compute meanwhile."
    };
    let text = format!(
        "Collective operations themselves take {} of the ranks' time, without waiting for late ranks, most in {}: {} calls of {} each. {advice}",
        percent(share),
        call_in_words(site),
        count(site.calls),
        bytes(n_bytes),
    );
    (super::SHARE_MIN <= share).then(|| at_site(site, share, text))
}

fn late_arrivals(run: &Run<'_>, sites: &[(&CallSite, Split)]) -> Option<Finding> {
    let total_s: f64 = sites.iter().map(|(_, split)| split.waiting_s).sum();
    let (site, _) = sites.iter().max_by(|a, b| a.1.waiting_s.total_cmp(&b.1.waiting_s))?;
    // Waiting caused by an uneven load is reported by `balance`.
    let share = run.mpi_share(total_s - run.imbalance_s());
    let text = format!(
        "Ranks arrive at collective operations at different times although they compute equally long in total: they spend {} of their time waiting, mostly in {}. The load moves from rank to rank between the calls, or something disturbs the processors.",
        percent(share),
        call_in_words(site),
    );
    (super::SHARE_MIN <= share).then(|| at_site(site, share, text))
}

#[cfg(test)]
mod tests {
    use super::super::runs::{SummaryBuilder, check};
    use super::*;

    #[test]
    fn what_even_the_last_rank_spends_is_the_cost_of_the_operation() {
        let made = || SummaryBuilder::ranks(&[6.0, 6.0]).site("MPI_Barrier", 4000, 0, &[0.1, 0.1]);
        check(findings, made(), &[]);
        let small = made().site("MPI_Allreduce", 400_000, 3_200_000, &[3.9, 3.9]);
        check(findings, small, &[(0.4, Some(1), &["400 k calls of 8 B", "Join"])]);
        let large = made().site("MPI_Alltoall", 200, 800_000_000, &[3.9, 3.9]);
        check(findings, large, &[(0.4, Some(1), &["200 calls of 3.81 MiB", "Move less"])]);
    }

    #[test]
    fn calls_far_longer_than_their_bytes_need_are_late_arrivals() {
        let made = SummaryBuilder::ranks(&[6.0, 6.0]).site("MPI_Allreduce", 100, 800, &[4.0, 4.0]);
        check(findings, made, &[(0.4, Some(0), &["arrive", "40.0 % of their time waiting"])]);
    }

    #[test]
    fn waiting_that_no_imbalance_explains_is_late_arrival() {
        let made = SummaryBuilder::ranks(&[6.0, 6.0, 6.0])
            .site("MPI_Allreduce", 9000, 72_000, &[0.1, 4.0, 4.0])
            .site("MPI_Allreduce", 9, 72, &[3.9, 0.0, 0.0]);
        check(findings, made, &[(0.39, Some(0), &["arrive", "MPI_Allreduce at a.c:0"])]);
    }

    #[test]
    fn waiting_for_a_rank_with_more_work_is_no_late_arrival() {
        let made = SummaryBuilder::ranks(&[9.9, 6.0]).site("MPI_Allreduce", 9, 72, &[0.1, 4.0]);
        check(findings, made, &[]);
    }
}
