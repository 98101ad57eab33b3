//! A worker: receives chunks, computes them, returns the results.
//!
//! It reads new messages before it begins a chunk: the chunk may have been taken back. Of chunks that take less time than a
//! message, it returns the results of several together, and reads messages less often.

use crate::bundle::{self, Bundle, N_PARTS_MAX, PART_BYTES_MAX};
use crate::message::Message;
use crate::options::Options;
use crate::panics::caught;
use crate::protocol::{HEADER_BYTES, MessageHeader, MessageKind, TAG};
use crate::tuning_points;
use crate::{Error, Program};
use comm::{CommError, Transport};
use std::collections::VecDeque;
use std::time::Duration;

/// Largest number of buffers kept for further chunks, and largest number from which on large ones are not kept.
const N_SPARE_MAX: usize = N_PARTS_MAX;
const N_LARGE_MAX: usize = 4;
/// Capacity of a buffer above which it is large, in bytes.
const SPARE_BYTES_MAX: usize = 4096;
/// Computing time of a chunk from which on its results leave at once, in seconds: a message takes about as long.
const QUICK_S: f64 = 2e-6;
/// Most results that are kept back for others.
const N_KEPT_MAX: usize = N_PARTS_MAX / 2;
/// Time between two looks for messages while chunks wait, in seconds.
const LOOK_S: f64 = 5e-6;
/// Patience of a worker with the master, in multiples of the master's patience with a worker.
const PATIENCES: u32 = 100;
/// Longest single wait.
const WAIT: Duration = Duration::from_secs(1);

/// Serves as a worker until the master ends the run.
///
/// # Errors
/// If the master is gone or silent, or sends an invalid message.
pub fn serve<P: Program, T: Transport>(
    program: &mut P,
    transport: &mut T,
    options: &Options,
) -> Result<(), Error> {
    serve_to_end(program, transport, options).map(drop)
}

/// Like [`serve`]; returns whether a worker is missing at the end, so that not all ranks can be
/// waited for.
pub(crate) fn serve_to_end<P: Program, T: Transport>(
    program: &mut P,
    transport: &mut T,
    options: &Options,
) -> Result<bool, Error> {
    program.enter(transport.rank());
    let now_s = transport.now_s();
    let mut worker = Worker {
        program,
        transport,
        shared: None,
        queue: VecDeque::new(),
        buffers: Vec::new(),
        buffer: Vec::new(),
        scratch: Vec::new(),
        kept: Kept::default(),
        looked_s: now_s,
        free_since_s: now_s,
        heard_s: now_s,
        is_heard: false,
        is_somebody_missed: false,
        patience: options.deadline.saturating_mul(PATIENCES),
    };
    let served = match worker.serve() {
        Err(error @ (Error::Message(_) | Error::Unknown { .. })) => worker.give_up(&error),
        served => served,
    };
    let is_somebody_missed = worker.is_somebody_missed;
    program.leave();
    served.map(|()| is_somebody_missed)
}

struct Worker<'a, P: Program, T> {
    program: &'a mut P,
    transport: &'a mut T,
    shared: Option<P::Shared>,
    /// Chunks that have not begun.
    queue: VecDeque<(MessageHeader, Vec<u8>)>,
    buffers: Vec<Vec<u8>>,
    buffer: Vec<u8>,
    scratch: Vec<u8>,
    kept: Kept,
    /// Time of the last look for messages while chunks waited, in seconds.
    looked_s: f64,
    /// End of the last chunk, in seconds.
    free_since_s: f64,
    /// Latest time at which a message from the master is known to have arrived, in seconds.
    heard_s: f64,
    /// True if a message from the master has arrived since `heard_s`.
    is_heard: bool,
    /// True if the master reported a missing worker at the end.
    is_somebody_missed: bool,
    patience: Duration,
}

/// Results that wait for those of other chunks, to leave with them.
#[derive(Default)]
struct Kept {
    results: Bundle,
    /// End of the first of these chunks, in seconds.
    since_s: f64,
}

impl<P: Program, T: Transport> Worker<'_, P, T> {
    fn serve(&mut self) -> Result<(), Error> {
        loop {
            if self.queue.is_empty() {
                // The chunks behind these were taken back.
                self.send_kept(0)?;
            }
            let wait = if self.queue.is_empty() { WAIT } else { Duration::ZERO };
            if let Some(kind) = self.look(wait)? {
                if kind == MessageKind::End {
                    return Ok(());
                }
            } else if let Some((chunk, message)) = self.queue.pop_front() {
                self.compute(&chunk, message)?;
            }
        }
    }

    /// Handles a message from the master, unless one was looked for a moment ago.
    fn look(&mut self, wait: Duration) -> Result<Option<MessageKind>, Error> {
        if wait.is_zero() && self.free_since_s < self.looked_s + LOOK_S {
            return Ok(None);
        }
        let heard = self.hear(wait)?;
        if heard.is_none() {
            self.looked_s = self.free_since_s;
        }
        Ok(heard)
    }

    /// Tells the master why this worker can do nothing more, then waits for the end.
    fn give_up(&mut self, why: &Error) -> Result<(), Error> {
        let header = MessageHeader::of(MessageKind::Broken, 0).to_bytes();
        self.transport.send(0, TAG, &[&header, format!("{why:?}").as_bytes()])?;
        self.queue.clear();
        loop {
            match self.hear(WAIT) {
                Ok(Some(MessageKind::End)) => return Ok(()),
                Ok(_) | Err(Error::Message(_) | Error::Unknown { .. }) => self.queue.clear(),
                Err(error) => return Err(error),
            }
        }
    }

    /// Handles a message from the master, if one arrives within `wait`.
    fn hear(&mut self, wait: Duration) -> Result<Option<MessageKind>, Error> {
        let envelope = match self.transport.receive(None, wait, &mut self.buffer) {
            Ok(envelope) => envelope,
            Err(CommError::Gone { rank }) if rank != 0 => None,
            Err(CommError::Gone { .. }) => return Err(self.no_master()),
            Err(error) => return Err(error.into()),
        };
        let Some(envelope) = envelope else {
            return if self.queue.is_empty() { self.wait_on() } else { Ok(None) };
        };
        self.is_heard = true;
        let known = MessageHeader::read(&self.buffer).filter(|_| envelope.from == 0);
        let header = known.ok_or(Error::Unknown { from: envelope.from })?;
        let kind = header.kind;
        self.obey(header)?;
        Ok(Some(kind))
    }

    /// Handles a wait without a message: an error once the master has been silent for too long.
    fn wait_on(&mut self) -> Result<Option<MessageKind>, Error> {
        let now_s = self.transport.now_s();
        if std::mem::take(&mut self.is_heard) {
            self.heard_s = now_s;
        }
        let is_late = self.patience.as_secs_f64() < now_s - self.heard_s;
        if is_late { Err(self.no_master()) } else { Ok(None) }
    }

    fn obey(&mut self, header: MessageHeader) -> Result<(), Error> {
        match header.kind {
            MessageKind::Begin => {
                self.queue.clear();
                if header.flag {
                    self.shared = Some(P::Shared::from_bytes(&mut self.buffer, HEADER_BYTES)?);
                }
            }
            MessageKind::BeginBroadcast => {
                self.queue.clear();
                self.transport.broadcast(0, &mut self.buffer, self.patience)?;
                self.shared = Some(P::Shared::from_bytes(&mut self.buffer, 0)?);
            }
            MessageKind::Chunk => {
                if header.flag {
                    let receipt = MessageHeader { kind: MessageKind::Taken, ..header.clone() };
                    self.transport.send(0, TAG, &[&receipt.to_bytes()])?;
                }
                let other = self.buffers.pop().unwrap_or_default();
                self.queue.push_back((header, std::mem::replace(&mut self.buffer, other)));
            }
            MessageKind::Bundle => {
                for part in bundle::parts_of(&self.buffer) {
                    let read = part.and_then(|part| Some((MessageHeader::read(part)?, part)));
                    let is_chunk = |(header, _): &(MessageHeader, &[u8])| {
                        header.kind == MessageKind::Chunk && !header.flag
                    };
                    let (header, part) = read.filter(is_chunk).ok_or(Error::Unknown { from: 0 })?;
                    let mut buffer = self.buffers.pop().unwrap_or_default();
                    buffer.clear();
                    buffer.extend_from_slice(part);
                    self.queue.push_back((header, buffer));
                }
            }
            MessageKind::Ping => {
                let receipt = MessageHeader::of(MessageKind::Taken, header.iteration);
                self.transport.send(0, TAG, &[&receipt.to_bytes()])?;
            }
            MessageKind::Retract => self.queue.retain(|(waiting, _)| waiting.chunk != header.chunk),
            MessageKind::End => self.is_somebody_missed = header.flag,
            MessageKind::Taken
            | MessageKind::Results
            | MessageKind::Failed
            | MessageKind::Broken => {
                return Err(Error::Unknown { from: 0 });
            }
        }
        Ok(())
    }

    fn compute(&mut self, chunk: &MessageHeader, mut message: Vec<u8>) -> Result<(), Error> {
        let shared = self.shared.as_ref().ok_or(Error::Unknown { from: 0 })?;
        let input = P::Input::from_bytes(&mut message, HEADER_BYTES)?;
        let n_max = if message.capacity() <= SPARE_BYTES_MAX { N_SPARE_MAX } else { N_LARGE_MAX };
        if self.buffers.len() < n_max {
            self.buffers.push(message);
        }
        let (program, tasks) = (&*self.program, chunk.tasks.clone());
        let mut input = Some(input);
        let mut output = Ok(None);
        // A clock takes as long as a quick chunk.
        let follows_at_once = self.kept.results.n_parts() != 0;
        let began_s = if follows_at_once { self.free_since_s } else { self.transport.now_s() };
        tuning_points::work(chunk.iteration, chunk.batch, chunk.n_tasks(), &mut || {
            let input = input.take();
            output = caught(|| input.map(|input| program.work(shared, tasks.clone(), input)));
        });
        let ended_s = self.transport.now_s();
        let (compute_s, waited_s) = (ended_s - began_s, began_s - self.free_since_s);
        let kind = if output.is_ok() { MessageKind::Results } else { MessageKind::Failed };
        self.free_since_s = ended_s;
        let header = MessageHeader { kind, compute_s, waited_s, ..chunk.clone() };
        let mut scratch = std::mem::take(&mut self.scratch);
        match &output {
            Ok(Some(output)) => self.answer(&header, output.bytes(&mut scratch)?)?,
            Ok(None) => {}
            Err(said) => self.answer(&header, said.as_bytes())?,
        }
        self.scratch = scratch;
        Ok(())
    }

    /// Sends the results of a chunk, or keeps them back for those of the next ones: until half of the chunks that the
    /// worker had are done, where others can arrive while it computes the other half.
    fn answer(&mut self, header: &MessageHeader, bytes: &[u8]) -> Result<(), Error> {
        if PART_BYTES_MAX < bytes.len() {
            self.send_kept(header.iteration)?;
            return Ok(self.transport.send(0, TAG, &[&header.to_bytes(), bytes])?);
        }
        if self.kept.results.n_parts() == 0 {
            self.kept.since_s = self.free_since_s;
        }
        self.kept.results.add(header, bytes);
        let n_kept = self.kept.results.n_parts();
        let is_quick = header.compute_s < QUICK_S && header.kind == MessageKind::Results;
        let n_left = self.queue.len();
        let is_half = n_left <= n_kept && QUICK_S <= header.compute_s * n_left as f64;
        let is_full = N_KEPT_MAX <= n_kept || self.kept.results.is_full();
        if is_quick && n_left != 0 && !is_half && !is_full {
            return Ok(());
        }
        self.send_kept(header.iteration)
    }

    /// Sends all results that were kept back.
    fn send_kept(&mut self, iteration: u64) -> Result<(), Error> {
        if self.kept.results.n_parts() == 0 {
            return Ok(());
        }
        let kept_s = self.free_since_s - self.kept.since_s;
        let (header, parts) = self.kept.results.message(iteration, kept_s);
        self.transport.send(0, TAG, &[&header, parts])?;
        self.kept.results.clear();
        // What comes for them may be here soon.
        self.looked_s = f64::NEG_INFINITY;
        Ok(())
    }

    fn no_master(&self) -> Error {
        let waited_s = self.transport.now_s() - self.heard_s;
        Error::NoMaster { rank: self.transport.rank(), waited_s }
    }
}
