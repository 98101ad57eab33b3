//! Broadcast and barrier, made of internal messages that users never see.
//!
//! Ranks that were launched together, and can only end together, form a binomial tree, so that a broadcast
//! needs as many steps as their number has binary digits. Every added rank gets its copy from the root
//! directly, so that a lost one delays no other rank.
//!
//! Every collective call has a number (round); messages of earlier calls that failed halfway are dropped.
//!
//! # Not here
//! The collective calls of MPI: they have no deadline, and do not include ranks that were added.

use crate::CommError;
use crate::deadline::Deadline;
use std::sync::Arc;

/// Operations that collectives need from a backend.
pub(crate) trait CollectiveBackend {
    /// Returns the members of the group, as seen by this rank.
    fn members(&self) -> Members<'_>;

    /// Returns the number of the next collective call.
    fn next_round(&mut self) -> u32;

    /// Sends a message that only [`receive_internal`](Self::receive_internal) receives.
    fn send_internal(&mut self, to: u32, parts: &[&[u8]]) -> Result<(), CommError>;

    /// Sends such a message of bytes that others get as well.
    fn send_shared(&mut self, to: u32, bytes: &Arc<Vec<u8>>) -> Result<(), CommError> {
        self.send_internal(to, &[bytes])
    }

    /// Receives the next such message from `from`; `false` when none arrives in time.
    fn receive_internal(
        &mut self,
        from: u32,
        deadline: Deadline,
        into: &mut Vec<u8>,
    ) -> Result<bool, CommError>;
}

/// Members of a collective operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Members<'a> {
    /// This rank.
    pub(crate) own: u32,
    /// Number of ranks in the tree; they have the lowest numbers.
    pub(crate) n_in_tree: u32,
    /// Ranks outside the tree that are connected with this one.
    pub(crate) outside: &'a [u32],
}

/// Implements [`Transport::broadcast`](crate::Transport::broadcast).
pub(crate) fn broadcast(
    end: &mut impl CollectiveBackend,
    root: u32,
    bytes: &mut Vec<u8>,
    deadline: Deadline,
) -> Result<(), CommError> {
    let round = end.next_round();
    give_down(end, (root, round), bytes, deadline)
}

/// Implements [`Transport::broadcast_own`](crate::Transport::broadcast_own), on rank 0.
pub(crate) fn broadcast_own(
    end: &mut impl CollectiveBackend,
    mut bytes: Vec<u8>,
    deadline: Deadline,
) -> Result<(), CommError> {
    let round = end.next_round();
    if end.members().own != 0 {
        return give_down(end, (0, round), &mut bytes, deadline);
    }
    bytes.reserve_exact(size_of_val(&round));
    bytes.extend_from_slice(&round.to_le_bytes());
    let bytes = Arc::new(bytes);
    let children = end.members().children(0);
    for child in children {
        unless_gone(end.send_shared(child, &bytes))?;
    }
    Ok(())
}

/// Implements [`Transport::barrier`](crate::Transport::barrier).
pub(crate) fn barrier(
    end: &mut impl CollectiveBackend,
    deadline: Deadline,
) -> Result<(), CommError> {
    let round = end.next_round();
    let mut nothing = Vec::new();
    let members = end.members();
    let (parent, children) = (members.parent(0), members.children(0));
    for child in children {
        unless_gone(take(end, child, round, &mut nothing, deadline))?;
    }
    if let Some(parent) = parent {
        end.send_internal(parent, &[&round.to_le_bytes()])?;
    }
    give_down(end, (0, round), &mut nothing, deadline)
}

/// Passes `bytes` down the tree, from the root to all ranks.
fn give_down(
    end: &mut impl CollectiveBackend,
    (root, round): (u32, u32),
    bytes: &mut Vec<u8>,
    deadline: Deadline,
) -> Result<(), CommError> {
    let members = end.members();
    let (parent, children) = (members.parent(root), members.children(root));
    if let Some(parent) = parent {
        take(end, parent, round, bytes, deadline)?;
    }
    for child in children {
        unless_gone(end.send_internal(child, &[bytes, &round.to_le_bytes()]))?;
    }
    Ok(())
}

/// Receives the bytes that `from` sends in this round, with the round's number as their last four bytes.
fn take(
    end: &mut impl CollectiveBackend,
    from: u32,
    round: u32,
    into: &mut Vec<u8>,
    deadline: Deadline,
) -> Result<(), CommError> {
    while end.receive_internal(from, deadline, into)? {
        let Some((content, found)) = into.split_last_chunk::<4>() else { continue };
        let is_this = u32::from_le_bytes(*found) == round;
        let n_bytes = content.len();
        if is_this {
            into.truncate(n_bytes);
            return Ok(());
        }
    }
    Err(deadline.late("a part in a collective operation", from))
}

/// Ignores that a rank is gone: the next receive reports it, and the other ranks can continue.
fn unless_gone(result: Result<(), CommError>) -> Result<(), CommError> {
    match result {
        Err(CommError::Gone { .. } | CommError::NotPresent { .. }) => Ok(()),
        other => other,
    }
}

impl Members<'_> {
    /// Returns the rank from which this one gets the root's bytes; `None` for the root.
    fn parent(self, root: u32) -> Option<u32> {
        if self.own == root {
            return None;
        }
        if self.n_in_tree <= self.own || self.n_in_tree <= root {
            return Some(root);
        }
        let place = self.place(root);
        let highest_bit = 1 << place.ilog2();
        Some((place - highest_bit + root) % self.n_in_tree)
    }

    /// Returns the ranks to which this one passes the bytes, those with the deepest subtree first, then
    /// those outside the tree.
    fn children(self, root: u32) -> Vec<u32> {
        let mut children = Vec::new();
        if self.own < self.n_in_tree && root < self.n_in_tree {
            let place = self.place(root);
            let mut bit = if place == 0 { 1 } else { 2 << place.ilog2() };
            while place + bit < self.n_in_tree {
                children.push((place + bit + root) % self.n_in_tree);
                bit <<= 1;
            }
        }
        if self.own == root {
            children.extend_from_slice(self.outside);
        }
        children
    }

    /// Returns the number of this rank relative to the root.
    fn place(self, root: u32) -> u32 {
        (self.own + self.n_in_tree - root) % self.n_in_tree
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(own: u32, n_in_tree: u32) -> Members<'static> {
        Members { own, n_in_tree, outside: if own == 0 { &[90, 91] } else { &[] } }
    }

    /// Checks that every rank gets the root's bytes within so many steps.
    #[track_caller]
    fn check(root: u32, n_in_tree: u32, n_steps: u32) {
        let mut steps = vec![None; n_in_tree as usize];
        steps[root as usize] = Some(0);
        let mut waiting = vec![root];
        while let Some(rank) = waiting.pop() {
            for child in members(rank, n_in_tree).children(root) {
                let Some(step) = steps.get_mut(child as usize) else { continue };
                assert_eq!(*step, None, "rank {child} gets it twice");
                assert_eq!(members(child, n_in_tree).parent(root), Some(rank));
                *step = Some(1);
                waiting.push(child);
            }
        }
        assert!(steps.iter().all(Option::is_some), "{steps:?}");
        let first = members(root, n_in_tree).children(root);
        let in_tree = first.iter().filter(|&&child| child < n_in_tree).count();
        assert_eq!(u32::try_from(in_tree).ok(), Some(n_steps));
    }

    #[test]
    fn everybody_in_the_tree_gets_it_once() {
        check(0, 1, 0);
        check(0, 2, 1);
        check(1, 2, 1);
        check(0, 3, 2);
        check(2, 3, 2);
        check(4, 5, 3);
        check(0, 16, 4);
        check(7, 19, 5);
    }

    #[test]
    fn ranks_outside_the_tree_get_it_from_the_root() {
        assert!(members(0, 3).children(0).ends_with(&[90, 91]));
        assert_eq!(members(90, 3).parent(0), Some(0));
        assert_eq!(members(90, 3).children(0), []);
        let free = Members { own: 2, n_in_tree: 0, outside: &[0, 1, 3] };
        assert_eq!(free.children(2), [0, 1, 3]);
        assert_eq!((free.parent(2), free.parent(1), free.children(1)), (None, Some(1), vec![]));
    }
}
