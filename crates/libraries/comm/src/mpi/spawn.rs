//! Ranks that are added at run time, each in a world of its own, so that each can leave.
//!
//! The intercommunicator between the two worlds is used directly. It ends by `MPI_Comm_disconnect`, which is
//! collective: each side reports that it is ready before it makes that uninterruptible call.
//!
//! Calls that start or disconnect processes run in threads of their own while this one waits, so that a call that
//! never returns costs only its deadline.

use super::{DEPARTURE, MpiTransport, WELCOME, connections};
use crate::deadline::Deadline;
use crate::{CommError, Transport};
use mpi::{CommHandle, Mpi, MpiError, Spawn, SpawnSupport};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel, sync_channel};
use std::thread::Builder;
use std::time::Duration;

/// Longest time that an added rank waits for its number.
const WELCOME_WITHIN: Duration = Duration::from_mins(1);

/// Number of ranks started in parallel.
const N_AT_ONCE: usize = 8;

/// Description of a rank to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankStart {
    /// Path of the program, which calls [`MpiTransport::init`].
    pub program: PathBuf,
    /// Arguments of the program.
    pub arguments: Vec<OsString>,
    /// Host to run on; `None` leaves the choice to the launcher.
    pub host: Option<String>,
}

impl RankStart {
    /// Starts this program again, with the same arguments.
    ///
    /// # Errors
    /// [`CommError::CannotSpawn`] when the program's path is not known.
    pub fn this_program() -> Result<Self, CommError> {
        let program = std::env::current_exe().map_err(|error| CommError::CannotSpawn {
            why: format!("the path of this program is unknown ({error}); say which one to start"),
        })?;
        Ok(Self { program, arguments: std::env::args_os().skip(1).collect(), host: None })
    }

    fn as_spawn(&self) -> Spawn {
        let (arguments, hosts) = (self.arguments.clone(), self.host.clone());
        Spawn { arguments, hosts, ..Spawn::new(&self.program, 1) }
    }
}

impl MpiTransport {
    /// Returns whether ranks can be added, with the reason.
    #[must_use]
    pub fn spawn_support(&self) -> SpawnSupport {
        self.mpi.spawn_support()
    }

    /// Adds a rank and returns its number; only for rank 0.
    ///
    /// # Errors
    /// [`CommError::CannotSpawn`] where adding ranks does not work reliably with the library,
    /// [`CommError::Stuck`] when it does not happen within `at_most`, and errors of the library.
    pub fn spawn(&mut self, start: &RankStart, at_most: Duration) -> Result<u32, CommError> {
        let mut added = self.spawn_all(std::slice::from_ref(start), at_most)?;
        let none = || Err(CommError::CannotSpawn { why: "nothing was started".to_owned() });
        added.pop().unwrap_or_else(none)
    }

    /// Adds ranks: in parallel after [`init_to_grow`](Self::init_to_grow) where the library supports it,
    /// otherwise one after the other. Returns the number of each, or the reason why it could not be started.
    ///
    /// # Errors
    /// As [`spawn`](Self::spawn), when the remaining ranks are not tried.
    pub fn spawn_all(
        &mut self,
        starts: &[RankStart],
        at_most: Duration,
    ) -> Result<Vec<Result<u32, CommError>>, CommError> {
        self.check_spawn()?;
        let deadline = Deadline::after(at_most);
        let n_at_once = if self.mpi.is_multiple() { N_AT_ONCE } else { 1 };
        let mut added = Vec::new();
        for starts in starts.chunks(n_at_once) {
            added.extend(self.spawn_together(starts, deadline)?);
        }
        Ok(added)
    }

    fn spawn_together(
        &mut self,
        starts: &[RankStart],
        deadline: Deadline,
    ) -> Result<Vec<Result<u32, CommError>>, CommError> {
        while self.own_selves.len() < starts.len() {
            self.own_selves.push(self.mpi.own_self()?);
        }
        let calls = starts.iter().map(RankStart::as_spawn).zip(self.own_selves.clone());
        let calls = calls.map(|(start, own)| move |mpi: &Mpi| mpi.spawn_one(&start, own));
        let added = self.on_threads("MPI_Comm_spawn", deadline, calls)?;
        Ok(added.into_iter().map(|comm| self.welcome(comm?)).collect())
    }

    /// Assigns a number to the rank behind this connection and sends it.
    fn welcome(&mut self, comm: CommHandle) -> Result<u32, CommError> {
        let rank = self.peers.add(comm);
        let numbers = [rank, self.round, self.group_number].map(u32::to_le_bytes);
        self.post(rank, WELCOME, &[numbers.as_flattened()])?;
        Ok(rank)
    }

    fn check_spawn(&self) -> Result<(), CommError> {
        self.check_open()?;
        let refuse = |why: String| Err(CommError::CannotSpawn { why });
        if self.rank() != 0 {
            return refuse(format!("only rank 0 adds ranks, and this is rank {}", self.rank()));
        }
        let support = self.spawn_support();
        if support.is_trusted { Ok(()) } else { refuse(support.why) }
    }

    /// Receives this rank's number from rank 0; returns the group number that it was added for.
    pub(super) fn be_welcomed(&mut self) -> Result<u32, CommError> {
        let deadline = Deadline::after(WELCOME_WITHIN);
        let mut bytes = Vec::new();
        if !self.receive_own((0, WELCOME), deadline, &mut bytes)? {
            return Err(deadline.late("a number", 0));
        }
        let number = |at: usize| {
            let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk());
            bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
        };
        self.peers.own = number(0);
        self.round = number(4);
        Ok(number(8))
    }

    /// Leaves, on the side of the leaving rank.
    pub(super) fn leave_group(&mut self, deadline: Deadline) -> Result<(), CommError> {
        self.post(0, DEPARTURE, &[])?;
        if !self.receive_own((0, DEPARTURE), deadline, &mut Vec::new())? {
            return Err(deadline.late("permission to leave", 0));
        }
        self.disconnect(0, deadline)
    }

    /// Releases a leaving rank, on the side of rank 0.
    pub(super) fn release_peer(&mut self, rank: u32, deadline: Deadline) -> Result<(), CommError> {
        if !self.peers.present.contains(&rank) {
            return Err(CommError::NotPresent { rank, own: self.rank() });
        }
        if !self.receive_own((rank, DEPARTURE), deadline, &mut Vec::new())? {
            return Err(deadline.late("the departure", rank));
        }
        self.post(rank, DEPARTURE, &[])?;
        self.flush(deadline)?;
        self.disconnect(rank, deadline)
    }

    /// Disconnects from all added ranks, or from the rank that added this one, at the end of the program.
    pub(super) fn disconnect_all(&mut self, deadline: Deadline) -> Result<(), CommError> {
        for rank in self.peers.present.clone() {
            self.disconnect(rank, deadline)?;
        }
        Ok(())
    }

    fn disconnect(&mut self, rank: u32, deadline: Deadline) -> Result<(), CommError> {
        self.inboxes.iter_mut().for_each(|inbox| inbox.forget(rank));
        let Some(comm) = self.peers.remove(rank) else { return Ok(()) };
        let disconnect = move |mpi: &Mpi| connections::disconnect(mpi, comm);
        let mut ended = self.on_threads("MPI_Comm_disconnect", deadline, [disconnect])?;
        Ok(ended.pop().unwrap_or(Ok(()))?)
    }

    /// Makes calls in threads of their own, and returns their results in order. When one of them does not return
    /// in time, no further calls are possible.
    fn on_threads<T: Send + 'static>(
        &mut self,
        call: &'static str,
        deadline: Deadline,
        calls: impl IntoIterator<Item = impl FnOnce(&Mpi) -> Result<T, MpiError> + Send + 'static>,
    ) -> Result<Vec<Result<T, MpiError>>, CommError> {
        let (tell, results) = channel();
        let mut begins = Vec::new();
        for (place, make) in calls.into_iter().enumerate() {
            let (tell, mpi) = (tell.clone(), Arc::clone(&self.mpi));
            let (begin, may_begin) = sync_channel(1);
            let work = move || {
                if may_begin.recv() == Ok(()) {
                    // The receiver is closed when the call took too long.
                    tell.send((place, make(&mpi))).unwrap_or_default();
                }
            };
            let thread = Builder::new().name("mpi call".to_owned()).spawn(work);
            // No call has begun: the state is unchanged.
            thread.map_err(|error| CommError::NoThread { call, why: error.to_string() })?;
            begins.push(begin);
        }
        drop(tell);
        begins.into_iter().for_each(|begin| begin.send(()).unwrap_or_default());
        let mut returned = BTreeMap::new();
        loop {
            match results.recv_timeout(deadline.left().unwrap_or_default()) {
                Ok((place, result)) => drop(returned.insert(place, result)),
                Err(RecvTimeoutError::Disconnected) => {
                    return Ok(returned.into_values().collect());
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.ended = Some(CommError::Stuck { call });
                    return Err(CommError::Stuck { call });
                }
            }
        }
    }
}
