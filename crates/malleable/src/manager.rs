//! Who lends a program places for more ranks, and takes them back.
//!
//! A program asks with [`Manager::request`], looks for the answer with [`Manager::poll`] as often as it likes, starts ranks
//! where the answer says, and tells with [`Manager::give_back`] which are gone.
//!
//! # Invariants
//! - No call waits for anything: commands run in a thread of the manager's own, each with a deadline.
//! - A place is given to one rank at a time; all of a request is granted or nothing.
//!
//! # Not here
//! Starting and ending ranks; whether another size pays.

mod host_file;
mod hosts;
mod slurm;

pub use host_file::{HostFile, HostFileError};
pub use hosts::{Host, Hosts};
pub(crate) use hosts::{LOOPBACK, is_same};
pub use slurm::{CommandError, Launcher, Slurm, SlurmError, SlurmJob, slots_per_node};

/// Lends places for ranks.
pub trait Manager: Send {
    /// Asks for places.
    fn request(&mut self, request: &Request) -> Ticket;
    /// What became of it.
    fn poll(&mut self, ticket: Ticket) -> Reply;
    /// Gives all places of a request back, whatever became of it. None of them may have a rank.
    fn withdraw(&mut self, ticket: Ticket);
    /// `n_ranks` ranks of a host are gone, whoever lent their places.
    fn give_back(&mut self, host: &str, n_ranks: u32);
    /// Jobs of the resource manager that were started to lend nodes.
    fn companions(&self) -> Vec<u64> {
        Vec::new()
    }
    /// Ranks that a node takes, where whole nodes are lent.
    fn slots_per_node(&self) -> Option<u32> {
        None
    }
}

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Ranks that need a place.
    pub n_ranks: u32,
    /// The only hosts that are wanted; any where it is empty.
    pub hosts: Vec<String>,
    /// For each rank the hosts on which it finds bytes, where the ranks are to run near them; empty where that does not count.
    pub finds: Vec<Vec<(String, u64)>>,
}

/// By which an answer is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(u64);

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Nothing yet; for what is waited, in words.
    Pending(String),
    /// Places, at most one entry for a host.
    Granted(Vec<Place>),
    /// There will be none; why, in words.
    Refused(String),
}

/// Where ranks may be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Name of the host.
    pub host: String,
    /// How many.
    pub n_ranks: u32,
    /// Which of the ranks they are, where it was said what these find.
    pub ranks: Vec<usize>,
    /// How they get there.
    pub way: Way,
}

/// How `MPI_Comm_spawn` gets a rank to its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// By itself: where it starts ranks when nothing is said.
    Anywhere,
    /// The host is named in the information for the call.
    Named,
    /// These words stand before the program; they are the command that is spawned, without a host.
    Through(Vec<String>),
}

/// The next number for a request.
#[derive(Debug, Default)]
struct Tickets(u64);

impl Tickets {
    fn next(&mut self) -> Ticket {
        self.0 += 1;
        Ticket(self.0)
    }
}
