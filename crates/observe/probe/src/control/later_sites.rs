//! Sites in libraries that the program has not loaded yet: kept until they come.
//!
//! # Not here
//! Waiting for a library, which is the main loop of the control thread (`control.rs`).

use crate::object;
use events::ProbePoint;
use std::sync::Arc;
use wire::control::{Module, N_SITES_MAX, Site};

/// Maximum number of sites that are kept.
const N_LATER_MAX: usize = 16 * N_SITES_MAX;

/// Site with the modules to which its locations refer.
type LaterSite = (Arc<[Module]>, Site);

/// Sites whose libraries are not loaded yet.
#[derive(Debug, Default)]
pub(super) struct LaterSites {
    sites: Vec<LaterSite>,
    /// Objects loaded since the start of the process when they were last looked for.
    n_loaded: u64,
}

impl LaterSites {
    /// Keeps a site, in place of one with the same number; returns false if there is no room.
    pub(super) fn keep(&mut self, modules: &Arc<[Module]>, site: &Site) -> bool {
        self.forget(site.id);
        let has_room = self.sites.len() < N_LATER_MAX;
        if has_room {
            self.sites.push((Arc::clone(modules), site.clone()));
        }
        has_room
    }

    /// Forgets a site; returns whether it was kept.
    pub(super) fn forget(&mut self, id: u32) -> bool {
        let n_before = self.sites.len();
        self.sites.retain(|(_, site)| site.id != id);
        self.sites.len() != n_before
    }

    pub(super) fn forget_all(&mut self) {
        self.sites.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sites.is_empty()
    }

    /// Returns the file name of the library with a site's function, if the site is kept.
    pub(super) fn library_of(&self, id: u32) -> Option<String> {
        let (modules, site) = self.sites.iter().find(|(_, site)| site.id == id)?;
        let module = modules.get(site.function.module as usize)?;
        Some(module.name.clone())
    }

    /// Switches an event of a kept site on or off; returns whether there is one.
    pub(super) fn switch(&mut self, id: u32, place: ProbePoint, on: bool) -> bool {
        let site = self.sites.iter_mut().find(|(_, site)| site.id == id);
        let point = site.and_then(|(_, site)| match place {
            ProbePoint::Entry => site.entry.as_mut(),
            ProbePoint::Exit => site.exit.as_mut(),
        });
        point.map(|point| point.is_on = on).is_some()
    }

    /// Removes and returns the sites if an object was loaded since they were last taken: their libraries may be there now.
    pub(super) fn take_if_loaded(&mut self) -> Vec<LaterSite> {
        if self.sites.is_empty() {
            return Vec::new();
        }
        let n_loaded = object::n_loaded_so_far();
        if n_loaded == self.n_loaded {
            return Vec::new();
        }
        self.n_loaded = n_loaded;
        std::mem::take(&mut self.sites)
    }
}
