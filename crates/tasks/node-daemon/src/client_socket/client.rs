//! Client of a node: sends requests, submits tasks and waits for them.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use task_api::{ClientRequest, DaemonAnswer, EndedTask, PROTOCOL_VERSION, Submission, TaskRange};

use super::message::{ANSWERS, MessageError, REQUESTS, read, write};
use super::{ClientError, SOCKET};
use crate::links::{ClusterKey, connect_client};

/// Connection to the daemon of this node.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    node: String,
}

impl Client {
    /// Connects to a socket, or to that of a state folder, and asks for the node's name.
    ///
    /// # Errors
    /// When nothing listens there, or the daemon is of another version or user.
    pub fn connect(place: &Path) -> Result<Self, ClientError> {
        let socket = if place.is_dir() { place.join(SOCKET) } else { PathBuf::from(place) };
        let stream = UnixStream::connect(&socket)
            .map_err(|source| ClientError::NoDaemon { socket, source })?;
        Self::greet(stream)
    }

    /// Connects to the daemon at `host:port`, which listens there for other nodes, and asks for the node's name. The
    /// key of its cluster takes the place of the user, whom only the daemon's own machine can tell.
    ///
    /// # Errors
    /// When no daemon with this key listens there, or it is of another version.
    pub fn connect_to(address: &str, key: &ClusterKey) -> Result<Self, ClientError> {
        Self::greet(connect_client(address, key)?)
    }

    fn greet(stream: UnixStream) -> Result<Self, ClientError> {
        let mut client = Self { stream, node: String::new() };
        match client.ask(&ClientRequest::Hello { version: PROTOCOL_VERSION })? {
            DaemonAnswer::Hello { version: PROTOCOL_VERSION, node } => Ok(Self { node, ..client }),
            answer => Err(unexpected(answer)),
        }
    }

    /// Name of the node.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Sends a request, and waits for the first answer; [`Self::next_answer`] gives further ones.
    ///
    /// # Errors
    /// When the daemon ends, or its answer cannot be understood.
    pub fn ask(&mut self, request: &ClientRequest) -> Result<DaemonAnswer, ClientError> {
        self.say(request)?;
        self.next_answer()
    }

    /// Sends a request, without waiting for an answer.
    ///
    /// # Errors
    /// When the daemon has ended, or the request is too long.
    pub fn say(&mut self, request: &ClientRequest) -> Result<(), ClientError> {
        match write(&mut self.stream, request, REQUESTS) {
            // A client that is refused on arrival has been told why: that is read next.
            Ok(()) => Ok(()),
            Err(MessageError::Io(io::ErrorKind::BrokenPipe)) => Ok(()),
            Err(error) => Err(why(error)),
        }
    }

    /// Waits for the next answer.
    ///
    /// # Errors
    /// When the daemon ends, or its answer cannot be understood.
    pub fn next_answer(&mut self) -> Result<DaemonAnswer, ClientError> {
        read(&mut self.stream, ANSWERS).map_err(why)
    }

    /// Submits tasks; they are on the node's disk when this returns.
    ///
    /// # Errors
    /// When the daemon refuses, ends, or sends an unknown answer. Where it ended, it may have taken the tasks.
    pub fn submit(&mut self, submission: Submission) -> Result<TaskRange, ClientError> {
        match self.ask(&ClientRequest::Submit { submission: Box::new(submission) })? {
            DaemonAnswer::Submitted { tasks } => Ok(tasks),
            answer => Err(unexpected(answer)),
        }
    }

    /// Waits until all of these tasks have ended, and reports each outcome. Tasks that ended so long ago that they
    /// are forgotten are left out.
    ///
    /// # Errors
    /// When the daemon refuses, ends, or sends an unknown answer.
    pub fn wait(
        &mut self,
        tasks: &TaskRange,
        with_output: bool,
        mut on_ended: impl FnMut(EndedTask),
    ) -> Result<(), ClientError> {
        let mut answer = self.ask(&ClientRequest::Wait { tasks: tasks.clone(), with_output })?;
        loop {
            let is_last = answer.is_last();
            match answer {
                DaemonAnswer::Ended { tasks, .. } => tasks.into_iter().for_each(&mut on_ended),
                answer => return Err(unexpected(answer)),
            }
            if is_last {
                return Ok(());
            }
            answer = self.ask(&ClientRequest::More)?;
        }
    }
}

fn why(error: MessageError) -> ClientError {
    match error {
        MessageError::Io(kind) => ClientError::Ended(kind.into()),
        MessageError::TooLong(n_bytes) => ClientError::TooLong(n_bytes),
        MessageError::Json(_) => ClientError::Version,
    }
}

fn unexpected(answer: DaemonAnswer) -> ClientError {
    match answer {
        DaemonAnswer::Refused { sentence } => ClientError::Refused(sentence),
        _ => ClientError::Version,
    }
}
