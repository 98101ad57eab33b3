//! Causes of standing still, from the graph of waiting: cycles, ranks that everybody waits for, and collective calls that
//! do not match.

use super::graph::Graph;
use super::state::{Doing, Messages, Need, RankState, Wait, WorldState};
use super::words::{capital, ordinal, plural_ranks, ranges, times};
use events::CommunicatorKey;
use mpi_abi::{CollectiveKind, Rooted};
use std::collections::{BTreeMap, HashMap};

/// Largest number of ranks of a cycle that are told one by one.
const N_TOLD_MAX: usize = 6;

/// World with its graph of waiting: a node for each rank, then one for each collective call that ranks are in.
pub(super) struct Waits<'a> {
    world: &'a WorldState,
    graph: Graph,
    /// Collective calls in progress, in the order of their nodes.
    collectives: Vec<(CommunicatorKey, u64)>,
}

/// Cause of standing still.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cause {
    /// Number of ranks that wait, directly or not, because of it.
    pub(super) n_waiting: usize,
    pub(super) sentence: String,
}

impl<'a> Waits<'a> {
    pub(super) fn new(world: &'a WorldState) -> Self {
        let calls = waits(world).flat_map(|(_, wait)| &wait.needs);
        let calls = calls.filter_map(|need| match need {
            Need::Collective { communicator, number } => Some((*communicator, *number)),
            _ => None,
        });
        let mut collectives: Vec<_> = calls.collect();
        collectives.sort_unstable();
        collectives.dedup();
        let mut waits = Self { world, graph: Graph::default(), collectives };
        let ranks = world.ranks.iter().map(|rank| waits.targets(rank));
        let mut edges: Vec<Vec<usize>> = ranks.collect();
        edges.extend(waits.collectives.iter().map(|call| waits.missing(*call)));
        waits.graph.edges = edges;
        waits
    }

    /// Returns the causes, those that hold up most ranks first.
    pub(super) fn causes(&self) -> Vec<Cause> {
        let n_ranks = self.world.ranks.len();
        let mut causes: Vec<Cause> = Vec::new();
        for members in self.graph.terminals() {
            let reaching = self.graph.reaching(&members);
            let is_waiting = |at: usize| reaching[at] && self.wait(at).is_some();
            let n_waiting = (0..n_ranks).filter(|at| is_waiting(*at)).count();
            if n_waiting == 0 {
                continue;
            }
            let cycle = self.graph.cycle(&members);
            let sentence = match members.first() {
                _ if !cycle.is_empty() => self.cycle(&cycle, n_waiting),
                Some(at) if *at < n_ranks => self.sink(*at, n_waiting),
                Some(at) => self.unmatched(self.collectives[at - n_ranks]),
                None => continue,
            };
            causes.push(Cause { n_waiting, sentence });
        }
        causes.sort_by_key(|cause| usize::MAX - cause.n_waiting);
        causes
    }

    /// Returns in words for whom a rank waits; empty if that is not known.
    pub(super) fn partners(&self, at: usize) -> String {
        let n_ranks = self.world.ranks.len();
        let mut ranks: Vec<u32> = Vec::new();
        for target in &self.graph.edges[at] {
            match self.world.ranks.get(*target) {
                Some(rank) => ranks.push(rank.rank),
                None => {
                    let missing = &self.graph.edges[*target];
                    let missing = missing.iter().filter(|at| **at < n_ranks);
                    ranks.extend(missing.map(|at| self.world.ranks[*at].rank));
                }
            }
        }
        ranks.sort_unstable();
        ranks.dedup();
        let is_any = |need: &Need| matches!(need, Need::Message { from: None, .. });
        match self.wait(at) {
            Some(wait) if wait.needs.iter().any(is_any) => "any rank".to_owned(),
            _ if ranks.is_empty() => String::new(),
            _ => plural_ranks(&ranks),
        }
    }

    fn wait(&self, at: usize) -> Option<&'a Wait> {
        match &self.world.ranks.get(at)?.doing {
            Doing::Waiting(wait) => Some(wait),
            _ => None,
        }
    }

    fn position(&self, rank: u32) -> Option<usize> {
        self.world.ranks.binary_search_by_key(&rank, |state| state.rank).ok()
    }

    /// Returns the nodes for which a rank waits.
    fn targets(&self, rank: &RankState) -> Vec<usize> {
        let Doing::Waiting(wait) = &rank.doing else { return Vec::new() };
        // What has surely happened is no reason to wait, unless nothing else is left.
        let open: Vec<&Need> = wait.needs.iter().filter(|need| !self.is_met(rank, need)).collect();
        let needs = if open.is_empty() { wait.needs.iter().collect() } else { open };
        let node = |need: &&Need| match need {
            Need::Message { from: None, .. } => None,
            Need::Message { from: Some(rank), .. } | Need::Receipt { by: rank, .. } => {
                self.position(*rank)
            }
            Need::Collective { communicator, number } => {
                let call = (*communicator, *number);
                let at = self.collectives.binary_search(&call).ok()?;
                Some(self.world.ranks.len() + at)
            }
        };
        let mut targets: Vec<usize> = needs.iter().filter_map(node).collect();
        targets.sort_unstable();
        targets.dedup();
        targets
    }

    /// Returns whether one of several requests is met, as far as the counts of both sides tell.
    fn is_met(&self, rank: &RankState, need: &Need) -> bool {
        let here = |other: u32| rank.messages.get(&other).copied().unwrap_or_default();
        let there = |other: u32| self.messages(other, rank.rank);
        match need {
            Need::Message { from: Some(from), .. } => {
                here(*from).n_received <= there(*from).n_sent
            }
            Need::Receipt { by, .. } => here(*by).n_sent <= there(*by).n_received,
            _ => false,
        }
    }

    /// Messages of rank `of` with rank `with`.
    fn messages(&self, of: u32, with: u32) -> Messages {
        let state = self.position(of).map(|at| &self.world.ranks[at]);
        state.and_then(|state| state.messages.get(&with)).copied().unwrap_or_default()
    }

    /// Returns the ranks that have not entered a collective call.
    fn missing(&self, (communicator, number): (CommunicatorKey, u64)) -> Vec<usize> {
        let Some(members) = self.world.communicators.get(&communicator.id) else {
            return Vec::new();
        };
        let has_numbers = self.world.has_numbers && communicator.ordinal != CommunicatorKey::NOT_SEEN;
        let is_in = |state: &RankState| {
            if has_numbers {
                let entered = state.collectives.get(&communicator).map_or(0, |calls| calls.0);
                return number <= entered && !matches!(state.doing, Doing::Ended);
            }
            self.call_of(state).is_some_and(|call| call.0 == communicator)
        };
        let members = members.iter().filter_map(|rank| self.position(*rank));
        let missing: Vec<usize> = members.filter(|at| !is_in(&self.world.ranks[*at])).collect();
        self.root_among(&missing, (communicator, number)).map_or(missing, |root| vec![root])
    }

    /// Returns the root of a collective call if it sends to all others and has not entered it.
    fn root_among(&self, missing: &[usize], call: (CommunicatorKey, u64)) -> Option<usize> {
        let (_, wait) = waits(self.world).find(|(state, _)| self.call_of(state) == Some(call))?;
        let is_from_root =
            wait.operation.collective().and_then(CollectiveKind::rooted) == Some(Rooted::FromRoot);
        let members = self.world.communicators.get(&call.0.id).filter(|_| is_from_root)?;
        let root = self.position(*members.get(usize::try_from(wait.root).ok()?)?)?;
        missing.contains(&root).then_some(root)
    }

    /// Returns the collective call in which a rank is.
    fn call_of(&self, state: &RankState) -> Option<(CommunicatorKey, u64)> {
        let Doing::Waiting(wait) = &state.doing else { return None };
        wait.needs.iter().find_map(|need| match need {
            Need::Collective { communicator, number } => Some((*communicator, *number)),
            _ => None,
        })
    }

    // ---- Sentences.

    fn cycle(&self, cycle: &[usize], n_waiting: usize) -> String {
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
            n => format!(" {} for them.", if n == 1 { "1 other rank waits".to_owned() } else { format!("{n} other ranks wait") }),
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
            Some(need) => self.need(rank, need, Some(next)),
            None => format!("for rank {other}"),
        };
        format!("rank {} waits in {} {what}", rank.rank, wait.words)
    }

    fn need(&self, rank: &RankState, need: &Need, next: Option<&RankState>) -> String {
        let with_tag = |tag: i32| if tag < 0 { String::new() } else { format!(" with tag {tag}") };
        match need {
            Need::Message { from: None, tag } => format!("for a message{} from any rank", with_tag(*tag)),
            Need::Message { from: Some(from), tag } => {
                let text = format!("for a message{} from rank {from}", with_tag(*tag));
                format!("{text}{}", self.unreceived(rank, *from, *tag))
            }
            Need::Receipt { by, tag } => {
                format!("until rank {by} receives its message{}", with_tag(*tag))
            }
            Need::Collective { communicator, number } => {
                let call = self.call_in_words(*communicator, *number);
                match next {
                    Some(next) => format!("({call}) for rank {}{}", next.rank, self.last_there(next, *communicator)),
                    None => format!("({call})"),
                }
            }
        }
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

    /// Returns a remark on the last collective call of a rank that has not entered one on the same communicator.
    fn last_there(&self, rank: &RankState, communicator: CommunicatorKey) -> String {
        match rank.collectives.get(&communicator) {
            _ if !self.world.has_numbers => String::new(),
            Some((number, words)) => format!(
                ", which has not entered it: its last one there, the {}, was {words}",
                ordinal(*number)
            ),
            None => ", which has not entered any there".to_owned(),
        }
    }

    /// Tells of the rank that others wait for and that waits for nobody.
    fn sink(&self, at: usize, n_waiting: usize) -> String {
        let state = &self.world.ranks[at];
        let since = display::units::seconds(state.since_s);
        let is_waiting = self.wait(at).is_some();
        let n_others = n_waiting - usize::from(is_waiting);
        let n_ranks = self.world.ranks.len();
        let subject = match n_others {
            0 => String::new(),
            n if n + 1 == n_ranks && 1 < n => format!("All {n} other ranks wait, directly or not, for rank {}", state.rank),
            1 => format!("{} for rank {}", capital(&self.only(at)), state.rank),
            n => format!("{n} ranks wait, directly or not, for rank {}", state.rank),
        };
        match &state.doing {
            Doing::Waiting(wait) => {
                let needs: Vec<String> =
                    wait.needs.iter().take(3).map(|need| self.need(state, need, None)).collect();
                let what = if needs.is_empty() { String::new() } else { format!(" {}", needs.join(", ")) };
                let own = format!("rank {} waits in {}{what}, since {since}", state.rank, wait.words);
                if n_others == 0 { format!("{}.", capital(&own)) } else { format!("{subject}; {own}.") }
            }
            Doing::Computing { after, is_running } => {
                let after = after.as_ref().map(|call| format!(", after {call}")).unwrap_or_default();
                let state = match is_running {
                    Some(true) => ", and runs: it computes for long, or in an endless loop",
                    Some(false) => ", and sleeps: it waits for something else than MPI, as a file, a lock or another program",
                    None => "",
                };
                format!("{subject}, which has been outside MPI for {since}{after}{state}.{}", self.example(at))
            }
            Doing::Finalizing => {
                format!("{subject}, which has been in MPI_Finalize for {since} and calls nothing any more.{}", self.example(at))
            }
            Doing::Ended => format!("{subject}, which ended without MPI_Finalize.{}", self.example(at)),
        }
    }

    /// Returns the only rank that waits for a node, in words.
    fn only(&self, at: usize) -> String {
        let reaching = self.graph.reaching(&[at]);
        let n_ranks = self.world.ranks.len();
        let only = (0..n_ranks).find(|other| *other != at && reaching[*other]);
        only.map_or_else(|| "a rank waits".to_owned(), |only| format!("rank {} waits", self.world.ranks[only].rank))
    }

    /// Returns a sentence about those that wait for a rank itself.
    fn example(&self, at: usize) -> String {
        let n_ranks = self.world.ranks.len();
        let call = (n_ranks..self.graph.edges.len()).find(|call| self.graph.edges[*call].contains(&at));
        if let Some(call) = call {
            let (communicator, number) = self.collectives[call - n_ranks];
            let inside = waits(self.world).filter(|(state, _)| self.call_of(state) == Some((communicator, number)));
            let ranks: Vec<u32> = inside.clone().map(|(state, _)| state.rank).collect();
            let words = inside.map(|(_, wait)| wait.words.clone()).next().unwrap_or_default();
            let is_one = ranks.len() == 1;
            return format!(
                " {} in {words}, {}{}.",
                capital(&format!("{} {}", plural_ranks(&ranks), if is_one { "waits" } else { "wait" })),
                self.call_in_words(communicator, number),
                self.last_there(&self.world.ranks[at], communicator)
            );
        }
        let waiting = (0..n_ranks).find(|other| self.graph.edges[*other].contains(&at));
        waiting.map_or_else(String::new, |other| format!(" {}.", capital(&self.waits_for(other, at))))
    }

    /// Tells of a collective call that all members have entered and that does not end.
    fn unmatched(&self, (communicator, number): (CommunicatorKey, u64)) -> String {
        let inside: Vec<(&RankState, &Wait)> =
            waits(self.world).filter(|(state, _)| self.call_of(state) == Some((communicator, number))).collect();
        let call = self.call_in_words(communicator, number);
        let mut by_call: BTreeMap<(&str, &str), Vec<u32>> = BTreeMap::new();
        let (mut roots, mut counts) = (HashMap::new(), HashMap::new());
        for (state, wait) in &inside {
            by_call.entry((&wait.operation.stem, &wait.words)).or_default().push(state.rank);
            roots.entry(wait.root).or_insert(state.rank);
            counts.entry(wait.count).or_insert(state.rank);
        }
        let who = |ranks: &[u32], words: &str| {
            format!("{} {} in {words}", plural_ranks(ranks), if ranks.len() == 1 { "is" } else { "are" })
        };
        let parts: Vec<String> = by_call.iter().map(|((_, words), ranks)| who(ranks, words)).collect();
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
            return format!("{told}, {call}, with different numbers of elements: {}.", listed(&counts));
        }
        let left = self.gone_on(communicator, number);
        format!("{told}, {call}, which {} entered and which does not end.{left}", if left.is_empty() { "all members have" } else { "the others have" })
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
        let doing = match &state.doing {
            Doing::Waiting(wait) => format!("is in {}", wait.words),
            Doing::Computing { .. } => "is outside MPI".to_owned(),
            Doing::Finalizing => "is in MPI_Finalize".to_owned(),
            Doing::Ended => "has ended".to_owned(),
        };
        let last = state.collectives.get(&communicator).map(|(n, words)| {
            format!("; its {} call there was {words}, {}", ordinal(*n), times(*n, number))
        });
        format!(" Rank {} {doing}{}.", state.rank, last.unwrap_or_default())
    }
}

/// Returns the ranks that wait.
fn waits(world: &WorldState) -> impl Iterator<Item = (&RankState, &Wait)> + Clone {
    world.ranks.iter().filter_map(|state| match &state.doing {
        Doing::Waiting(wait) => Some((state, wait)),
        _ => None,
    })
}

/// Lists values, each with a rank that has it.
fn listed<V: Copy + Ord + std::fmt::Display>(values: &HashMap<V, u32>) -> String {
    let mut values: Vec<(V, u32)> = values.iter().map(|(value, rank)| (*value, *rank)).collect();
    values.sort_unstable();
    let parts = values.iter().take(N_TOLD_MAX).map(|(value, rank)| format!("{value} (rank {rank})"));
    parts.collect::<Vec<_>>().join(", ")
}

/// Returns ranks in words, for other modules of the explanation.
pub(super) fn ranks_in_words(ranks: &[u32]) -> String {
    ranges(ranks)
}
