//! Instrumented functions: orders are translated to addresses of this process.

use super::modules::Modules;
use super::problem::OrderError;
use super::reached;
use crate::probes;
use events::ProbePoint;
use instrument::{Attribute, Site, SiteEvent, ValueSource, live};
use std::collections::HashMap;
use std::time::Instant;
use wire::OrderAnswer;
use wire::control::{self, Module};

/// Sites that have probes.
#[derive(Debug, Default)]
pub(crate) struct Sites {
    /// Whether each site is a sync point.
    installed: HashMap<u32, bool>,
}

impl Sites {
    /// Installs probes.
    pub(crate) fn install(&mut self, modules: &[Module], wanted: &[control::Site]) -> OrderAnswer {
        let begin = Instant::now();
        let modules = Modules::find(modules);
        let (mut refused, mut warnings, mut sites) = (Vec::new(), Vec::new(), Vec::new());
        for site in wanted {
            match here(site, &modules) {
                Ok(site) => sites.push(site),
                Err(error) => refused.push((site.id, error.to_string())),
            }
        }
        let results = match probes::start() {
            Ok(probes) => {
                let results = probes.install(&sites).into_iter();
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
        installed(refused, warnings, begin)
    }

    /// Removes probes.
    pub(crate) fn remove(&mut self, sites: &[u32]) -> OrderAnswer {
        let begin = Instant::now();
        let refused = self.take_out(sites);
        installed(refused, Vec::new(), begin)
    }

    /// Removes all probes; returns the sites that failed, each with the reason.
    pub(crate) fn remove_all(&mut self) -> Vec<(u32, String)> {
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
    pub(crate) fn switch(&self, points: &[(u32, ProbePoint)], on: bool) -> OrderAnswer {
        let begin = Instant::now();
        let is_done = |(site, place): &(u32, ProbePoint)| {
            probes::instrument().is_some_and(|probes| probes.switch(*site, *place, on))
        };
        let missing = points.iter().filter(|point| !is_done(point));
        let refused = missing.map(|(site, _)| (*site, OrderError::NoSite.to_string()));
        installed(refused.collect(), Vec::new(), begin)
    }

    /// Switches all events off.
    pub(crate) fn switch_off(&self) {
        let Some(probes) = probes::instrument() else { return };
        for site in self.installed.keys() {
            // Points without an event stay as they are.
            probes.switch(*site, ProbePoint::Entry, false);
            probes.switch(*site, ProbePoint::Exit, false);
        }
    }

    /// Checks that actions can be armed at a site.
    pub(crate) fn check_sync(&self, site: u32) -> Result<(), OrderError> {
        if self.installed.get(&site) == Some(&true) { Ok(()) } else { Err(OrderError::NoSyncPoint) }
    }

    /// Checks that a site has probes.
    pub(crate) fn check_known(&self, site: u32) -> Result<(), OrderError> {
        if self.installed.contains_key(&site) { Ok(()) } else { Err(OrderError::NoSite) }
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
