//! Findings about imbalance: overloaded ranks, masters that hold up their workers, masters that only wait.

use super::{Finding, Run, at_site, call_in_words, capital};
use display::units::{percent, seconds};
use run_record::summary::{CallSite, RankTotals, SampledFunction, SourceLocation};

type Ranks<'a> = [(usize, &'a RankTotals)];

/// Share of a world's messages to or from one rank from which on that rank counts as its hub.
const STAR_SHARE: f64 = 0.8;
/// Number of samples from which on a difference between ranks counts.
const N_SAMPLES_MIN: f64 = 20.0;

/// Share of the computing time that a part of the program needs to be compared.
const PART_SHARE: f64 = 0.03;
/// Number of such parts from which on the same factor in all of them is no accident.
const N_PARTS_MIN: usize = 3;
/// Factor from which on a rank is slow.
const SLOW_MIN: f64 = 1.15;
/// Deviation up to which factors are the same.
const ALIKE: f64 = 0.1;

pub(super) fn findings(run: &Run<'_>) -> Vec<Finding> {
    run.worlds().filter_map(|ranks| of_world(run, &ranks)).collect()
}

/// Returns the rank time lost because the ranks of a world do not compute equally long, in s.
pub(super) fn loss_s(ranks: &Ranks<'_>) -> f64 {
    let longest_s = ranks.iter().map(|(_, rank)| rank.computing_s()).fold(0.0, f64::max);
    ranks.iter().map(|(_, rank)| longest_s - rank.computing_s()).sum()
}

fn of_world(run: &Run<'_>, ranks: &Ranks<'_>) -> Option<Finding> {
    let share = run.share(loss_s(ranks));
    if share < super::SHARE_MIN {
        return None;
    }
    let by_useful = |a: &&(usize, &RankTotals), b: &&(usize, &RankTotals)| {
        a.1.computing_s().total_cmp(&b.1.computing_s())
    };
    let heaviest = ranks.iter().max_by(by_useful)?.1;
    let hub = hub(run, ranks);
    match hub {
        Some(hub) if hub.rank == heaviest.rank => busy_master(run, ranks, hub, share),
        Some(hub) if waits_alone(ranks, hub) => idle_master(run, ranks, hub),
        _ => slow(run, ranks, heaviest, share).or_else(|| imbalance(run, ranks, heaviest, share)),
    }
}

/// Returns the rank that takes part in nearly all messages of a world of at least three ranks.
fn hub<'a>(run: &Run<'_>, ranks: &Ranks<'a>) -> Option<&'a RankTotals> {
    let world = ranks.first()?.1.world;
    let pairs = || run.summary.traffic.iter().filter(|pair| pair.world == world);
    let total: u64 = pairs().map(|pair| pair.messages).sum();
    let of = |rank: u32| -> u64 {
        pairs().filter(|pair| pair.from == rank || pair.to == rank).map(|p| p.messages).sum()
    };
    let messages = |rank: &RankTotals| of(rank.rank) as f64;
    let is_hub = |rank: &RankTotals| STAR_SHARE * total as f64 <= messages(rank);
    // A world that communicates by collectives has few messages, whose hub does not matter.
    let talks = ranks.len() as u64 * 10 <= total;
    let hub = ranks.iter().map(|(_, rank)| *rank).find(|rank| is_hub(rank));
    hub.filter(|_| talks && 3 <= ranks.len())
}

fn average_useful_s(ranks: &Ranks<'_>, without: Option<u32>) -> f64 {
    let counted = || ranks.iter().filter(|(_, rank)| Some(rank.rank) != without);
    let sum_s: f64 = counted().map(|(_, rank)| rank.computing_s()).sum();
    sum_s / counted().count().max(1) as f64
}

/// Returns whether the only imbalance is that the hub does not compute.
fn waits_alone(ranks: &Ranks<'_>, hub: &RankTotals) -> bool {
    let others_s = average_useful_s(ranks, Some(hub.rank));
    let longest_s = ranks.iter().map(|(_, rank)| rank.computing_s()).fold(0.0, f64::max);
    hub.computing_s() < 0.5 * others_s && 0.9 * longest_s <= others_s
}

fn busy_master(run: &Run<'_>, ranks: &Ranks<'_>, hub: &RankTotals, share: f64) -> Option<Finding> {
    let site = where_others_wait(run, ranks, hub)?;
    let text = format!(
        "{} holds up the others: nearly all messages pass through it and it computes for {} of {}, while the others compute for {} on average and wait, most in {}. Send larger chunks, or move work from rank {} to other ranks.",
        capital(&run.rank_in_words(hub)),
        seconds(hub.computing_s()),
        seconds(hub.elapsed_s),
        seconds(average_useful_s(ranks, Some(hub.rank))),
        call_in_words(site),
        hub.rank,
    );
    Some(at_site(site, share, text))
}

fn idle_master(run: &Run<'_>, ranks: &Ranks<'_>, hub: &RankTotals) -> Option<Finding> {
    let position = ranks.iter().find(|(_, rank)| rank.rank == hub.rank)?.0;
    let site = longest_site(run, |site| site.time_by_rank_s.get(position).copied())?;
    let others_s = average_useful_s(ranks, Some(hub.rank));
    let text = format!(
        "{} gives out the work and computes for only {} of {}; the others are balanced. One rank of {} is idle in {}: let it work too, or start one more rank than there are processors.",
        capital(&run.rank_in_words(hub)),
        seconds(hub.computing_s()),
        seconds(hub.elapsed_s),
        ranks.len(),
        call_in_words(site),
    );
    Some(at_site(site, run.share(others_s - hub.computing_s()), text))
}

/// A rank that takes longer than the others by the same factor wherever it computes has no more work, but a slower
/// core.
fn slow(run: &Run<'_>, ranks: &Ranks<'_>, heaviest: &RankTotals, share: f64) -> Option<Finding> {
    let own_at = ranks.iter().find(|(_, rank)| rank.rank == heaviest.rank)?.0;
    let ratio = |by_rank_s: &[f64]| {
        let of = |at: usize| by_rank_s.get(at).copied().unwrap_or_default();
        let others = ranks.iter().filter(|(at, _)| *at != own_at);
        let others_s: f64 = others.map(|(at, _)| of(*at)).sum();
        of(own_at) / (others_s / (ranks.len() as f64 - 1.0)).max(f64::MIN_POSITIVE)
    };
    let all_s: f64 = run.summary.regions.iter().map(|region| region.compute_s).sum();
    let long = run.summary.regions.iter().filter(|it| PART_SHARE * all_s <= it.compute_s);
    let ratios: Vec<f64> = long.map(|region| ratio(&region.compute_by_rank_s)).collect();
    let average = ratios.iter().sum::<f64>() / ratios.len().max(1) as f64;
    let is_alike = ratios.iter().all(|ratio| (ratio / average - 1.0).abs() < ALIKE);
    let others =
        || ranks.iter().filter(|(at, _)| *at != own_at).map(|(_, rank)| rank.computing_s());
    let is_alone = others().fold(0.0, f64::max) < heaviest.computing_s() * (1.0 - ALIKE);
    if ratios.len() < N_PARTS_MIN || average < SLOW_MIN || !is_alike || !is_alone {
        return None;
    }
    let site = where_others_wait(run, ranks, heaviest)?;
    let text = format!(
        "{} is slow everywhere: it takes {average:.1} times as long as the others in each of {} parts of the program, and they wait for it, most in {}. Look at its core on {}: it may be slower, hot, or shared (`sintonia doctor`).",
        capital(&run.rank_in_words(heaviest)),
        ratios.len(),
        call_in_words(site),
        heaviest.node,
    );
    Some(at_site(site, share, text))
}

fn imbalance(
    run: &Run<'_>,
    ranks: &Ranks<'_>,
    heaviest: &RankTotals,
    share: f64,
) -> Option<Finding> {
    let average_s = average_useful_s(ranks, None);
    let site = where_others_wait(run, ranks, heaviest)?;
    let n_heavy = ranks
        .iter()
        .filter(|(_, rank)| average_s.midpoint(heaviest.computing_s()) < rank.computing_s())
        .count();
    let others = match n_heavy {
        0 | 1 => String::new(),
        2 => " (and 1 rank nearly as long)".to_owned(),
        n => format!(" (and {} ranks nearly as long)", n - 1),
    };
    let text = format!(
        "The load is out of balance: {} computes for {}{others}, the average of {} ranks is {}. The others wait, most in {}.{} An even split would save up to {} of the time.",
        run.rank_in_words(heaviest),
        seconds(heaviest.computing_s()),
        ranks.len(),
        seconds(average_s),
        call_in_words(site),
        extra_work(run, ranks, heaviest) + &extra_function(run, ranks, heaviest),
        percent((heaviest.computing_s() - average_s) / heaviest.elapsed_s.max(f64::MIN_POSITIVE)),
    );
    Some(at_site(site, share, text))
}

/// Tells where the heaviest rank computes longer than the others, if most of the excess is in one region.
fn extra_work(run: &Run<'_>, ranks: &Ranks<'_>, heaviest: &RankTotals) -> String {
    let excess_s = |by_rank_s: &[f64]| {
        let of = |position: usize| by_rank_s.get(position).copied().unwrap_or_default();
        let average_s = ranks.iter().map(|(at, _)| of(*at)).sum::<f64>() / ranks.len() as f64;
        let own = ranks.iter().find(|(_, rank)| rank.rank == heaviest.rank);
        own.map_or(0.0, |(at, _)| of(*at)) - average_s
    };
    let regions =
        run.summary.regions.iter().map(|region| (excess_s(&region.compute_by_rank_s), region));
    let most = regions.max_by(|a, b| a.0.total_cmp(&b.0));
    let total_s = heaviest.computing_s() - average_useful_s(ranks, None);
    let site = |id: Option<usize>| id.and_then(|id| run.summary.call_sites.get(id));
    match most {
        Some((excess_s, region)) if 0.5 * total_s < excess_s => {
            match (site(region.from), site(region.to)) {
                (Some(from), Some(to)) if from.id != to.id => format!(
                    " The extra work is between {} and {}.",
                    call_in_words(from),
                    call_in_words(to)
                ),
                (_, Some(to)) => format!(" The extra work is before {}.", call_in_words(to)),
                _ => String::new(),
            }
        }
        _ => String::new(),
    }
}

/// Names the function in which the heaviest rank computes longer than the others, if samples tell.
fn extra_function(run: &Run<'_>, ranks: &Ranks<'_>, heaviest: &RankTotals) -> String {
    let Some(sampling) = &run.summary.sampling else { return String::new() };
    let Some((own, _)) = ranks.iter().find(|(_, rank)| rank.rank == heaviest.rank) else {
        return String::new();
    };
    let of = |by_rank_s: &[f64], at: usize| by_rank_s.get(at).copied().unwrap_or_default();
    let mean_s = |by_rank_s: &[f64]| {
        ranks.iter().map(|(at, _)| of(by_rank_s, *at)).sum::<f64>() / ranks.len() as f64
    };
    let excess = |function: &SampledFunction| {
        let by_rank_s = &function.self_by_rank_s;
        of(by_rank_s, *own) - mean_s(by_rank_s)
    };
    let functions = sampling.functions.iter().map(|function| (excess(function), function));
    let most = functions.max_by(|a, b| a.0.total_cmp(&b.0));
    let computing_s = of(&sampling.computing_by_rank_s, *own);
    let all_excess_s = computing_s - mean_s(&sampling.computing_by_rank_s);
    match most {
        // Few samples tell nothing.
        Some((excess_s, function))
            if N_SAMPLES_MIN * sampling.period_s < excess_s && 0.3 * all_excess_s < excess_s =>
        {
            let own_s = of(&function.self_by_rank_s, *own);
            format!(
                " {} of its computing is in {}.",
                percent(own_s / computing_s),
                place_in_words(&function.place)
            )
        }
        _ => String::new(),
    }
}

/// Returns the function with its file and line, as far as they are known.
fn place_in_words(place: &SourceLocation) -> String {
    let file = place.file.rsplit('/').next().unwrap_or_default();
    match file {
        "" => format!("`{}`", place.function),
        file => format!("`{}` ({file}:{})", place.function, place.line),
    }
}

/// Returns the site in which the ranks other than `busy` spend most time.
fn where_others_wait<'a>(
    run: &Run<'a>,
    ranks: &Ranks<'_>,
    busy: &RankTotals,
) -> Option<&'a CallSite> {
    longest_site(run, |site| {
        let others = ranks.iter().filter(|(_, rank)| rank.rank != busy.rank);
        Some(others.filter_map(|(at, _)| site.time_by_rank_s.get(*at)).sum())
    })
}

fn longest_site<'a>(
    run: &Run<'a>,
    time_s: impl Fn(&CallSite) -> Option<f64>,
) -> Option<&'a CallSite> {
    let sites = run.summary.call_sites.iter().filter(|site| run.class(site) != "environment");
    let timed = sites.filter_map(|site| Some((time_s(site)?, site)));
    Some(timed.max_by(|a, b| a.0.total_cmp(&b.0))?.1)
}

#[cfg(test)]
mod tests {
    use super::super::runs::{SummaryBuilder, check};
    use super::*;

    #[test]
    fn equal_ranks_are_no_finding() {
        let equal = SummaryBuilder::ranks(&[8.0, 8.0]).site("MPI_Recv", 1, 8, &[2.0, 2.0]);
        check(findings, equal, &[]);
        check(findings, SummaryBuilder::ranks(&[8.0]).site("MPI_Recv", 1, 8, &[2.0]), &[]);
        check(findings, SummaryBuilder::ranks(&[]), &[]);
    }

    #[test]
    fn the_rank_that_computes_longest_is_named_and_where_the_others_wait() {
        let made = || {
            let sends = SummaryBuilder::ranks(&[4.0, 4.0, 8.0, 4.0]);
            let sends = sends.site("MPI_Send", 1, 8, &[0.1; 4]);
            sends.site("MPI_Allreduce", 1, 8, &[5.9, 5.9, 1.9, 5.9])
        };
        let site = "MPI_Allreduce at a.c:1";
        let words = &["rank 2 computes for 8.00 s", "4 ranks is 5.00 s", site, "30.0 %"];
        check(findings, made(), &[(0.3, Some(1), words)]);
        let extra = &["The extra work is before MPI_Send at a.c:0"][..];
        check(findings, made().region(0, &[1.0, 1.0, 5.0, 1.0]), &[(0.3, Some(1), extra)]);
    }

    #[test]
    fn a_master_that_holds_up_its_workers_is_named() {
        let made = SummaryBuilder::ranks(&[9.0, 3.0, 3.0, 3.0])
            .star(0, 1000)
            .site("MPI_Send", 1, 8, &[0.5; 4])
            .site("MPI_Recv", 1, 8, &[0.5, 6.5, 6.5, 6.5]);
        let words = &["Rank 0 holds up the others", "MPI_Recv at a.c:1"];
        check(findings, made, &[(0.45, Some(1), words)]);
    }

    #[test]
    fn a_master_that_only_waits_leaves_its_processor_idle() {
        let made = SummaryBuilder::ranks(&[1.0, 9.0, 9.0, 9.0])
            .star(0, 1000)
            .site("MPI_Recv", 1, 8, &[0.0, 1.0, 1.0, 1.0])
            .site("MPI_Probe", 1, 8, &[9.0, 0.0, 0.0, 0.0]);
        let words = &["computes for only 1.00 s", "MPI_Probe at a.c:1"];
        check(findings, made, &[(0.2, Some(1), words)]);
    }

    #[test]
    fn few_messages_make_no_master() {
        let made = SummaryBuilder::ranks(&[9.0, 3.0, 3.0, 3.0]).star(0, 1);
        let made = made.site("MPI_Barrier", 1, 0, &[1.0, 7.0, 7.0, 7.0]);
        check(findings, made, &[(0.45, Some(0), &["out of balance: rank 0"])]);
    }
}
