//! Actions armed at a site, which its passages carry out.

use crate::frame::Passage;
use crate::site::{Attribute, Callback};
use events::ProbePoint;
use std::sync::Mutex;

/// Armed callback of an action.
struct ArmedCallback {
    action: u64,
    at_hit: u32,
    is_done: bool,
    act: Callback,
}

/// Callbacks armed at a site, and the attributes of its exit.
#[derive(Default)]
pub(crate) struct ArmedCallbacks {
    entry: Mutex<Vec<ArmedCallback>>,
    exit: Mutex<Vec<ArmedCallback>>,
    /// Attributes of the site's exit.
    pub(crate) exit_attributes: Vec<Attribute>,
}

impl std::fmt::Debug for ArmedCallbacks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArmedCallbacks").finish_non_exhaustive()
    }
}

impl ArmedCallbacks {
    /// Returns the empty callbacks of a site whose exit has these attributes.
    pub(crate) fn of(exit_attributes: &[Attribute]) -> Self {
        Self { exit_attributes: exit_attributes.to_vec(), ..Self::default() }
    }

    fn at(&self, place: ProbePoint) -> &Mutex<Vec<ArmedCallback>> {
        match place {
            ProbePoint::Entry => &self.entry,
            ProbePoint::Exit => &self.exit,
        }
    }

    pub(crate) fn arm(&self, place: ProbePoint, action: u64, at_hit: u32, act: Callback) {
        let Ok(mut armed) = self.at(place).lock() else { return };
        armed.retain(|armed| !armed.is_done);
        armed.push(ArmedCallback { action, at_hit, is_done: false, act });
    }

    /// Disarms an action; returns whether it was armed.
    pub(crate) fn disarm(&self, place: ProbePoint, action: u64) -> bool {
        let Ok(mut armed) = self.at(place).lock() else { return false };
        armed.retain(|armed| !armed.is_done);
        let n_before = armed.len();
        armed.retain(|armed| armed.action != action);
        armed.len() < n_before
    }

    /// Returns whether any action is armed.
    pub(crate) fn is_armed(&self, place: ProbePoint) -> bool {
        self.at(place).lock().is_ok_and(|armed| armed.iter().any(|armed| !armed.is_done))
    }

    /// Carries out the actions that are due. A passage on another thread, or inside an action itself, does not
    /// wait: the next passage will do it. Finished actions are freed when another one is armed, never inside the
    /// program's passage.
    pub(crate) fn act(&self, place: ProbePoint, passage: &Passage<'_>) {
        let Ok(mut armed) = self.at(place).try_lock() else { return };
        let is_due = |armed: &&mut ArmedCallback| !armed.is_done && armed.at_hit <= passage.hit;
        for armed in armed.iter_mut().filter(is_due) {
            armed.is_done = !(armed.act)(passage);
        }
    }
}
