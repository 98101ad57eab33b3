//! Messages between a run and the process of a tunlet, in frames; they have no version, as both ends are the same program.

use app_description::Application;
use frame::Format;
use serde::{Deserialize, Serialize};
use tunlets::{Decision, News, Requests, TunletSpec, World};

/// Frames of answers.
pub(crate) const ANSWERS: Format = Format::plain(4 << 20);
/// Frames of orders.
pub(crate) const ORDERS: Format = Format::plain(64 << 20);

/// Message from a run to the process of a tunlet.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum HostOrder {
    /// The run begins.
    Begin { application: Box<Application>, world: World },
    /// News, in order.
    Hear(Vec<News>),
}

/// Message from the process of a tunlet; one for each order, after an initial unrequested `Opened`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum TunletAnswer {
    /// Specification of the loaded tunlet, or the reason why it cannot be loaded.
    Opened(Result<TunletSpec, String>),
    /// Requests of the tunlet, or the reason why it cannot begin.
    Begun(Result<Requests, String>),
    /// Decisions on the news.
    Heard(Vec<Decision>),
}
