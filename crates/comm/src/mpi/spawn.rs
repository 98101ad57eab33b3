//! Ranks that are added while the program runs, each a world of its own, so that each can leave.
//!
//! The communicator between the two worlds is used as it is. It ends by `MPI_Comm_disconnect`, for which
//! both sides meet: each says that it is ready before it calls what cannot be interrupted.
//!
//! Calls that start or part processes run in a thread of their own while this one waits, so that one that
//! does not return costs a deadline and not the program.

use super::{DEPARTURE, MpiTransport, WELCOME, lines};
use crate::deadline::Deadline;
use crate::{CommError, Transport};
use mpi::{Line, Mpi, MpiError, Program, SpawnSupport};
use std::collections::BTreeMap;
use std::ffi::{CString, OsString};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel, sync_channel};
use std::thread::Builder;
use std::time::Duration;

/// How long a rank that was added waits for its number.
const WELCOME_WITHIN: Duration = Duration::from_mins(1);

/// Ranks that are started side by side.
const N_AT_ONCE: usize = 8;

/// What is started as a further rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The program. It calls [`MpiTransport::init`].
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The host that it runs on; the launcher's choice when there is none.
    pub host: Option<String>,
}

impl Start {
    /// This program again, with the same arguments.
    ///
    /// # Errors
    /// [`CommError::CannotSpawn`] when the path of the program is not known.
    pub fn this_program() -> Result<Self, CommError> {
        let program = std::env::current_exe().map_err(|error| CommError::CannotSpawn {
            why: format!("the path of this program is unknown ({error}); say which one to start"),
        })?;
        Ok(Self { program, arguments: std::env::args_os().skip(1).collect(), host: None })
    }

    fn as_program(&self) -> Result<Program, CommError> {
        let text = |bytes: &[u8]| {
            CString::new(bytes).map_err(|_| CommError::CannotSpawn {
                why: format!("`{}` contains a zero byte", String::from_utf8_lossy(bytes)),
            })
        };
        let arguments = self.arguments.iter().map(|argument| text(argument.as_encoded_bytes()));
        Ok(Program {
            path: text(self.program.as_os_str().as_encoded_bytes())?,
            arguments: arguments.collect::<Result<_, _>>()?,
            host: self.host.as_ref().map(|host| text(host.as_bytes())).transpose()?,
        })
    }
}

impl MpiTransport {
    /// Whether ranks can be added here, and why or why not.
    #[must_use]
    pub fn spawn_support(&self) -> SpawnSupport {
        self.mpi.spawn_support()
    }

    /// Adds a rank; its number. Only rank 0 can.
    ///
    /// # Errors
    /// [`CommError::CannotSpawn`] where the library is not to be trusted with it,
    /// [`CommError::Stuck`] when it does not happen within `at_most`, and what the library says.
    pub fn spawn(&mut self, start: &Start, at_most: Duration) -> Result<u32, CommError> {
        let mut added = self.spawn_all(std::slice::from_ref(start), at_most)?;
        let none = || Err(CommError::CannotSpawn { why: "nothing was started".to_owned() });
        added.pop().unwrap_or_else(none)
    }

    /// Adds ranks: side by side where this was begun with [`init_to_grow`](Self::init_to_grow) and the library can,
    /// else one after the other. The number of each, or why it could not be started.
    ///
    /// # Errors
    /// As [`spawn`](Self::spawn), when nothing more is tried.
    pub fn spawn_all(
        &mut self,
        starts: &[Start],
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
        starts: &[Start],
        deadline: Deadline,
    ) -> Result<Vec<Result<u32, CommError>>, CommError> {
        let programs: Vec<Program> =
            starts.iter().map(Start::as_program).collect::<Result<_, _>>()?;
        while self.own_selves.len() < programs.len() {
            self.own_selves.push(self.mpi.own_self()?);
        }
        let calls = programs.into_iter().zip(self.own_selves.clone());
        let calls = calls.map(|(program, own)| move |mpi: &Mpi| mpi.spawn(&program, own));
        let added = self.apart("MPI_Comm_spawn", deadline, calls)?;
        Ok(added.into_iter().map(|line| self.welcome(line?)).collect())
    }

    /// Gives the rank behind this communicator a number.
    fn welcome(&mut self, line: Line) -> Result<u32, CommError> {
        let rank = self.peers.add(line);
        let numbers = [rank, self.round, self.turn].map(u32::to_le_bytes);
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

    /// Learns its own number from rank 0; which turn of the program it is there for.
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
        self.peers.set_own(number(0));
        self.round = number(4);
        Ok(number(8))
    }

    /// The side of the rank that leaves.
    pub(super) fn depart(&mut self, deadline: Deadline) -> Result<(), CommError> {
        self.post(0, DEPARTURE, &[])?;
        if !self.receive_own((0, DEPARTURE), deadline, &mut Vec::new())? {
            return Err(deadline.late("permission to leave", 0));
        }
        self.disconnect(0, deadline)
    }

    /// The side of rank 0.
    pub(super) fn let_go(&mut self, rank: u32, deadline: Deadline) -> Result<(), CommError> {
        if !self.peers.present().contains(&rank) {
            return Err(CommError::NotPresent { rank, own: self.rank() });
        }
        if !self.receive_own((rank, DEPARTURE), deadline, &mut Vec::new())? {
            return Err(deadline.late("the departure", rank));
        }
        self.post(rank, DEPARTURE, &[])?;
        self.flush(deadline)?;
        self.disconnect(rank, deadline)
    }

    /// Parts from everybody who was added, or from whoever added this rank, at the end of the program.
    pub(super) fn part(&mut self, deadline: Deadline) -> Result<(), CommError> {
        for rank in self.peers.present().to_vec() {
            self.disconnect(rank, deadline)?;
        }
        Ok(())
    }

    fn disconnect(&mut self, rank: u32, deadline: Deadline) -> Result<(), CommError> {
        self.inboxes.iter_mut().for_each(|inbox| inbox.forget(rank));
        let Some(line) = self.peers.remove(rank) else { return Ok(()) };
        let disconnect = move |mpi: &Mpi| lines::disconnect(mpi, line);
        let mut ended = self.apart("MPI_Comm_disconnect", deadline, [disconnect])?;
        Ok(ended.pop().unwrap_or(Ok(()))?)
    }

    /// Makes calls in threads of their own, and returns what they do in their order; when one of them does not return
    /// in time, these were the last ones.
    fn apart<T: Send + 'static>(
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
                    // Nobody listens any more when it took too long.
                    tell.send((place, make(&mpi))).unwrap_or_default();
                }
            };
            let thread = Builder::new().name("mpi call".to_owned()).spawn(work);
            // No call has begun: all is as it was.
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
