//! Domains: the set of nodes that a node tells its state, or offers tasks to.
//!
//! Overlapping domains divide the ring of all nodes in the order of their ids: one begins every `size - overlap`
//! nodes. With the source's overlap of half the size each node is in two. Random domains are drawn anew for each
//! sending (J. thesis 2012, chapter 4.4.3).

use crate::{Members, NodeId};
use random::Random;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Set of nodes among which a policy works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Domain {
    /// All nodes.
    #[default]
    Global,
    /// Neighbors on the ring of ids.
    Overlapping {
        /// Nodes in a domain, at least 2.
        size: u32,
        /// Nodes that a domain shares with the next one, fewer than its size.
        overlap: u32,
    },
    /// Nodes drawn at each sending.
    Random {
        /// Number of nodes, at least 1.
        size: u32,
    },
}

/// Reasons why a text is no domain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DomainError {
    /// There is no domain of this name.
    #[error("there is no domain `{0}`; write global, overlapping:SIZE[:OVERLAP] or random:SIZE")]
    Unknown(String),
    /// The name is right, what follows it is not.
    #[error("`{text}` needs {needs}")]
    Number {
        /// The text as written.
        text: String,
        /// Expected form, with an example.
        needs: &'static str,
    },
}

impl FromStr for Domain {
    type Err = DomainError;

    fn from_str(text: &str) -> Result<Self, DomainError> {
        let (name, numbers) = text.split_once(':').unwrap_or((text, ""));
        let wrong = |needs| DomainError::Number { text: text.to_owned(), needs };
        match name {
            "global" if text == "global" => Ok(Self::Global),
            "random" => {
                let size = numbers.parse().ok().filter(|size| 1 <= *size);
                let size =
                    size.ok_or_else(|| wrong("the number of nodes that are told: random:3"))?;
                Ok(Self::Random { size })
            }
            "overlapping" => {
                let (size, overlap) = numbers.split_once(':').unwrap_or((numbers, ""));
                let size = size.parse::<u32>().ok().filter(|size| 2 <= *size);
                let size = size.ok_or_else(|| wrong("a size of 2 at least: overlapping:4"))?;
                let overlap =
                    if overlap.is_empty() { Some(size / 2) } else { overlap.parse().ok() };
                let overlap = overlap.filter(|overlap| *overlap < size);
                let overlap =
                    overlap.ok_or_else(|| wrong("an overlap below its size: overlapping:4:2"))?;
                Ok(Self::Overlapping { size, overlap })
            }
            _ => Err(DomainError::Unknown(text.to_owned())),
        }
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Global => to.write_str("global"),
            Self::Random { size } => write!(to, "random:{size}"),
            Self::Overlapping { size, overlap } if *overlap == size / 2 => {
                write!(to, "overlapping:{size}")
            }
            Self::Overlapping { size, overlap } => write!(to, "overlapping:{size}:{overlap}"),
        }
    }
}

/// Other nodes in a node's domain.
#[derive(Clone, Debug)]
pub(crate) struct DomainMembers {
    pub(crate) domain: Domain,
    pub(crate) members: Arc<Members>,
    /// Position of the node itself; `None` where it is no member, and then the set is empty.
    position: Option<usize>,
    /// Neighbors in overlapping domains; they are always the same.
    pub(crate) neighbors: Vec<NodeId>,
}

impl DomainMembers {
    pub(crate) fn new(domain: Domain, me: NodeId, members: Arc<Members>) -> Self {
        let position = members.position(me);
        let mut domain_members = Self { domain, members, position, neighbors: Vec::new() };
        if let (Domain::Overlapping { size, overlap }, Some(position)) = (domain, position) {
            let positions =
                neighbors(size as usize, overlap as usize, position, domain_members.members.len());
            domain_members.neighbors =
                positions.into_iter().map(|at| domain_members.members.peers()[at].id).collect();
        }
        domain_members
    }

    /// Number of nodes that may ever be told.
    pub(crate) fn len(&self) -> usize {
        match (self.domain, self.position) {
            (_, None) => 0,
            (Domain::Overlapping { .. }, _) => self.neighbors.len(),
            _ => self.members.len() - 1,
        }
    }

    /// One of the nodes, by a number below [`Self::len`].
    pub(crate) fn nth(&self, k: usize) -> NodeId {
        match (self.domain, self.position) {
            (Domain::Overlapping { .. }, _) => self.neighbors[k],
            (_, Some(position)) if k < position => self.members.peers()[k].id,
            _ => self.members.peers()[k + 1].id,
        }
    }

    /// Returns whether messages may go to `id`: a member of the domain.
    pub(crate) fn reaches(&self, id: NodeId) -> bool {
        match (self.domain, self.position) {
            (_, None) => false,
            (Domain::Overlapping { .. }, _) => self.neighbors.contains(&id),
            (_, Some(position)) => self.members.position(id).is_some_and(|at| at != position),
        }
    }

    /// Returns one node at random.
    pub(crate) fn pick(&self, random: &mut Random) -> Option<NodeId> {
        (0 < self.len()).then(|| self.nth(random.below(self.len())))
    }

    /// Calls `tell` once with each node that receives an announcement.
    pub(crate) fn each(&self, random: &mut Random, mut tell: impl FnMut(NodeId)) {
        let n = self.len();
        match self.domain {
            Domain::Random { size } if (size as usize) < n => {
                drawn(n, size as usize, random, |k| tell(self.nth(k)));
            }
            _ => (0..n).for_each(|k| tell(self.nth(k))),
        }
    }
}

/// Positions of the nodes that share a domain with this node, which is left out.
fn neighbors(size: usize, overlap: usize, position: usize, n: usize) -> BTreeSet<usize> {
    let step = size - overlap;
    let mut found = BTreeSet::new();
    // Domains that contain this node begin up to `size - 1` nodes before it, also across the end of the ring.
    for turn in [position, position + n] {
        let first = (turn + 1).saturating_sub(size).div_ceil(step) * step;
        let starts = (first..=turn).step_by(step).filter(|start| *start < n);
        found.extend(starts.flat_map(|start| (start..start + size.min(n)).map(|at| at % n)));
    }
    found.remove(&position);
    found
}

/// Draws `size` different numbers below `n` (Floyd 1987).
fn drawn(n: usize, size: usize, random: &mut Random, mut tell: impl FnMut(usize)) {
    const N_FEW: usize = 32;
    let (mut few, mut many) = ([usize::MAX; N_FEW], BTreeSet::new());
    for (k, last) in (n - size..n).enumerate() {
        let guess = random.below(last + 1);
        let is_new =
            if size <= N_FEW { !few[..k].contains(&guess) } else { !many.contains(&guess) };
        let number = if is_new { guess } else { last };
        if size <= N_FEW {
            few[k] = number;
        } else {
            many.insert(number);
        }
        tell(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Peer;

    fn domain_members(domain: &str, me: u32, n: u32) -> DomainMembers {
        let peer = |id| Peer { id: NodeId(id), incarnation: 0, n_cores: 1, speed: 1.0 };
        DomainMembers::new(
            domain.parse().unwrap(),
            NodeId(me),
            Arc::new(Members::new((0..n).map(peer))),
        )
    }

    fn told(domain_members: &DomainMembers, seed: u64) -> Vec<u32> {
        let mut told = Vec::new();
        domain_members.each(&mut Random::stream(seed, 0), |id| told.push(id.0));
        told.sort_unstable();
        told
    }

    #[track_caller]
    fn check(domain: &str, me: u32, n: u32, expected: &[u32]) {
        let domain_members = domain_members(domain, me, n);
        assert_eq!(told(&domain_members, 1), expected);
        assert_eq!(domain_members.len(), expected.len());
        assert!(expected.iter().all(|id| domain_members.reaches(NodeId(*id))));
        assert!(!domain_members.reaches(NodeId(me)));
    }

    #[test]
    fn domains_are_those_of_the_source() {
        check("global", 3, 5, &[0, 1, 2, 4]);
        // Figure 3.3: domains of 2 on a ring of 4.
        check("overlapping:2", 0, 4, &[1, 3]);
        check("overlapping:2", 2, 4, &[1, 3]);
        // Figure 4.10: domains of 4 that share 2, among 8; 1390 = 5 x 278 messages.
        check("overlapping:4", 3, 8, &[0, 1, 2, 4, 5]);
        check("overlapping:4", 0, 8, &[1, 2, 3, 6, 7]);
    }

    #[test]
    fn any_size_and_overlap_will_do() {
        check("overlapping:4:0", 5, 8, &[4, 6, 7]);
        check("overlapping:4:1", 3, 9, &[0, 1, 2, 4, 5, 6]);
        check("overlapping:4:1", 1, 9, &[0, 2, 3]);
        check("overlapping:3:2", 0, 6, &[1, 2, 4, 5]);
        check("overlapping:8", 2, 5, &[0, 1, 3, 4]);
        check("overlapping:2", 0, 1, &[]);
        check("overlapping:2", 0, 2, &[1]);
        check("global", 7, 5, &[]);
    }

    #[test]
    fn who_is_in_a_domain_with_another_is_so_both_ways() {
        for (n, size, overlap) in
            [(7, 3, 1), (8, 4, 2), (9, 4, 3), (10, 4, 1), (5, 5, 0), (6, 7, 3)]
        {
            let all: Vec<_> = (0..n).map(|at| neighbors(size, overlap, at, n)).collect();
            for (me, around) in all.iter().enumerate() {
                assert!(
                    around.iter().all(|other| all[*other].contains(&me)),
                    "{n} {size} {overlap}"
                );
            }
        }
    }

    #[test]
    fn random_domains_have_their_size_and_change() {
        for (size, n) in [(3_usize, 8_u32), (7, 8), (9, 8), (40, 100)] {
            let domain_members = domain_members(&format!("random:{size}"), 2, n);
            let draws: Vec<_> = (0..50).map(|seed| told(&domain_members, seed)).collect();
            for draw in &draws {
                assert_eq!(draw.len(), size.min(n as usize - 1));
                assert!(draw.windows(2).all(|pair| pair[0] < pair[1]));
                assert!(!draw.contains(&2));
            }
            let is_smaller = size < n as usize - 1;
            assert_eq!(draws.iter().any(|draw| *draw != draws[0]), is_smaller);
        }
    }
}
