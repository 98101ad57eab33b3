//! Built-in tunlets, looked up by name.

use crate::tunlet::{Guide, Tunlet, TunletSpec};
use events::Lever;

/// Returns all built-in tunlets in listing order.
fn all() -> Vec<(Box<dyn Tunlet>, Guide)> {
    vec![
        (Box::<crate::factoring::Factoring>::default(), crate::factoring::GUIDE),
        (Box::<crate::worker_count::WorkerCount>::default(), crate::worker_count::GUIDE),
        (Box::<crate::imbalance::Imbalance>::default(), crate::imbalance::GUIDE),
        (Box::<crate::search::Search>::default(), crate::search::GUIDE),
        (Box::<crate::waiting::Waiting>::default(), crate::waiting::GUIDE),
        (Box::<crate::binding::BindingRepair>::default(), crate::binding::GUIDE),
        (Box::<crate::memory::Memory>::default(), crate::memory::GUIDE),
        (Box::<crate::threads::Threads>::default(), crate::threads::GUIDE),
        (Box::<crate::collectives::Collectives>::default(), crate::collectives::GUIDE),
    ]
}

/// Returns the built-in tunlet with this name.
pub fn built_in(name: &str) -> Option<Box<dyn Tunlet>> {
    all().into_iter().map(|(tunlet, _)| tunlet).find(|tunlet| tunlet.spec().name == name)
}

/// Names of the tunlets that need no description, in the order of their turns, with the levers that they set.
pub const OF_LEVERS: [(&str, &[Lever]); 5] = [
    (crate::waiting::NAME, &[Lever::Waiting]),
    (crate::binding::NAME, &[Lever::Binding]),
    (crate::memory::NAME, &[Lever::Memory, Lever::HugePages]),
    (crate::threads::NAME, &[Lever::Threads]),
    (crate::collectives::NAME, &[Lever::Collectives]),
];

/// Returns the specifications of the built-in tunlets.
pub fn built_in_specs() -> Vec<TunletSpec> {
    all().iter().map(|(tunlet, _)| tunlet.spec()).collect()
}

/// Returns the specifications together with the guides for users.
pub fn built_in_guides() -> Vec<(TunletSpec, Guide)> {
    all().into_iter().map(|(tunlet, guide)| (tunlet.spec(), guide)).collect()
}
