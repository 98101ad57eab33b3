//! The other side of the door: what a program does that wants something of its node.

use std::{
    io,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
};

use balanced::{Answer, Request, TALK_VERSION};

use super::{
    ANSWER_BYTES_MAX, ClientError, REQUEST_BYTES_MAX, SOCKET,
    framing::{FrameError, read, write},
};

/// A connection to the daemon of this node.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    node: String,
}

impl Client {
    /// Connects to a socket, or to that of a state folder, and learns the node's name.
    ///
    /// # Errors
    /// Nobody listens there, or it is a daemon of another version or user.
    pub fn connect(place: &Path) -> Result<Self, ClientError> {
        let socket = if place.is_dir() { place.join(SOCKET) } else { PathBuf::from(place) };
        let stream = UnixStream::connect(&socket)
            .map_err(|source| ClientError::NoDaemon { socket, source })?;
        let mut client = Self { stream, node: String::new() };
        match client.ask(&Request::Hello { version: TALK_VERSION })? {
            Answer::Hello { version: TALK_VERSION, node } => Ok(Self { node, ..client }),
            Answer::Refused { sentence } => Err(ClientError::Refused { sentence }),
            _ => Err(ClientError::Version),
        }
    }

    /// The node's name.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Asks, and takes the first answer; further ones come by [`Self::next_answer`].
    ///
    /// # Errors
    /// The daemon ends, or is not understood.
    pub fn ask(&mut self, request: &Request) -> Result<Answer, ClientError> {
        self.say(request)?;
        self.next_answer()
    }

    /// Asks, without taking an answer.
    ///
    /// # Errors
    /// The daemon has ended, or the request is too long.
    pub fn say(&mut self, request: &Request) -> Result<(), ClientError> {
        match write(&mut self.stream, request, REQUEST_BYTES_MAX) {
            // Whoever is refused at the door has been told why: that is read next.
            Ok(()) => Ok(()),
            Err(FrameError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(why(error)),
        }
    }

    /// Waits for the next answer.
    ///
    /// # Errors
    /// The daemon ends, or is not understood.
    pub fn next_answer(&mut self) -> Result<Answer, ClientError> {
        read(&mut self.stream, ANSWER_BYTES_MAX).map_err(why)
    }
}

fn why(error: FrameError) -> ClientError {
    match error {
        FrameError::Io(source) => ClientError::Ended(source),
        FrameError::TooLong(n_bytes) => ClientError::TooLong { n_bytes },
        FrameError::Json(_) => ClientError::Version,
    }
}
