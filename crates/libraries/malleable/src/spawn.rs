//! Starts processes, and joins them with the present ones.
//!
//! Each source starts its share of the new processes, all sources at the same time. When all have started, sources and
//! new processes are joined, two groups at a time, without ports: a process that started others is the bridge between
//! them and the other sources. Once all are in one communicator, those between parents and children are disconnected:
//! then any process may leave, whichever one started it.
//!
//! # Invariants
//! - No process joins before all have started: if one does not, all new processes are sent away again.
//! - Threads that wait for others sleep; only MPI's own calls may busy-wait.

pub(crate) mod companion;
mod join;
mod own_command;

use crate::fault::{self, Deed, FaultPoint};
use crate::launched_ranks::LaunchedRanks;
use crate::plan::{ProcessStart, ResizePlan};
use crate::ready::{Prepared, Ready};
use crate::spawn_error::SpawnError;
use crate::tags::{OfChange, Tag};
use companion::{Guest, PeerConnections};
use mpi::{Comm, Intercomm, Mpi, MpiError};
use std::ffi::OsString;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Environment variable of started processes that names the process that started them.
const STARTED_BY: &str = "SINTONIA_MALLEABLE_STARTED_BY";
/// The command that sets variables for another one.
const ENV: &str = "/usr/bin/env";

/// Input of a source for preparing a resize.
#[derive(Debug)]
pub(crate) struct Preparation {
    /// Communicator of the sources.
    pub(crate) backstage: Arc<Comm>,
    pub(crate) serial: u16,
    /// Plan of the resize, on rank 0, which sends it to the others.
    pub(crate) plan: Option<ResizePlan>,
    /// World id of this process.
    pub(crate) own_world: u64,
    pub(crate) deadline: Duration,
    /// Sleeping ranks, where no process can be started.
    pub(crate) launched: Option<Arc<LaunchedRanks>>,
    /// Set when all processes have started; readable without waiting for the end of the preparation.
    pub(crate) is_spawned: Arc<AtomicBool>,
    /// Constant data of this process, in bytes.
    pub(crate) n_bytes: u64,
    /// Connections of this process to those of other launchers.
    pub(crate) peers: PeerConnections,
}

/// Group of processes that this one has started.
type Child = (ProcessStart, Intercomm);

/// Processes that have started, and are there.
enum Started {
    /// MPI has started them.
    Child(Child),
    /// A companion has. Nothing connects them with this process but a line to say so: if one dies, no call of MPI is in
    /// its way.
    Guest(ProcessStart, Guest),
}

impl Preparation {
    /// Prepares the resize: at the end all participants are joined and have agreed on it.
    pub(crate) fn run(mut self) -> Result<Prepared, SpawnError> {
        let began = Instant::now();
        let plan = self.share()?;
        let own = self.backstage.rank();
        let started = self.start_all(&plan);
        let agreed = self.agree(&started);
        let started = started?;
        if let Err(error) = agreed {
            send_away(started)?;
            return Err(error);
        }
        let (children, lines) = self.connect(started)?;
        self.is_spawned.store(true, Ordering::Release);
        let spawned = Instant::now();
        let bridge = if let Some(launched) = &self.launched {
            if own == 0 {
                launched.wake(&plan)?;
            }
            launched.join(&self.backstage, &plan)?
        } else if plan.starts.is_empty() {
            self.backstage.duplicate()?
        } else {
            join::as_source(&self.backstage, &plan, &children)?
        };
        for (_, child) in children {
            child.disconnect()?;
        }
        let (own_world, n_bytes) = (self.own_world, self.n_bytes);
        let ready = Ready { bridge, number: own, own_world, plan, n_bytes };
        let mut prepared = ready.agree()?;
        lines.into_iter().for_each(|line| self.peers.tie(line));
        prepared.spawn_s = (spawned - began).as_secs_f64();
        prepared.connect_s = spawned.elapsed().as_secs_f64();
        Ok(prepared)
    }

    /// Sends the plan from rank 0 to all sources.
    fn share(&mut self) -> Result<ResizePlan, SpawnError> {
        let tag = OfChange::Plan.number(self.serial);
        let Some(plan) = self.plan.take() else {
            let heard = self.backstage.take::<u8>(Some(0), Some(tag), self.deadline)?;
            let (_, text) = heard.ok_or(SpawnError::GivenUp)?;
            return serde_json::from_slice(&text).map_err(|_| SpawnError::GivenUp);
        };
        let text = serde_json::to_vec(&plan).unwrap_or_default();
        (1..self.backstage.size()).try_for_each(|rank| self.backstage.send(&text, rank, tag))?;
        Ok(plan)
    }

    /// Agrees whether all processes have started: rank 0 collects the results of all sources, and sends them the
    /// verdict.
    fn agree(&self, started: &Result<Vec<Started>, SpawnError>) -> Result<(), SpawnError> {
        let (come, verdict) =
            (OfChange::Come.number(self.serial), OfChange::Verdict.number(self.serial));
        let why = started.as_ref().err().map_or_else(String::new, ToString::to_string);
        if 0 < self.backstage.rank() {
            self.backstage.send(why.as_bytes(), 0, come)?;
            let patience = 2 * self.deadline;
            let heard = self.backstage.take::<u8>(Some(0), Some(verdict), patience)?;
            let is_to_be = heard.is_some_and(|(_, text)| text == [1]);
            return if is_to_be { Ok(()) } else { Err(SpawnError::GivenUp) };
        }
        let judged = self.hear(come, why);
        let word = [u8::from(judged.is_ok())];
        (1..self.backstage.size())
            .try_for_each(|rank| self.backstage.send(&word, rank, verdict))?;
        judged
    }

    fn hear(&self, tag: u16, own: String) -> Result<(), SpawnError> {
        let until = Instant::now() + self.deadline;
        let mut failed = (!own.is_empty()).then_some((0, own));
        for rank in 1..self.backstage.size() {
            let left = until.saturating_duration_since(Instant::now());
            let Some((_, text)) = self.backstage.take::<u8>(Some(rank), Some(tag), left)? else {
                return Err(SpawnError::Late { rank, seconds: self.deadline.as_secs_f64() });
            };
            if failed.is_none() && !text.is_empty() {
                failed = Some((rank, String::from_utf8_lossy(&text).into_owned()));
            }
        }
        failed.map_or(Ok(()), |(rank, why)| Err(SpawnError::Start { rank, why }))
    }

    /// Starts the processes assigned to this source: in parallel, where the library lets several threads call. Open MPI
    /// claims to, but looks processes up in a table without its lock, and refuses connections when another thread adds
    /// to it.
    fn start_all(&self, plan: &ResizePlan) -> Result<Vec<Started>, SpawnError> {
        let (mpi, rank) = (self.backstage.mpi(), self.backstage.rank());
        let fault = fault::at(FaultPoint::Start, rank);
        if fault == Some(Deed::Refuse) {
            return Err(SpawnError::Start { rank, why: "a test wants it so".to_owned() });
        }
        let never_comes = fault == Some(Deed::Sleep);
        let starts = plan.started_by(rank).cloned().collect::<Vec<_>>();
        let alone = starts.iter().map(|_| Comm::own_self(mpi)).collect::<Result<Vec<_>, _>>()?;
        let pairs = starts.iter().zip(&alone);
        let results = if mpi.is_multiple() && !is_open_mpi(mpi) && 1 < starts.len() {
            std::thread::scope(|scope| {
                let threads = pairs.map(|(start, alone)| {
                    let begin = move || self.start_one(start, alone, never_comes);
                    Builder::new().spawn_scoped(scope, begin).map_err(|_| begin)
                });
                let threads = threads.collect::<Vec<_>>();
                let joined = threads.into_iter().map(|thread| match thread {
                    Ok(thread) => thread.join().unwrap_or(Err(SpawnError::GivenUp)),
                    // The system refused a thread: this thread does the work.
                    Err(begin) => begin(),
                });
                joined.collect::<Vec<_>>()
            })
        } else {
            pairs.map(|(start, alone)| self.start_one(start, alone, never_comes)).collect()
        };
        alone.into_iter().try_for_each(Comm::free)?;
        let (mut started, mut failed) = (Vec::new(), Ok(()));
        for result in results {
            match result {
                Ok(one) => started.push(one),
                Err(error) => failed = Err(error),
            }
        }
        if failed.is_err() {
            send_away(std::mem::take(&mut started))?;
        }
        failed.map(|()| started)
    }

    /// Connects with what companions have started; also returns the connections by which they are watched.
    fn connect(&self, started: Vec<Started>) -> Result<(Vec<Child>, Vec<TcpStream>), SpawnError> {
        let (mut children, mut lines) = (Vec::new(), Vec::new());
        for one in started {
            match one {
                Started::Child(child) => children.push(child),
                Started::Guest(start, guest) => {
                    let (inter, line) = guest.connect(self.backstage.mpi())?;
                    children.push((start, inter));
                    lines.push(line);
                }
            }
        }
        Ok((children, lines))
    }

    fn start_one(
        &self,
        start: &ProcessStart,
        alone: &Comm,
        never_comes: bool,
    ) -> Result<Started, SpawnError> {
        let mut words = start.through.iter().map(OsString::from).collect::<Vec<_>>();
        let settings = alone.mpi().settings();
        // Launchers pass their own variables on, but not those of a rank.
        words.push(ENV.into());
        words.push(mark(self.serial).into());
        words.extend(settings.iter().map(|(name, value)| format!("{name}={value}").into()));
        if never_comes {
            words.extend(["/bin/sleep".into(), "1000".into()]);
        } else {
            words.extend(own_command::own_command());
        }
        if start.is_companion {
            // Ends before the other ranks' deadline.
            let guest = companion::start(start, alone.mpi(), &words, 3 * self.deadline / 4)?;
            return Ok(Started::Guest(start.clone(), guest));
        }
        let mut words = words.into_iter();
        let mut spawn = mpi::Spawn::new(words.next().unwrap_or_default(), start.n_ranks);
        spawn.arguments = words.collect();
        if !never_comes {
            spawn.hosts.clone_from(&start.host);
        }
        Ok(Started::Child((start.clone(), alone.spawn(&spawn, 0)?)))
    }
}

/// Environment setting of the processes that this process starts for this resize.
pub(crate) fn mark(serial: u16) -> String {
    format!("{STARTED_BY}={}-{}-{serial}", place(), std::process::id())
}

/// Scope in which process ids are unique: the host, and the namespace.
pub(crate) fn place() -> String {
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{}-{}", files::host_name(), namespace.display())
}

/// Process that has started this one: its [`place`] and process id.
pub(crate) fn started_by() -> Option<(String, u32)> {
    parse(&std::env::var(STARTED_BY).ok()?)
}

fn parse(mark: &str) -> Option<(String, u32)> {
    let mut words = mark.rsplitn(3, '-').skip(1);
    let pid = words.next()?.parse().ok()?;
    Some((words.next()?.to_owned(), pid))
}

/// Sends away processes that were started in vain. Those of a companion end when the connection to them does.
fn send_away(started: Vec<Started>) -> Result<(), MpiError> {
    let children = started.into_iter().filter_map(|one| match one {
        Started::Child((_, child)) => Some(child),
        Started::Guest(..) => None,
    });
    for child in children {
        (0..child.n_peers()).try_for_each(|rank| child.send::<u8>(&[], rank, Tag::Go.number()))?;
        child.disconnect()?;
    }
    Ok(())
}

/// Joins as a new process; returns `None` when it is sent away.
pub(crate) fn arrive(
    mpi: &Arc<Mpi>,
    parent: Intercomm,
    patience: Duration,
) -> Result<Option<Prepared>, SpawnError> {
    let heard = parent.take::<u8>(Some(0), Some(Tag::Go.number()), patience)?;
    let text = heard.map(|(_, text)| text).unwrap_or_default();
    let Ok((plan, number)) = serde_json::from_slice::<(ResizePlan, usize)>(&text) else {
        parent.disconnect()?;
        return Ok(None);
    };
    let start = plan.starts.get(number).cloned().unwrap_or_default();
    let world = Comm::world(mpi)?;
    fault::at(FaultPoint::Come, start.first + world.rank());
    let bridge = join::as_child(&world, &plan, &start, &parent)?;
    let number = start.first + world.rank();
    world.free()?;
    parent.disconnect()?;
    // The serial number and the first member make a world id that no other process has.
    let own_world = (u64::from(plan.serial) << 32) | u64::from(start.first);
    let ready = Ready { bridge, number, own_world, plan, n_bytes: 0 };
    ready.agree().map(Some)
}

/// Returns whether the library is Open MPI, whose names of `MPI_Info` keys differ.
pub(crate) fn is_open_mpi(mpi: &Mpi) -> bool {
    mpi.version().contains("Open MPI")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_started_knows_by_whom() {
        let variable = mark(7);
        let (_, said) = variable.split_once('=').unwrap();
        assert_eq!(parse(said), Some((place(), std::process::id())));
        assert_eq!(parse("a-node-pid:[1]-12-3"), Some(("a-node-pid:[1]".to_owned(), 12)));
        assert_eq!(parse("12-3"), None);
    }
}
