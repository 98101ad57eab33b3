//! What rank 0 knows, for the process that is rank 0 after it.

use crate::protocol::Attempt;
use resized::{Answer, Resize};
use serde::{Deserialize, Serialize};

/// What rank 0 knows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Baton {
    pub(crate) job: String,
    pub(crate) serial: u16,
    pub(crate) sizes: (u32, u32),
    /// Entries of the schedule that were taken.
    pub(crate) n_scheduled: usize,
    pub(crate) answered: Option<Answer>,
    pub(crate) resizes: Vec<Resize>,
    /// Size and seconds of an iteration, as they were seen.
    pub(crate) seen: Vec<(u32, f64)>,
    /// Place of the method that was found best when it was tried.
    pub(crate) method: Option<usize>,
    /// The resize by which another process becomes rank 0.
    pub(crate) attempt: Option<Attempt>,
    /// Hosts of ranks that leave.
    pub(crate) hosts_left: Vec<String>,
}
