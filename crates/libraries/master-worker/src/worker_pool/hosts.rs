//! Hosts of the allocation on which workers can be started, and the number of workers of each.
//!
//! | source | hosts | workers |
//! |---|---|---|
//! | `--hosts a,n[1-2]:4` | these | after the colon, else as many as this host has cores |
//! | `SLURM_JOB_NODELIST`, `SLURM_JOB_CPUS_PER_NODE` | the nodes of the job | their processors |
//! | `OMPI_UNIVERSE_SIZE` | the launcher's choice | its slots, less the one of the master |
//! | nothing | the launcher's choice | the cores of this host |

use host_list::NodeListError;
use std::collections::BTreeMap;

/// Hosts for workers; see the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hosts {
    hosts: Vec<Host>,
    /// Index of the host of each worker that was started, by rank.
    workers: BTreeMap<u32, usize>,
    n_slots: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Host {
    name: String,
    n_slots: u32,
    n_used: u32,
}

impl Hosts {
    /// Reads the hosts from the option, else from the variables of the launcher.
    ///
    /// # Errors
    /// If a list of nodes is not in Slurm's syntax.
    pub(crate) fn find(
        option: &[String],
        n_cores: u32,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, NodeListError> {
        let named =
            option.iter().map(|list| host_list::hosts(list)).collect::<Result<Vec<_>, _>>()?;
        let places = |host: host_list::NamedNode| (host.name, host.n_places.unwrap_or(n_cores));
        let mut hosts: Vec<(String, u32)> = named.into_iter().flatten().map(places).collect();
        if hosts.is_empty() {
            hosts = slurm(&variable)?;
        }
        let n_slots = match hosts.len() {
            0 => variable("OMPI_UNIVERSE_SIZE")
                .and_then(|text| text.parse().ok())
                .map_or(n_cores, |n_slots: u32| n_slots.saturating_sub(1).max(1)),
            _ => hosts.iter().map(|(_, n_slots)| *n_slots).fold(0, u32::saturating_add),
        };
        let hosts = hosts.into_iter().map(|(name, n_slots)| Host { name, n_slots, n_used: 0 });
        Ok(Self { hosts: hosts.collect(), workers: BTreeMap::new(), n_slots })
    }

    /// Leaves the choice of hosts to the launcher.
    pub(crate) fn anywhere(n_slots: u32) -> Self {
        Self { n_slots, ..Self::default() }
    }

    /// Number of workers that fit.
    pub(crate) fn n_slots(&self) -> u32 {
        self.n_slots
    }

    /// Counts the launched workers: they fill the hosts one after the other, as launchers do by default.
    pub(crate) fn launched(&mut self, n_workers: u32) {
        let mut n_left = n_workers;
        for host in &mut self.hosts {
            host.n_used = n_left.min(host.n_slots);
            n_left -= host.n_used;
        }
    }

    /// Reserves hosts for `n` workers, each on the host with most room left; `None` where the launcher is to choose.
    pub(crate) fn reserve(&mut self, n: u32) -> Vec<Option<String>> {
        let mut names = Vec::new();
        for _ in 0..n {
            let room = |host: &&mut Host| i64::from(host.n_slots) - i64::from(host.n_used);
            // Among equals the first host.
            let best = self.hosts.iter_mut().rev().max_by_key(room);
            names.push(best.map(|host| {
                host.n_used += 1;
                host.name.clone()
            }));
        }
        names
    }

    /// Settles a reservation: `rank` was started on `host`, or nothing was.
    pub(crate) fn settle(&mut self, rank: Option<u32>, host: Option<&str>) {
        let at = self.hosts.iter().position(|known| Some(known.name.as_str()) == host);
        match (rank, at) {
            (Some(rank), Some(at)) => drop(self.workers.insert(rank, at)),
            (None, Some(at)) => self.hosts[at].n_used -= 1,
            (_, None) => {}
        }
    }

    /// Frees the place of a worker that ended.
    pub(crate) fn ended(&mut self, rank: u32) {
        if let Some(at) = self.workers.remove(&rank) {
            self.hosts[at].n_used -= 1;
        }
    }
}

/// Nodes of the Slurm job, with their numbers of processors.
fn slurm(variable: impl Fn(&str) -> Option<String>) -> Result<Vec<(String, u32)>, NodeListError> {
    // An empty variable counts as unset.
    let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
    let Some(list) = variable("SLURM_JOB_NODELIST") else { return Ok(Vec::new()) };
    let counts = variable("SLURM_JOB_CPUS_PER_NODE").map(|text| host_list::counts(&text));
    let counts = counts.transpose()?.unwrap_or_default();
    let last = counts.last().copied().unwrap_or(1);
    let counts = counts.into_iter().chain(std::iter::repeat(last));
    Ok(host_list::expand(&list)?.into_iter().zip(counts).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(option: &[&str], variables: &[(&str, &str)], expected: &[(&str, u32)], n_slots: u32) {
        let option: Vec<String> = option.iter().map(|text| (*text).to_owned()).collect();
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let hosts = Hosts::find(&option, 8, variable).unwrap();
        let found: Vec<_> =
            hosts.hosts.iter().map(|host| (host.name.as_str(), host.n_slots)).collect();
        assert_eq!((found, hosts.n_slots()), (expected.to_vec(), n_slots));
    }

    #[test]
    fn the_allocation_is_known_from_options_and_variables() {
        check(&["a", "b:4"], &[], &[("a", 8), ("b", 4)], 12);
        check(&[], &[], &[], 8);
        check(&[], &[("OMPI_UNIVERSE_SIZE", "5")], &[], 4);
        let nodes = ("SLURM_JOB_NODELIST", "n[1-2,09],m,x[3]y");
        let slots = ("SLURM_JOB_CPUS_PER_NODE", "4(x3),2");
        let expected = [("n1", 4), ("n2", 4), ("n09", 4), ("m", 2), ("x3y", 2)];
        check(&[], &[nodes, slots], &expected, 16);
        check(&["a:1"], &[nodes, slots], &[("a", 1)], 1);
        check(&[], &[("SLURM_JOB_NODELIST", "n1")], &[("n1", 1)], 1);
        // Set but empty: neither an allocation nor a node without a name.
        check(&[], &[("SLURM_JOB_NODELIST", ""), ("SLURM_JOB_CPUS_PER_NODE", "")], &[], 8);
    }

    /// Only the first bracket was read: `rack[1-2]n[1-3]` were `rack1n[1-3]` and `rack2n[1-3]`, which no launcher finds.
    #[test]
    fn all_brackets_of_a_name_are_read() {
        let six = ["rack1n1", "rack1n2", "rack1n3", "rack2n1", "rack2n2", "rack2n3"]
            .map(|name| (name, 4));
        let nodes = ("SLURM_JOB_NODELIST", "rack[1-2]n[1-3]");
        check(&[], &[nodes, ("SLURM_JOB_CPUS_PER_NODE", "4(x6)")], &six, 24);
        check(&["rack[1-2]n[1-3]:4"], &[], &six, 24);
        for list in ["n[1-", "n[1-3", "n[1-x]"] {
            let list = |name: &str| (name == "SLURM_JOB_NODELIST").then(|| list.to_owned());
            assert!(Hosts::find(&[], 8, list).is_err());
        }
    }

    #[test]
    fn the_host_with_most_room_is_next() {
        let option = ["a:3".to_owned(), "b:2".to_owned()];
        let mut hosts = Hosts::find(&option, 8, |_| None).unwrap();
        hosts.launched(2);
        let chosen: Vec<String> = hosts.reserve(5).into_iter().flatten().collect();
        assert_eq!(chosen, ["b", "a", "b", "a", "b"]);
        for (rank, host) in (3..7).zip(&chosen) {
            hosts.settle(Some(rank), Some(host));
        }
        hosts.settle(None, Some("b"));
        hosts.ended(6);
        assert_eq!(hosts.reserve(1), [Some("a".to_owned())]);
        assert_eq!(Hosts::find(&[], 8, |_| None).unwrap().reserve(2), [None, None]);
    }
}
