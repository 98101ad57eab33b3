//! Plan of tuning: a description with its names resolved, as sites to install in processes and values to set.

use app_description::{Application, RankSet};
use events::{Lever, ProbePoint, Value, ValueType};
use wire::Order;
use wire::control::{
    ActionEffect, LEVER_SITE, Location, Module, N_SITES_MAX, Replacement, Site, SitePoint, Way,
};
use wire::facts::{EventFacts, ProbedFunction};

/// Maximum number of sites in one order, so that several orders fit into a process's mailbox.
const N_SITES_PER_ORDER: usize = N_SITES_MAX / 4;

/// Resolved description, from which each process gets its part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TuningPlan {
    /// Files that locations refer to.
    pub modules: Vec<Module>,
    /// Functions with the events of all actors; a process gets those that concern its rank.
    pub sites: Vec<Site>,
    /// Events by their number in records: those of the description in its order, then those of `--probe` in all ranks.
    pub events: Vec<EventFacts>,
    /// Functions chosen with `--probe`.
    pub probed: Vec<ProbedFunction>,
    /// Tuning points in the order of the description.
    pub points: Vec<PlannedPoint>,
    /// Functions without events that tuning points need, by site.
    pub names: Vec<(u32, String)>,
    /// Sentences about calls that will not be seen.
    pub warnings: Vec<String>,
}

/// A tuning point in the program.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedPoint {
    /// Site and place of the sync point at which it is changed.
    pub sync: (u32, ProbePoint),
    /// Type of the value.
    pub kind: ValueType,
    /// Change to make.
    pub change: PlannedChange,
    /// Ranks on which it is changed.
    pub ranks: RankSet,
}

/// Kind of change to a tuning point.
#[derive(Clone, Debug, PartialEq)]
pub enum PlannedChange {
    /// Sets a variable in memory.
    Set {
        /// Location of the variable.
        at: Location,
    },
    /// Sets a number that is reached through a pointer.
    SetReached {
        /// Way to the number.
        way: Way,
    },
    /// Calls a function with the value as its only argument.
    Call {
        /// Location of the function.
        function: Location,
        /// Type of its return value; `None` for `void`.
        returns: Option<ValueType>,
    },
    /// Loads a library.
    Load {
        /// Path on the nodes.
        path: String,
    },
    /// Redirects calls of a function if the value is 1, and restores them if it is 0.
    Replace {
        /// Site of the function.
        site: u32,
        /// Replacement for the function.
        by: Replacement,
    },
    /// Sets a lever of the process.
    Lever(Lever),
}

impl PlannedPoint {
    /// Returns the change that sets `value`; `None` if the tuning point cannot have it.
    pub fn change(&self, value: Value) -> Option<ActionEffect> {
        let bits = self.kind.bits(value);
        match &self.change {
            PlannedChange::Set { at } => {
                bits.map(|_| ActionEffect::Set { at: *at, kind: self.kind, value })
            }
            PlannedChange::SetReached { way } => {
                bits.map(|_| ActionEffect::SetReached { way: *way, kind: self.kind, value })
            }
            PlannedChange::Call { function, returns } => bits.map(|_| ActionEffect::Call {
                function: *function,
                arguments: vec![(self.kind, value)],
                returns: *returns,
            }),
            PlannedChange::Load { path } => {
                let path = path.clone();
                (value.as_integer() == Some(1)).then_some(ActionEffect::Load { path })
            }
            PlannedChange::Replace { site, by } => {
                let by = match value.as_integer() {
                    Some(0) => Replacement::Original,
                    Some(1) => by.clone(),
                    _ => return None,
                };
                Some(ActionEffect::Replace { site: *site, by })
            }
            PlannedChange::Lever(lever) => {
                let value = i64::try_from(value.as_integer()?).ok()?;
                Some(ActionEffect::Lever { lever: *lever, value })
            }
        }
    }

    /// Returns the sites that the tuning point needs.
    pub fn sites(&self) -> impl Iterator<Item = u32> {
        let replaced = match self.change {
            PlannedChange::Replace { site, .. } => Some(site),
            _ => None,
        };
        let sync = Some(self.sync.0).filter(|site| *site != LEVER_SITE);
        sync.into_iter().chain(replaced)
    }
}

impl TuningPlan {
    /// Adds the levers among the tuning points of `application`, which come after those of the plan.
    pub fn add_levers(&mut self, application: &Application) {
        for point in application.tuning_points.iter().skip(self.points.len()) {
            let (Some(lever), Some(kind)) = (point.change.lever(), point.kind) else { continue };
            let ranks = application.actors[point.actor].ranks.clone();
            let (sync, change) = ((LEVER_SITE, point.sync_place), PlannedChange::Lever(lever));
            self.points.push(PlannedPoint { sync, kind, change, ranks });
        }
    }

    /// Returns the function of a site, as the description names it.
    pub(super) fn function_of(&self, site: u32) -> String {
        let found = self.sites.iter().find(|known| known.id == site);
        let point = found.and_then(|site| site.entry.as_ref().or(site.exit.as_ref()));
        let facts = point.and_then(|point| self.events.get(point.event as usize));
        let named = self.names.iter().find(|(known, _)| *known == site).map(|(_, name)| name);
        let name = facts.map(|facts| &facts.function).or(named);
        name.cloned().unwrap_or_else(|| format!("site {site}"))
    }

    /// Returns the orders that install in a rank the events selected by `wants`, and the sites needed by the
    /// tuning points selected by `changes`.
    pub fn install(
        &self,
        rank: u32,
        wants: impl Fn(u32) -> bool,
        changes: impl Fn(usize) -> bool,
    ) -> Vec<Order> {
        let points = self.points.iter().enumerate();
        let points: Vec<&PlannedPoint> = points
            .filter(|(idx, point)| changes(*idx) && point.ranks.contains(rank))
            .map(|(_, point)| point)
            .collect();
        let own = |site: &Site| site_of(site, &points, &wants);
        let sites: Vec<Site> = self.sites.iter().filter_map(own).collect();
        let modules = || self.modules.clone();
        let order = |sites: &[Site]| Order::Install { modules: modules(), sites: sites.to_vec() };
        sites.chunks(N_SITES_PER_ORDER).map(order).collect()
    }
}

/// Returns a point that emits no event.
fn silent() -> SitePoint {
    SitePoint { event: u32::MAX, attributes: Vec::new(), is_on: false }
}

/// Returns the part of a site that a rank needs, if any.
fn site_of(site: &Site, points: &[&PlannedPoint], wants: &impl Fn(u32) -> bool) -> Option<Site> {
    let mut own = site.clone();
    own.is_sync = false;
    own.entry = own.entry.filter(|point| wants(point.event));
    own.exit = own.exit.filter(|point| wants(point.event));
    for (_, place) in points.iter().map(|point| point.sync).filter(|(id, _)| *id == site.id) {
        own.is_sync = true;
        // Passages are only counted at points that are present.
        match place {
            ProbePoint::Entry => own.entry.get_or_insert_with(silent),
            ProbePoint::Exit => own.exit.get_or_insert_with(silent),
        };
    }
    let is_changed = points.iter().any(|point| point.sites().any(|needed| needed == site.id));
    (own.entry.is_some() || own.exit.is_some() || is_changed).then_some(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Location = Location { module: 0, address: 64 };

    fn site(id: u32, event: u32) -> Site {
        let point = SitePoint { event, attributes: Vec::new(), is_on: true };
        Site { id, entry: Some(point), ..Site::default() }
    }

    fn point(change: PlannedChange) -> PlannedPoint {
        let ranks = RankSet { spans: vec![(0, Some(0))] };
        PlannedPoint { sync: (1, ProbePoint::Entry), kind: ValueType::I32, change, ranks }
    }

    /// Checks the site numbers, and which of them are sync points.
    #[track_caller]
    fn check(rank: u32, wanted: &[u32], expected: &[(u32, bool)]) {
        let replace = PlannedChange::Replace { site: 2, by: Replacement::Exported("g".into()) };
        let plan = TuningPlan {
            sites: vec![site(0, 10), site(1, 11), site(2, 12), site(3, 13)],
            points: vec![point(replace)],
            ..TuningPlan::default()
        };
        let orders = plan.install(rank, |event| wanted.contains(&event), |_| true);
        let sites = orders.iter().flat_map(|order| match order {
            Order::Install { sites, .. } => sites.clone(),
            _ => Vec::new(),
        });
        let found: Vec<_> = sites.map(|site| (site.id, site.is_sync)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_rank_gets_what_concerns_it() {
        check(0, &[10], &[(0, false), (1, true), (2, false)]);
        check(1, &[10], &[(0, false)]);
        check(1, &[], &[]);
    }

    #[test]
    fn a_sync_point_has_probes_where_no_event_is_wanted() {
        let set = point(PlannedChange::Set { at: AT });
        let plan =
            TuningPlan { sites: vec![site(1, 11)], points: vec![set], ..TuningPlan::default() };
        let orders = plan.install(0, |_| false, |_| true);
        let [Order::Install { sites, .. }] = &orders[..] else { panic!("{orders:?}") };
        assert_eq!(sites[0].entry, Some(silent()));
        assert_eq!((&sites[0].exit, sites[0].is_sync), (&None, true));
    }

    #[test]
    fn many_sites_go_in_several_orders() {
        let sites = (0..1100).map(|id| site(id, id)).collect();
        let plan = TuningPlan { sites, ..TuningPlan::default() };
        assert_eq!(plan.install(0, |_| true, |_| true).len(), 9);
    }

    #[test]
    fn a_value_that_does_not_fit_is_no_change() {
        let set = point(PlannedChange::Set { at: AT });
        assert!(set.change(Value::Int(3)).is_some());
        assert!(set.change(Value::Float(3.5)).is_none());
        let load = point(PlannedChange::Load { path: "/lib.so".into() });
        assert!(load.change(Value::Int(1)).is_some());
        assert!(load.change(Value::Int(0)).is_none(), "nothing unloads it");
        let by = Replacement::Exported("g".into());
        let replace = point(PlannedChange::Replace { site: 2, by });
        let back = ActionEffect::Replace { site: 2, by: Replacement::Original };
        assert_eq!(replace.change(Value::Int(0)), Some(back));
    }
}
