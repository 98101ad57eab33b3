//! The tunlets that come with the tool, by name.

use crate::factoring::{self, Factoring};
use crate::guide::Guide;
use crate::imbalance::{self, Imbalance};
use crate::search::{self, Search};
use crate::tunlet::{Tunlet, TunletSpec};
use crate::worker_count::{self, WorkerCount};

/// All of them, in the order in which they are listed.
fn all() -> Vec<(Box<dyn Tunlet>, Guide)> {
    vec![
        (Box::<Factoring>::default(), factoring::GUIDE),
        (Box::<WorkerCount>::default(), worker_count::GUIDE),
        (Box::<Imbalance>::default(), imbalance::GUIDE),
        (Box::<Search>::default(), search::GUIDE),
    ]
}

/// The built-in tunlet of this name.
pub fn built_in(name: &str) -> Option<Box<dyn Tunlet>> {
    all().into_iter().map(|(tunlet, _)| tunlet).find(|tunlet| tunlet.spec().name == name)
}

/// What the built-in tunlets are.
pub fn built_in_specs() -> Vec<TunletSpec> {
    all().iter().map(|(tunlet, _)| tunlet.spec()).collect()
}

/// The same, with what people read about them.
pub fn built_in_guides() -> Vec<(TunletSpec, Guide)> {
    all().into_iter().map(|(tunlet, guide)| (tunlet.spec(), guide)).collect()
}
