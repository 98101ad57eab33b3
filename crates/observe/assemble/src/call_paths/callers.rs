//! Callers of MPI call sites: where one wrapper hides many, the innermost callers that differ.

use super::names::{PlaceId, PlaceNames};
use run_record::summary::{CallSite, SampledCaller};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Maximum number of levels at which callers are compared.
pub(super) const N_LEVELS_MAX: usize = 32;
/// Smallest number of samples of call sites that look alike.
const N_SAMPLES_MIN: u64 = 10;
/// Smallest share of a call site's samples for a caller to be shown.
const SHARE_MIN: f64 = 0.01;
/// Maximum number of callers in the summary.
const N_CALLERS_MAX: usize = 200;

/// Samples by call site and callers, innermost first; the first place is that of the call itself.
#[derive(Debug, Default)]
pub(super) struct SiteCallers {
    chains: HashMap<(usize, Vec<PlaceId>), u64>,
}

/// Call site, callers, and number of samples.
type Chain<'a> = (usize, &'a [PlaceId], u64);

impl SiteCallers {
    pub(super) fn count(&mut self, site: usize, chain: Vec<PlaceId>, samples: u64) {
        *self.chains.entry((site, chain)).or_default() += samples;
    }

    /// Returns the callers of each call site that has several, or that another one looks like.
    pub(super) fn told_apart(
        &self,
        names: &PlaceNames<'_>,
        sites: &[CallSite],
    ) -> Vec<SampledCaller> {
        let mut alike: BTreeMap<_, Vec<Chain<'_>>> = BTreeMap::new();
        for ((site, chain), samples) in &self.chains {
            let Some(call) = sites.get(*site) else { continue };
            let place = &call.place;
            let label = (&call.operation, &place.function, &place.file, place.line);
            alike.entry(label).or_default().push((*site, chain, *samples));
        }
        let mut callers: Vec<_> =
            alike.into_values().flat_map(|chains| callers_of(names, &chains)).collect();
        callers.sort_by_key(|caller| (std::cmp::Reverse(caller.samples), caller.call_site));
        callers.truncate(N_CALLERS_MAX);
        callers
    }
}

/// Returns the callers at the first level at which they differ.
fn callers_of(names: &PlaceNames<'_>, chains: &[Chain<'_>]) -> Vec<SampledCaller> {
    let n_all: u64 = chains.iter().map(|(_, _, samples)| samples).sum();
    let Some(level) = first_difference(chains).filter(|_| N_SAMPLES_MIN <= n_all) else {
        return Vec::new();
    };
    let mut by_site: HashMap<usize, u64> = HashMap::new();
    let mut by_caller: BTreeMap<(usize, PlaceId), u64> = BTreeMap::new();
    for (site, chain, samples) in chains {
        *by_site.entry(*site).or_default() += samples;
        if let Some(place) = chain.get(level).or(chain.last()) {
            *by_caller.entry((*site, *place)).or_default() += samples;
        }
    }
    let caller = |((call_site, place), samples): (_, u64)| SampledCaller {
        call_site,
        place: names.place(place).clone(),
        samples,
        share: samples as f64 / by_site[&call_site].max(1) as f64,
    };
    let callers = by_caller.into_iter().map(caller);
    callers.filter(|caller| SHARE_MIN <= caller.share).collect()
}

/// Returns the first level, from the callers of the call's own function on, at which the chains differ.
fn first_difference(chains: &[Chain<'_>]) -> Option<usize> {
    (1..N_LEVELS_MAX).find(|level| {
        let places: BTreeSet<_> =
            chains.iter().filter_map(|(_, chain, _)| chain.get(*level)).collect();
        1 < places.len()
    })
}
