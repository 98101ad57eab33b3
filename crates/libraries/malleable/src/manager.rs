//! Managers: lend a program places for more ranks, and take them back.
//!
//! A program requests places with [`Manager::request`], checks for the reply with [`Manager::poll`] as often as it
//! likes, starts ranks on the granted places, and reports with [`Manager::give_back`] which ranks have ended.
//!
//! # Invariants
//! - No call blocks: commands run in a thread of the manager's own, each with a deadline.
//! - A place is given to one rank at a time; a request is granted in full or not at all.

mod host_file;
mod hosts;
mod slurm;

pub use host_file::HostFile;
pub use host_list::HostFileError;
pub use hosts::{Host, Hosts};
pub(crate) use hosts::{LOOPBACK, is_same};
pub use slurm::{Launcher, Slurm, SlurmError, SlurmJob, slots_per_node};

use std::time::Duration;

/// Source of places for ranks.
pub trait Manager: Send {
    /// Requests places.
    fn request(&mut self, request: &PlaceRequest) -> Ticket;
    /// Returns the state of a request.
    fn poll(&mut self, ticket: Ticket) -> Reply;
    /// Gives all places of a request back, whatever its state. None of them may have a rank.
    fn withdraw(&mut self, ticket: Ticket);
    /// Reports that `n_ranks` ranks of a host have ended, whichever manager lent their places.
    fn give_back(&mut self, host: &str, n_ranks: u32);
    /// Hosts that are lent for a time. Asked for often; learns of changes `margin` before a host is to be left.
    fn leases(&mut self, _margin: Duration) -> Vec<Lease> {
        Vec::new()
    }
    /// Ids of jobs of the resource manager that were started to lend nodes.
    fn companions(&self) -> Vec<u64> {
        Vec::new()
    }
}

/// Host that is lent for a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Name of the host.
    pub host: String,
    /// Time left, if the program must leave the host within the margin that it has asked for, and goes on without it.
    pub ends_in: Option<Duration>,
}

/// Request for places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceRequest {
    /// Number of ranks that need a place.
    pub n_ranks: u32,
    /// Allowed hosts; any if empty.
    pub hosts: Vec<String>,
    /// For each rank, the hosts with bytes that it needs, to run near them; empty where that does not matter.
    pub finds: Vec<Vec<(String, u64)>>,
}

/// Identifier of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(u64);

/// State of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// No reply yet; the text names what the manager waits for.
    Pending(String),
    /// Granted places, at most one entry per host.
    Granted(Vec<GrantedHost>),
    /// Refused, with the reason.
    Refused(String),
}

/// Host on which ranks may be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantedHost {
    /// Name of the host.
    pub host: String,
    /// Number of ranks.
    pub n_ranks: u32,
    /// Indices of the ranks placed here, if the request had `finds`.
    pub ranks: Vec<usize>,
    /// Way of starting ranks there.
    pub start_method: StartMethod,
}

/// Way in which `MPI_Comm_spawn` starts a rank on its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartMethod {
    /// Without a host: the library chooses.
    Anywhere,
    /// With the host in the `MPI_Info` of the call.
    Named,
    /// Through these command words before the program, which are the command that is spawned, without a host.
    Through(Vec<String>),
}

/// Counter for request identifiers.
#[derive(Debug, Default)]
struct Tickets(u64);

impl Tickets {
    fn next(&mut self) -> Ticket {
        self.0 += 1;
        Ticket(self.0)
    }
}
