//! Helpers for tests of the keeper.

use node_core::interface::{Attempt, NodeId, TaskKey};

pub(super) fn attempt(number: u64) -> Attempt {
    Attempt { task: TaskKey { home: NodeId(1), number }, instance: 1 }
}
