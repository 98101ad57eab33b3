//! Causes of standing still, from the graph of waiting: cycles, ranks that everybody waits for, and collective calls that
//! do not match.

use super::graph::Graph;
use super::state::{Doing, Messages, Need, RankState, Wait, WorldState};
use super::words::plural_ranks;
use events::CommunicatorKey;
use mpi_abi::{CollectiveKind, Rooted};

/// World with its graph of waiting: a node for each rank, then one for each collective call that ranks are in.
pub(super) struct Waits<'a> {
    pub(super) world: &'a WorldState,
    pub(super) graph: Graph,
    /// Collective calls in progress, in the order of their nodes.
    pub(super) collectives: Vec<(CommunicatorKey, u64)>,
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

    pub(super) fn wait(&self, at: usize) -> Option<&'a Wait> {
        match &self.world.ranks.get(at)?.doing {
            Doing::Waiting(wait) => Some(wait),
            _ => None,
        }
    }

    pub(super) fn position(&self, rank: u32) -> Option<usize> {
        self.world.ranks.binary_search_by_key(&rank, |state| state.rank).ok()
    }

    /// Returns the nodes for which a rank waits.
    fn targets(&self, rank: &RankState) -> Vec<usize> {
        let Doing::Waiting(wait) = &rank.doing else { return Vec::new() };
        // A partner that is in the call that matches is no reason to wait, unless somebody stopped it.
        let needs: Vec<&Need> =
            wait.needs.iter().filter(|need| !self.is_matched(rank, need)).collect();
        // What has surely happened is none either, unless nothing else is left.
        let open: Vec<&Need> =
            needs.iter().copied().filter(|need| !self.is_met(rank, need)).collect();
        let needs = if open.is_empty() { needs } else { open };
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
            Need::Message { from: Some(from), .. } => here(*from).n_received <= there(*from).n_sent,
            Need::Receipt { by, .. } => here(*by).n_sent <= there(*by).n_received,
            _ => false,
        }
    }

    /// Returns whether the partner of a request is in a call that waits for just this: no deadlock.
    pub(super) fn is_matched(&self, rank: &RankState, need: &Need) -> bool {
        self.counterparts(rank, need).any(|(here, there)| self.is_same(here, there))
    }

    /// Returns both communicators if the partner of a request is in a call that would match on another one.
    pub(super) fn mismatch(
        &self,
        rank: &RankState,
        need: &Need,
    ) -> Option<(CommunicatorKey, CommunicatorKey)> {
        let (here, there) = self.counterparts(rank, need).next()?;
        (!self.is_matched(rank, need)).then_some((here, there))
    }

    /// Returns the communicators of a request and of each that its partner waits for with the same tag.
    fn counterparts<'b>(
        &'b self,
        rank: &'b RankState,
        need: &'b Need,
    ) -> impl Iterator<Item = (CommunicatorKey, CommunicatorKey)> {
        let partner = match need {
            Need::Message { from: Some(rank), .. } | Need::Receipt { by: rank, .. } => {
                self.position(*rank)
            }
            Need::Message { from: None, .. } | Need::Collective { .. } => None,
        };
        let needs = partner.and_then(|at| self.wait(at)).map(|wait| &wait.needs);
        needs.into_iter().flatten().filter_map(move |other| match (need, other) {
            (Need::Receipt { tag: sent, on: here, .. }, Need::Message { from, tag, on }) => {
                let fits = from.is_none_or(|from| from == rank.rank) && (*tag < 0 || tag == sent);
                fits.then_some((*here, *on))
            }
            (Need::Message { tag: wanted, on: here, .. }, Need::Receipt { by, tag, on }) => {
                let fits = *by == rank.rank && (*wanted < 0 || tag == wanted);
                fits.then_some((*here, *on))
            }
            _ => None,
        })
    }

    /// Returns whether these may be one communicator, as two ranks know it.
    fn is_same(&self, a: CommunicatorKey, b: CommunicatorKey) -> bool {
        let is_known = |key: CommunicatorKey| key.ordinal != CommunicatorKey::NOT_SEEN;
        if a == CommunicatorKey::UNKNOWN || b == CommunicatorKey::UNKNOWN {
            return true;
        }
        let is_numbered = self.world.has_numbers && is_known(a) && is_known(b);
        a.id == b.id && (!is_numbered || a.ordinal == b.ordinal)
    }

    /// Messages of rank `of` with rank `with`.
    pub(super) fn messages(&self, of: u32, with: u32) -> Messages {
        let state = self.position(of).map(|at| &self.world.ranks[at]);
        state.and_then(|state| state.messages.get(&with)).copied().unwrap_or_default()
    }

    /// Returns the ranks that have not entered a collective call.
    fn missing(&self, (communicator, number): (CommunicatorKey, u64)) -> Vec<usize> {
        let Some(members) = self.world.communicators.get(&communicator.id) else {
            return Vec::new();
        };
        let has_numbers =
            self.world.has_numbers && communicator.ordinal != CommunicatorKey::NOT_SEEN;
        let is_in = |state: &RankState| {
            if has_numbers {
                let entered = state.collectives.get(&communicator).map_or(0, |calls| calls.0);
                let is_gone = matches!(state.doing, Doing::Ended | Doing::Stopped { .. });
                return number <= entered && !is_gone;
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
    pub(super) fn call_of(&self, state: &RankState) -> Option<(CommunicatorKey, u64)> {
        let Doing::Waiting(wait) = &state.doing else { return None };
        wait.needs.iter().find_map(|need| match need {
            Need::Collective { communicator, number } => Some((*communicator, *number)),
            _ => None,
        })
    }
}

/// Returns the ranks that wait.
pub(super) fn waits(world: &WorldState) -> impl Iterator<Item = (&RankState, &Wait)> + Clone {
    world.ranks.iter().filter_map(|state| match &state.doing {
        Doing::Waiting(wait) => Some((state, wait)),
        _ => None,
    })
}
