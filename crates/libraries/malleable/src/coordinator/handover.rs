//! State that rank 0 hands over to the next rank 0.

use crate::moving::Method;
use crate::protocol::ActiveResize;
use resize_api::{Resize, ResizeAnswer};
use serde::{Deserialize, Serialize};

/// State that rank 0 hands over to the next rank 0.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct HandoverState {
    pub(crate) job: String,
    pub(crate) serial: u16,
    pub(crate) sizes: (u32, u32),
    /// Number of schedule entries that were applied.
    pub(crate) n_scheduled: usize,
    pub(crate) answered: Option<ResizeAnswer>,
    pub(crate) resizes: Vec<Resize>,
    /// Sizes, measured times of an iteration in seconds, and numbers of iterations.
    pub(crate) seen: Vec<(u32, f64, u32)>,
    /// Whether somebody else has chosen a size.
    pub(crate) is_led: bool,
    /// Method that was best in the trial.
    pub(crate) method: Option<Method>,
    /// Resize by which another process becomes rank 0.
    pub(crate) attempt: Option<ActiveResize>,
    /// Hosts of ranks that leave.
    pub(crate) hosts_left: Vec<String>,
}
