//! A description with its names looked up: what is put into processes, and how values are set.

use crate::measured::{EventFacts, ProbedFunction};
use application::Ranks;
use events::{Place, Value, ValueType};
use wire::Order;
use wire::control::{Change, Location, Module, N_SITES_MAX, Point, Replacement, Site};

/// Sites in one order, at most: several orders fit the mailbox of a process.
const N_SITES_PER_ORDER: usize = N_SITES_MAX / 4;

/// Everything that processes are told about the program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Files that locations refer to.
    pub modules: Vec<Module>,
    /// Functions with all events of all actors: a process is given what concerns its rank.
    pub sites: Vec<Site>,
    /// What each event is, by the number that its records have: first those of the description in its
    /// order, then those of `--probe`, which every rank has.
    pub events: Vec<EventFacts>,
    /// Functions that `--probe` chose.
    pub probed: Vec<ProbedFunction>,
    /// Tuning points in the order of the description.
    pub points: Vec<PlannedPoint>,
    /// Functions without events that tuning points need, by their sites.
    pub names: Vec<(u32, String)>,
    /// Sentences about what will not be seen.
    pub warnings: Vec<String>,
}

/// A tuning point in the program.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedPoint {
    /// Site and place at which it is changed.
    pub sync: (u32, Place),
    /// Type of its value.
    pub kind: ValueType,
    /// What is changed.
    pub change: PlannedChange,
    /// On which ranks.
    pub ranks: Ranks,
}

/// What changing a tuning point does.
#[derive(Clone, Debug, PartialEq)]
pub enum PlannedChange {
    /// Sets memory.
    Set {
        /// Where.
        at: Location,
    },
    /// Calls a function with the value as its only argument.
    Call {
        /// The function.
        function: Location,
        /// What it returns; none for `void`.
        returns: Option<ValueType>,
    },
    /// Loads a library.
    Load {
        /// Its path on the nodes.
        path: String,
    },
    /// Lets calls of a function go elsewhere when the value is 1, back when it is 0.
    Replace {
        /// The function, a site of its own.
        site: u32,
        /// What takes its place.
        by: Replacement,
    },
}

impl PlannedPoint {
    /// The order that gives it `value`; none when it cannot have it.
    pub fn change(&self, value: Value) -> Option<Change> {
        let bits = self.kind.bits(value);
        match &self.change {
            PlannedChange::Set { at } => {
                bits.map(|_| Change::Set { at: *at, kind: self.kind, value })
            }
            PlannedChange::Call { function, returns } => bits.map(|_| Change::Call {
                function: *function,
                arguments: vec![(self.kind, value)],
                returns: *returns,
            }),
            PlannedChange::Load { path } => {
                let path = path.clone();
                (value.as_integer() == Some(1)).then_some(Change::Load { path })
            }
            PlannedChange::Replace { site, by } => {
                let by = match value.as_integer() {
                    Some(0) => Replacement::Original,
                    Some(1) => by.clone(),
                    _ => return None,
                };
                Some(Change::Replace { site: *site, by })
            }
        }
    }

    /// Sites that it needs.
    pub(super) fn sites(&self) -> impl Iterator<Item = u32> {
        let replaced = match self.change {
            PlannedChange::Replace { site, .. } => Some(site),
            _ => None,
        };
        std::iter::once(self.sync.0).chain(replaced)
    }
}

impl Plan {
    /// The function of a site, as the description names it.
    pub(super) fn function_of(&self, site: u32) -> String {
        let found = self.sites.iter().find(|known| known.id == site);
        let point = found.and_then(|site| site.entry.as_ref().or(site.exit.as_ref()));
        let facts = point.and_then(|point| self.events.get(point.event as usize));
        let named = self.names.iter().find(|(known, _)| *known == site).map(|(_, name)| name);
        let name = facts.map(|facts| &facts.function).or(named);
        name.cloned().unwrap_or_else(|| format!("site {site}"))
    }

    /// Orders that put into a rank what `wants` says of its events, and what the tuning points that
    /// `changes` names need there.
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

/// A point that emits nothing.
fn silent() -> Point {
    Point { event: u32::MAX, attributes: Vec::new(), is_on: false }
}

/// What of a site a rank needs, if anything.
fn site_of(site: &Site, points: &[&PlannedPoint], wants: &impl Fn(u32) -> bool) -> Option<Site> {
    let mut own = site.clone();
    own.is_sync = false;
    own.entry = own.entry.filter(|point| wants(point.event));
    own.exit = own.exit.filter(|point| wants(point.event));
    for (_, place) in points.iter().map(|point| point.sync).filter(|(id, _)| *id == site.id) {
        own.is_sync = true;
        // Only where there is a point passages are counted.
        match place {
            Place::Entry => own.entry.get_or_insert_with(silent),
            Place::Exit => own.exit.get_or_insert_with(silent),
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
        let point = Point { event, attributes: Vec::new(), is_on: true };
        Site {
            id,
            function: AT,
            n_bytes: 40,
            n_bytes_to_next: 48,
            entry: Some(point),
            exit: None,
            is_sync: false,
        }
    }

    fn point(change: PlannedChange) -> PlannedPoint {
        let ranks = Ranks { spans: vec![(0, Some(0))] };
        PlannedPoint { sync: (1, Place::Entry), kind: ValueType::I32, change, ranks }
    }

    /// Expects site numbers, and which are sync points.
    #[track_caller]
    fn check(rank: u32, wanted: &[u32], expected: &[(u32, bool)]) {
        let replace = PlannedChange::Replace { site: 2, by: Replacement::Exported("g".into()) };
        let plan = Plan {
            sites: vec![site(0, 10), site(1, 11), site(2, 12), site(3, 13)],
            points: vec![point(replace)],
            ..Plan::default()
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
        let plan = Plan { sites: vec![site(1, 11)], points: vec![set], ..Plan::default() };
        let orders = plan.install(0, |_| false, |_| true);
        let [Order::Install { sites, .. }] = &orders[..] else { panic!("{orders:?}") };
        assert_eq!(sites[0].entry, Some(silent()));
        assert_eq!((&sites[0].exit, sites[0].is_sync), (&None, true));
    }

    #[test]
    fn many_sites_go_in_several_orders() {
        let sites = (0..1100).map(|id| site(id, id)).collect();
        let plan = Plan { sites, ..Plan::default() };
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
        let back = Change::Replace { site: 2, by: Replacement::Original };
        assert_eq!(replace.change(Value::Int(0)), Some(back));
    }
}
