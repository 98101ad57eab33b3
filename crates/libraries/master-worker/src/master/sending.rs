//! What the master sends to workers: chunks, several small ones at once, and what an iteration begins with.

use super::iteration::WAIT_S;
use super::{Known, Master, bytes_of};
use crate::Error;
use crate::bundle::PART_BYTES_MAX;
use crate::ledger::SentChunk;
use crate::program::Program;
use crate::protocol::{HEADER_BYTES, MessageHeader, MessageKind, TAG};
use crate::tuning_points;
use comm::Transport;
use std::time::Duration;

/// Fewest workers and bytes for a broadcast of shared data; below, each worker gets its own message.
const N_BROADCAST_MIN: usize = 2;
const BROADCAST_BYTES_MIN: usize = 64 << 10;
/// Room that a transport may need behind them, in bytes.
const BROADCAST_BYTES_MORE: usize = 64;

impl<P: Program, T: Transport> Master<'_, P, T> {
    /// Sends a chunk, and with it those that its worker is to have as well by now, as long as they are small.
    pub(super) fn deal(&mut self, chunk: SentChunk, number: u64) -> Result<(), Error> {
        let worker = chunk.worker;
        self.begin(worker, number)?;
        let mut next = Some(chunk).filter(|_| self.ledger.workers.is_in_use(worker));
        while let Some(chunk) = next {
            self.deal_one(&chunk, number)?;
            let is_last = self.options.is_synchronous || self.buffers.bundle.is_full();
            next = match is_last {
                true => None,
                false => self.ledger.deal_ahead(worker, self.clock.now_s),
            };
        }
        self.send_bundle(worker, number)
    }

    /// Adds a small chunk to the bundle; sends a large one, after those that were dealt before it.
    fn deal_one(&mut self, chunk: &SentChunk, number: u64) -> Result<(), Error> {
        let (worker, id, flag) = (chunk.worker, chunk.id, self.options.is_synchronous);
        let header = MessageHeader { flag, ..header_of(chunk, number) };
        let input = self.program.input(chunk.tasks.clone());
        let mut scratch = std::mem::take(&mut self.buffers.scratch);
        let bytes = bytes_of(&input, &mut scratch)?;
        self.reporting.tally.sent(bytes.len());
        let n_bytes = (HEADER_BYTES + bytes.len()) as u64;
        if bytes.len() <= PART_BYTES_MAX && !flag {
            self.buffers.bundle.add(&header, bytes);
            self.buffers.bundled.push((id, chunk.batch, header.n_tasks(), n_bytes));
            self.buffers.scratch = scratch;
            return Ok(());
        }
        self.send_bundle(worker, number)?;
        let mut sent = Ok(());
        tuning_points::send(worker, chunk.batch, header.n_tasks(), &mut || {
            sent = self.transport.send(worker, TAG, &[&header.to_bytes(), bytes]);
        });
        self.buffers.scratch = scratch;
        self.unless_gone(worker, sent)?;
        let now_s = self.clock.look(self.transport);
        self.ledger.sent((worker, id), n_bytes, now_s);
        if flag { self.await_receipt(worker, id, number) } else { Ok(()) }
    }

    /// Sends what is in the bundle.
    fn send_bundle(&mut self, worker: u32, number: u64) -> Result<(), Error> {
        let Some((_, batch, _, _)) = self.buffers.bundled.first().copied() else { return Ok(()) };
        self.reporting.tally.bundled(self.buffers.bundled.len());
        let n_tasks = self.buffers.bundled.iter().map(|(_, _, n_tasks, _)| n_tasks).sum();
        let (header, parts) = self.buffers.bundle.message(number, 0.0);
        let mut sent = Ok(());
        tuning_points::send(worker, batch, n_tasks, &mut || {
            sent = self.transport.send(worker, TAG, &[&header, parts]);
        });
        self.buffers.bundle.clear();
        let mut bundled = std::mem::take(&mut self.buffers.bundled);
        self.unless_gone(worker, sent)?;
        let now_s = self.clock.look(self.transport);
        for (id, _, _, n_bytes) in bundled.drain(..) {
            self.ledger.sent((worker, id), n_bytes, now_s);
        }
        self.buffers.bundled = bundled;
        Ok(())
    }

    /// Broadcasts large shared data to all workers, when all take part: a broadcast needs fewer steps than one
    /// message to each.
    pub(super) fn begin_together(&mut self, number: u64) -> Result<(), Error> {
        let workers: Vec<u32> = self.ledger.workers.in_use().collect();
        let n_missing = self.ledger.workers.present().count() - workers.len();
        let knows = |worker: &u32| self.sent.known[*worker as usize].shared == self.sent.n_shared;
        if n_missing != 0
            || self.transport.has_lost_launched()
            || workers.len() < N_BROADCAST_MIN
            || workers.iter().any(knows)
        {
            return Ok(());
        }
        let Some(shared) = self.sent.shared.as_ref() else { return Ok(()) };
        let (start, n_bytes) = {
            let bytes = bytes_of(shared, &mut self.buffers.scratch)?;
            (bytes.as_ptr().addr(), bytes.len())
        };
        if n_bytes < BROADCAST_BYTES_MIN || self.ledger.is_done() {
            return Ok(());
        }
        self.reporting.tally.shared(n_bytes);
        let scratch = &mut self.buffers.scratch;
        let bytes = if start == scratch.as_ptr().addr() && n_bytes == scratch.len() {
            // They were made for this message.
            std::mem::take(scratch)
        } else {
            let mut copied = Vec::with_capacity(n_bytes + BROADCAST_BYTES_MORE);
            copied.extend_from_slice(bytes_of(shared, scratch)?);
            copied
        };
        let header = MessageHeader::of(MessageKind::BeginBroadcast, number).to_bytes();
        for worker in workers {
            self.reporting.tally.told(n_bytes);
            let sent = self.transport.send(worker, TAG, &[&header]);
            self.unless_gone(worker, sent)?;
            let (iteration, shared) = (number + 1, self.sent.n_shared);
            let n_bytes_before = n_bytes as u64;
            self.sent.known[worker as usize] = Known { iteration, shared, n_bytes_before };
        }
        Ok(self.transport.broadcast_own(bytes, self.options.deadline)?)
    }

    /// Announces the iteration to a worker before its first chunk, with shared data that it does not have.
    fn begin(&mut self, worker: u32, number: u64) -> Result<(), Error> {
        let Some(known) = self.sent.known.get_mut(worker as usize) else { return Ok(()) };
        if known.iteration == number + 1 {
            return Ok(());
        }
        known.iteration = number + 1;
        known.n_bytes_before = 0;
        let is_new = std::mem::replace(&mut known.shared, self.sent.n_shared) != self.sent.n_shared;
        let header =
            MessageHeader { flag: is_new, ..MessageHeader::of(MessageKind::Begin, number) }
                .to_bytes();
        let shared = self.sent.shared.as_ref().filter(|_| is_new);
        let bytes = match shared {
            Some(shared) => bytes_of(shared, &mut self.buffers.scratch)?,
            None => &[],
        };
        if is_new {
            self.reporting.tally.shared(bytes.len());
            known.n_bytes_before = bytes.len() as u64;
        }
        self.reporting.tally.told(bytes.len());
        let sent = self.transport.send(worker, TAG, &[&header, bytes]);
        self.unless_gone(worker, sent)
    }

    /// Times a short message to an idle worker, now and then.
    pub(super) fn ping(&mut self, number: u64) -> Result<(), Error> {
        let now_s = self.clock.look(self.transport);
        // A worker without work in this iteration would answer in a later one, or never.
        let is_due = !self.ledger.is_done() && self.network.is_due(now_s);
        let Some(worker) = self.ledger.idle_worker().filter(|_| is_due) else { return Ok(()) };
        let sent = self.transport.send(
            worker,
            TAG,
            &[&MessageHeader::of(MessageKind::Ping, number).to_bytes()],
        );
        self.network.asked(worker, now_s);
        self.unless_gone(worker, sent)
    }

    pub(super) fn retract(&mut self, worker: u32, chunk: u64, number: u64) -> Result<(), Error> {
        let header = MessageHeader { chunk, ..MessageHeader::of(MessageKind::Retract, number) };
        let sent = self.transport.send(worker, TAG, &[&header.to_bytes()]);
        self.unless_gone(worker, sent)
    }

    /// Waits until a worker confirms that it has the chunk.
    fn await_receipt(&mut self, worker: u32, chunk: u64, number: u64) -> Result<(), Error> {
        let until_s = self.transport.now_s() + self.options.deadline.as_secs_f64();
        while self.ledger.workers.is_in_use(worker) && self.transport.now_s() < until_s {
            let wait = Duration::from_secs_f64(WAIT_S);
            let received = self.transport.receive(Some(worker), wait, &mut self.buffers.received);
            if self.options.cancel.is_canceled() {
                return Ok(());
            }
            let Some(envelope) = self.unless_anybody_gone(received)? else { continue };
            let header = self.hear(envelope.from, number)?;
            if header.kind == MessageKind::Taken && header.chunk == chunk {
                break;
            }
        }
        Ok(())
    }
}

/// Header of the message with a chunk.
fn header_of(chunk: &SentChunk, number: u64) -> MessageHeader {
    let (batch, tasks) = (chunk.batch, chunk.tasks.clone());
    MessageHeader { batch, chunk: chunk.id, tasks, ..MessageHeader::of(MessageKind::Chunk, number) }
}
