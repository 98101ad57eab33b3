//! Explanation of a program that stands still: which rank waits in which call, where, for whom and since when, and which
//! cycle or rank holds up the others.
//!
//! A rank's call in progress and its arguments, as the probe publishes them before the call, say what it needs: a
//! message, the receipt of one, or the other members of a communicator in the same collective call. The needs make a
//! graph; each of its components that waits for nothing outside is a cause. Counts of messages and of collective calls
//! tell a message that was sent but does not match from one that was never sent, and a rank that is one call behind.
//!
//! # Invariants
//! - Pure: the state of all ranks in, sentences out.
//!
//! # Not here
//! Deciding that a running program stands still (`watch`).

mod causes;
mod graph;
mod sentences;
mod state;
#[cfg(test)]
mod tests;
mod words;

use crate::roster::Roster;
use crate::sites::Sites;
use causes::Waits;
use run_record::measured::RunFacts;
use run_record::summary::{CallSite, Hang, WaitingRanks};
use state::{CallSiteNames, Doing, WorldState};
use std::collections::BTreeMap;

/// Shortest wait of all waiting ranks at the end of a run that is explained, in s.
const WAITED_MIN_S: f64 = 1.0;
/// Largest number of causes that are told.
const N_CAUSES_MAX: usize = 4;
/// Largest number of groups of ranks in one state; beyond, they are one group that waits for several.
const N_GROUPS_MAX: usize = 4;

/// Explains for whom ranks wait at this moment; `None` if none waits.
pub(crate) fn now(
    roster: &Roster<'_>,
    sites: &Sites,
    call_sites: &[CallSite],
    facts: &RunFacts,
) -> Option<Hang> {
    explain(&worlds(roster, sites, call_sites, facts))
}

/// Explains for whom ranks waited when the command was ended; `None` if they went on shortly before, or if a rank
/// computed and nobody interrupted it.
pub(crate) fn at_end(
    roster: &Roster<'_>,
    sites: &Sites,
    call_sites: &[CallSite],
    facts: &RunFacts,
) -> Option<Hang> {
    let worlds = worlds(roster, sites, call_sites, facts);
    let is_computing = |doing: &Doing| {
        matches!(doing, Doing::Computing { .. } | Doing::Polling(_) | Doing::Unseen)
    };
    let mut ranks = worlds.iter().flat_map(|world| &world.ranks);
    if ranks.any(|rank| is_computing(&rank.doing)) && !is_interrupted(facts) {
        return None;
    }
    explain(&worlds).filter(|hang| WAITED_MIN_S <= hang.waited_s)
}

/// Returns whether the command was ended by Ctrl-C, by a batch system or the like.
fn is_interrupted(facts: &RunFacts) -> bool {
    /// SIGHUP, SIGINT, SIGKILL and SIGTERM.
    const SIGNALS: [i32; 4] = [1, 2, 9, 15];
    let outcome = &facts.outcome;
    let by_signal = outcome.signal.is_some_and(|signal| SIGNALS.contains(&signal));
    let code = outcome.exit_code.unwrap_or(0);
    facts.interrupted || by_signal || outcome.goes_on || SIGNALS.contains(&(code - 128))
}

fn worlds(
    roster: &Roster<'_>,
    sites: &Sites,
    call_sites: &[CallSite],
    facts: &RunFacts,
) -> Vec<WorldState> {
    let state = |world: &std::ops::Range<usize>| {
        let books = sites.books.get(world.clone())?.iter();
        let names = books.map(|book| CallSiteNames { book, call_sites });
        let ranks: Vec<_> = roster.of_world(world).iter().copied().zip(names).collect();
        state::of_world(&ranks, facts.attached)
    };
    roster.worlds.iter().filter_map(state).collect()
}

fn explain(worlds: &[WorldState]) -> Option<Hang> {
    let waiting = worlds.iter().flat_map(causes::waits);
    let waited_s = waiting.map(|(state, _)| state.since_s).min_by(f64::total_cmp)?;
    let mut hang = Hang { waited_s, ..Hang::default() };
    let mut causes = Vec::new();
    for (number, world) in worlds.iter().enumerate() {
        let waits = Waits::new(world);
        causes.extend(waits.causes());
        hang.ranks.extend(groups(number, &waits));
    }
    causes.sort_by_key(|cause| usize::MAX - cause.n_waiting);
    let n_more = causes.len().saturating_sub(N_CAUSES_MAX);
    hang.sentences = causes.into_iter().take(N_CAUSES_MAX).map(|cause| cause.sentence).collect();
    if n_more != 0 {
        hang.sentences.push(format!("{n_more} further causes hold up no more ranks than these."));
    }
    Some(hang)
}

/// Returns the ranks of a world, those alike together.
fn groups(world: usize, waits: &Waits<'_>) -> Vec<WaitingRanks> {
    let mut by_state: BTreeMap<String, BTreeMap<String, Vec<usize>>> = BTreeMap::new();
    for (at, rank) in waits.world.ranks.iter().enumerate() {
        let state = match &rank.doing {
            Doing::Waiting(wait) => wait.words.clone(),
            Doing::Computing { .. } => "outside MPI".to_owned(),
            Doing::Stopped { inside: Some(call) } => format!("stopped in {call}"),
            Doing::Stopped { inside: None } => "stopped outside MPI".to_owned(),
            Doing::Polling(call) => format!("polling, {call}"),
            Doing::Finalizing => "in MPI_Finalize".to_owned(),
            Doing::Ended => "ended".to_owned(),
            Doing::Unseen => "no call seen yet".to_owned(),
        };
        by_state.entry(state).or_default().entry(waits.partners(at)).or_default().push(at);
    }
    let mut groups = Vec::new();
    for (state, by_partner) in by_state {
        if by_partner.len() <= N_GROUPS_MAX {
            let all = by_partner.into_iter();
            groups.extend(all.map(|(partner, at)| group((world, waits), &at, (&state, partner))));
        } else {
            let mut at: Vec<usize> = by_partner.into_values().flatten().collect();
            at.sort_unstable();
            groups.push(group((world, waits), &at, (&state, "each for others".to_owned())));
        }
    }
    groups.sort_by_key(|group| usize::MAX - group.n_ranks);
    groups
}

fn group(
    (world, waits): (usize, &Waits<'_>),
    at: &[usize],
    (state, waits_for): (&str, String),
) -> WaitingRanks {
    let states = at.iter().map(|at| &waits.world.ranks[*at]);
    let ranks: Vec<u32> = states.clone().map(|state| state.rank).collect();
    WaitingRanks {
        world,
        ranks: words::ranges(&ranks),
        n_ranks: ranks.len(),
        state: state.to_owned(),
        waits_for,
        since_s: states.map(|state| state.since_s).fold(f64::INFINITY, f64::min),
    }
}
