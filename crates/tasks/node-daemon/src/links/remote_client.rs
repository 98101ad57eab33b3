//! Client on another host: an encrypted connection between it and the client socket of a daemon.
//!
//! The client proves the key of the cluster instead of its user: who has the key may do everything on all nodes
//! anyway. After the handshake, both sides pass bytes on between the connection and a local socket, so that neither the
//! client's requests nor the daemon's client socket know the difference.
//!
//! 1. The client: eight fixed bytes, then a record that can be read with the key alone: its version.
//! 2. The daemon, only if that record was good: its version.
//! 3. The client: an empty record, which a stranger who replays an overheard first record cannot write.
//!
//! # Invariants
//! - Each side sends at least an empty record every [`HEARTBEAT`]; a side that hears nothing for [`SILENT_AFTER`] ends
//!   the connection.
//!
//! # Not here
//! Requests and answers, and the bound on the number of clients (`client_socket`).

use super::dialing;
use super::handshake::{CLIENT_MAGIC, ended, split_version, versioned};
use super::table::Common;
use super::{ClusterKey, LinkError, Refusal};
use channel::{AdmissionSlot, DeadlineStream, Handshake, Opener, Sealer, read_record};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Version of the handshake; the client socket's messages have their own.
const VERSION: u16 = 1;
/// Longest time for a client to dial and prove the key: it may be far away.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Time after which an idle side sends an empty record.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// Time after which a side that sends nothing is disconnected.
const SILENT_AFTER: Duration = Duration::from_secs(60);
/// Longest time for a side to read what is sent.
const READS_WITHIN: Duration = Duration::from_secs(30);
/// Bytes passed on at once.
const PIECE_BYTES: usize = 32 << 10;

/// Connects to a daemon at `host:port`; the stream is one to its client socket.
///
/// # Errors
/// When no daemon with this key listens there.
pub fn connect(address: &str, key: &ClusterKey) -> Result<UnixStream, LinkError> {
    let unreachable = |source| LinkError::Unreachable { peer: address.to_owned(), source };
    let stream = dialing::connect(address, HANDSHAKE_TIMEOUT).map_err(unreachable)?;
    let directions = prove(&stream, key, address)?;
    let (ours, passed_on) = UnixStream::pair().map_err(unreachable)?;
    let relay = Relay::new(Arc::new(stream), passed_on, directions).map_err(unreachable)?;
    let builder = thread::Builder::new().name("from the daemon".to_owned());
    builder.spawn(move || relay.run()).map_err(unreachable)?;
    Ok(ours)
}

/// The client's part of the handshake.
fn prove(
    stream: &TcpStream,
    key: &ClusterKey,
    address: &str,
) -> Result<(Sealer, Opener), LinkError> {
    let failed = |source| ended(address, HANDSHAKE_TIMEOUT, source);
    let damaged = || LinkError::Damaged(address.to_owned());
    let mut deadline_stream = DeadlineStream::new(stream, HANDSHAKE_TIMEOUT);
    let mut noise = Handshake::dialing(CLIENT_MAGIC, key.bytes());
    let mut wire = CLIENT_MAGIC.to_vec();
    noise.seal(&own_version(), &mut wire).map_err(|_| damaged())?;
    deadline_stream.write_all(&wire).map_err(failed)?;
    let record = read_record(&mut deadline_stream).map_err(|source| match source.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => {
            LinkError::HungUp(address.to_owned())
        }
        _ => failed(source),
    })?;
    let plain = noise.open(&record).map_err(|_| LinkError::Key(address.to_owned()))?;
    let (theirs, _) = split_version(&plain).ok_or_else(damaged)?;
    if theirs != VERSION {
        let refusal = Refusal::Version { ours: theirs, theirs: VERSION };
        return Err(LinkError::Refused { peer: address.to_owned(), refusal });
    }
    let (mut sealer, opener) = noise.finish().map_err(|_| damaged())?;
    wire.clear();
    sealer.seal(&[], &mut wire).map_err(|_| damaged())?;
    deadline_stream.write_all(&wire).map_err(failed)?;
    Ok((sealer, opener))
}

/// Runs the daemon's part of a connection that began with [`CLIENT_MAGIC`], until it ends.
pub(super) fn answer(
    common: &Common,
    stream: &Arc<TcpStream>,
    (mut deadline_stream, slot): (DeadlineStream<'_>, AdmissionSlot),
    peer: &str,
) -> Result<(), LinkError> {
    let failed = |source| ended(peer, common.options.handshake_timeout, source);
    let damaged = || LinkError::Damaged(peer.to_owned());
    let Some(socket) = &common.options.clients_at else {
        return Err(LinkError::Stranger(peer.to_owned()));
    };
    let record = read_record(&mut deadline_stream).map_err(failed)?;
    let mut noise = Handshake::answering(CLIENT_MAGIC, common.key.bytes());
    let plain = noise.open(&record).map_err(|_| LinkError::Key(peer.to_owned()))?;
    let (theirs, _) = split_version(&plain).ok_or_else(damaged)?;
    let mut wire = Vec::new();
    noise.seal(&own_version(), &mut wire).map_err(|_| damaged())?;
    deadline_stream.write_all(&wire).map_err(failed)?;
    if theirs != VERSION {
        let refusal = Refusal::Version { ours: VERSION, theirs };
        return Err(LinkError::NotTaken { peer: peer.to_owned(), refusal });
    }
    let (sealer, mut opener) = noise.finish().map_err(|_| damaged())?;
    let record = read_record(&mut deadline_stream).map_err(failed)?;
    opener.open(&record, &mut Vec::new()).map_err(|_| damaged())?;
    slot.mark_authenticated();
    let local = UnixStream::connect(socket).map_err(failed)?;
    let relay = Relay::new(Arc::clone(stream), local, (sealer, opener)).map_err(failed)?;
    relay.run();
    Ok(())
}

fn own_version() -> Vec<u8> {
    versioned(VERSION, &()).expect("a number has an encoding")
}

/// Connection and local socket, between which bytes are passed on.
struct Relay {
    stream: Arc<TcpStream>,
    local: UnixStream,
    opener: Opener,
}

impl Relay {
    /// Starts the thread that reads the local socket; [`Self::run`] reads the connection.
    fn new(
        stream: Arc<TcpStream>,
        local: UnixStream,
        (sealer, opener): (Sealer, Opener),
    ) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENT_AFTER))?;
        stream.set_write_timeout(Some(READS_WITHIN))?;
        let outgoing = Outgoing { stream: Arc::clone(&stream), local: local.try_clone()?, sealer };
        outgoing.local.set_read_timeout(Some(HEARTBEAT))?;
        let builder = thread::Builder::new().name("to the other host".to_owned());
        builder.spawn(move || outgoing.run())?;
        Ok(Self { stream, local, opener })
    }

    /// Passes on what arrives, until the connection or the local socket ends.
    fn run(mut self) {
        let mut plain = Vec::new();
        while let Ok(record) = read_record(&mut &*self.stream) {
            plain.clear();
            let is_good = self.opener.open(&record, &mut plain).is_ok();
            if !is_good || self.local.write_all(&plain).is_err() {
                break;
            }
        }
        // This ends the other thread, too. Either side may have gone before.
        self.local.shutdown(Shutdown::Both).ok();
        self.stream.shutdown(Shutdown::Both).ok();
    }
}

struct Outgoing {
    stream: Arc<TcpStream>,
    local: UnixStream,
    sealer: Sealer,
}

impl Outgoing {
    fn run(mut self) {
        let mut piece = vec![0; PIECE_BYTES];
        let mut wire = Vec::new();
        loop {
            let n_bytes = match self.local.read(&mut piece) {
                Ok(0) => break,
                Ok(n_bytes) => n_bytes,
                // Nothing to pass on: the other side learns that this one is alive.
                Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            wire.clear();
            let sealed = self.sealer.seal(&piece[..n_bytes], &mut wire).is_ok();
            if !sealed || (&*self.stream).write_all(&wire).is_err() {
                break;
            }
        }
        // What was written is still read; the other side answers by ending its direction.
        self.stream.shutdown(Shutdown::Write).ok();
    }
}
