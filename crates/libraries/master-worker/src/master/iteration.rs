//! One iteration: sends chunks out and takes results in.

use super::{Known, Master, bytes_of};
use crate::Error;
use crate::ledger::{Done, LedgerAction, SentChunk, Wishes, WorkerTimes};
use crate::message::Message;
use crate::panics::caught;
use crate::program::Program;
use crate::protocol::{HEADER_BYTES, MessageHeader, MessageKind, TAG};
use crate::tuning_points;
use crate::worker_pool::ChunkTimes;
use comm::{CommError, Envelope, Transport};
use std::time::Duration;

/// Fewest workers and bytes for a broadcast of shared data; below, each worker gets its own message.
const N_BROADCAST_MIN: usize = 3;
const BROADCAST_BYTES_MIN: usize = 64 << 10;
/// Longest single wait, in seconds: the run may be canceled meanwhile.
const WAIT_S: f64 = 0.1;
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
            LedgerAction::Deal(chunk) => self.deal(&chunk, number),
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

    fn deal(&mut self, chunk: &SentChunk, number: u64) -> Result<(), Error> {
        let worker = chunk.worker;
        self.begin(worker, number)?;
        if !self.ledger.workers.is_in_use(worker) {
            return Ok(());
        }
        let flag = self.options.is_synchronous;
        let (id, tasks) = (chunk.id, chunk.tasks.clone());
        let header = MessageHeader {
            batch: chunk.batch,
            chunk: id,
            tasks,
            flag,
            ..MessageHeader::of(MessageKind::Chunk, number)
        };
        let input = self.program.input(chunk.tasks.clone());
        let mut scratch = std::mem::take(&mut self.scratch);
        let bytes = bytes_of(&input, &mut scratch)?;
        self.reporting.tally.sent(bytes.len());
        let n_bytes = (HEADER_BYTES + bytes.len()) as u64;
        let mut sent = Ok(());
        tuning_points::send(worker, chunk.batch, header.n_tasks(), &mut || {
            sent = self.transport.send(worker, TAG, &[&header.to_bytes(), bytes]);
        });
        self.scratch = scratch;
        self.unless_gone(worker, sent)?;
        let now_s = self.look_at_clock();
        self.ledger.sent((worker, id), n_bytes, now_s);
        if flag { self.await_receipt(worker, id, number) } else { Ok(()) }
    }

    /// Broadcasts large shared data to all workers, when all take part: a broadcast needs fewer steps than one
    /// message to each.
    fn begin_together(&mut self, number: u64) -> Result<(), Error> {
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
        let bytes = bytes_of(shared, &mut self.scratch)?;
        if bytes.len() < BROADCAST_BYTES_MIN || self.ledger.is_done() {
            return Ok(());
        }
        self.reporting.tally.shared(bytes.len());
        let mut bytes = bytes.to_vec();
        let header = MessageHeader::of(MessageKind::BeginBroadcast, number).to_bytes();
        for worker in workers {
            self.reporting.tally.told(bytes.len());
            let sent = self.transport.send(worker, TAG, &[&header]);
            self.unless_gone(worker, sent)?;
            let (iteration, shared) = (number + 1, self.sent.n_shared);
            let n_bytes_before = bytes.len() as u64;
            self.sent.known[worker as usize] = Known { iteration, shared, n_bytes_before };
        }
        Ok(self.transport.broadcast(0, &mut bytes, self.options.deadline)?)
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
            Some(shared) => bytes_of(shared, &mut self.scratch)?,
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
    fn ping(&mut self, number: u64) -> Result<(), Error> {
        let now_s = self.look_at_clock();
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

    fn retract(&mut self, worker: u32, chunk: u64, number: u64) -> Result<(), Error> {
        let header = MessageHeader { chunk, ..MessageHeader::of(MessageKind::Retract, number) };
        let sent = self.transport.send(worker, TAG, &[&header.to_bytes()]);
        self.unless_gone(worker, sent)
    }

    /// Waits until a worker confirms that it has the chunk.
    fn await_receipt(&mut self, worker: u32, chunk: u64, number: u64) -> Result<(), Error> {
        let until_s = self.transport.now_s() + self.options.deadline.as_secs_f64();
        while self.ledger.workers.is_in_use(worker) && self.transport.now_s() < until_s {
            let wait = Duration::from_secs_f64(WAIT_S);
            let received = self.transport.receive(Some(worker), wait, &mut self.buffer);
            if self.options.cancel.is_canceled() {
                return Ok(());
            }
            let Some(envelope) = self.unless_anybody_gone(received)? else { continue };
            let header = self.hear(envelope, number)?;
            if header.kind == MessageKind::Taken && header.chunk == chunk {
                break;
            }
        }
        Ok(())
    }

    /// Handles a message if one has arrived; else computes, if allowed; else waits until the next step is due.
    fn listen(&mut self, number: u64) -> Result<(), Error> {
        if self.clock.is_late {
            self.look_at_clock();
        }
        if self.options.is_master_working || self.ledger.workers.is_alone() {
            let received = self.transport.try_receive(&mut self.buffer);
            if let Some(envelope) = self.unless_anybody_gone(received)? {
                self.hear(envelope, number)?;
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
        let received =
            self.transport.receive(None, Duration::from_secs_f64(pause_s), &mut self.buffer);
        match self.unless_anybody_gone(received)? {
            Some(envelope) => self.hear(envelope, number).map(drop),
            None => {
                self.look_at_clock();
                Ok(())
            }
        }
    }

    fn hear(&mut self, envelope: Envelope, number: u64) -> Result<MessageHeader, Error> {
        let worker = envelope.from;
        let header = MessageHeader::read(&self.buffer).ok_or(Error::Unknown { from: worker })?;
        let measured = WorkerTimes { compute_s: header.compute_s, waited_s: header.waited_s };
        let now_s = self.look_at_clock();
        match header.kind {
            MessageKind::Taken if header.chunk == 0 => self.network.answered(worker, now_s),
            MessageKind::Taken => {}
            MessageKind::Results => {
                let n_bytes = self.buffer.len() - HEADER_BYTES;
                if let Some(done) = self.ledger.finished(worker, header.chunk, measured, now_s) {
                    let output = P::Output::from_bytes(&mut self.buffer, HEADER_BYTES)?;
                    tuning_points::received(worker, done.batch, header.n_tasks());
                    self.reporting.tally.done(worker, &done, measured, n_bytes);
                    let timed = self.timed(worker, &done, measured);
                    if let Some(round_trip_s) =
                        done.round_trip_s.filter(|_| timed.shared_bytes == 0)
                    {
                        let n_bytes = done.n_bytes + (HEADER_BYTES + n_bytes) as u64;
                        self.network.add_round_trip(n_bytes, round_trip_s);
                    }
                    let times_s = [timed.began_s, timed.ended_s];
                    self.reporting.tally.timed(worker, header.chunk, &done, times_s);
                    self.worker_target.chunk_done(&timed);
                    self.recover(done, output)?;
                    self.reinforce();
                }
            }
            MessageKind::Failed => {
                let said = self.buffer.get(HEADER_BYTES..).unwrap_or_default();
                let said = String::from_utf8_lossy(said).into_owned();
                self.failed(worker, header.chunk, said, number)?;
            }
            MessageKind::Broken => {
                let why = self.buffer.get(HEADER_BYTES..).unwrap_or_default();
                let why = String::from_utf8_lossy(why).into_owned();
                return Err(Error::Worker { rank: worker, why });
            }
            _ => return Err(Error::Unknown { from: worker }),
        }
        Ok(header)
    }

    fn compute_here(&mut self, chunk: &SentChunk, number: u64) -> Result<(), Error> {
        self.reporting.tally.sent(0);
        let input = self.program.input(chunk.tasks.clone());
        let began_s = self.look_at_clock();
        let (program, shared) = (&*self.program, self.sent.shared.as_ref());
        let shared = shared.ok_or(Error::NothingShared { iteration: number })?;
        let output = caught(|| program.work(shared, chunk.tasks.clone(), input));
        let now_s = self.look_at_clock();
        let measured = WorkerTimes { compute_s: now_s - began_s, waited_s: 0.0 };
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
        if n_undealt == 0 {
            return;
        }
        let n_workers = u32::try_from(self.ledger.workers.in_use().count()).unwrap_or(u32::MAX);
        let n_present = self.n_present().min(self.n_allowed());
        if let Some(n_workers) = self.worker_target.joining(n_undealt, n_workers, n_present) {
            let n_workers = self.ledger.enlist(n_workers);
            self.worker_target.joined(n_workers);
        }
    }

    fn unless_gone(&mut self, worker: u32, sent: Result<(), CommError>) -> Result<(), Error> {
        match sent {
            Err(CommError::Gone { .. } | CommError::NotPresent { .. }) => {
                self.gone(worker);
                Ok(())
            }
            other => Ok(other?),
        }
    }

    fn unless_anybody_gone<V>(
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
