//! The analyzer's side of a run: takes what collectors bring, keeps it on disk, and hands it over at the end.
//!
//! A thread accepts connections, each has a thread of its own, and one more writes what is known of all
//! processes to disk, so that a killed analyzer leaves it behind.
//!
//! # Invariants
//! - Nobody is believed, and no long message taken, before the run's secret is proved.
//! - Records are acknowledged only after they are in the spool file (or counted as lost).
//!
//! # Not here
//! What the numbers mean (`assemble`); the collector's side (`collector`).

pub mod clock_offset;
mod connection;
mod intake;
mod node_spool;
pub(crate) mod node_sums;
mod reception;
mod standing;

use crate::handshake::RunSecret;
use crate::measured::{Measured, RunFacts, Spool};
use crate::place::node_name;
use crate::snapshot::{self, ANALYZER, Entry};
use crate::tuning::{Collectors, Heard, Inbox, Runtime, TuningOptions};
use channel::{Reception, Strangers};
use connection::Voice;
use events::ProcessKey;
use intake::Intake;
use node_spool::NodeSpool;
use node_sums::NodeSums;
use standing::Standing;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};
use wire::{Order, ProcessReport, Secret, ThreadRange, ToCollector};

/// What a server has to know.
#[derive(Debug)]
pub struct ServerOptions {
    /// Number of the run.
    pub run: u64,
    /// What collectors have to prove.
    pub secret: Secret,
    /// Where to listen.
    pub listen: SocketAddr,
    /// Time between reports of running processes.
    pub report_every: Duration,
    /// Time between snapshots on disk.
    pub snapshot_every: Duration,
    /// Folder for spool files, in the record.
    pub spool_dir: PathBuf,
    /// What the launcher knows when the command starts.
    pub facts: RunFacts,
    /// What the program is tuned with, if it is.
    pub tuning: Option<TuningOptions>,
}

/// The analyzer's side of a run.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    reception: Option<Reception>,
    keeping: Option<JoinHandle<()>>,
    tuning: Option<JoinHandle<Vec<String>>>,
}

/// Which nodes still have something to tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outstanding {
    /// Nodes whose collector did not say that nothing is left, and is there or may soon be back.
    pub nodes: Vec<String>,
    /// Their processes that are not gone.
    pub n_processes: usize,
    /// Grows while something still comes.
    pub n_taken: u64,
}

#[derive(Debug)]
struct Shared {
    run: RunSecret,
    own_node: String,
    spool_dir: PathBuf,
    facts: RunFacts,
    /// Where the conductor's thread hears.
    tuning: Option<Arc<Inbox>>,
    snapshot_every: Duration,
    intake: Mutex<Intake>,
    spools: Mutex<BTreeMap<String, Arc<Mutex<NodeSpool>>>>,
    sums: Mutex<BTreeMap<String, Arc<Mutex<NodeSums>>>>,
    voices: Mutex<Vec<(String, Voice)>>,
    /// What collectors that come back have to know.
    standing: Mutex<Standing>,
    /// Last reports to be put on disk.
    promises: Mutex<Vec<Promise>>,
    promised: Condvar,
    strangers: Arc<Strangers>,
    n_connections: AtomicUsize,
    finishing: AtomicBool,
    /// Processes are to be left as they were.
    detaching: AtomicBool,
    closed: AtomicBool,
}

/// A process whose last report is to be on disk before its collector hears that it is.
#[derive(Debug)]
struct Promise {
    voice: Voice,
    process: ProcessKey,
    gone: bool,
}

impl Server {
    /// Starts to listen.
    ///
    /// # Errors
    /// When the address cannot be listened at, or no thread can be started.
    pub fn start(options: ServerOptions) -> io::Result<Self> {
        let listener = channel::listen(options.listen)?;
        let address = listener.local_addr()?;
        let report_every_ms = u32::try_from(options.report_every.as_millis()).unwrap_or(u32::MAX);
        let shared = Arc::new(Shared {
            run: RunSecret { run: options.run, secret: options.secret, report_every_ms },
            own_node: node_name(),
            spool_dir: options.spool_dir,
            facts: options.facts,
            tuning: options.tuning.is_some().then(Arc::default),
            snapshot_every: options.snapshot_every,
            intake: Mutex::default(),
            spools: Mutex::default(),
            sums: Mutex::default(),
            voices: Mutex::default(),
            standing: Mutex::default(),
            promises: Mutex::default(),
            promised: Condvar::new(),
            strangers: Arc::new(Strangers::new(reception::STRANGERS)),
            n_connections: AtomicUsize::new(0),
            finishing: AtomicBool::new(false),
            detaching: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        });
        let to_keep = Arc::clone(&shared);
        // Each is stopped again when the system has no thread for the next one.
        let mut server = Self { tuning: None, shared, address, reception: None, keeping: None };
        let keep = move || to_keep.keep_snapshots();
        server.keeping = Some(Builder::new().name("snapshots".to_owned()).spawn(keep)?);
        server.tuning = options.tuning.map(|tuning| tune(tuning, &server.shared)).transpose()?;
        server.reception = Some(reception::open(listener, &server.shared)?);
        Ok(server)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The last report of every process so far.
    pub fn processes(&self) -> Vec<ProcessReport> {
        self.shared.with_intake(|intake| intake.processes().cloned().collect())
    }

    /// Records lost so far on the way from ring to disk.
    pub fn n_records_lost(&self) -> u64 {
        self.shared.with_intake(|intake| intake.n_records_lost())
    }

    /// Whether the collector of `node` is connected.
    pub fn is_connected(&self, node: &str) -> bool {
        self.shared.with_intake(|intake| intake.node(node).n_connections != 0)
    }

    /// Tells all processes, present and future, to be as they were before somebody attached to them.
    pub fn detach(&self) {
        self.shared.detaching.store(true, Ordering::SeqCst);
        for report in self.processes().iter().filter(|report| !report.finalizing && !report.gone) {
            // Where nobody hears it, the collector's next report is answered with it.
            self.shared.say(&report.node, &order_to_detach(report.key));
        }
    }

    /// Tells all collectors, present and future, that the command ended.
    pub fn finish(&self) {
        self.shared.finishing.store(true, Ordering::SeqCst);
        self.shared.say_to_all(&ToCollector::Finish);
    }

    /// What is missing before everything was told.
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

    /// Closes all connections and gives what was measured.
    pub fn close(mut self) -> Measured {
        // Before collectors are cut off that were about to prove themselves.
        let n_strangers = self.shared.strangers.n_unproved();
        self.shared.say_to_all(&ToCollector::Leave);
        self.stop();
        let spools = self.shared.spools.lock().unwrap_or_else(PoisonError::into_inner);
        let nodes = spools.keys();
        let spools = nodes
            .map(|node| Spool { node: node.clone(), path: self.shared.spool_path(node) })
            .filter(|spool| spool.path.exists())
            .collect();
        self.shared.with_intake(|intake| Measured {
            processes: intake.processes().cloned().collect(),
            nodes: intake.clocks(),
            spools,
            n_records_lost: intake.n_records_lost(),
            warnings: intake.warnings(n_strangers),
        })
    }

    fn stop(&mut self) {
        let promises = self.shared.promises.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.closed.store(true, Ordering::SeqCst);
        // Under the lock: who is about to wait sees it, who waits is woken.
        self.shared.promised.notify_all();
        drop(promises);
        if let Some(reception) = self.reception.take() {
            reception.close();
            reception.wait();
        }
        if let Some(keeping) = self.keeping.take() {
            // A panic in it was printed by its hook; what was taken is still good.
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

/// Without [`Server::close`] collectors take the analyzer for lost.
impl Drop for Server {
    fn drop(&mut self) {
        if self.reception.is_some() || self.keeping.is_some() {
            self.stop();
        }
    }
}

impl Shared {
    fn with_intake<T>(&self, act: impl FnOnce(&mut Intake) -> T) -> T {
        // Every change of the intake is whole before anything can panic.
        act(&mut self.intake.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    fn spool_path(&self, node: &str) -> PathBuf {
        self.spool_dir.join(format!("{node}.{}", crate::collector::spill::RECORDS_SUFFIX))
    }

    fn spool_of(&self, node: &str) -> Arc<Mutex<NodeSpool>> {
        let mut spools = self.spools.lock().unwrap_or_else(PoisonError::into_inner);
        let spool = spools.entry(node.to_owned());
        let new = || Arc::new(Mutex::new(NodeSpool::new(self.spool_path(node))));
        Arc::clone(spool.or_insert_with(new))
    }

    fn sums_of(&self, node: &str) -> Arc<Mutex<NodeSums>> {
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.spool_dir.join(format!("{node}.{}", node_sums::SUFFIX));
        let new = || Arc::new(Mutex::new(NodeSums::new(path)));
        Arc::clone(sums.entry(node.to_owned()).or_insert_with(new))
    }

    fn add_voice(&self, node: String, voice: Voice, ranges: Vec<ThreadRange>) {
        let mut voices = self.voices.lock().unwrap_or_else(PoisonError::into_inner);
        let standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut first = standing.of(&node);
        drop(standing);
        first.push(ToCollector::Resume { ranges });
        voice.say_all(&first);
        // Under the lock, so that `finish` either finds the voice or is seen here.
        if self.finishing.load(Ordering::SeqCst) {
            voice.say(&ToCollector::Finish);
        }
        voices.retain(|(other, _)| *other != node);
        voices.push((node.clone(), voice));
        drop(voices);
        if let Some(inbox) = &self.tuning {
            inbox.push(Heard::Collector { node });
        }
    }

    /// What is said to a collector that is gone would be lost; unsaid, it is kept for the next one.
    fn forget_voice(&self, gone: &Voice) {
        let mut voices = self.voices.lock().unwrap_or_else(PoisonError::into_inner);
        voices.retain(|(_, voice)| !voice.is(gone));
    }

    fn say_to_all(&self, message: &ToCollector) {
        let voices = self.voices.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, voice) in voices.iter() {
            voice.say(message);
        }
    }

    fn keep_soon(&self, promise: Promise) {
        self.promises.lock().unwrap_or_else(PoisonError::into_inner).push(promise);
        self.promised.notify_one();
    }

    /// Writes snapshots, one after the other: what is promised while one is written goes into the next.
    fn keep_snapshots(&self) {
        let path = self.spool_dir.join(format!("{ANALYZER}.{}", snapshot::SUFFIX));
        let mut promises = Vec::new();
        while !self.is_closed() {
            let n_strangers = self.strangers.n_unproved();
            let entries = self.with_intake(|intake| intake.entries(n_strangers));
            let facts = Entry::Facts(self.facts.clone());
            if let Err(error) = snapshot::write(&path, entries.into_iter().chain([facts])) {
                self.with_intake(|intake| intake.warn(error.to_string()));
            }
            // Also after a failure: the report is in memory here, and its segment takes room there.
            for Promise { voice, process, gone } in promises {
                voice.say(&ToCollector::Kept { process, gone });
            }
            promises = self.wait_for_promises();
        }
    }

    fn wait_for_promises(&self) -> Vec<Promise> {
        let promises = self.promises.lock().unwrap_or_else(PoisonError::into_inner);
        let is_idle = |promises: &mut Vec<Promise>| promises.is_empty() && !self.is_closed();
        let (mut promises, _) = self
            .promised
            .wait_timeout_while(promises, self.snapshot_every, is_idle)
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut promises)
    }
}

/// The conductor's way to collectors.
impl Collectors for Arc<Shared> {
    fn say(&self, node: &str, message: &ToCollector) -> bool {
        let voices = self.voices.lock().unwrap_or_else(PoisonError::into_inner);
        // Under the lock: a collector that comes back hears it either way.
        self.standing.lock().unwrap_or_else(PoisonError::into_inner).take(node, message);
        let voice = voices.iter().find(|(other, _)| other == node).map(|(_, voice)| voice.clone());
        drop(voices);
        voice.is_some_and(|voice| voice.say(message))
    }
}

fn order_to_detach(process: ProcessKey) -> ToCollector {
    ToCollector::Order { process, order: Box::new(Order::Detach) }
}

fn tune(options: TuningOptions, shared: &Arc<Shared>) -> io::Result<JoinHandle<Vec<String>>> {
    let inbox = shared.tuning.clone().unwrap_or_default();
    let started_s = shared.facts.started_s;
    let runtime = Runtime::new(options, Arc::clone(shared), inbox, started_s);
    Builder::new().name("tuning".to_owned()).spawn(move || runtime.run())
}

/// Waits until `is_done` or the deadline, looking every few milliseconds; false at the deadline.
pub fn wait_until(deadline: Instant, mut is_done: impl FnMut() -> bool) -> bool {
    loop {
        if is_done() {
            return true;
        }
        if deadline <= Instant::now() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
