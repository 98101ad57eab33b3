//! The analyzer's side of a run: receives the collectors' data, saves them to disk, and returns them at the end.
//!
//! One thread accepts connections, each connection has a thread of its own, and one more writes the state of all
//! processes to disk, so that it survives if the analyzer is killed.
//!
//! # Invariants
//! - Nothing is believed, and no long message accepted, before the peer has proved the run's secret.
//! - Records are acknowledged only after they are in the spool file (or counted as lost).
//!
//! # Not here
//! The meaning of the numbers (`assemble`); the collector's side (`collector`).

mod clock_offset;
mod connection;
mod intake;
mod node_files;
mod node_sums;
mod replayed_messages;
pub mod resolve;
mod tuning;

use channel::{Acceptor, Unauthenticated};
use collector::handshake::RunSecret;
use collector::place::node_name;
use connection::ConnectionWriter;
use events::ProcessKey;
use intake::Intake;
use node_files::NodeFiles;
use replayed_messages::ReplayedMessages;
use run_record::measured::{MeasuredRun, RunFacts};
use run_record::snapshot::{self, SnapshotEntry};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};
use tuner::{NodeInput, TuningOptions};
use tuning::Inbox;
use wire::{Order, ProcessReport, Secret, ThreadRange, ToCollector};

/// Options of a server.
#[derive(Debug)]
pub struct ServerOptions {
    /// Number of the run.
    pub run: u64,
    /// Secret that collectors have to prove.
    pub secret: Secret,
    /// Address to listen on.
    pub listen: SocketAddr,
    /// Time between reports of running processes.
    pub report_every: Duration,
    /// Time between snapshots on disk.
    pub snapshot_every: Duration,
    /// Folder for spool files in the record.
    pub spool_dir: PathBuf,
    /// Launcher's facts when the command starts.
    pub facts: RunFacts,
    /// Tuning of the program, if any.
    pub tuning: Option<TuningOptions>,
    /// Path of `tuning.jsonl`, written if the program is tuned.
    pub tuning_lines: PathBuf,
    /// Path of the user's switch, by which tuning goes on or off.
    pub tuning_switch: PathBuf,
}

/// The analyzer's side of a run.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    reception: Option<Acceptor>,
    keeping: Option<JoinHandle<()>>,
    tuning: Option<JoinHandle<Vec<String>>>,
}

/// Nodes from which data are still expected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outstanding {
    /// Nodes whose collector has not reported completion, and is connected or may soon reconnect.
    pub nodes: Vec<String>,
    /// Number of processes on these nodes that have not ended.
    pub n_processes: usize,
    /// Number of messages with new data; grows while data still arrive.
    pub n_taken: u64,
}

#[derive(Debug)]
struct Shared {
    run: RunSecret,
    own_node: String,
    files: NodeFiles,
    facts: RunFacts,
    /// Inbox of the tuning thread.
    tuning: Option<Arc<Inbox>>,
    snapshot_every: Duration,
    intake: Mutex<Intake>,
    writers: Mutex<Vec<(String, ConnectionWriter)>>,
    /// Messages repeated to collectors that reconnect.
    replayed: Mutex<ReplayedMessages>,
    /// Last reports still to be saved to disk.
    pending_saves: Mutex<Vec<PendingSave>>,
    saves_pending: Condvar,
    strangers: Arc<Unauthenticated>,
    n_connections: AtomicUsize,
    finishing: AtomicBool,
    /// True if processes are to be restored to their state before the attach.
    detaching: AtomicBool,
    closed: AtomicBool,
}

/// Process whose last report must be on disk before its collector is told so.
#[derive(Debug)]
struct PendingSave {
    writer: ConnectionWriter,
    process: ProcessKey,
    gone: bool,
}

impl Server {
    /// Starts to listen.
    ///
    /// # Errors
    /// The address cannot be listened on, or no thread can be started.
    pub fn start(options: ServerOptions) -> io::Result<Self> {
        let listener = channel::listen(options.listen)?;
        let address = listener.local_addr()?;
        let report_every_ms = u32::try_from(options.report_every.as_millis()).unwrap_or(u32::MAX);
        let shared = Arc::new(Shared {
            run: RunSecret { run: options.run, secret: options.secret, report_every_ms },
            own_node: node_name(),
            files: NodeFiles::new(options.spool_dir),
            facts: options.facts,
            tuning: options.tuning.is_some().then(Arc::default),
            snapshot_every: options.snapshot_every,
            intake: Mutex::default(),
            writers: Mutex::default(),
            replayed: Mutex::default(),
            pending_saves: Mutex::default(),
            saves_pending: Condvar::new(),
            strangers: Arc::new(Unauthenticated::new(connection::STRANGERS)),
            n_connections: AtomicUsize::new(0),
            finishing: AtomicBool::new(false),
            detaching: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        });
        let to_keep = Arc::clone(&shared);
        // Threads already started are stopped again if the system cannot start the next one.
        let mut server = Self { tuning: None, shared, address, reception: None, keeping: None };
        let keep = move || to_keep.keep_snapshots();
        server.keeping = Some(Builder::new().name("snapshots".to_owned()).spawn(keep)?);
        if let (Some(tuning), Some(inbox)) = (options.tuning, server.shared.tuning.clone()) {
            let options = (tuning, &*options.tuning_lines, &*options.tuning_switch);
            server.tuning = Some(tuning::start(options, inbox, &server.shared)?);
        }
        server.reception = Some(connection::open(listener, &server.shared)?);
        Ok(server)
    }

    /// Returns the address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the last report of every process so far.
    pub fn processes(&self) -> Vec<ProcessReport> {
        self.shared.with_intake(|intake| intake.processes().cloned().collect())
    }

    /// Shows the last report of every process so far; the server takes nothing meanwhile.
    pub fn each_process(&self, act: impl FnMut(&ProcessReport)) {
        self.shared.with_intake(|intake| intake.processes().for_each(act));
    }

    /// Returns the number of records lost so far between ring and disk.
    pub fn n_records_lost(&self) -> u64 {
        self.shared.with_intake(|intake| intake.n_records_lost)
    }

    /// Returns whether the collector of `node` is connected.
    pub fn is_connected(&self, node: &str) -> bool {
        self.shared.with_intake(|intake| intake.node(node).n_connections != 0)
    }

    /// Tells all processes, present and future, to restore their state from before the attach.
    pub fn detach(&self) {
        self.shared.detaching.store(true, Ordering::SeqCst);
        for report in self.processes().iter().filter(|report| !report.finalizing && !report.gone) {
            // If no collector is connected, its next report is answered with this order.
            self.shared.say(&report.node, &order_to_detach(report.key));
        }
    }

    /// Tells all collectors, present and future, that the command has ended.
    pub fn finish(&self) {
        self.shared.finishing.store(true, Ordering::SeqCst);
        self.shared.say_to_all(&ToCollector::Finish);
    }

    /// Returns the nodes from which data are still expected.
    pub fn outstanding(&self) -> Outstanding {
        let now = Instant::now();
        self.shared.with_intake(|intake| {
            let nodes: Vec<String> = intake
                .nodes()
                .filter(|(_, state)| state.is_outstanding(now))
                .map(|(node, _)| node.clone())
                .collect();
            let n_processes = intake
                .processes()
                .filter(|report| !report.gone && nodes.contains(&report.node))
                .count();
            Outstanding { nodes, n_processes, n_taken: intake.n_taken }
        })
    }

    /// Closes all connections and returns the measurements.
    pub fn close(mut self) -> MeasuredRun {
        // Counted before collectors are cut off that were about to prove themselves.
        let n_strangers = self.shared.strangers.n_unproved();
        self.shared.say_to_all(&ToCollector::Leave);
        self.stop();
        self.shared.with_intake(|intake| MeasuredRun {
            processes: intake.processes().cloned().collect(),
            nodes: intake.clocks(),
            spools: self.shared.files.spools(),
            n_records_lost: intake.n_records_lost,
            warnings: intake.warnings(n_strangers),
            samples: intake.samples().cloned().collect(),
        })
    }

    fn stop(&mut self) {
        let pending_saves = lock(&self.shared.pending_saves);
        self.shared.closed.store(true, Ordering::SeqCst);
        // Notified under the lock: a thread about to wait sees `closed`, and a waiting one is woken.
        self.shared.saves_pending.notify_all();
        drop(pending_saves);
        if let Some(reception) = self.reception.take() {
            reception.close();
            reception.wait();
        }
        if let Some(keeping) = self.keeping.take() {
            // A panic in the thread was already printed by its hook; the data received so far are still good.
            keeping.join().ok();
        }
        if let Some(inbox) = &self.shared.tuning {
            inbox.close();
        }
        let problems = self.tuning.take().and_then(|thread| thread.join().ok());
        for problem in problems.into_iter().flatten() {
            self.shared.with_intake(|intake| intake.warn(problem));
        }
    }
}

/// Without [`Server::close`], collectors consider the analyzer lost.
impl Drop for Server {
    fn drop(&mut self) {
        if self.reception.is_some() || self.keeping.is_some() {
            self.stop();
        }
    }
}

impl Shared {
    fn with_intake<T>(&self, act: impl FnOnce(&mut Intake) -> T) -> T {
        act(&mut lock(&self.intake))
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    fn add_writer(&self, node: String, writer: ConnectionWriter, ranges: Vec<ThreadRange>) {
        let mut writers = lock(&self.writers);
        let replayed = lock(&self.replayed);
        let mut first = replayed.of(&node);
        drop(replayed);
        first.push(ToCollector::Resume { ranges });
        writer.say_all(&first);
        // Under the lock, so that `finish` either finds the connection or its flag is seen here.
        if self.finishing.load(Ordering::SeqCst) {
            writer.say(&ToCollector::Finish);
        }
        writers.retain(|(other, _)| *other != node);
        writers.push((node.clone(), writer));
        drop(writers);
        if let Some(inbox) = &self.tuning {
            inbox.push(&node, NodeInput::Collector);
        }
    }

    /// Forgets a closed connection, so that later messages are kept for the next one instead of being lost.
    fn forget_writer(&self, gone: &ConnectionWriter) {
        let mut writers = lock(&self.writers);
        writers.retain(|(_, writer)| !writer.is(gone));
    }

    fn say_to_all(&self, message: &ToCollector) {
        let writers = lock(&self.writers);
        for (_, writer) in writers.iter() {
            writer.say(message);
        }
    }

    /// Sends a message to the collector of a node; returns false if none is connected.
    fn say(&self, node: &str, message: &ToCollector) -> bool {
        let writers = lock(&self.writers);
        // Under the lock: a reconnecting collector gets the message either way.
        lock(&self.replayed).take(node, message);
        let writer =
            writers.iter().find(|(other, _)| other == node).map(|(_, writer)| writer.clone());
        drop(writers);
        writer.is_some_and(|writer| writer.say(message))
    }

    fn save_soon(&self, save: PendingSave) {
        lock(&self.pending_saves).push(save);
        self.saves_pending.notify_one();
    }

    /// Writes snapshots one after the other: reports that wait while one is written go into the next.
    fn keep_snapshots(&self) {
        let path = self.files.snapshot();
        let mut pending_saves = Vec::new();
        while !self.is_closed() {
            let n_strangers = self.strangers.n_unproved();
            let entries = self.with_intake(|intake| intake.entries(n_strangers));
            let facts = SnapshotEntry::Facts(self.facts.clone());
            if let Err(error) = snapshot::write(&path, entries.into_iter().chain([facts])) {
                self.with_intake(|intake| intake.warn(error.to_string()));
            }
            // Also after a failure: the report is in memory here, and its segment takes up room there.
            for PendingSave { writer, process, gone } in pending_saves {
                writer.say(&ToCollector::Kept { process, gone });
            }
            pending_saves = self.wait_for_saves();
        }
    }

    fn wait_for_saves(&self) -> Vec<PendingSave> {
        let pending_saves = lock(&self.pending_saves);
        let is_idle =
            |pending_saves: &mut Vec<PendingSave>| pending_saves.is_empty() && !self.is_closed();
        let (mut pending_saves, _) = self
            .saves_pending
            .wait_timeout_while(pending_saves, self.snapshot_every, is_idle)
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut pending_saves)
    }
}

/// Locks a mutex whose contents are complete at every moment, so that a panic elsewhere does no harm.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn order_to_detach(process: ProcessKey) -> ToCollector {
    ToCollector::Order { process, order: Box::new(Order::Detach) }
}

/// Longest time between two polls.
const POLL_EVERY: Duration = Duration::from_millis(5);

/// Polls until `is_done` or the deadline, first often, then every few milliseconds; returns false at the deadline.
pub fn wait_until(deadline: Instant, mut is_done: impl FnMut() -> bool) -> bool {
    let mut pause = POLL_EVERY / 25;
    loop {
        if is_done() {
            return true;
        }
        if deadline <= Instant::now() {
            return false;
        }
        std::thread::sleep(pause);
        pause = (2 * pause).min(POLL_EVERY);
    }
}
