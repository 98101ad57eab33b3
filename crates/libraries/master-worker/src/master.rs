//! The master: runs iteration after iteration, carries out the ledger's steps and feeds it what workers answer.

mod iteration;
mod sending;
pub(crate) mod tally;

use crate::Error;
use crate::bundle::Bundle;
use crate::checkpoint::Checkpoint;
use crate::ledger::{Ledger, Rules};
use crate::message::Message;
use crate::network::{self, NetworkEstimator, NetworkFileError, WorkerNetwork};
use crate::options::{Options, OptionsError, Prefetch};
use crate::program::{Iteration, Program};
use crate::progress::ProgressReporter;
use crate::protocol::{HEADER_BYTES, MessageHeader, MessageKind, TAG};
use crate::report::{IterationReport, Report};
use crate::report_file::ReportWriter;
use crate::tool::{Observed, shares_of};
use crate::tuning_points::{self, Claim};
use crate::worker_pool::{FixedPool, WorkerDemand, WorkerPool, WorkerTarget};
use chunking::{Policy, Settings, by_name};
use comm::Transport;
use dealing_report::Iterated;
use std::sync::Arc;
use std::time::Duration;
use tally::Tally;

/// Runs the master until the program has no more iterations; meanwhile the workers run [`serve`](crate::serve).
///
/// # Errors
/// If the user's code fails for good, messages or checkpoints fail, or the run is canceled. Workers are told to end
/// in any case.
pub fn lead<P: Program, T: Transport>(
    program: &mut P,
    transport: &mut T,
    options: &Options,
) -> Result<Report, Error> {
    lead_with_pool(program, transport, options, &mut FixedPool)
}

/// Like [`lead`], with a number of workers that changes during the run.
///
/// # Errors
/// As [`lead`].
pub fn lead_with_pool<P: Program, T: Transport>(
    program: &mut P,
    transport: &mut T,
    options: &Options,
    worker_pool: &mut dyn WorkerPool<T>,
) -> Result<Report, Error> {
    lead_to_end(program, transport, options, worker_pool).0
}

/// Like [`lead_with_pool`]; also returns the workers missing at the end, which were told to end but may never receive it.
pub(crate) fn lead_to_end<P: Program, T: Transport>(
    program: &mut P,
    transport: &mut T,
    options: &Options,
    worker_pool: &mut dyn WorkerPool<T>,
) -> (Result<Report, Error>, Vec<u32>) {
    let mut master = Master::new(program, transport, options, worker_pool);
    let led = master.lead();
    let missing = master.send_home();
    let finished = led.and_then(|report| {
        program.finish(&report).map_err(Error::Program)?;
        Ok(report)
    });
    (finished, missing)
}

/// State of a worker as far as the master has sent it.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// Iteration last announced to the worker, counted from 1.
    iteration: u64,
    /// Version of the shared data that the worker has, counted from 1.
    shared: u64,
    /// Bytes of shared data in transit ahead of the worker's next chunk.
    n_bytes_before: u64,
}

/// Shared data, and what each worker has of them.
struct Sent<S> {
    /// State sent to each worker, by rank.
    known: Vec<Known>,
    shared: Option<S>,
    /// Number of versions of the shared data so far.
    n_shared: u64,
}

/// Measurements, and those who are told.
struct Reporting {
    /// Number of tasks of the present iteration so far.
    n_tasks: u64,
    tally: Tally,
    report: Report,
    reporter: ProgressReporter,
    writer: ReportWriter,
}

/// Clock of the master; reading it costs as much as a short message.
struct Clock {
    /// Time as last read, in seconds.
    now_s: f64,
    /// True if the user's code has run since then.
    is_late: bool,
}

impl Clock {
    fn look(&mut self, transport: &impl Transport) -> f64 {
        self.now_s = transport.now_s();
        self.is_late = false;
        self.now_s
    }
}

struct Master<'a, P: Program, T> {
    program: &'a mut P,
    transport: &'a mut T,
    options: &'a Options,
    worker_pool: &'a mut dyn WorkerPool<T>,
    ledger: Ledger,
    claim: Option<Arc<Claim>>,
    worker_target: WorkerTarget,
    network: NetworkEstimator,
    /// Error in the network file, if it cannot be used.
    problem: Option<NetworkFileError>,
    sent: Sent<P::Shared>,
    /// Shortest round trip to a worker so far, in seconds.
    quickest_s: f64,
    reporting: Reporting,
    /// Number of iterations in the last checkpoint, and its time in seconds; the start of the run before the first.
    saved: (u64, f64),
    clock: Clock,
    buffers: Buffers,
}

/// Buffers that are used again.
#[derive(Default)]
struct Buffers {
    /// Message that was received.
    received: Vec<u8>,
    scratch: Vec<u8>,
    /// Chunks to send together; of each its number, batch, number of tasks and bytes of its message.
    bundle: Bundle,
    bundled: Vec<(u64, u32, u64, u64)>,
}

impl<'a, P: Program, T: Transport> Master<'a, P, T> {
    fn new(
        program: &'a mut P,
        transport: &'a mut T,
        options: &'a Options,
        worker_pool: &'a mut dyn WorkerPool<T>,
    ) -> Self {
        let claim = tuning_points::claim(shares_of(&options.policy)).map(Arc::new);
        // `lead` reports an unknown name.
        let spec = by_name(&options.policy).unwrap_or(&chunking::all()[0]);
        let (guess, problem) = guess(options);
        let overhead_s = guess.map(|network| network.latency_s);
        let asks_ahead = options.prefetch_now() != Prefetch::Off;
        let mut policy: Box<dyn Policy> =
            spec.policy(&Settings { overhead_s, asks_ahead, ..Settings::default() });
        if let Some(claim) = &claim {
            policy = Box::new(Observed::new(policy, Arc::clone(claim)));
        }
        let rules = Rules {
            prefetch: options.prefetch_now(),
            n_attempts: options.n_attempts,
            patience_s: options.deadline.as_secs_f64(),
            n_times_overdue: options.overdue.unwrap_or(f64::INFINITY),
            is_master_working: options.is_master_working,
        };
        let mut ledger = Ledger::new(policy, rules, transport.n_ranks());
        // Chunk numbers stay unique across runs, as no run deals a chunk in a nanosecond.
        ledger.number_from(1e9 * transport.now_s());
        let worker_target =
            WorkerTarget::new(options.pool.workers, options.pool.n_first, claim.clone());
        let reporter = ProgressReporter::new(options.talk, program.n_iterations());
        Self {
            program,
            transport,
            options,
            worker_pool,
            ledger,
            claim,
            worker_target,
            network: NetworkEstimator::from_guess(guess),
            problem,
            sent: Sent { known: Vec::new(), shared: None, n_shared: 0 },
            quickest_s: f64::INFINITY,
            reporting: Reporting {
                n_tasks: 0,
                tally: Tally::default(),
                report: Report::new(&options.policy),
                reporter,
                writer: ReportWriter::new(),
            },
            saved: (0, 0.0),
            clock: Clock { now_s: 0.0, is_late: true },
            buffers: Buffers::default(),
        }
    }

    fn lead(&mut self) -> Result<Report, Error> {
        self.options.check()?;
        self.problem.take().map_or(Ok(()), Err)?;
        let mut number = self.resume()?;
        self.reporting.report.first_iteration = number;
        self.saved = (number, self.transport.now_s());
        while let Some(iteration) = self.program.next(number) {
            self.update_pool()?;
            let (report, dealt) = self.iterate(number, iteration)?;
            self.program.end_iteration(&report);
            self.reporting.reporter.end(&report, self.transport.now_s());
            self.reporting.report.add(report, dealt, self.options.n_history);
            self.reporting
                .writer
                .write_when_due(&self.reporting.report.dealt, self.transport.now_s());
            number += 1;
            self.save(number)?;
        }
        self.remark_missing();
        self.reporting.reporter.finish(&self.reporting.report);
        self.reporting
            .writer
            .finish(&self.reporting.report.dealt, self.options.record.as_deref())?;
        Ok(std::mem::take(&mut self.reporting.report))
    }

    /// Returns the number of the first iteration.
    fn resume(&mut self) -> Result<u64, Error> {
        let Some(path) = &self.options.checkpoint.file else { return Ok(0) };
        if self.program.save()?.is_none() {
            return Err(OptionsError::NoCheckpoints { option: "--checkpoint" }.into());
        }
        if !self.options.checkpoint.is_resumed {
            return Ok(0);
        }
        let Some(checkpoint) = Checkpoint::read(path)? else { return Ok(0) };
        self.program.restore(&checkpoint.content).map_err(Error::Program)?;
        Ok(checkpoint.n_iterations)
    }

    fn save(&mut self, n_iterations: u64) -> Result<(), Error> {
        let Some(path) = &self.options.checkpoint.file else { return Ok(()) };
        let (n_saved, saved_s) = self.saved;
        let elapsed = Duration::from_secs_f64((self.transport.now_s() - saved_s).max(0.0));
        if !self.options.checkpoint.interval.is_over(n_iterations - n_saved, elapsed) {
            return Ok(());
        }
        let Some(content) = self.program.save()? else { return Ok(()) };
        self.saved = (n_iterations, self.transport.now_s());
        Ok(Checkpoint { n_iterations, content }.write(path)?)
    }

    /// Adds and removes workers between iterations.
    fn update_pool(&mut self) -> Result<(), Error> {
        let n_present = self.ledger.workers.n_present();
        let n_max = self.worker_pool.n_workers_max(n_present).min(self.options.pool.n_allowed());
        let demand = WorkerDemand {
            n_workers: self.worker_target.target(n_present, n_max),
            forecast: self.worker_target.forecast(),
            n_iterations: self.reporting.report.n_iterations,
            present: self.ledger.workers.present().collect(),
            idle: self.ledger.workers.free().collect(),
        };
        let change = self.worker_pool.follow(self.transport, &demand)?;
        for rank in change.left {
            self.ledger.gone(rank);
        }
        if !change.remark.is_empty() {
            self.reporting.reporter.say(&change.remark);
            self.reporting.report.remark(change.remark);
        }
        self.ledger.workers.make_room(self.transport.n_ranks());
        self.sent.known.resize(self.transport.n_ranks() as usize, Known::default());
        self.worker_target.show(self.ledger.workers.n_present().min(self.options.pool.n_allowed()));
        Ok(())
    }

    fn iterate(
        &mut self,
        number: u64,
        iteration: Iteration<P::Shared>,
    ) -> Result<(IterationReport, Iterated), Error> {
        if let Some(shared) = iteration.shared {
            self.sent.shared = Some(shared);
            self.sent.n_shared += 1;
            self.reporting.tally.shared_is_new();
        }
        if self.sent.shared.is_none() {
            return Err(Error::NothingShared { iteration: number });
        }
        let (n_tasks, mut wishes) = (iteration.n_tasks, iteration.wishes);
        self.reporting.n_tasks = n_tasks;
        let mut result = Ok(());
        let (mut began_s, mut ended_s) = (0.0, 0.0);
        if let Some(network) = self.network.network() {
            self.ledger.workers.expect_round_trip(2.0 * network.one_way_s(HEADER_BYTES as u64));
        }
        tuning_points::iteration(number, n_tasks, &mut || {
            began_s = self.clock.look(self.transport);
            self.worker_target.iteration_began(number, began_s);
            self.reporting.tally.begin(began_s);
            self.ledger.begin(n_tasks, std::mem::take(&mut wishes), self.worker_target.current());
            let n_used = u32::try_from(self.ledger.workers.in_use().count()).unwrap_or(u32::MAX);
            self.reporting.reporter.begin(number, n_tasks, n_used);
            result = self.compute(number);
            ended_s = self.transport.now_s();
        });
        result?;
        let n_tasks = self.reporting.n_tasks;
        let used = self.ledger.workers.in_use();
        let (mut report, mut dealt) =
            self.reporting.tally.report(number, n_tasks, ended_s - began_s, used);
        dealt.parked = self
            .ledger
            .workers
            .present()
            .filter(|rank| !self.ledger.workers.is_in_use(*rank))
            .collect();
        dealt.shares = self.claim.as_ref().and_then(|claim| claim.shares());
        let n_max = self
            .worker_pool
            .n_workers_max(self.ledger.workers.n_present())
            .min(self.options.pool.n_allowed());
        report.network = self.network.network();
        self.worker_target.iteration_ended(&report, ended_s, n_max);
        report.reckoning = self.worker_target.reckoning();
        self.worker_target.reason().clone_into(&mut report.staffing);
        dealt.reason.clone_from(&report.staffing);
        if self.claim.is_some() {
            let task_bytes = (report.input_bytes + report.shared_bytes) / n_tasks.max(1);
            tuning_points::set_task_bytes(task_bytes.max(1));
        }
        Ok((report, dealt))
    }

    /// Reports the workers that did not come back; the work of all iterations is done all the same.
    fn remark_missing(&mut self) {
        self.reporting.report.missing = self.ledger.workers.missing().collect();
        if self.reporting.report.missing.is_empty() {
            return;
        }
        let missing: Vec<String> =
            self.reporting.report.missing.iter().map(u32::to_string).collect();
        let remark = format!(
            "workers: rank {} never returned its last tasks, and other workers did them; all results are complete, \
             and the run ends without it",
            missing.join(", ")
        );
        self.reporting.reporter.say(&remark);
        self.reporting.report.remark(remark);
    }

    /// Tells the workers that the run is over; a worker that cannot be told is gone or will see that the master is.
    /// Returns the missing workers; the message tells the others that some are missing.
    fn send_home(&mut self) -> Vec<u32> {
        let workers: Vec<u32> = self.ledger.workers.present().collect();
        let missing: Vec<u32> = self.ledger.workers.missing().collect();
        let flag = !missing.is_empty() || self.transport.has_lost_launched();
        let end = MessageHeader { flag, ..MessageHeader::of(MessageKind::End, 0) }.to_bytes();
        for worker in workers {
            let _sent = self.transport.send(worker, TAG, &[&end]);
        }
        missing
    }
}

/// Reads the network file, if one is given.
fn guess(options: &Options) -> (Option<WorkerNetwork>, Option<NetworkFileError>) {
    match options.network.as_deref().map(network::read) {
        Some(Ok(network)) => (Some(network), None),
        Some(Err(problem)) => (None, Some(problem)),
        None => (None, None),
    }
}

/// Returns the bytes of a message; they may be stored in `scratch`.
fn bytes_of<'a, M: Message>(message: &'a M, scratch: &'a mut Vec<u8>) -> Result<&'a [u8], Error> {
    Ok(message.bytes(scratch)?)
}
