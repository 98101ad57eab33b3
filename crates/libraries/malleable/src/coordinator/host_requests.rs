//! Requests places for new ranks from a manager.

use crate::causes::with_causes;
use crate::manager::{
    GrantedHost, HostFile, Launcher, Lease, Manager, PlaceRequest, Reply, Slurm, SlurmJob,
    StartMethod, Ticket,
};
use crate::options::{ManagerKind, Options, Placement};
use crate::plan::HostSlots;
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// Manager, and the requests to it.
pub(crate) struct HostRequests {
    manager: Box<dyn Manager>,
    /// Pending request.
    asked: Option<Ticket>,
    /// Granted request whose places are not in use yet.
    granted: Option<Ticket>,
}

impl fmt::Debug for HostRequests {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HostRequests").field("asked", &self.asked).finish_non_exhaustive()
    }
}

impl HostRequests {
    /// Creates the manager that the options select; `present` are the hosts of the present ranks. The error
    /// is the reason why there is none.
    pub(crate) fn new(
        options: &Options,
        present: &[String],
        is_open_mpi: bool,
    ) -> Result<Self, String> {
        let is_job = crate::control::slurm_job().is_some();
        let kind = match (options.nodes.manager, &options.nodes.hostfile) {
            (ManagerKind::Auto, Some(_)) => ManagerKind::Hosts,
            (ManagerKind::Auto, None) if is_job => ManagerKind::Slurm,
            (kind, _) => kind,
        };
        let manager: Box<dyn Manager> = match (kind, &options.nodes.hostfile) {
            (ManagerKind::Hosts, Some(file)) => Box::new(host_file(file, options, present)?),
            (ManagerKind::Hosts, None) => {
                return Err("`--manager hosts` needs `--hostfile FILE`".to_owned());
            }
            (ManagerKind::Slurm, _) => Box::new(slurm(options, present, is_open_mpi)?),
            _ => Box::new(HostFile::anywhere()),
        };
        Ok(Self { manager, asked: None, granted: None })
    }

    /// Requests slots, or polls the pending request; `None` while the reply is not known. The error is the reason of a
    /// refusal.
    pub(crate) fn ask(&mut self, request: &PlaceRequest) -> Option<Result<Vec<HostSlots>, String>> {
        if request.n_ranks == 0 {
            return Some(Ok(Vec::new()));
        }
        let ticket = *self.asked.get_or_insert_with(|| self.manager.request(request));
        let reply = match self.manager.poll(ticket) {
            Reply::Pending(_) => return None,
            Reply::Granted(places) => {
                self.granted = Some(ticket);
                Ok(places.into_iter().map(host_slots).collect())
            }
            Reply::Refused(why) => Err(why),
        };
        self.asked = None;
        Some(reply)
    }

    /// Records that the granted places are in use.
    pub(crate) fn keep(&mut self) {
        self.granted = None;
    }

    /// Withdraws pending and granted requests.
    pub(crate) fn forget(&mut self) {
        for ticket in self.asked.take().into_iter().chain(self.granted.take()) {
            self.manager.withdraw(ticket);
        }
    }

    /// Returns the places of ranks that have ended.
    pub(crate) fn give_back(&mut self, hosts: &[String]) {
        hosts.iter().for_each(|host| self.manager.give_back(host, 1));
    }

    /// Hosts that are lent for a time, with the time left on those that are to be left within `margin`.
    pub(crate) fn leases(&mut self, margin: Duration) -> Vec<Lease> {
        self.manager.leases(margin)
    }

    pub(crate) fn companions(&self) -> Vec<u64> {
        self.manager.companions()
    }
}

fn host_slots(place: GrantedHost) -> HostSlots {
    let (n_ranks, ranks, host) = (place.n_ranks, place.ranks, Some(place.host));
    let (host, through) = match place.start_method {
        StartMethod::Anywhere => (None, Vec::new()),
        StartMethod::Named => (host, Vec::new()),
        StartMethod::Through(through) => (None, through),
    };
    HostSlots { n_ranks, ranks, host, through }
}

fn host_file(file: &Path, options: &Options, present: &[String]) -> Result<HostFile, String> {
    let shown = file.display();
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|error| format!("the host file `{shown}` cannot be read: {error}"))?;
    HostFile::read(&text, placement(options), present)
        .map_err(|error| format!("the host file `{shown}` is wrong: {error}"))
}

fn slurm(options: &Options, present: &[String], is_open_mpi: bool) -> Result<Slurm, String> {
    let launcher = if is_open_mpi { Launcher::OpenMpi } else { Launcher::Mpich };
    let job = SlurmJob::of(|name| std::env::var(name).ok(), launcher);
    let placed = (placement(options), present);
    // Other jobs may have to give nodes first, which takes longer than a step of a resize.
    job.and_then(|job| Slurm::new(job, launcher, placed, 10 * options.deadline))
        .map_err(|error| with_causes(&error))
}

fn placement(options: &Options) -> resize_plan::Placement {
    match options.nodes.placement {
        Placement::Fill => resize_plan::Placement::Fill,
        // `Nearest` decides by the bytes found, where these are known.
        Placement::Balance | Placement::Nearest => resize_plan::Placement::Balance,
    }
}
