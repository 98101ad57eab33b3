//! Target: ends of tasks that a keeper has left on disk, as a fault may leave them.

use node_daemon::keeper::ends_in;

/// Reads the bytes as such a file.
pub(crate) fn run(bytes: &[u8]) {
    ends_in(bytes);
}
