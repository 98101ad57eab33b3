//! Connections of collectors: those that prove the secret have a thread of their own, all others are only counted.

use super::node_files::NodeSpool;
use super::node_sums::{BatchOutcome, NodeSums};
use super::{Shared, lock};
use channel::{AcceptedConnection, Acceptor, Sealer, StrangerLimits};
use collector::handshake::{AuthenticatedConnection, HandshakeError, MessageReader, as_analyzer};
use events::ProcessKey;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tuner::NodeInput;
use wire::{FRAMES, ProcessReport, Records, SummaryBatch, ThreadRange, ToAnalyzer, ToCollector};

/// Timeout of a read from a silent collector, after which its clock is asked for or the end is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Time between questions about a node's clock.
const PROBE_EVERY: Duration = Duration::from_secs(1);
/// Time after which a collector that accepts no data is given up.
const WRITE_PATIENCE: Duration = Duration::from_secs(10);
const READ_BYTES: usize = 256 << 10;
/// Maximum number of collectors served at the same time.
const N_CONNECTIONS_MAX: usize = 4096;

/// Writing half of a connection, shared by its own thread and the thread that ends the run.
#[derive(Debug, Clone)]
pub(super) struct ConnectionWriter(Arc<Mutex<WriterState>>);

#[derive(Debug)]
struct WriterState {
    stream: Arc<TcpStream>,
    sealer: Sealer,
    plain: Vec<u8>,
    wire: Vec<u8>,
}

impl WriterState {
    fn say_all(&mut self, messages: &[ToCollector]) -> Result<(), HandshakeError> {
        self.plain.clear();
        self.wire.clear();
        for message in messages {
            FRAMES.encode(message, &mut self.plain)?;
        }
        self.sealer.seal(&self.plain, &mut self.wire)?;
        Ok((&*self.stream).write_all(&self.wire)?)
    }
}

impl ConnectionWriter {
    /// Sends `message`; returns false if the connection failed.
    pub(super) fn say(&self, message: &ToCollector) -> bool {
        self.say_all(std::slice::from_ref(message))
    }

    /// Sends `messages` at once; returns false if the connection failed.
    pub(super) fn say_all(&self, messages: &[ToCollector]) -> bool {
        let mut state = lock(&self.0);
        let said = state.say_all(messages);
        if matches!(said, Err(HandshakeError::Connection(_))) {
            // Part of a record may have been sent, so nothing can follow it. The connection may already be closed.
            state.stream.shutdown(Shutdown::Both).ok();
        }
        said.is_ok()
    }

    /// Returns whether both belong to the same connection.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Slot of a connection that is being served.
struct Served<'a>(&'a Shared);

impl<'a> Served<'a> {
    /// Takes a slot; returns `None` if there are too many connections.
    fn one_more(shared: &'a Shared) -> Option<Self> {
        let served = Self(shared);
        (shared.n_connections.fetch_add(1, Ordering::SeqCst) < N_CONNECTIONS_MAX).then_some(served)
    }
}

impl Drop for Served<'_> {
    fn drop(&mut self) {
        self.0.n_connections.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Serves the collector at the other end of a connection until the collector or the server ends.
fn serve(accepted: AcceptedConnection, shared: &Shared) -> Result<(), HandshakeError> {
    let authenticated = as_analyzer(accepted.stream, accepted.slot, &shared.run)?;
    let AuthenticatedConnection { stream, sealer, reader, node, .. } = authenticated;
    // Collectors beyond the limit reconnect later.
    let Some(_served) = Served::one_more(shared) else { return Ok(()) };
    stream.set_read_timeout(Some(LOOK_EVERY))?;
    stream.set_write_timeout(Some(WRITE_PATIENCE))?;
    let state =
        WriterState { stream: Arc::clone(&stream), sealer, plain: Vec::new(), wire: Vec::new() };
    let mut serving = Serving::new(node, ConnectionWriter(Arc::new(Mutex::new(state))), shared);
    serving.arrive();
    let outcome = serving.listen(&stream, reader);
    serving.depart();
    outcome
}

struct Serving<'a> {
    shared: &'a Shared,
    node: String,
    writer: ConnectionWriter,
    spool: Arc<Mutex<NodeSpool>>,
    sums: Arc<Mutex<NodeSums>>,
    /// Number of this connection among those of its node.
    number: u64,
    /// Positions from which the collector resumes.
    ranges: Vec<ThreadRange>,
}

impl<'a> Serving<'a> {
    fn new(node: String, writer: ConnectionWriter, shared: &'a Shared) -> Self {
        let spool = shared.files.spool_of(&node);
        let sums = shared.files.sums_of(&node);
        let (number, ranges) = lock(&sums).connect();
        Self { shared, node, writer, spool, sums, number, ranges }
    }

    fn arrive(&mut self) {
        self.shared.with_intake(|intake| {
            let node = intake.node(&self.node);
            node.n_connections += 1;
            node.finished = false;
        });
        let ranges = std::mem::take(&mut self.ranges);
        self.shared.add_writer(self.node.clone(), self.writer.clone(), ranges);
    }

    fn depart(&self) {
        self.shared.forget_writer(&self.writer);
        self.shared.with_intake(|intake| {
            let node = intake.node(&self.node);
            node.n_connections -= 1;
            node.lost_at = Some(Instant::now());
        });
    }

    fn listen(
        &self,
        mut stream: &TcpStream,
        mut reader: MessageReader,
    ) -> Result<(), HandshakeError> {
        let mut bytes = vec![0; READ_BYTES];
        let mut last_probe: Option<Instant> = None;
        while !self.shared.is_closed() {
            while let Some(message) = reader.next_message()? {
                self.hear(message);
            }
            let now = Instant::now();
            if last_probe.is_none_or(|last| PROBE_EVERY <= now - last) {
                last_probe = Some(now);
                self.ask_clock();
            }
            match stream.read(&mut bytes) {
                Ok(0) => break,
                Ok(n_bytes) => reader.push(&bytes[..n_bytes])?,
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                    ) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn ask_clock(&self) {
        if self.node == self.shared.own_node {
            return;
        }
        let (_, now_ns) = ring::clock::point();
        let probe = self.shared.with_intake(|intake| intake.node(&self.node).clock.ask(now_ns));
        // A lost connection is noticed when reading.
        self.writer.say(&ToCollector::ClockProbe { probe });
    }

    fn hear(&self, message: ToAnalyzer) {
        match message {
            ToAnalyzer::Process(report) => {
                let (key, finalizing, gone) = (report.key, report.finalizing, report.gone);
                self.tell_of(&report);
                self.shared.with_intake(|intake| intake.take_report(&self.node, *report));
                if finalizing || gone {
                    self.keep(key, gone);
                } else if self.shared.detaching.load(Ordering::SeqCst) {
                    self.writer.say(&super::order_to_detach(key));
                }
            }
            ToAnalyzer::Samples(samples) => {
                self.shared.with_intake(|intake| intake.take_samples(&self.node, *samples));
            }
            ToAnalyzer::Records(records) => self.store(records),
            ToAnalyzer::Summaries(batch) => self.add_up(batch),
            ToAnalyzer::Answer { process, answer } => {
                if let Some(inbox) = &self.shared.tuning {
                    inbox.push(&self.node, NodeInput::Answer(process, answer));
                }
            }
            ToAnalyzer::ClockReply { probe, node_ns } => {
                let (_, now_ns) = ring::clock::point();
                let wants_more = self.shared.with_intake(|intake| {
                    let clock = &mut intake.node(&self.node).clock;
                    clock.answer(probe, node_ns, now_ns);
                    clock.wants_more()
                });
                if wants_more {
                    self.ask_clock();
                }
            }
            ToAnalyzer::Finished { n_lost, warnings } => self.shared.with_intake(|intake| {
                intake.n_records_lost += n_lost;
                warnings.into_iter().for_each(|warning| intake.warn(warning));
                intake.node(&self.node).finished = true;
            }),
        }
    }

    fn add_up(&self, batch: SummaryBatch) {
        let mut sums = lock(&self.sums);
        let outcome = sums.take(self.number, &batch);
        drop(sums);
        let number = batch.number;
        match outcome {
            // Not acknowledged: the sender is gone, or sums these records anew.
            BatchOutcome::Late => return,
            BatchOutcome::Kept => self.shared.with_intake(|intake| intake.n_taken += 1),
            BatchOutcome::Lost(error) => self.shared.with_intake(|intake| {
                intake.n_records_lost += batch.events.iter().map(|event| event.n).sum::<u64>();
                intake.warn(format!("sums of function events could not be written ({error}); free room on the disk or choose another folder with `--out`"));
            }),
        }
        if let Some(inbox) = &self.shared.tuning {
            inbox.push_sums(&self.node, batch);
        }
        self.writer.say(&ToCollector::Summed { number });
    }

    /// Reports a process to the tuning thread, without the data that only the summary needs.
    fn tell_of(&self, report: &ProcessReport) {
        let Some(inbox) = &self.shared.tuning else { return };
        let clock = self.shared.with_intake(|intake| intake.node(&self.node).clock.estimate(""));
        let mut report = Box::new(ProcessReport { node: self.node.clone(), ..report.clone() });
        report.communicators.clear();
        report.threads.retain(|thread| thread.idx == report.main_thread);
        inbox.push(&self.node, NodeInput::Report(report, clock.offset_ns));
    }

    /// Saves the last report of a process to disk before its segment may be removed.
    fn keep(&self, process: ProcessKey, gone: bool) {
        let writer = self.writer.clone();
        self.shared.save_soon(super::PendingSave { writer, process, gone });
    }

    fn store(&self, mut records: Records) {
        let (process, thread, up_to) = (records.process, records.thread, records.end());
        let mut spool = lock(&self.spool);
        let stored = spool.store(&mut records);
        self.shared.with_intake(|intake| {
            intake.n_taken += 1;
            if let Err(loss) = stored {
                intake.n_records_lost += loss.n_records;
                intake.warn(loss.to_string());
            }
        });
        if let Some(inbox) = &self.shared.tuning {
            inbox.push_records(&self.node, &records);
        }
        drop(spool);
        // Also after a loss: a full disk here must not fill the rings there.
        self.writer.say(&ToCollector::Acknowledge { process, thread, up_to });
    }
}

/// Limits on connections that have not proved the secret.
pub(super) const STRANGERS: StrangerLimits = StrangerLimits { n_max: 128, n_per_address_max: 96 };

/// Starts to accept connections.
pub(super) fn open(listener: TcpListener, shared: &Arc<Shared>) -> io::Result<Acceptor> {
    let (strangers, shared) = (Arc::clone(&shared.strangers), Arc::clone(shared));
    Acceptor::open(listener, strangers, "collectors", move |accepted| receive(accepted, &shared))
}

fn receive(accepted: AcceptedConnection, shared: &Shared) {
    // Keeps the connection open until the outcome is recorded, before the rejected peer notices its end.
    let _open = Arc::clone(&accepted.stream);
    let outcome = serve(accepted, shared);
    shared.with_intake(|intake| match outcome {
        Err(HandshakeError::Earlier { version }) => intake.earlier = Some(version),
        Err(error) if error.is_news() => intake.warn(error.to_string()),
        _ => {}
    });
}
