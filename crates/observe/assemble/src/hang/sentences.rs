//! Sentences about the causes of standing still.

use super::causes::{Waits, waits};
use super::state::{Doing, Need, RankState, Wait};
use super::words::{ordinal, plural_ranks};
use crate::findings::capital;
use events::CommunicatorKey;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use wire::ThreadState;

/// Largest number of ranks of a cycle that are told one by one.
const N_TOLD_MAX: usize = 6;
/// Largest number of requests of a call that are told one by one.
const N_NEEDS_MAX: usize = 3;
/// State of a rank that has not called MPI since it is watched.
const UNSEEN: &str =
    "has not called MPI since it is watched, and may be in a call that it made before";

impl Waits<'_> {
    pub(super) fn cycle(&self, cycle: &[usize], n_waiting: usize) -> String {
        let n_ranks = self.world.ranks.len();
        let ranks: Vec<usize> = cycle.iter().copied().filter(|at| *at < n_ranks).collect();
        let mut parts: Vec<String> = Vec::new();
        for (place, at) in ranks.iter().enumerate() {
            let next = ranks[(place + 1) % ranks.len()];
            if place < N_TOLD_MAX - 1 || ranks.len() <= N_TOLD_MAX {
                parts.push(self.waits_for(*at, next));
            } else if place == ranks.len() - 1 {
                parts.push(format!("and so on, until {}", self.waits_for(*at, next)));
            }
        }
        let n_others = n_waiting.saturating_sub(ranks.len());
        let others = match n_others {
            0 => String::new(),
            n => format!(
                " {} for them.",
                if n == 1 {
                    "1 other rank waits".to_owned()
                } else {
                    format!("{n} other ranks wait")
                }
            ),
        };
        format!("Deadlock: {}.{}{others}", parts.join("; "), self.advice(&ranks))
    }

    /// Returns a hint if all calls of a cycle are of one kind.
    fn advice(&self, ranks: &[usize]) -> &'static str {
        let all = |is: fn(&Need) -> bool| {
            let waits = ranks.iter().filter_map(|at| self.wait(*at));
            waits.clone().count() == ranks.len()
                && waits.clone().all(|wait| wait.needs.len() == 1 && is(&wait.needs[0]))
        };
        if all(|need| matches!(need, Need::Receipt { .. })) {
            return " Each sends before it receives, which only ends while messages are small enough to be kept by the \
                    library: use MPI_Sendrecv, or MPI_Irecv before the sends.";
        }
        if all(|need| matches!(need, Need::Message { .. })) {
            return " Each waits for a message that the next would only send later: one of them has to send first.";
        }
        ""
    }

    /// Returns for whom and what a rank of a cycle waits.
    fn waits_for(&self, at: usize, next: usize) -> String {
        let Some(wait) = self.wait(at) else { return String::new() };
        let (rank, next) = (&self.world.ranks[at], &self.world.ranks[next]);
        let other = next.rank;
        let need = wait.needs.iter().find(|need| match need {
            Need::Message { from, .. } => *from == Some(other),
            Need::Receipt { by, .. } => *by == other,
            Need::Collective { .. } => true,
        });
        let what = match need {
            Some(need) => {
                format!("{}{}", self.need(rank, need, Some(next)), self.elsewhere(rank, need))
            }
            None => format!("for rank {other}"),
        };
        format!("rank {} waits in {} {what}", rank.rank, wait.words)
    }

    fn need(&self, rank: &RankState, need: &Need, next: Option<&RankState>) -> String {
        let with_tag = |tag: i32| if tag < 0 { String::new() } else { format!(" with tag {tag}") };
        match need {
            Need::Message { from: None, tag, .. } => {
                format!("for a message{} from any rank", with_tag(*tag))
            }
            Need::Message { from: Some(from), tag, .. } => {
                let text = format!("for a message{} from rank {from}", with_tag(*tag));
                format!("{text}{}", self.unreceived(rank, *from, *tag))
            }
            Need::Receipt { by, tag, .. } => {
                format!("until rank {by} receives its message{}", with_tag(*tag))
            }
            Need::Collective { communicator, number } => {
                let call = self.call_in_words(*communicator, *number);
                match next {
                    Some(next) => format!(
                        "({call}) for rank {}, which {}",
                        next.rank,
                        self.behind(next, *communicator)
                    ),
                    None => format!("({call})"),
                }
            }
        }
    }

    /// Returns a remark on a partner whose call would match but for its communicator.
    fn elsewhere(&self, rank: &RankState, need: &Need) -> String {
        let name = |key: CommunicatorKey| match (key.id, key.ordinal) {
            (0, n) if n != 0 => "a duplicate of MPI_COMM_WORLD".to_owned(),
            _ => self.communicator(key),
        };
        self.mismatch(rank, need).map_or_else(String::new, |(here, there)| {
            let (here, there) = (name(here), name(there));
            let other = if here == there { "another with the same ranks" } else { &there };
            format!(" on {here}, but its partner's call is on {other}")
        })
    }

    /// Returns a remark on a message that was sent but does not match; its tag differs, or its communicator.
    fn unreceived(&self, rank: &RankState, from: u32, tag: i32) -> String {
        let sent = self.messages(from, rank.rank);
        let received = rank.messages.get(&from).map_or(0, |messages| messages.n_received);
        if sent.n_sent <= received {
            return String::new();
        }
        let n = sent.n_sent - received;
        let differs = if tag < 0 || sent.last_tag == tag { "communicator" } else { "tag" };
        format!(
            " (rank {from} has sent it {} that it has not received, the last with tag {}: the {differs} differs)",
            if n == 1 { "a message".to_owned() } else { format!("{n} messages") },
            sent.last_tag
        )
    }

    fn call_in_words(&self, communicator: CommunicatorKey, number: u64) -> String {
        if !self.world.has_numbers || communicator.ordinal == CommunicatorKey::NOT_SEEN {
            return format!("on {}", self.communicator(communicator));
        }
        format!("the {} collective call on {}", ordinal(number), self.communicator(communicator))
    }

    fn communicator(&self, communicator: CommunicatorKey) -> String {
        if communicator == (CommunicatorKey { id: 0, ordinal: 0 }) {
            return "MPI_COMM_WORLD".to_owned();
        }
        let members = self.world.communicators.get(&communicator.id);
        match members {
            Some(members) => format!("the communicator of {}", plural_ranks(members)),
            None => "a communicator".to_owned(),
        }
    }

    /// Returns a remark on a rank that has not entered a collective call: its last one on the same communicator.
    fn behind(&self, rank: &RankState, communicator: CommunicatorKey) -> String {
        match rank.collectives.get(&communicator) {
            _ if matches!(rank.doing, Doing::Stopped { .. }) => "does not go on".to_owned(),
            _ if !self.world.has_numbers => "is not in it".to_owned(),
            Some((number, words)) => format!(
                "has not entered it: its last one there, the {}, was {words}",
                ordinal(*number)
            ),
            None => "has not entered any there".to_owned(),
        }
    }

    /// Tells of the rank that others wait for and that waits for nobody.
    pub(super) fn sink(&self, at: usize, n_waiting: usize) -> String {
        let state = &self.world.ranks[at];
        let since = display::units::seconds(state.since_s);
        let is_waiting = self.wait(at).is_some();
        let n_others = n_waiting - usize::from(is_waiting);
        let n_ranks = self.world.ranks.len();
        let subject = match n_others {
            0 => String::new(),
            n if n + 1 == n_ranks && 1 < n => {
                format!("All {n} other ranks wait, directly or not, for rank {}", state.rank)
            }
            1 => format!("{} for rank {}", capital(&self.only(at)), state.rank),
            n => format!("{n} ranks wait, directly or not, for rank {}", state.rank),
        };
        match &state.doing {
            Doing::Waiting(wait) => {
                let needs = wait.needs.iter().take(N_NEEDS_MAX);
                let needs: Vec<String> = needs.map(|need| self.need(state, need, None)).collect();
                let what =
                    if needs.is_empty() { String::new() } else { format!(" {}", needs.join(", ")) };
                let own = format!("rank {} waits in {}{what}", state.rank, wait.words);
                let is_matched = wait.needs.iter().all(|need| self.is_matched(state, need));
                let own = match !wait.needs.is_empty() && is_matched {
                    true => format!(
                        "{own}, which is in the call that matches: the library, the network or the \
                         machine does not go on"
                    ),
                    false => own,
                };
                match n_others {
                    0 => format!("{}, since {since}.", capital(&own)),
                    _ => format!("{subject}; {own}, since {since}."),
                }
            }
            other => {
                format!("{subject}, which {}.{}", state_in_words(other, &since), self.example(at))
            }
        }
    }

    /// Returns the only rank that waits for a node, in words.
    fn only(&self, at: usize) -> String {
        let reaching = self.graph.reaching(&[at]);
        let n_ranks = self.world.ranks.len();
        let only = (0..n_ranks).find(|other| *other != at && reaching[*other]);
        only.map_or_else(
            || "a rank waits".to_owned(),
            |only| format!("rank {} waits", self.world.ranks[only].rank),
        )
    }

    /// Returns a sentence about those that wait for a rank itself.
    fn example(&self, at: usize) -> String {
        let n_ranks = self.world.ranks.len();
        let call =
            (n_ranks..self.graph.edges.len()).find(|call| self.graph.edges[*call].contains(&at));
        if let Some(call) = call {
            let (communicator, number) = self.collectives[call - n_ranks];
            let inside = waits(self.world)
                .filter(|(state, _)| self.call_of(state) == Some((communicator, number)));
            let ranks: Vec<u32> = inside.clone().map(|(state, _)| state.rank).collect();
            let words = inside.map(|(_, wait)| wait.words.clone()).next().unwrap_or_default();
            let is_one = ranks.len() == 1;
            return format!(
                " {} in {words}, {}; rank {} {}.",
                capital(&format!(
                    "{} {}",
                    plural_ranks(&ranks),
                    if is_one { "waits" } else { "wait" }
                )),
                self.call_in_words(communicator, number),
                self.world.ranks[at].rank,
                self.behind(&self.world.ranks[at], communicator)
            );
        }
        let waiting = (0..n_ranks).find(|other| self.graph.edges[*other].contains(&at));
        waiting
            .map_or_else(String::new, |other| format!(" {}.", capital(&self.waits_for(other, at))))
    }

    /// Tells of a collective call that all members have entered and that does not end.
    pub(super) fn unmatched(&self, (communicator, number): (CommunicatorKey, u64)) -> String {
        let inside: Vec<(&RankState, &Wait)> = waits(self.world)
            .filter(|(state, _)| self.call_of(state) == Some((communicator, number)))
            .collect();
        let call = self.call_in_words(communicator, number);
        let mut by_call: BTreeMap<(&str, &str), Vec<u32>> = BTreeMap::new();
        let (mut roots, mut counts) = (HashMap::new(), HashMap::new());
        for (state, wait) in &inside {
            by_call.entry((&wait.operation.stem, &wait.words)).or_default().push(state.rank);
            roots.entry(wait.root).or_insert(state.rank);
            counts.entry(wait.count).or_insert(state.rank);
        }
        let who = |ranks: &[u32], words: &str| {
            format!(
                "{} {} in {words}",
                plural_ranks(ranks),
                if ranks.len() == 1 { "is" } else { "are" }
            )
        };
        let parts: Vec<String> =
            by_call.iter().map(|((_, words), ranks)| who(ranks, words)).collect();
        let told = capital(&parts.join(", "));
        let mut stems: Vec<&str> = by_call.keys().map(|(stem, _)| *stem).collect();
        stems.dedup();
        if 1 < stems.len() {
            return format!(
                "{told}, each as {call}: all members have to make the same collective calls in the same order."
            );
        }
        let is_rooted = inside.iter().any(|(_, wait)| wait.operation.root().is_some());
        if is_rooted && 1 < roots.len() {
            return format!("{told}, {call}, with different roots: {}.", listed(&roots));
        }
        let is_equal = ["Bcast", "Reduce", "Allreduce", "Scan", "Exscan"];
        if 1 < counts.len() && stems.iter().any(|stem| is_equal.contains(stem)) {
            return format!(
                "{told}, {call}, with different numbers of elements: {}.",
                listed(&counts)
            );
        }
        let left = self.gone_on(communicator, number);
        format!("{told}, {call}, which all members have entered and which does not end.{left}")
    }

    /// Tells of a member that has left a collective call in which others still are.
    fn gone_on(&self, communicator: CommunicatorKey, number: u64) -> String {
        let members = self.world.communicators.get(&communicator.id);
        let members = members.into_iter().flatten().filter_map(|rank| self.position(*rank));
        let gone = members.map(|at| &self.world.ranks[at]).find(|state| {
            self.call_of(state) != Some((communicator, number))
                && self.world.has_numbers
                && state.collectives.contains_key(&communicator)
        });
        let Some(state) = gone else { return String::new() };
        let doing = state_in_words(&state.doing, &display::units::seconds(state.since_s));
        let last = state.collectives.get(&communicator).map(|(n, words)| {
            format!("; its last collective call there, the {}, was {words}", ordinal(*n))
        });
        format!(" Rank {} {doing}{}.", state.rank, last.unwrap_or_default())
    }
}

/// Returns what a rank does that waits for nobody, after `which`.
fn state_in_words(doing: &Doing, since: &str) -> String {
    match doing {
        Doing::Waiting(wait) => format!("is in {}", wait.words),
        Doing::Computing { after, state } => {
            let after = after.as_ref().map(|call| format!(", after {call}")).unwrap_or_default();
            let state = match state {
                Some(ThreadState::Running) => {
                    ", and runs: it computes for long, or in an endless loop"
                }
                Some(ThreadState::Sleeping) => {
                    ", and sleeps: it waits for a file, a lock or another program"
                }
                Some(ThreadState::Stopped) | None => "",
            };
            format!("has been outside MPI for {since}{after}{state}")
        }
        Doing::Stopped { inside } => {
            let place =
                inside.as_ref().map_or("outside MPI".to_owned(), |call| format!("in {call}"));
            format!("was stopped {place} by a signal or a debugger, and goes on after SIGCONT")
        }
        Doing::Polling(call) => format!("only looks for something to do, in {call}"),
        Doing::Finalizing => {
            format!("has been in MPI_Finalize for {since} and calls nothing any more")
        }
        Doing::Ended => "ended without MPI_Finalize".to_owned(),
        Doing::Unseen => UNSEEN.to_owned(),
    }
}

/// Lists values, each with a rank that has it.
fn listed<V: Copy + Ord + Display>(values: &HashMap<V, u32>) -> String {
    let mut values: Vec<(V, u32)> = values.iter().map(|(value, rank)| (*value, *rank)).collect();
    values.sort_unstable();
    let parts =
        values.iter().take(N_TOLD_MAX).map(|(value, rank)| format!("{value} (rank {rank})"));
    parts.collect::<Vec<_>>().join(", ")
}
