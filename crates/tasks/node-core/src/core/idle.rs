//! How often a node looks after what has a deadline: less often when there has been nothing to do for a while.

use super::Roles;
use super::turn::Turn;

/// Time between two checks of leases, offers and questions, in ms.
pub(super) const SWEEP_MS: u64 = 250;
/// Time between two when there has been nothing to do for a while, and that while, in ms.
const SWEEP_IDLE_MS: u64 = 1_000;
const IDLE_AFTER_MS: u64 = 3_000;

/// Time until the next check, in ms.
pub(super) fn sweep_ms(roles: &Roles, turn: &Turn<'_>) -> u64 {
    if is_idle(roles, turn) { SWEEP_IDLE_MS } else { SWEEP_MS }
}

/// Returns whether no task waits or runs here, nothing is kept for another node, and nothing has happened for a while.
fn is_idle(roles: &Roles, turn: &Turn<'_>) -> bool {
    let book = &turn.node.book;
    let is_empty = book.n_open() == 0 && book.foreign().is_empty();
    let holds_nothing = roles.holding.n_waiting() == 0 && turn.node.processes.n() == 0;
    is_empty
        && holds_nothing
        && roles.rooms.are_empty()
        && roles.stopping.is_none()
        && IDLE_AFTER_MS <= turn.now.moment.ms_since(roles.last_event)
}
