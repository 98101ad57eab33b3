//! One collector's connection, served by a thread of its own.

use super::Shared;
use super::node_spool::NodeSpool;
use super::node_sums::{NodeSums, Taken};
use crate::handshake::{HandshakeError, Trusted, as_analyzer};
use crate::tuning::Heard;
use events::ProcessKey;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use wire::{
    FrameBuffer, ProcessReport, Records, SummaryBatch, ThreadRange, ToAnalyzer, ToCollector,
};

/// A silent collector is looked after this often: time to ask for its clock, or to end.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Time between questions for a node's clock.
const PROBE_EVERY: Duration = Duration::from_secs(1);
/// A collector that takes nothing for so long is given up.
const WRITE_PATIENCE: Duration = Duration::from_secs(10);
const READ_BYTES: usize = 256 << 10;

/// The writing half, for the connection's own thread and for who ends the run.
#[derive(Debug, Clone)]
pub(super) struct Voice(Arc<Mutex<TcpStream>>);

impl Voice {
    /// Says `message`; false when the collector no longer listens.
    pub(super) fn say(&self, message: &ToCollector) -> bool {
        self.say_all(std::slice::from_ref(message))
    }

    /// Says `messages` in one go; false when the collector no longer listens.
    pub(super) fn say_all(&self, messages: &[ToCollector]) -> bool {
        let mut bytes = Vec::new();
        let is_short = messages.iter().all(|message| wire::encode(message, &mut bytes).is_ok());
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        is_short && stream.write_all(&bytes).is_ok()
    }

    /// Whether it goes to the same connection.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Serves the collector at the other end of `stream` until it or the server ends.
pub(super) fn serve(stream: TcpStream, shared: &Shared) -> Result<(), HandshakeError> {
    let trusted = as_analyzer(stream, &shared.run)?;
    let mut serving = Serving::new(&trusted, shared)?;
    let Trusted { stream, frames, .. } = trusted;
    serving.arrive();
    let outcome = serving.listen(stream, frames);
    serving.depart();
    outcome
}

struct Serving<'a> {
    shared: &'a Shared,
    node: String,
    voice: Voice,
    spool: Arc<Mutex<NodeSpool>>,
    sums: Arc<Mutex<NodeSums>>,
    /// Number of this connection among those of its node.
    number: u64,
    /// From where the collector goes on.
    ranges: Vec<ThreadRange>,
}

impl<'a> Serving<'a> {
    fn new(trusted: &Trusted, shared: &'a Shared) -> Result<Self, HandshakeError> {
        trusted.stream.set_read_timeout(Some(LOOK_EVERY))?;
        trusted.stream.set_write_timeout(Some(WRITE_PATIENCE))?;
        let voice = Voice(Arc::new(Mutex::new(trusted.stream.try_clone()?)));
        let node = trusted.node.clone();
        let spool = shared.spool_of(&node);
        let sums = shared.sums_of(&node);
        let (number, ranges) = sums.lock().unwrap_or_else(PoisonError::into_inner).connect();
        Ok(Self { shared, node, voice, spool, sums, number, ranges })
    }

    fn arrive(&mut self) {
        self.shared.with_intake(|intake| {
            let node = intake.node(&self.node);
            node.n_connections += 1;
            node.finished = false;
        });
        let ranges = std::mem::take(&mut self.ranges);
        self.shared.add_voice(self.node.clone(), self.voice.clone(), ranges);
    }

    fn depart(&self) {
        self.shared.forget_voice(&self.voice);
        self.shared.with_intake(|intake| {
            let node = intake.node(&self.node);
            node.n_connections -= 1;
            node.lost_at = Some(Instant::now());
        });
    }

    fn listen(&self, mut stream: TcpStream, mut frames: FrameBuffer) -> Result<(), HandshakeError> {
        let mut bytes = vec![0; READ_BYTES];
        let mut last_probe: Option<Instant> = None;
        while !self.shared.is_closed() {
            while let Some(message) = frames.next_message()? {
                self.hear(message);
            }
            let now = Instant::now();
            if last_probe.is_none_or(|last| PROBE_EVERY <= now - last) {
                last_probe = Some(now);
                self.ask_clock();
            }
            match stream.read(&mut bytes) {
                Ok(0) => break,
                Ok(n_bytes) => frames.push(&bytes[..n_bytes]),
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
        // A lost connection shows when it is read.
        self.voice.say(&ToCollector::ClockProbe { probe });
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
                    self.voice.say(&super::order_to_detach(key));
                }
            }
            ToAnalyzer::Records(records) => self.store(records),
            ToAnalyzer::Summaries(batch) => self.add_up(batch),
            ToAnalyzer::Answer { process, answer } => {
                if let Some(inbox) = &self.shared.tuning {
                    inbox.push(Heard::Answer { node: self.node.clone(), process, answer });
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
                intake.lose_records(n_lost);
                warnings.into_iter().for_each(|warning| intake.warn(warning));
                intake.node(&self.node).finished = true;
            }),
            // Its turn is over.
            ToAnalyzer::Hello(_) | ToAnalyzer::Proof { .. } => {}
        }
    }

    fn add_up(&self, batch: SummaryBatch) {
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = sums.take(self.number, &batch);
        drop(sums);
        let number = batch.number;
        match taken {
            // Not acknowledged: who sent it is gone, or adds up anew.
            Taken::Late => return,
            Taken::Kept => self.shared.with_intake(|intake| intake.n_taken += 1),
            Taken::Lost(error) => self.shared.with_intake(|intake| {
                let n_passages = batch.events.iter().map(|event| event.n).sum();
                intake.lose_records(n_passages);
                intake.warn(format!("sums of function events could not be written ({error}); free room on the disk or choose another folder with `--out`"));
            }),
        }
        if let Some(inbox) = &self.shared.tuning {
            inbox.push_sums(&self.node, batch);
        }
        self.voice.say(&ToCollector::Summed { number });
    }

    /// Tells the conductor's thread who is there, without what only the summary needs.
    fn tell_of(&self, report: &ProcessReport) {
        let Some(inbox) = &self.shared.tuning else { return };
        let offset = self.shared.with_intake(|intake| intake.node(&self.node).clock.best());
        let mut report = Box::new(ProcessReport { node: self.node.clone(), ..report.clone() });
        report.communicators.clear();
        report.threads.retain(|thread| thread.idx == report.main_thread);
        let offset_ns = offset.map_or(0, |best| best.offset_ns);
        inbox.push(Heard::Report { report, offset_ns });
    }

    /// The last numbers of a process are put on disk before its segment may go.
    fn keep(&self, process: ProcessKey, gone: bool) {
        let voice = self.voice.clone();
        self.shared.keep_soon(super::Promise { voice, process, gone });
    }

    fn store(&self, mut records: Records) {
        let (process, thread, up_to) = (records.process, records.thread, records.end());
        let mut spool = self.spool.lock().unwrap_or_else(PoisonError::into_inner);
        let stored = spool.store(&mut records);
        self.shared.with_intake(|intake| {
            intake.n_taken += 1;
            if let Err(loss) = stored {
                intake.lose_records(loss.n_records);
                intake.warn(loss.to_string());
            }
        });
        if let Some(inbox) = &self.shared.tuning {
            inbox.push_records(&self.node, &records);
        }
        drop(spool);
        // Also after a loss: a full disk here must not fill the rings there.
        self.voice.say(&ToCollector::Acknowledge { process, thread, up_to });
    }
}
