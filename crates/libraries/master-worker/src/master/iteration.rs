//! One iteration: carries out the ledger's steps and takes results in.

use super::Master;
use crate::Error;
use crate::bundle;
use crate::ledger::{Done, LedgerAction, SentChunk, Wishes, WorkerTimes};
use crate::message::Message;
use crate::panics::caught;
use crate::program::Program;
use crate::protocol::{HEADER_BYTES, MessageHeader, MessageKind};
use crate::tuning_points;
use crate::worker_pool::ChunkTimes;
use comm::{CommError, Transport};
use std::time::Duration;

/// Longest single wait, in seconds: the run may be canceled meanwhile.
pub(super) const WAIT_S: f64 = 0.1;
/// The same while a worker is idle and tasks may arrive, in seconds.
const ARRIVAL_WAIT_S: f64 = 1e-3;

impl<P: Program, T: Transport> Master<'_, P, T> {
    /// Runs until every task is done or the program is settled.
    pub(super) fn compute(&mut self, number: u64) -> Result<(), Error> {
        self.begin_together(number)?;
        self.ping(number)?;
        while self.is_unfinished() {
            if self.options.cancel.is_canceled() {
                return Err(Error::Canceled { iteration: number });
            }
            while let Some(step) = self.ledger.next_action(self.clock.now_s) {
                self.carry_out(step, number)?;
            }
            self.reporting.reporter.tick(self.clock.now_s, || self.ledger.n_open());
            self.listen(number)?;
        }
        Ok(())
    }

    /// Returns whether there are tasks to do, after adding those that have arrived.
    fn is_unfinished(&mut self) -> bool {
        let n_before = self.reporting.n_tasks;
        let n_new = self.program.n_arrived().map_or(0, |n_now| n_now.saturating_sub(n_before));
        if n_new != 0 && !self.program.is_settled() {
            let arrived = n_before..n_before + n_new;
            let mut wishes = Wishes::default();
            for hint in self.program.hints(arrived.clone()) {
                hint.add_to(&mut wishes);
            }
            self.ledger.extend(arrived, &wishes);
            self.reporting.n_tasks += n_new;
        }
        !self.ledger.is_done()
    }

    fn carry_out(&mut self, step: LedgerAction, number: u64) -> Result<(), Error> {
        match step {
            LedgerAction::Deal(chunk) => self.deal(chunk, number),
            LedgerAction::Retract { worker, chunk } => {
                self.reporting.tally.retracted();
                self.retract(worker, chunk, number)
            }
            LedgerAction::Missed { .. } => {
                self.reporting.tally.lost();
                Ok(())
            }
        }
    }

    /// Handles a message if one has arrived; else computes, if allowed; else waits until the next step is due.
    fn listen(&mut self, number: u64) -> Result<(), Error> {
        if self.clock.is_late {
            self.clock.look(self.transport);
        }
        if self.options.is_master_working || self.ledger.workers.is_alone() {
            let received = self.transport.try_receive(&mut self.buffers.received);
            if let Some(envelope) = self.unless_anybody_gone(received)? {
                self.hear(envelope.from, number)?;
                return Ok(());
            }
            if let Some(chunk) = self.ledger.deal_to_master(self.clock.now_s) {
                return self.compute_here(&chunk, number);
            }
        }
        let may_get_more =
            self.ledger.idle_worker().is_some() && self.program.n_arrived().is_some();
        let wait_s = if may_get_more { ARRIVAL_WAIT_S } else { WAIT_S };
        let pause_s = self.ledger.pause_s(self.clock.now_s).min(wait_s);
        let received = self.transport.receive(
            None,
            Duration::from_secs_f64(pause_s),
            &mut self.buffers.received,
        );
        match self.unless_anybody_gone(received)? {
            Some(envelope) => self.hear(envelope.from, number).map(drop),
            None => {
                self.clock.look(self.transport);
                Ok(())
            }
        }
    }

    /// Handles the message in the buffer, from `worker`. Parts of a bundle count as if each had arrived alone.
    pub(super) fn hear(&mut self, worker: u32, number: u64) -> Result<MessageHeader, Error> {
        let unknown = Error::Unknown { from: worker };
        let Some(header) = MessageHeader::read(&self.buffers.received) else { return Err(unknown) };
        let mut arrived_s = self.clock.look(self.transport);
        if header.kind != MessageKind::Bundle {
            self.hear_one(worker, &header, number)?;
            return Ok(header);
        }
        let bundle = std::mem::take(&mut self.buffers.received);
        // The worker has kept the first one back for this time.
        arrived_s -= header.compute_s;
        self.reporting.tally.bundled(bundle::parts_of(&bundle).count());
        for (place, part) in bundle::parts_of(&bundle).enumerate() {
            let read = part.and_then(|part| Some((MessageHeader::read(part)?, part)));
            let Some((one, part)) = read else { return Err(unknown) };
            if place != 0 {
                arrived_s += one.waited_s + one.compute_s;
            }
            self.clock.now_s = arrived_s;
            self.buffers.received.clear();
            self.buffers.received.extend_from_slice(part);
            self.hear_one(worker, &one, number)?;
        }
        self.buffers.received = bundle;
        Ok(header)
    }

    fn hear_one(&mut self, worker: u32, header: &MessageHeader, number: u64) -> Result<(), Error> {
        let now_s = self.clock.now_s;
        let content = self.buffers.received.get(HEADER_BYTES..).unwrap_or_default();
        match header.kind {
            MessageKind::Taken if header.chunk == 0 => self.network.answered(worker, now_s),
            MessageKind::Taken => {}
            MessageKind::Results => {
                let (compute_s, waited_s) = (header.compute_s, header.waited_s);
                let n_bytes = content.len();
                let measured = WorkerTimes { compute_s, waited_s, n_bytes };
                let done = self.ledger.finished(worker, header.chunk, measured, now_s);
                let Some(done) = done else { return Ok(()) };
                let output = P::Output::from_bytes(&mut self.buffers.received, HEADER_BYTES)?;
                tuning_points::received(worker, done.batch, header.n_tasks());
                self.reporting.tally.done(worker, &done, measured, n_bytes);
                let timed = self.timed(worker, &done, measured);
                if let Some(round_trip_s) = done.round_trip_s.filter(|_| timed.shared_bytes == 0) {
                    let n_bytes = done.n_bytes + (HEADER_BYTES + n_bytes) as u64;
                    self.network.add_round_trip(n_bytes, round_trip_s);
                }
                let times_s = [timed.began_s, timed.ended_s];
                self.reporting.tally.timed(worker, header.chunk, &done, times_s);
                self.worker_target.chunk_done(&timed);
                self.recover(done, output)?;
                self.reinforce();
            }
            MessageKind::Failed => {
                let said = String::from_utf8_lossy(content).into_owned();
                self.failed(worker, header.chunk, said, number)?;
            }
            MessageKind::Broken => {
                let why = String::from_utf8_lossy(content).into_owned();
                return Err(Error::Worker { rank: worker, why });
            }
            _ => return Err(Error::Unknown { from: worker }),
        }
        Ok(())
    }

    fn compute_here(&mut self, chunk: &SentChunk, number: u64) -> Result<(), Error> {
        self.reporting.tally.sent(0);
        let input = self.program.input(chunk.tasks.clone());
        let began_s = self.clock.look(self.transport);
        let (program, shared) = (&*self.program, self.sent.shared.as_ref());
        let shared = shared.ok_or(Error::NothingShared { iteration: number })?;
        let output = caught(|| program.work(shared, chunk.tasks.clone(), input));
        let now_s = self.clock.look(self.transport);
        let measured = WorkerTimes { compute_s: now_s - began_s, waited_s: 0.0, n_bytes: 0 };
        match output {
            Ok(output) => {
                let Some(done) = self.ledger.finished(0, chunk.id, measured, now_s) else {
                    return Ok(());
                };
                self.reporting.tally.done(0, &done, measured, 0);
                self.reporting.tally.timed(0, chunk.id, &done, [began_s, now_s]);
                if self.ledger.workers.is_alone() {
                    self.worker_target.chunk_done(&alone(&done, [began_s, now_s]));
                }
                self.recover(done, output)
            }
            Err(said) => self.failed(0, chunk.id, said, number),
        }
    }

    fn recover(&mut self, done: Done, output: P::Output) -> Result<(), Error> {
        self.program.recover(done.tasks, output);
        self.clock.is_late = true;
        if !self.ledger.is_done() && self.program.is_settled() {
            for (worker, chunk) in self.ledger.settle() {
                self.retract(worker, chunk, 0)?;
            }
        }
        Ok(())
    }

    fn failed(&mut self, rank: u32, chunk: u64, said: String, number: u64) -> Result<(), Error> {
        self.reporting.tally.retried();
        let failed = self.ledger.failed(rank, chunk, self.transport.now_s());
        let Some(tasks) = failed else { return Ok(()) };
        let n_attempts = self.options.n_attempts;
        Err(Error::Panicked { tasks, iteration: number, rank, n_attempts, message: said })
    }

    /// Lets parked workers join when much of the iteration is left.
    fn reinforce(&mut self) {
        let n_undealt = self.ledger.n_undealt();
        if n_undealt == 0 || !self.worker_target.may_grow() {
            return;
        }
        let n_workers = u32::try_from(self.ledger.workers.in_use().count()).unwrap_or(u32::MAX);
        let n_present = self.ledger.workers.n_present().min(self.options.pool.n_allowed());
        if let Some(n_workers) = self.worker_target.joining(n_undealt, n_workers, n_present) {
            let n_workers = self.ledger.enlist(n_workers);
            self.worker_target.joined(n_workers);
        }
    }

    pub(super) fn unless_gone(
        &mut self,
        worker: u32,
        sent: Result<(), CommError>,
    ) -> Result<(), Error> {
        match sent {
            Err(CommError::Gone { .. } | CommError::NotPresent { .. }) => {
                self.gone(worker);
                Ok(())
            }
            other => Ok(other?),
        }
    }

    pub(super) fn unless_anybody_gone<V>(
        &mut self,
        received: Result<Option<V>, CommError>,
    ) -> Result<Option<V>, Error> {
        match received {
            Err(CommError::Gone { rank }) => {
                self.gone(rank);
                Ok(None)
            }
            other => Ok(other?),
        }
    }

    fn gone(&mut self, worker: u32) {
        if self.ledger.workers.present().any(|rank| rank == worker) {
            self.reporting.tally.lost();
            self.ledger.gone(worker);
        }
    }

    /// Returns a chunk's times on the master's clock.
    fn timed(&mut self, worker: u32, done: &Done, measured: WorkerTimes) -> ChunkTimes {
        let known = self.sent.known.get_mut(worker as usize);
        let shared_bytes = known.map_or(0, |known| std::mem::take(&mut known.n_bytes_before));
        let round_trip_s = done.round_trip_s.unwrap_or(f64::INFINITY);
        self.quickest_s = self.quickest_s.min(round_trip_s);
        // The way back takes as long as a short message.
        let back_s = done.one_way_s.min(self.quickest_s / 2.0);
        let message_s = done.round_trip_s.map(|round_trip_s| round_trip_s - back_s);
        let n_tasks = done.tasks.end - done.tasks.start;
        let ended_s = self.clock.now_s - back_s;
        let (batch, began_s) = (done.batch, ended_s - measured.compute_s);
        ChunkTimes { worker, batch, n_tasks, shared_bytes, message_s, began_s, ended_s }
    }
}

/// Times of a chunk that the master computed while no worker was there; they count as a worker's, so that the
/// model can predict what workers would gain.
fn alone(done: &Done, [began_s, ended_s]: [f64; 2]) -> ChunkTimes {
    let (batch, n_tasks) = (done.batch, done.tasks.end - done.tasks.start);
    let (worker, shared_bytes, message_s) = (1, 0, Some(USUAL_MESSAGE_S));
    ChunkTimes { worker, batch, n_tasks, shared_bytes, message_s, began_s, ended_s }
}

/// Assumed time of a message to a worker before one was measured, in seconds.
const USUAL_MESSAGE_S: f64 = 50e-6;
