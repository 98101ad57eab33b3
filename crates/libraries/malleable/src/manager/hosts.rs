//! Hosts with their numbers of slots and of ranks.

use super::{GrantedHost, PlaceRequest, StartMethod};
use resize_plan::{JobNode, Placement, place, place_where_found};

/// Host on which ranks may be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Name of the host.
    pub name: String,
    /// Largest number of ranks.
    pub n_slots: u32,
    /// Present number of ranks.
    pub n_busy: u32,
    /// Way in which ranks are started there.
    pub start_method: StartMethod,
}

/// All hosts of a program.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    hosts: Vec<Host>,
    placement: Placement,
}

impl Hosts {
    /// Creates an empty list; ranks will be placed by this rule.
    pub fn new(placement: Placement) -> Self {
        Self { hosts: Vec::new(), placement }
    }

    /// Adds a host. A known host gets more slots.
    pub fn add(&mut self, host: Host) {
        match self.find(&host.name) {
            Some(known) => known.n_slots += host.n_slots,
            None => self.hosts.push(host),
        }
    }

    /// Removes a host by its name.
    pub fn remove(&mut self, name: &str) {
        self.hosts.retain(|host| !is_same(&host.name, name));
    }

    /// All hosts.
    pub fn all(&self) -> &[Host] {
        &self.hosts
    }

    /// Number of free slots on the hosts that a request may use.
    pub fn n_free(&self, request: &PlaceRequest) -> u32 {
        let free = self.hosts.iter().filter(|host| is_wanted(host, request));
        free.map(|host| host.n_slots.saturating_sub(host.n_busy)).fold(0, u32::saturating_add)
    }

    /// Takes slots for all ranks of a request, or none.
    pub fn take(&mut self, request: &PlaceRequest) -> Option<Vec<GrantedHost>> {
        if self.n_free(request) < request.n_ranks {
            return None;
        }
        // Full hosts offer nothing: ranks beyond their slots would share cores.
        let nodes = self.hosts.iter().map(|host| match is_wanted(host, request) {
            true if host.n_busy < host.n_slots => {
                JobNode { n_cores: host.n_slots, n_busy: host.n_busy }
            }
            _ => JobNode { n_cores: 0, n_busy: 0 },
        });
        let nodes = nodes.collect::<Vec<_>>();
        let near = self.near(request, &nodes);
        let counts = |near: &Vec<Vec<usize>>| {
            near.iter().map(|ranks| u32::try_from(ranks.len()).unwrap_or(u32::MAX)).collect()
        };
        let anywhere = || place(self.placement, &nodes, request.n_ranks).unwrap_or_default();
        let placed: Vec<u32> = near.as_ref().map_or_else(anywhere, counts);
        let near = near.unwrap_or_else(|| vec![Vec::new(); placed.len()]);
        let hosts = self.hosts.iter_mut().zip(placed).zip(near);
        let taken = hosts.filter(|((_, n_ranks), _)| 0 < *n_ranks);
        let places = taken.map(|((host, n_ranks), ranks)| {
            host.n_busy += n_ranks;
            let (host, start_method) = (host.name.clone(), host.start_method.clone());
            GrantedHost { host, n_ranks, ranks, start_method }
        });
        Some(places.collect())
    }

    /// Ranks placed on each host near the bytes that they need; `None` if the request does not state these.
    fn near(&self, request: &PlaceRequest, nodes: &[JobNode]) -> Option<Vec<Vec<usize>>> {
        if request.finds.len() != request.n_ranks as usize {
            return None;
        }
        let bytes = |finds: &Vec<(String, u64)>, host: &Host| {
            let here = finds.iter().filter(|(name, _)| is_same(name, &host.name));
            here.map(|(_, bytes)| bytes).sum::<u64>()
        };
        let found = |finds| self.hosts.iter().map(|host| bytes(finds, host)).collect();
        let found = request.finds.iter().map(found).collect::<Vec<_>>();
        let node_of = place_where_found(&found, nodes).ok()?;
        let mut ranks = vec![Vec::new(); nodes.len()];
        node_of.into_iter().enumerate().for_each(|(rank, node)| ranks[node].push(rank));
        Some(ranks)
    }

    /// Counts a rank that was started without a request. False if its host is not known.
    pub fn occupy(&mut self, name: &str) -> bool {
        self.find(name).map(|host| host.n_busy += 1).is_some()
    }

    fn find(&mut self, name: &str) -> Option<&mut Host> {
        self.hosts.iter_mut().find(|host| is_same(&host.name, name))
    }

    /// Frees slots of a host.
    pub fn free(&mut self, name: &str, n_ranks: u32) {
        if let Some(host) = self.find(name) {
            host.n_busy = host.n_busy.saturating_sub(n_ranks);
        }
    }
}

fn is_wanted(host: &Host, request: &PlaceRequest) -> bool {
    request.hosts.is_empty() || request.hosts.iter().any(|name| is_same(name, &host.name))
}

/// Names that denote the local host everywhere.
pub(crate) const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Returns whether both names denote one host, with or without its domain.
pub(crate) fn is_same(some: &str, other: &str) -> bool {
    let is_address = |name: &str| name.starts_with(|first: char| first.is_ascii_digit());
    let short = |name: &'_ str| name.split('.').next().unwrap_or_default().to_owned();
    some == other
        || !is_address(some)
            && !is_address(other)
            && (!some.contains('.') || !other.contains('.'))
            && short(some) == short(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(placement: Placement, slots: &[(&str, u32, u32)]) -> Hosts {
        let mut hosts = Hosts::new(placement);
        for (name, n_slots, n_busy) in slots {
            let (name, n_slots, n_busy) = ((*name).to_owned(), *n_slots, *n_busy);
            hosts.add(Host { name, n_slots, n_busy, start_method: StartMethod::Named });
        }
        hosts
    }

    fn request(n_ranks: u32, hosts: &[&str]) -> PlaceRequest {
        let hosts = hosts.iter().map(|name| (*name).to_owned()).collect();
        PlaceRequest { n_ranks, hosts, ..PlaceRequest::default() }
    }

    #[track_caller]
    fn check(hosts: &mut Hosts, request: &PlaceRequest, expected: Option<&[(&str, u32)]>) {
        let places = hosts.take(request);
        let places = places.as_ref().map(|places| {
            places.iter().map(|place| (place.host.as_str(), place.n_ranks)).collect::<Vec<_>>()
        });
        assert_eq!(places.as_deref(), expected);
    }

    #[test]
    fn ranks_get_slots_or_nothing() {
        let mut balanced = hosts(Placement::Balance, &[("a", 4, 2), ("b", 4, 0)]);
        check(&mut balanced, &request(2, &[]), Some(&[("b", 2)]));
        check(&mut balanced, &request(5, &[]), None);
        check(&mut balanced, &request(4, &[]), Some(&[("a", 2), ("b", 2)]));
        check(&mut balanced, &request(1, &[]), None);
        balanced.free("b", 3);
        check(&mut balanced, &request(3, &[]), Some(&[("b", 3)]));
    }

    #[test]
    fn a_full_host_is_not_shared_while_another_has_room() {
        let mut filled = hosts(Placement::Fill, &[("a", 2, 2), ("b", 4, 3), ("c", 1, 0)]);
        check(&mut filled, &request(2, &[]), Some(&[("b", 1), ("c", 1)]));
    }

    #[test]
    fn ranks_go_where_they_find_bytes() {
        let mut hosts = hosts(Placement::Balance, &[("a", 4, 2), ("b", 4, 2)]);
        let finds = |host: &str, bytes| vec![(host.to_owned(), bytes)];
        let finds = vec![finds("b", 5), finds("a", 1), finds("b", 9), finds("b", 7)];
        let places = hosts.take(&PlaceRequest { finds, ..request(4, &[]) }).unwrap();
        let places = places.iter().map(|place| (place.host.as_str(), &*place.ranks));
        assert_eq!(places.collect::<Vec<_>>(), [("a", &[0, 1][..]), ("b", &[2, 3])]);
    }

    #[test]
    fn only_wanted_hosts_are_taken() {
        let mut some = hosts(Placement::Fill, &[("a", 2, 0), ("b.site", 2, 0)]);
        check(&mut some, &request(1, &["b"]), Some(&[("b.site", 1)]));
        check(&mut some, &request(2, &["b"]), None);
        check(&mut some, &request(1, &["nobody"]), None);
    }

    #[test]
    fn a_domain_makes_no_other_host() {
        for (some, other, expected) in [
            ("n1", "n1", true),
            ("n1", "n1.site.org", true),
            ("n1.here", "n1.there", false),
            ("10.1.1.1", "10.1.1.2", false),
            ("n1", "n2", false),
        ] {
            assert_eq!(is_same(some, other), expected, "{some} {other}");
        }
    }
}
