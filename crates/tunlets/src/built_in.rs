//! The tunlets that come with the tool, by name.

use crate::factoring::Factoring;
use crate::imbalance::Imbalance;
use crate::search::Search;
use crate::tunlet::{Tunlet, TunletSpec};
use crate::worker_count::WorkerCount;

/// All of them, in the order in which they are listed.
fn all() -> Vec<Box<dyn Tunlet>> {
    vec![
        Box::<Factoring>::default(),
        Box::<WorkerCount>::default(),
        Box::<Imbalance>::default(),
        Box::<Search>::default(),
    ]
}

/// The built-in tunlet of this name.
pub fn built_in(name: &str) -> Option<Box<dyn Tunlet>> {
    all().into_iter().find(|tunlet| tunlet.spec().name == name)
}

/// What the built-in tunlets are.
pub fn built_in_specs() -> Vec<TunletSpec> {
    all().iter().map(|tunlet| tunlet.spec()).collect()
}
