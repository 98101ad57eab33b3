//! Manager for the hosts of a host file, or for this host only.

use super::hosts::is_same;
use super::{Host, Hosts, Manager, PlaceRequest, Reply, StartMethod, Ticket, Tickets};
use host_list::HostFileError;
use resize_plan::Placement;
use std::collections::BTreeMap;

/// Counts ranks on the hosts of a file with lines `NAME slots=N`, as launchers read them; without a file, any number on
/// this host.
#[derive(Debug)]
pub struct HostFile {
    hosts: Hosts,
    tickets: Tickets,
    replies: BTreeMap<Ticket, Reply>,
}

impl HostFile {
    /// Manager for any number of ranks, wherever the library starts them.
    pub fn anywhere() -> Self {
        let mut hosts = Hosts::default();
        let name = "localhost".to_owned();
        hosts.add(Host { name, n_slots: u32::MAX, n_busy: 0, start_method: StartMethod::Anywhere });
        Self::of(hosts)
    }

    /// Reads the text of a host file. `present` are the hosts of the present ranks, rank 0 first, whose host may be
    /// called `localhost` in the file.
    ///
    /// # Errors
    /// [`HostFileError`].
    pub fn read(
        text: &str,
        placement: Placement,
        present: &[String],
    ) -> Result<Self, HostFileError> {
        let mut hosts = Hosts::new(placement);
        for named in host_list::host_file(text)? {
            let own = present.first().filter(|_| named.name == "localhost").cloned();
            let (name, n_slots) = (own.unwrap_or(named.name), named.n_places.unwrap_or(1));
            hosts.add(Host { name, n_slots, n_busy: 0, start_method: StartMethod::Named });
        }
        for name in present {
            // Ranks on other hosts take no slots of the file.
            hosts.occupy(name);
        }
        Ok(Self::of(hosts))
    }

    fn of(hosts: Hosts) -> Self {
        Self { hosts, tickets: Tickets::default(), replies: BTreeMap::new() }
    }

    fn why_not(&self, request: &PlaceRequest) -> String {
        let (n_free, n_ranks) = (self.hosts.n_free(request), request.n_ranks);
        let slots = format!("{n_ranks} slots are needed, but {n_free} are free");
        match request.hosts.as_slice() {
            [] => format!("{slots}; name more hosts in `--hostfile FILE`"),
            hosts => format!("{slots} on `{}`", hosts.join(",")),
        }
    }
}

impl Manager for HostFile {
    fn request(&mut self, request: &PlaceRequest) -> Ticket {
        let ticket = self.tickets.next();
        let places = self.hosts.take(request);
        let reply = places.map_or_else(|| Reply::Refused(self.why_not(request)), Reply::Granted);
        self.replies.insert(ticket, reply);
        ticket
    }

    fn poll(&mut self, ticket: Ticket) -> Reply {
        let withdrawn = || Reply::Refused("the request was withdrawn".to_owned());
        let reply = self.replies.remove(&ticket).unwrap_or_else(withdrawn);
        if matches!(reply, Reply::Granted(_)) {
            self.replies.insert(ticket, reply.clone());
        }
        reply
    }

    fn withdraw(&mut self, ticket: Ticket) {
        if let Some(Reply::Granted(places)) = self.replies.remove(&ticket) {
            places.iter().for_each(|place| self.hosts.free(&place.host, place.n_ranks));
        }
    }

    fn give_back(&mut self, host: &str, n_ranks: u32) {
        match self.hosts.all() {
            // With a single host, its name does not matter.
            [only] if !is_same(&only.name, host) => {
                let only = only.name.clone();
                self.hosts.free(&only, n_ranks);
            }
            _ => self.hosts.free(host, n_ranks),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn present_ranks_take_slots_and_hosts_named_twice_add_up() {
        #[track_caller]
        fn check(text: &str, expected: &[(&str, u32, u32)]) {
            let present = ["n1".to_owned(), "n1".to_owned(), "n2".to_owned()];
            let read = HostFile::read(text, Placement::Balance, &present).unwrap();
            let hosts = read.hosts.all().iter();
            let hosts = hosts.map(|host| (host.name.as_str(), host.n_slots, host.n_busy));
            assert_eq!(hosts.collect::<Vec<_>>(), expected);
        }
        check("n1 slots=4\nn2", &[("n1", 4, 2), ("n2", 1, 1)]);
        check("n1\nn1\n", &[("n1", 2, 2)]);
        check("localhost slots=3", &[("n1", 3, 2)]);
    }

    #[test]
    fn slots_are_lent_and_taken_back() {
        let present = ["n1".to_owned()];
        let file = HostFile::read("n1 slots=2\nn2 slots=2", Placement::Fill, &present);
        let mut hosts = file.unwrap();
        let three = PlaceRequest { n_ranks: 3, ..PlaceRequest::default() };
        let ticket = hosts.request(&three);
        let Reply::Granted(places) = hosts.poll(ticket) else { panic!("there are three slots") };
        let places = places.iter().map(|place| (place.host.as_str(), place.n_ranks));
        assert_eq!(places.collect::<Vec<_>>(), [("n1", 1), ("n2", 2)]);
        let further = hosts.request(&PlaceRequest { n_ranks: 1, ..PlaceRequest::default() });
        let Reply::Refused(why) = hosts.poll(further) else { panic!("there is no slot") };
        assert!(why.contains("1 slots are needed, but 0 are free"), "{why}");
        hosts.give_back("n2", 2);
        hosts.withdraw(further);
        let again = hosts.request(&PlaceRequest {
            n_ranks: 2,
            hosts: vec!["n2".to_owned()],
            ..PlaceRequest::default()
        });
        assert!(matches!(hosts.poll(again), Reply::Granted(_)));
    }

    #[test]
    fn a_request_that_is_withdrawn_leaves_nothing() {
        let mut hosts = HostFile::read("n1 slots=2", Placement::Fill, &[]).unwrap();
        let two = PlaceRequest { n_ranks: 2, ..PlaceRequest::default() };
        let ticket = hosts.request(&two);
        hosts.withdraw(ticket);
        let again = hosts.request(&two);
        assert!(matches!(hosts.poll(again), Reply::Granted(_)));
    }

    #[test]
    fn without_a_file_there_is_room() {
        let mut hosts = HostFile::anywhere();
        let ticket = hosts.request(&PlaceRequest { n_ranks: 100, ..PlaceRequest::default() });
        let Reply::Granted(places) = hosts.poll(ticket) else { panic!("there is room") };
        assert_eq!((places[0].n_ranks, &places[0].start_method), (100, &StartMethod::Anywhere));
    }
}
