//! Probes of this process: installing, removing, switching and arming.

mod installed;

use crate::near::{Mappings, NearArenas};
use crate::site::{Callback, Refusal, Site, StartError, ThreadHooks};
use crate::{asm, context, live, passage, shadow};
use events::ProbePoint;
use installed::Installed;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Probes of this process.
#[derive(Debug)]
pub struct Instrument {
    state: Mutex<State>,
    /// Whether the processor guards return addresses, so that exits cannot be intercepted.
    is_guarded: bool,
}

#[derive(Debug, Default)]
struct State {
    near: NearArenas,
    sites: HashMap<u32, Installed>,
    functions: HashMap<usize, u32>,
    ids: HashSet<u32>,
}

impl Instrument {
    /// Prepares this process (memory near the code, signal handlers). Call it once per process.
    ///
    /// # Errors
    /// When the system forbids it; the error names the call.
    pub fn start(hooks: ThreadHooks) -> Result<Self, StartError> {
        passage::start(hooks)?;
        shadow::start()?;
        live::start()?;
        Ok(Self { state: Mutex::default(), is_guarded: asm::is_return_guarded() })
    }

    /// Installs probes, even while other threads run; returns one result per site, with a warning if a site
    /// works with a drawback (a slow probe).
    pub fn install(&self, sites: &[Site]) -> Vec<Result<Option<String>, Refusal>> {
        let mut state = self.state();
        let mappings = Mappings::read();
        let mut outcomes: Vec<_> =
            sites.iter().map(|site| state.prepare(site, self.is_guarded, &mappings)).collect();
        let refused = installed::put_in(outcomes.iter().map(|outcome| outcome.as_ref().ok()));
        for (idx, refusal) in refused {
            state.forget(&sites[idx]);
            outcomes[idx] = Err(refusal);
        }
        let keep = |(site, outcome): (&Site, Result<Installed, Refusal>)| {
            let installed = outcome?;
            let warning = installed.warning.clone();
            state.sites.insert(site.id, installed);
            Ok(warning)
        };
        sites.iter().zip(outcomes).map(keep).collect()
    }

    /// Removes probes; restores the code byte for byte.
    pub fn remove(&self, sites: &[u32]) -> Vec<Result<(), Refusal>> {
        let mut state = self.state();
        let patches: Vec<_> = sites
            .iter()
            .filter_map(|site| state.sites.get(site))
            .map(|installed| installed.patches.clone())
            .collect();
        let mut outcomes = installed::take_out(&patches).into_iter();
        let remove = |site: &u32| {
            if !state.sites.contains_key(site) {
                return Err(Refusal::Unknown(*site));
            }
            outcomes.next().unwrap_or(Err(Refusal::Unknown(*site)))?;
            if let Some(installed) = state.sites.remove(site) {
                installed.context.set(0);
                state.functions.retain(|_, id| id != site);
                state.ids.remove(site);
            }
            Ok(())
        };
        sites.iter().map(remove).collect()
    }

    /// Switches an event on or off by one store. Returns false for an unknown site.
    pub fn switch(&self, site: u32, place: ProbePoint, on: bool) -> bool {
        let flag = match place {
            ProbePoint::Entry => context::ENTRY,
            ProbePoint::Exit => context::EXIT,
        };
        self.with(site, |installed| {
            let is_there = installed.has(place);
            if is_there {
                installed.context.change(flag, on);
            }
            is_there
        })
    }

    /// Arms an action at a site, to run at the first passage numbered `at_hit` or later. Returns false if
    /// the site is unknown, is not a sync point, or has no event at that place.
    #[expect(clippy::too_many_arguments, reason = "each is a plain number, named at every caller")]
    pub fn arm(
        &self,
        site: u32,
        place: ProbePoint,
        action: u64,
        at_hit: u32,
        act: Callback,
    ) -> bool {
        self.with(site, |installed| {
            let is_there = installed.is_sync && installed.has(place);
            if is_there {
                installed.actions.arm(place, action, at_hit, act);
                installed.context.change(armed(place), true);
            }
            is_there
        })
    }

    /// Disarms an action; returns false if it is not armed (any more).
    pub fn disarm(&self, action: u64) -> bool {
        let state = self.state();
        let mut was_armed = false;
        for installed in state.sites.values() {
            for place in [ProbePoint::Entry, ProbePoint::Exit] {
                was_armed |= installed.actions.disarm(place, action);
                if !installed.actions.is_armed(place) {
                    installed.context.change(armed(place), false);
                }
            }
        }
        was_armed
    }

    /// Number of passages of a sync site so far.
    #[expect(clippy::cast_possible_truncation, reason = "numbers of passages wrap around")]
    pub fn n_hits(&self, site: u32, place: ProbePoint) -> u32 {
        let state = self.state();
        let Some(Installed { context, .. }) = state.sites.get(&site) else { return 0 };
        let point = match place {
            ProbePoint::Entry => &context.entry,
            ProbePoint::Exit => &context.exit,
        };
        point.hits.load(Ordering::Acquire) as u32
    }

    /// Redirects calls of the site's function to `by` from now on (`None`: back to the function itself). Its
    /// probes stay in effect.
    pub fn replace(&self, site: u32, by: Option<usize>) -> bool {
        self.with(site, |installed| {
            if let Some(by) = by {
                installed.context.replacement.store(by, Ordering::Release);
            }
            installed.context.change(context::REPLACED, by.is_some());
            true
        })
    }

    fn with(&self, site: u32, what: impl FnOnce(&Installed) -> bool) -> bool {
        self.state().sites.get(&site).is_some_and(what)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Writes the code of a site and computes its patches; the program's code is still unchanged.
    fn prepare(
        &mut self,
        site: &Site,
        is_guarded: bool,
        mappings: &Mappings,
    ) -> Result<Installed, Refusal> {
        if self.ids.contains(&site.id) {
            return Err(Refusal::Taken(site.id));
        }
        if let Some(other) = self.functions.get(&site.function) {
            return Err(Refusal::SameFunction { address: site.function, site: *other });
        }
        let installed = Installed::prepare(site, is_guarded, &mut self.near, mappings)?;
        self.functions.insert(site.function, site.id);
        self.ids.insert(site.id);
        Ok(installed)
    }

    fn forget(&mut self, site: &Site) {
        self.functions.remove(&site.function);
        self.ids.remove(&site.id);
    }
}

fn armed(place: ProbePoint) -> u8 {
    match place {
        ProbePoint::Entry => context::ARMED_ENTRY,
        ProbePoint::Exit => context::ARMED_EXIT,
    }
}
