//! Processes started by a second launcher, the *companion* of the first one: once connected, they are like other
//! started processes.
//!
//! Their rank 0 finds an address in its environment, and connects to it when all of them have initialized MPI. Only
//! then is a port opened and its name sent over that connection: so no process waits in MPI for one that may never
//! come. The connection stays as a tether: if it closes without a farewell, the other side has died, which neither
//! launcher would notice.

use crate::fault::{self, FaultPoint};
use crate::plan::ProcessStart;
use crate::present_ranks::tell;
use crate::release::{Release, ReleaseAddress, connect_to};
use crate::spawn_error::SpawnError;
use crate::watchdog::give_up;
use mpi::{Comm, Intercomm, Mpi, MpiError};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Environment variable with the address.
const VARIABLE: &str = "SINTONIA_MALLEABLE_COMPANION";
/// Last byte sent over a tether.
const FAREWELL: u8 = b'.';

/// Reason why this version of the library cannot connect processes of two launchers, if so. MPICH needs `ofi` for it,
/// and starts processes over nothing else.
pub(crate) fn obstacle(version: &str) -> Option<&'static str> {
    version.contains("Open MPI").then_some(
        "Open MPI connects what two launchers started over a common server only; use `--spawn tree`, or MPICH 5",
    )
}

/// Connections of this process to the other side of companions.
#[derive(Clone, Debug, Default)]
pub(crate) struct PeerConnections(Arc<Ends>);

#[derive(Debug, Default)]
struct Ends {
    streams: Mutex<Vec<TcpStream>>,
    is_over: AtomicBool,
}

impl PeerConnections {
    /// Watches the other side, in a thread of its own.
    pub(super) fn tie(&self, stream: TcpStream) {
        let Ok(kept) = stream.try_clone() else { return };
        self.0.streams.lock().unwrap_or_else(PoisonError::into_inner).push(kept);
        let ends = Arc::clone(&self.0);
        let watch = move || {
            let mut last = [0];
            let is_farewell = (&stream).read_exact(&mut last).is_ok() && last == [FAREWELL];
            if !is_farewell && !ends.is_over.load(Ordering::Acquire) {
                give_up(
                    "connected processes of another launcher have died; this process ends, too",
                );
            }
        };
        // If the thread cannot be started, there is no watch.
        let _watched = Builder::new().name("tether".to_owned()).spawn(watch);
    }

    /// Announces over all connections that this process ends normally.
    pub(crate) fn let_go(&self) {
        self.0.is_over.store(true, Ordering::Release);
        let streams = &mut *self.0.streams.lock().unwrap_or_else(PoisonError::into_inner);
        for mut stream in streams.drain(..) {
            // A peer that is gone does not receive it.
            let _heard = stream.write_all(&[FAREWELL]);
        }
    }
}

/// Processes of a companion that have initialized MPI, and wait to be connected.
#[derive(Debug)]
pub(super) struct Guest {
    line: TcpStream,
}

/// Lets a companion run this command, and waits until its processes are there, at most for `deadline`.
pub(super) fn start(
    start: &ProcessStart,
    mpi: &Mpi,
    words: &[OsString],
    deadline: Duration,
) -> Result<Guest, SpawnError> {
    let failed = |why: String| SpawnError::Companion { place: place_of(start), why };
    let release = Release::open().map_err(|error| failed(error.to_string()))?;
    let address = serde_json::to_string(&release.address).unwrap_or_default();
    let none = || failed("there is no `mpiexec` beside the one that started this program".into());
    let mut launcher = mpi::launcher::another().ok_or_else(none)?;
    let hosts = start.host.iter().flat_map(|host| ["-hosts", host]);
    launcher.args(hosts).args(["-n", &start.n_ranks.to_string()]).args(words);
    launcher.env(VARIABLE, address).stdin(Stdio::null());
    let mut child = launcher.spawn().map_err(|error| failed(error.to_string()))?;
    let is_over = || matches!(child.try_wait(), Ok(Some(_)) | Err(_));
    let Some(line) = release.accept(Instant::now() + deadline, is_over) else {
        let seconds = deadline.as_secs_f64();
        let why = match child.try_wait() {
            Ok(Some(status)) => format!("its launcher ended ({status}) before they came"),
            _ => format!("they did not come within {seconds} s"),
        };
        mpi::launcher::end(child);
        return Err(failed(why));
    };
    look_after(child);
    let version = read_line(&line, deadline).ok_or_else(|| failed("they ended".to_owned()))?;
    let own = one_line(&mpi.version());
    if version != own {
        return Err(failed(format!("they use `{version}`, and the program uses `{own}`")));
    }
    Ok(Guest { line })
}

fn place_of(start: &ProcessStart) -> String {
    start.host.as_ref().map_or_else(String::new, |host| format!(" on `{host}`"))
}

/// The version of an MPI library, which may have several lines.
fn one_line(version: &str) -> String {
    version.lines().next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Guest {
    /// Connects with the processes; also returns the connection by which they can be watched.
    pub(super) fn connect(mut self, mpi: &Arc<Mpi>) -> Result<(Intercomm, TcpStream), SpawnError> {
        let port = mpi.open_port()?;
        writeln!(self.line, "{}", port.name()).map_err(|_| SpawnError::GivenUp)?;
        let alone = Comm::own_self(mpi)?;
        let inter = alone.accept(Some(&port), 0)?;
        port.close()?;
        alone.free()?;
        Ok((inter, self.line))
    }
}

/// Waits for the launcher in a thread: an unwaited process would stay as a zombie.
fn look_after(mut child: Child) {
    let wait = move || drop(child.wait());
    // If the thread cannot be started, the zombie stays until this process ends.
    let _waits = Builder::new().name("companion".to_owned()).spawn(wait);
}

/// Address to connect to, if a companion started this process.
pub(crate) fn address() -> Option<ReleaseAddress> {
    serde_json::from_str(&std::env::var(VARIABLE).ok()?).ok()
}

/// Connects these processes with the ranks that wait for them; `None` if these no longer do.
pub(crate) fn connect(
    mpi: &Arc<Mpi>,
    address: &ReleaseAddress,
    (patience, peers): (Duration, &PeerConnections),
) -> Result<Option<Intercomm>, MpiError> {
    let world = Comm::world(mpi)?;
    world.barrier()?;
    mpi::names::remove();
    let version = one_line(&mpi.version());
    let heard = (world.rank() == 0).then(|| ask(address, &version, patience)).flatten();
    let (stream, name) = heard.unzip();
    let name = tell(&world, name.unwrap_or_default())?;
    let inter = if name.is_empty() { None } else { Some(world.connect(&name, 0)?) };
    if let Some(stream) = stream.filter(|_| inter.is_some()) {
        peers.tie(stream);
    }
    world.free()?;
    Ok(inter)
}

/// Connects to the address, and says the version of the MPI library; returns the connection and the name of the port.
fn ask(address: &ReleaseAddress, version: &str, patience: Duration) -> Option<(TcpStream, String)> {
    let mut line = connect_to(address)?;
    writeln!(line, "{version}").ok()?;
    let name = read_line(&line, patience)?;
    fault::at(FaultPoint::Call, 0);
    Some((line, name))
}

/// Reads a line; `None` if the other side ends, or sends none in time.
fn read_line(line: &TcpStream, patience: Duration) -> Option<String> {
    line.set_read_timeout(Some(patience)).ok()?;
    let mut text = String::new();
    BufReader::new(line).read_line(&mut text).ok()?;
    line.set_read_timeout(None).ok()?;
    text.ends_with('\n').then(|| text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_cannot_connect_says_what_would_help() {
        assert!(obstacle("Open MPI v5.0.11").is_some_and(|why| why.contains("--spawn tree")));
        assert_eq!(obstacle("MPICH Version: 5.0.2\nMPICH Device: ch4:ucx ofi"), None);
    }

    #[test]
    fn a_side_that_says_farewell_is_not_missed() {
        let release = Release::open().unwrap();
        let other = connect_to(&release.address).unwrap();
        let own = release.accept(Instant::now() + Duration::from_secs(20), || false).unwrap();
        let (here, there) = (PeerConnections::default(), PeerConnections::default());
        here.tie(own);
        there.tie(other);
        // Without the farewell, either side would end this process.
        there.let_go();
        here.let_go();
        assert!(here.0.streams.lock().unwrap().is_empty());
    }
}
