//! An observed process: its segment, its stage, and which of its data were handed on.

mod kernel;
mod reading;

use super::link::Connection;
use super::modules::ExecutableMappings;
use super::plan::{Milestone, Stage};
use super::usage::NodeFiles;
use events::{Clock, CommunicatorId, ProcessKey, Rank, Ticks, WorldId};
use kernel::{FromKernel, has_ended, living, state};
use reading::Following;
use ring::control::ORDER_BYTES_MAX;
use ring::{SegmentError, SegmentReader, ThreadView};
use rustix::fd::OwnedFd;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::Instant;
use wire::sum_builder::{BatchPositions, SumRequest};
use wire::{CommunicatorReport, Order, OrderAnswer, ProcessReport, ThreadReport, ToAnalyzer};

/// Time in s after which the kernel is asked about a thread in an MPI call.
const LONG_CALL_S: f64 = 0.4;

/// Observed process with its segment.
#[derive(Debug)]
pub(crate) struct Observed {
    /// The collector's own copy, so that the key never changes here or in the analyzer.
    pub(crate) key: ProcessKey,
    pub(crate) stage: Stage,
    pub(crate) first_seen: Instant,
    pub(crate) last_report: Option<Instant>,
    pub(crate) segment: SegmentReader,
    pub(crate) control: ProcessOrders,
    /// Path of the segment.
    pub(crate) path: PathBuf,
    /// Handle that becomes readable when the process ends.
    pub(crate) pidfd: Option<OwnedFd>,
    /// Ticks, and nanoseconds since 1970, at which its end was noticed.
    ended_at: Option<(u64, u64)>,
    threads: Vec<Following>,
    /// Events that are summed in this collector.
    request: SumRequest,
    /// See [`wire::sum_builder::ThreadInput::passed`].
    passed: BatchPositions,
    /// True if its events may be awaited: it recently had some that are not only summed.
    is_prompt: bool,
    kernel: FromKernel,
    final_taken: bool,
    is_let_go: bool,
}

impl Observed {
    /// Starts to follow the process of the segment at `path`.
    pub(crate) fn open(path: &Path, now: Instant) -> Result<Self, SegmentError> {
        let segment = SegmentReader::open(path)?;
        let view = segment.process();
        let modules = ExecutableMappings::parse(&segment.modules());
        let mut process = Self {
            key: view.key,
            stage: Stage::default(),
            first_seen: now,
            last_report: None,
            pidfd: living(view.key.pid, view.clock.first_ns),
            segment,
            control: ProcessOrders::default(),
            path: path.into(),
            ended_at: None,
            threads: Vec::new(),
            request: SumRequest::default(),
            passed: Vec::new(),
            is_prompt: true,
            kernel: FromKernel::with(modules),
            final_taken: false,
            is_let_go: false,
        };
        process.watch();
        Ok(process)
    }

    /// Updates the stage of the process.
    pub(crate) fn watch(&mut self) {
        self.watch_state();
        if self.stage.reached < Milestone::Gone && self.pidfd.as_ref().is_none_or(has_ended) {
            self.end();
        }
    }

    /// Checks whether the process has reached `MPI_Finalize`, or was detached.
    pub(crate) fn watch_state(&mut self) {
        if self.stage.reached == Milestone::Running && self.segment.is_finalizing() {
            self.stage.reached = Milestone::Finalizing;
        }
        // A detached process may live on, but is no longer observed.
        if self.segment.is_detached() {
            self.end();
        }
    }

    /// Notes the end of the process.
    pub(crate) fn end(&mut self) {
        if self.stage.reached < Milestone::Gone {
            self.stage.reached = Milestone::Gone;
            self.ended_at = Some(ring::clock::point());
            self.pidfd = None;
        }
    }

    /// Rewinds after a lost connection.
    pub(crate) fn rewind(&mut self) {
        self.stage.rewind();
        self.kernel.modules.rewind();
        self.reread();
    }

    /// Sets the events that are summed from now on.
    pub(crate) fn set_request(&mut self, request: SumRequest) {
        self.request = request;
        self.passed.clear();
    }

    /// Returns whether calls are recorded.
    pub(crate) fn is_traced(&self) -> bool {
        self.segment.capacity().n_records != 0
    }

    /// Returns whether the process takes orders.
    pub(crate) fn is_tuned(&self) -> bool {
        self.stage.reached == Milestone::Running && self.segment.orders().is_some()
    }

    /// Passes orders to the mailbox, as far as it has room.
    pub(crate) fn pass_orders(&mut self) {
        if self.stage.reached == Milestone::Gone {
            self.control.forget();
        } else {
            self.control.pass_orders(&self.segment);
        }
    }

    /// Orders the process to restore its state from before it was attached to.
    pub(crate) fn let_go(&mut self) {
        if !std::mem::replace(&mut self.is_let_go, true) {
            self.control.take_order(&Order::Detach);
        }
    }

    /// Orders a process that waits in `MPI_Init` to go on, and levers back, since no orders will come.
    pub(crate) fn let_begin(&mut self) {
        if self.is_tuned() && !std::mem::replace(&mut self.is_let_go, true) {
            self.control.take_order(&Order::Go);
            self.control.take_order(&Order::ReleaseLevers);
        }
    }

    /// Lets the process leave `MPI_Finalize` once all its data are safe.
    pub(crate) fn release(&mut self) {
        if !self.final_taken && self.stage.kept != Milestone::Running {
            let drained = self.is_drained();
            if self.stage.is_taken(drained) {
                self.segment.set_final_taken();
                self.final_taken = true;
            }
        }
    }

    /// Returns whether the process ended and all its data are safe.
    pub(crate) fn is_done(&mut self) -> bool {
        let is_drained = self.stage.kept == Milestone::Gone && self.is_drained();
        self.stage.is_done(is_drained)
    }

    /// Returns a sentence for the user if the program has overwritten part of the segment.
    pub(crate) fn damage(&self) -> Option<String> {
        let pid = self.key.pid;
        self.segment.is_damaged().then(|| {
            format!(
                "the program overwrote memory in which process {pid} was observed: its numbers may be wrong; look for writes beyond the end of an array"
            )
        })
    }

    /// Returns the current report, which counts as handed over.
    pub(crate) fn report(
        &mut self,
        (node, files): (&str, &NodeFiles),
        now: Instant,
    ) -> ProcessReport {
        self.last_report = Some(now);
        let living = self.pidfd.as_ref().map(|_| self.key.pid);
        self.kernel.usage.read(&self.segment, living, files);
        // Set before the counters are read: a report marked as final must contain the final numbers.
        self.stage.reported = self.stage.reached;
        let mut report = self.numbers(node);
        self.kernel.keep_states(&mut report);
        let regions = report.threads.iter().flat_map(|thread| &thread.regions);
        let addresses = regions.map(|region| region.address);
        let mut addresses = addresses.chain(report.openmp.iter().map(|region| region.address));
        let modules = &mut self.kernel.modules;
        if !addresses.all(|address| modules.holds(address)) {
            if report.finalizing {
                modules.add(&self.segment.modules());
            } else if !report.gone {
                modules.reread(self.key.pid, now);
            }
        }
        report.modules = modules.unsent().unwrap_or_default();
        report
    }

    /// Returns the current report including the modules, for a file.
    pub(crate) fn whole_report(&mut self, node: (&str, &NodeFiles), now: Instant) -> ProcessReport {
        self.kernel.modules.rewind();
        self.report(node, now)
    }

    fn numbers(&self, node: &str) -> ProcessReport {
        let view = self.segment.process();
        let (now_ticks, now_ns) = self.ended_at.unwrap_or_else(ring::clock::point);
        let mut clock = view.clock;
        if clock.last_ticks <= clock.first_ticks {
            (clock.last_ticks, clock.last_ns) = (now_ticks, now_ns);
        }
        let communicators = self.segment.communicators().into_iter();
        let communicators = communicators
            .map(|(id, world_ranks)| CommunicatorReport { id: CommunicatorId(id), world_ranks })
            .collect();
        ProcessReport {
            key: self.key,
            node: node.to_owned(),
            host: view.node,
            world: WorldId(view.world),
            rank: Rank(view.rank),
            size: view.size,
            spawned: view.spawned,
            finalizing: view.finalizing,
            left: view.is_detached,
            gone: self.stage.reached == Milestone::Gone,
            clock,
            now: Ticks(now_ticks),
            init_end: Ticks(view.init_end_ticks),
            finalize_begin: Some(Ticks(view.finalize_begin_ticks)).filter(|_| view.finalizing),
            cost_ns_per_call: view.cost_ns_per_call,
            threads_refused: view.threads_refused,
            main_thread: view.main_thread,
            reserved_bytes: view.reserved_bytes,
            library: view.library,
            program: view.program,
            modules: String::new(),
            communicators,
            collectives: self.segment.collectives(),
            threads: self
                .segment
                .threads()
                .map(|one| self.thread_report(one, clock, now_ticks))
                .collect(),
            usage: self.kernel.usage.since_init(&self.segment),
            cores: self.kernel.usage.cores().clone(),
            openmp: self.segment.openmp(),
            openmp_uncounted: self.segment.openmp_uncounted(),
        }
    }

    fn thread_report(&self, thread: ThreadView<'_>, clock: Clock, now_ticks: u64) -> ThreadReport {
        let in_call = thread.in_call();
        let is_long = LONG_CALL_S < clock.seconds(now_ticks.saturating_sub(thread.since_ticks()));
        let is_asked = (in_call.is_none() || is_long) && self.stage.reached == Milestone::Running;
        ThreadReport {
            idx: thread.idx(),
            tid: thread.tid(),
            regions: thread.regions(),
            peers: thread.peers(),
            in_call,
            awaited: in_call.map(|_| thread.awaited()),
            last_call: thread.last_call(),
            state: is_asked.then(|| state(self.key.pid, thread.tid())).flatten(),
            since: Ticks(thread.since_ticks()),
            calls_without_region: thread.calls_without_region(),
            n_written: thread.n_written(),
            n_dropped: thread.n_dropped(),
        }
    }
}

/// Maximum total size, in bytes, of orders waiting for room in a mailbox.
const WAITING_BYTES_MAX: usize = 8 << 20;
/// Maximum number of answers sent per call.
const N_ANSWERS_MAX: usize = 1024;

/// Queue of orders to a process.
#[derive(Debug, Default)]
pub(crate) struct ProcessOrders {
    waiting: VecDeque<Vec<u8>>,
    n_bytes: usize,
}

impl ProcessOrders {
    /// Queues an order; one that finds no room or is too large is dropped, since its sender waits only for a limited time.
    pub(crate) fn take_order(&mut self, order: &Order) {
        let Ok(bytes) = wire::to_bytes(order) else { return };
        let fits = bytes.len() <= ORDER_BYTES_MAX;
        if fits && self.n_bytes + bytes.len() <= WAITING_BYTES_MAX {
            self.n_bytes += bytes.len();
            self.waiting.push_back(bytes);
        }
    }

    /// Returns whether orders are queued.
    pub(crate) fn has_orders(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Drops all orders of a process that has ended.
    pub(crate) fn forget(&mut self) {
        self.waiting.clear();
        self.n_bytes = 0;
    }

    /// Puts orders into the mailbox until it is full.
    pub(crate) fn pass_orders(&mut self, segment: &SegmentReader) {
        if self.waiting.is_empty() {
            return;
        }
        // A process without a mailbox may open it soon: it is in `MPI_Init`.
        let Some(mut mailbox) = segment.orders() else { return };
        while let Some(order) = self.waiting.pop_front() {
            if !mailbox.push(&order) {
                self.waiting.push_front(order);
                return;
            }
            self.n_bytes -= order.len();
        }
    }

    /// Sends the answers of the process while the connection has room; the rest stay in the mailbox.
    pub(crate) fn send_answers(
        &self,
        segment: &SegmentReader,
        process: ProcessKey,
        connection: &mut Connection,
    ) {
        let Some(mut mailbox) = segment.answers() else { return };
        for _answer in 0..N_ANSWERS_MAX {
            if !connection.has_room() {
                return;
            }
            let Some(bytes) = mailbox.pop() else { return };
            // An answer that cannot be decoded comes from another version, and is dropped.
            if let Ok(answer) = wire::decode::<OrderAnswer>(&bytes) {
                connection.send(&ToAnalyzer::Answer { process, answer }).ok();
            }
        }
    }
}
