//! Keeper's side of the socket: orders in, reports out, without blocking.

use std::io;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;

use frame::{FrameBuffer, FrameError};
use rustix::event::epoll;

use super::protocol::{FRAMES, KeeperCommand, KeeperReport, MESSAGE_BYTES_MAX};

/// Most bytes of reports that wait to be written; further ones wait until the daemon has read some.
const OUTGOING_BYTES_MAX: usize = 1 << 20;
/// Most bytes that were read: room for the longest message and for what was read behind it.
const INCOMING_BYTES_MAX: usize = MESSAGE_BYTES_MAX + (1 << 16);

/// Connected daemon.
#[derive(Debug)]
pub(super) struct DaemonConnection {
    pub(super) stream: UnixStream,
    incoming: FrameBuffer,
    outgoing: Vec<u8>,
    n_written: usize,
}

impl DaemonConnection {
    pub(super) fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let incoming = FrameBuffer::new(FRAMES);
        Ok(Self { stream, incoming, outgoing: Vec::new(), n_written: 0 })
    }

    /// Reads the bytes that are there.
    ///
    /// # Errors
    /// When the daemon is gone.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        if INCOMING_BYTES_MAX <= self.incoming.n_waiting() + buffer.len() {
            return Ok(());
        }
        match self.stream.read(buffer) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(n_bytes) => {
                self.incoming.push(&buffer[..n_bytes]);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Next complete order.
    pub(super) fn next_order(&mut self) -> Result<Option<KeeperCommand>, FrameError> {
        self.incoming.next_message()
    }

    /// Returns whether another report may be added.
    pub(super) fn has_room(&self) -> bool {
        self.outgoing.len() - self.n_written < OUTGOING_BYTES_MAX
    }

    pub(super) fn queue(&mut self, report: &KeeperReport) -> Result<(), FrameError> {
        FRAMES.encode(report, &mut self.outgoing)
    }

    /// Writes as much as the socket takes; returns whether something is left.
    ///
    /// # Errors
    /// When the daemon is gone.
    pub(super) fn write(&mut self) -> io::Result<bool> {
        while self.n_written < self.outgoing.len() {
            match self.stream.write(&self.outgoing[self.n_written..]) {
                Ok(n_bytes) => self.n_written += n_bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.outgoing.clear();
        self.n_written = 0;
        Ok(false)
    }
}

/// Waits for a source, too, whose events have this token.
pub(super) fn watch(
    epoll: &impl rustix::fd::AsFd,
    source: &impl rustix::fd::AsFd,
    token: u64,
) -> io::Result<()> {
    let data = epoll::EventData::new_u64(token);
    Ok(epoll::add(epoll, source, data, epoll::EventFlags::IN)?)
}
