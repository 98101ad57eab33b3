//! Instrumented functions: orders are translated to addresses of this process.

use super::later_sites::LaterSites;
use super::modules::Modules;
use super::problem::OrderError;
use super::reached;
use crate::probes;
use events::ProbePoint;
use instrument::{Attribute, Site, SiteEvent, ValueSource, live};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;
use wire::OrderAnswer;
use wire::control::{self, Module};

/// Sites that have probes, and those that will have them once their library is loaded.
#[derive(Debug, Default)]
pub(crate) struct Sites {
    /// Whether each site is a sync point.
    installed: HashMap<u32, bool>,
    later: LaterSites,
}

impl Sites {
    /// Installs probes; those in libraries that are not loaded yet, once they are.
    pub(crate) fn install(&mut self, modules: &[Module], wanted: &[control::Site]) -> OrderAnswer {
        let begin = Instant::now();
        let (modules, here_now) = (Arc::from(modules), Modules::find(modules));
        let (mut refused, mut warnings, mut sites) = (Vec::new(), Vec::new(), Vec::new());
        for site in wanted {
            self.later.forget(site.id);
            match here(site, &here_now) {
                Ok(site) => sites.push(site),
                Err(error @ OrderError::NotLoaded { .. }) if self.later.keep(&modules, site) => {
                    let when = "it is measured from when the program loads it on";
                    warnings.push((site.id, format!("{error}; {when}")));
                }
                Err(error) => refused.push((site.id, error.to_string())),
            }
        }
        self.put_in(&sites, &mut refused, &mut warnings);
        installed(refused, warnings, begin)
    }

    /// Returns whether sites wait for their library.
    pub(crate) fn waits_for_libraries(&self) -> bool {
        !self.later.is_empty()
    }

    /// Installs the probes whose libraries were loaded meanwhile; `None` if there are none.
    pub(crate) fn install_later(&mut self) -> Option<OrderAnswer> {
        let begin = Instant::now();
        let (mut refused, mut warnings) = (Vec::new(), Vec::new());
        let mut waiting = self.later.take_if_loaded();
        // Sites of one order have the same list of modules.
        while let Some((modules, _)) = waiting.first() {
            let modules = Arc::clone(modules);
            let here_now = Modules::find(&modules);
            let of_order: Vec<_> =
                waiting.extract_if(.., |(other, _)| Arc::ptr_eq(other, &modules)).collect();
            let mut sites = Vec::new();
            for (_, site) in of_order {
                match here(&site, &here_now) {
                    Ok(here) => {
                        let since = "its library was loaded: it is measured from then on";
                        warnings.push((site.id, since.to_owned()));
                        sites.push(here);
                    }
                    Err(OrderError::NotLoaded { .. }) if self.later.keep(&modules, &site) => {}
                    Err(error) => refused.push((site.id, error.to_string())),
                }
            }
            if !sites.is_empty() {
                self.put_in(&sites, &mut refused, &mut warnings);
            }
        }
        let is_news = !refused.is_empty() || !warnings.is_empty();
        is_news.then(|| installed(refused, warnings, begin))
    }

    fn put_in(
        &mut self,
        sites: &[Site],
        refused: &mut Vec<(u32, String)>,
        warnings: &mut Vec<(u32, String)>,
    ) {
        let results = match probes::start() {
            Ok(probes) => {
                let results = probes.install(sites).into_iter();
                results.map(|result| result.map_err(|error| error.to_string())).collect()
            }
            Err(error) => vec![Err(error.to_string()); sites.len()],
        };
        for (site, result) in sites.iter().zip(results) {
            match result {
                Ok(warning) => {
                    let of_process = live::warning().filter(|_| self.installed.is_empty());
                    warnings.extend(warning.into_iter().chain(of_process).map(|it| (site.id, it)));
                    self.installed.insert(site.id, site.is_sync);
                }
                Err(reason) => refused.push((site.id, reason)),
            }
        }
    }

    /// Removes probes.
    pub(crate) fn remove(&mut self, sites: &[u32]) -> OrderAnswer {
        let begin = Instant::now();
        let is_later = |id: &&u32| self.later.forget(**id);
        let (_, sites): (Vec<u32>, Vec<u32>) = sites.iter().partition(is_later);
        let refused = self.take_out(&sites);
        installed(refused, Vec::new(), begin)
    }

    /// Removes all probes; returns the sites that failed, each with the reason.
    pub(crate) fn remove_all(&mut self) -> Vec<(u32, String)> {
        self.later.forget_all();
        let sites: Vec<u32> = self.installed.keys().copied().collect();
        self.take_out(&sites)
    }

    fn take_out(&mut self, sites: &[u32]) -> Vec<(u32, String)> {
        let Some(probes) = probes::instrument() else { return Vec::new() };
        let mut refused = Vec::new();
        for (site, result) in sites.iter().zip(probes.remove(sites)) {
            match result {
                Ok(()) => {
                    self.installed.remove(site);
                }
                Err(error) => refused.push((*site, error.to_string())),
            }
        }
        refused
    }

    /// Switches events on or off.
    pub(crate) fn switch(&mut self, points: &[(u32, ProbePoint)], on: bool) -> OrderAnswer {
        let begin = Instant::now();
        let later = &mut self.later;
        let mut is_done = |(site, place): &(u32, ProbePoint)| {
            later.switch(*site, *place, on)
                || probes::instrument().is_some_and(|probes| probes.switch(*site, *place, on))
        };
        let missing = points.iter().filter(|point| !is_done(point));
        let refused = missing.map(|(site, _)| (*site, OrderError::NoSite.to_string()));
        installed(refused.collect(), Vec::new(), begin)
    }

    /// Switches all events off, and gives up those that wait for their library.
    pub(crate) fn switch_off(&mut self) {
        self.later.forget_all();
        let Some(probes) = probes::instrument() else { return };
        for site in self.installed.keys() {
            // Points without an event stay as they are.
            probes.switch(*site, ProbePoint::Entry, false);
            probes.switch(*site, ProbePoint::Exit, false);
        }
    }

    /// Checks that actions can be armed at a site.
    pub(crate) fn check_sync(&self, site: u32) -> Result<(), OrderError> {
        let is_sync = self.installed.get(&site) == Some(&true);
        if is_sync { Ok(()) } else { Err(self.missing(site, OrderError::NoSyncPoint)) }
    }

    /// Checks that a site has probes.
    pub(crate) fn check_known(&self, site: u32) -> Result<(), OrderError> {
        let is_known = self.installed.contains_key(&site);
        if is_known { Ok(()) } else { Err(self.missing(site, OrderError::NoSite)) }
    }

    /// Returns why a site has no probes: because its library is not loaded yet, else `reason`.
    fn missing(&self, site: u32, reason: OrderError) -> OrderError {
        let library = self.later.library_of(site);
        library.map_or(reason, |module| OrderError::NotLoaded { module })
    }
}

fn installed(
    refused: Vec<(u32, String)>,
    warnings: Vec<(u32, String)>,
    begin: Instant,
) -> OrderAnswer {
    let took_ns = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
    OrderAnswer::Installed { refused, warnings, took_ns }
}

/// Translates a site to addresses of this process.
fn here(site: &control::Site, modules: &Modules) -> Result<Site, OrderError> {
    let point = |point: &Option<control::SitePoint>| {
        point.as_ref().map(|point| point_here(point, modules)).transpose()
    };
    Ok(Site {
        id: site.id,
        function: modules.code(site.function)?,
        n_bytes: site.n_bytes as usize,
        n_bytes_to_next: site.n_bytes_to_next as usize,
        entry: point(&site.entry)?,
        exit: point(&site.exit)?,
        is_sync: site.is_sync,
    })
}

fn point_here(point: &control::SitePoint, modules: &Modules) -> Result<SiteEvent, OrderError> {
    let attributes = point.attributes.iter().map(|attribute| {
        let kind = attribute.kind;
        let source = match attribute.source {
            control::ValueOrigin::Global(at) => {
                ValueSource::Global(modules.data(at, kind.n_bytes())?)
            }
            control::ValueOrigin::Integer(n) => ValueSource::Integer(n),
            control::ValueOrigin::Referred(n) => ValueSource::Referred(n),
            control::ValueOrigin::Float(n) => ValueSource::Float(n),
            control::ValueOrigin::Returned => ValueSource::Returned,
            control::ValueOrigin::Reached(way) => {
                ValueSource::Reached(reached::way_here(&way, modules)?)
            }
        };
        Ok(Attribute { source, kind })
    });
    let attributes = attributes.collect::<Result<_, _>>()?;
    Ok(SiteEvent { event: point.event, attributes, is_on: point.is_on })
}
