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
pub use slurm::{CommandError, Launcher, Slurm, SlurmError, SlurmJob};

use crate::{ManagerKind, Options};
use std::path::PathBuf;

/// Why there is no manager.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManagerError {
    /// The file of hosts cannot be read.
    #[error("the host file `{}` cannot be read; name one that can by `--hosts FILE`", path.display())]
    NotRead {
        /// Its name.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is something wrong in it.
    #[error(transparent)]
    HostFile(#[from] HostFileError),
    /// Slurm cannot be asked.
    #[error(transparent)]
    Slurm(#[from] SlurmError),
}

/// The manager that options ask for. `present` are the hosts of the ranks that are there, rank 0 first.
///
/// # Errors
/// [`ManagerError`]. A program may go on without a manager, at its present size.
pub fn find(
    options: &Options,
    launcher: Launcher,
    present: &[String],
) -> Result<Box<dyn Manager>, ManagerError> {
    let is_job = std::env::var_os("SLURM_JOB_ID").is_some();
    let placement = match options.placement {
        crate::Placement::Fill => resizing::Placement::Fill,
        crate::Placement::Balance | crate::Placement::Nearest => resizing::Placement::Balance,
    };
    let is_slurm = match options.manager {
        ManagerKind::Slurm => true,
        ManagerKind::Auto => is_job && options.hosts.is_none(),
        ManagerKind::None | ManagerKind::Hosts => false,
    };
    if is_slurm {
        let job = SlurmJob::of(|name| std::env::var(name).ok(), launcher)?;
        let where_to = (placement, present);
        return Ok(Box::new(Slurm::new(job, launcher, where_to, options.deadline)?));
    }
    match options.hosts.as_ref().filter(|_| options.manager != ManagerKind::None) {
        None => Ok(Box::new(HostFile::anywhere())),
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .map_err(|source| ManagerError::NotRead { path: path.clone(), source })?;
            Ok(Box::new(HostFile::read(&text, placement, present)?))
        }
    }
}

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
