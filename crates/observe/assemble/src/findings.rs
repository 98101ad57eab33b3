//! Interpretation of the numbers: sentences about what limits a run, and the call site to look at.
//!
//! Each rule looks at the aggregated run for one kind of problem, and gives the share of the ranks' time at
//! stake. The thresholds are shares of that time, so that nothing is reported about trifles.
//!
//! # Not here
//! Limits of the observation itself (`warnings`), and numbers that users read in the tables.

mod balance;
#[cfg(test)]
mod cases;
mod collectives;
mod cores;
mod delays;
mod ended;
mod environment;
mod hang;
mod kernel;
mod openmp;
mod overall;
mod point_to_point;
mod polling;
#[cfg(test)]
mod runs;

use super::summarize::call_in_words;
use run_record::summary::{CallSite, Finding, RankTotals, Summary};

/// Maximum number of findings; more would not help.
const N_FINDINGS_MAX: usize = 6;
/// Minimum share of the ranks' time for a finding; less is not worth the user's time.
const SHARE_MIN: f64 = 0.03;
/// Share of the ranks' time from which on a finding comes before the sentence that the run is efficient.
const WORTH: f64 = 0.1;

/// Returns what limits the run, most important first; at least one sentence if ranks were seen.
pub(super) fn findings(summary: &Summary) -> Vec<Finding> {
    let run = Run::new(summary);
    if summary.ranks.is_empty() {
        return Vec::new();
    }
    let mut limits: Vec<Finding> = [
        cores::findings(&run),
        kernel::findings(&run),
        balance::findings(&run),
        collectives::findings(&run),
        point_to_point::findings(&run),
        delays::findings(&run),
        polling::findings(&run),
        environment::findings(&run),
        openmp::findings(&run),
    ]
    .concat();
    limits.retain(|finding| SHARE_MIN <= finding.share);
    limits.sort_by(|a, b| b.share.total_cmp(&a.share));
    // A dead rank matters more than any share.
    let mut findings = hang::findings(&run);
    findings.extend(ended::findings(&run));
    let overall = overall::finding(&run, &limits);
    // The first sentence names the cause that costs most, unless there is little to gain at all.
    let n_first = if overall::is_good(&run, &limits) { 0 } else { limits.len().min(1) };
    findings.extend(limits.drain(..n_first));
    findings.extend(overall);
    findings.extend(limits);
    findings.truncate(N_FINDINGS_MAX);
    findings
}

/// Run, with queries shared by several rules.
pub(super) struct Run<'a> {
    summary: &'a Summary,
    /// Elapsed time of all ranks together, in s.
    rank_time_s: f64,
    /// Time lost because cores are short.
    shortage: cores::Shortage,
}

impl<'a> Run<'a> {
    fn new(summary: &'a Summary) -> Self {
        let rank_time_s = summary.ranks.iter().map(|rank| rank.elapsed_s).sum();
        Self { summary, rank_time_s, shortage: cores::Shortage::of(summary) }
    }

    /// Returns a time in MPI as a share of the ranks' time, without what a shortage of cores explains.
    fn mpi_share(&self, time_s: f64) -> f64 {
        self.share(time_s * self.shortage.mpi_share_left)
    }

    /// Returns whether a quota stopped some rank.
    fn is_throttled(&self) -> bool {
        let usages = self.summary.ranks.iter().filter_map(|rank| rank.usage.as_ref());
        usages.into_iter().any(|usage| 0.0 < usage.throttled_s)
    }

    /// Returns a time as a share of the ranks' time.
    fn share(&self, time_s: f64) -> f64 {
        if self.rank_time_s <= 0.0 { 0.0 } else { (time_s / self.rank_time_s).clamp(0.0, 1.0) }
    }

    fn class(&self, site: &CallSite) -> &'a str {
        self.summary.operations.get(&site.operation).map_or("", |operation| &operation.class)
    }

    /// Returns the call sites of a class in descending order of time.
    fn sites_of(&self, class: &str) -> impl Iterator<Item = &'a CallSite> {
        self.summary.call_sites.iter().filter(move |site| self.class(site) == class)
    }

    /// Returns the time in all operations of a class, in s.
    fn time_of_s(&self, class: &str) -> f64 {
        let operations = self.summary.operations.iter();
        let timed = operations.filter(|(name, operation)| {
            operation.class == class && !["MPI_Init", "MPI_Init_thread"].contains(&name.as_str())
        });
        timed.map(|(_, operation)| operation.time_s).sum()
    }

    /// Returns the ranks of each world, with their positions in the summary.
    fn worlds(&self) -> impl Iterator<Item = Vec<(usize, &'a RankTotals)>> {
        (0..self.summary.worlds.len()).map(|world| {
            let ranks = self.summary.ranks.iter().enumerate();
            ranks.filter(|(_, rank)| rank.world == world).collect()
        })
    }

    /// Returns `rank 3`, with its world and program if there are several worlds.
    fn rank_in_words(&self, rank: &RankTotals) -> String {
        let program = self.summary.worlds.get(rank.world).map_or("", |world| &world.program);
        let program = program.rsplit('/').next().unwrap_or(program);
        match self.summary.worlds.len() {
            0 | 1 => format!("rank {}", rank.rank),
            _ => format!("rank {} of world {} (`{program}`)", rank.rank, rank.world),
        }
    }

    /// Returns the rank time lost because the ranks of a world do not compute equally long, in s.
    fn imbalance_s(&self) -> f64 {
        self.worlds().map(|ranks| balance::loss_s(&ranks)).sum()
    }
}

/// Capitalizes the first letter of a sentence.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// Returns a finding about a call site.
fn at_site(site: &CallSite, share: f64, text: String) -> Finding {
    Finding { text, call_site: Some(site.id), share }
}

/// Returns the call site that is described by these words.
fn site_in_words<'a>(summary: &'a Summary, words: &str) -> Option<&'a CallSite> {
    summary.call_sites.iter().find(|site| call_in_words(site) == words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use runs::SummaryBuilder;

    #[test]
    fn a_run_without_ranks_has_no_findings() {
        assert_eq!(findings(&Summary::default()), []);
    }

    #[test]
    fn the_most_costly_comes_first_and_trifles_are_left_out() {
        let summary = SummaryBuilder::ranks(&[2.0, 2.0, 2.0, 2.0])
            .site("MPI_File_write_all", 4, 1000, &[1.0, 1.0, 1.0, 1.0])
            .site("MPI_Alltoall", 4, 1000, &[7.0, 7.0, 7.0, 6.9])
            .site("MPI_Win_fence", 4, 0, &[0.01, 0.01, 0.01, 0.01])
            .summary();
        let found = findings(&summary);
        let sites: Vec<_> = found.iter().map(|finding| finding.call_site).collect();
        assert_eq!(sites, [Some(1), None, Some(0)], "{found:?}");
    }

    #[test]
    fn a_rank_is_told_with_its_world_when_there_are_several() {
        let mut summary = SummaryBuilder::ranks(&[2.0]).summary();
        assert_eq!(Run::new(&summary).rank_in_words(&summary.ranks[0]), "rank 0");
        summary.worlds[0].program = "/bin/fire".into();
        summary.worlds.push(summary.worlds[0].clone());
        let words = Run::new(&summary).rank_in_words(&summary.ranks[0]);
        assert_eq!(capital(&words), "Rank 0 of world 0 (`fire`)");
    }

    #[test]
    fn a_dead_rank_comes_before_everything() {
        let mut summary =
            SummaryBuilder::ranks(&[2.0, 2.0]).site("MPI_Alltoall", 4, 8, &[8.0, 8.0]).summary();
        summary.ranks[1].end = "ended without MPI_Finalize".into();
        assert!(findings(&summary)[0].text.contains("ended without"), "{summary:?}");
    }
}
