//! Controller: looks at nodes and queue, decides by the rule, and carries out.

use super::AutoOptions;
use super::job_template::JobTemplate;
use super::preparation::{prepare, rule};
use super::record::{self, Entry, Event, Record};
use super::slurm::{self, SlurmError};
use crate::requests::now_ms;
use anyhow::Context;
use files::{Lock, LockError};
use node_daemon::client_socket::Client;
use node_demand::{Action, Change, Decision, Idleness, Job, Memory, Node, Rule, Snapshot, Stage};
use serde_json::{Value, json};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};
use task_api::{ClientRequest, DaemonAnswer, NodeStatus, Presence};
use user_io::exit::{NotWritten, Refused};
use user_io::print::{result, warn};

/// Time for which the lock of a controller that was killed, or of a question, may last.
const LOCK_LINGERS: Duration = Duration::from_secs(2);
/// Most nodes whose addresses a job gets.
const N_PEERS_MAX: usize = 16;
/// Time after which the file is written anew although only the time of the last look has changed.
const WRITES_EVERY_MS: u64 = 10_000;

/// Checks the options, and runs the controller until a signal ends it.
pub(super) fn run(options: &AutoOptions) -> anyhow::Result<ExitCode> {
    let (folder, template) = prepare(options, options.state.running())?;
    let (words, script) =
        (template.words(&options.job, 1), template.script(&options.job, 1, false));
    let said = slurm::check(&words, &script);
    let said = said.map_err(|error| Refused.because(error.sentence().to_owned()))?;
    if options.dry_run {
        let words = words.iter().map(|word| format!("#SBATCH {word}\n")).collect::<String>();
        let (first, rest) = script.split_once('\n').unwrap_or((&script, ""));
        return result(&format!("{first}\n{words}{rest}# Slurm: {said}\n"));
    }
    let lock = record::lock(&folder, LOCK_LINGERS).map_err(|error| {
        let (place, words) = (folder.display(), options.state.running().words("--state"));
        Refused.because(match error {
            LockError::Held { by } => format!(
                "a controller is at work for this daemon already (process {by}); `sintonia node auto --status{words}` shows it"
            ),
            error => format!("`{place}` cannot be locked: {error}"),
        })
    })?;
    let ends = ends_by_signal()?;
    Controller::new(options, template, (folder, lock))?.run(&ends)
}

/// Receives something when a signal asks this process to end.
fn ends_by_signal() -> anyhow::Result<Receiver<()>> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let (tell, ends) = sync_channel(1);
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for _ in signals.forever() {
            // One that waits already says the same.
            tell.try_send(()).ok();
        }
    })?;
    Ok(ends)
}

struct Controller<'a> {
    options: &'a AutoOptions,
    rule: Rule,
    memory: Memory,
    template: JobTemplate,
    record: Record,
    folder: PathBuf,
    _lock: Lock,
    client: Option<Client>,
    /// Time of the last look at the queue, and whether Slurm answered.
    queue_read: Option<(Instant, bool)>,
    /// Kind of reason for doing nothing that was printed last.
    idleness: Option<Idleness>,
    peers: String,
    written_ms: u64,
}

impl<'a> Controller<'a> {
    fn new(
        options: &'a AutoOptions,
        template: JobTemplate,
        (folder, lock): (PathBuf, Lock),
    ) -> anyhow::Result<Self> {
        let record = Record::read(&folder).unwrap_or_else(|error| {
            warn(&format!("what an earlier controller wrote cannot be read ({error}); its jobs are found in the queue"));
            Record::default()
        });
        let mut controller = Self {
            options,
            rule: rule(options),
            memory: Memory::after(record.failures.clone()),
            record,
            folder,
            _lock: lock,
            client: None,
            queue_read: None,
            idleness: None,
            peers: String::new(),
            written_ms: 0,
            template,
        };
        let record = &mut controller.record;
        record.job_prefix.clone_from(&controller.template.job_prefix);
        record.node_prefix.clone_from(&controller.template.node_prefix);
        record.n_nodes_per_job = options.job.nodes_per_job;
        record.n_cores_per_node = (options.job.cores_per_node.map(u64::from))
            .or(record.n_cores_per_node)
            .or_else(|| slurm::n_cores(options.job.partition.as_deref()));
        Ok(controller)
    }

    fn run(mut self, ends: &Receiver<()>) -> anyhow::Result<ExitCode> {
        loop {
            self.turn()?;
            if ends.recv_timeout(self.options.demand.look_every).is_ok() {
                break;
            }
        }
        self.record.why = "no controller is at work".to_owned();
        self.write()?;
        let n_jobs = self.record.jobs.0.len();
        if 0 < n_jobs {
            let jobs = display::units::plural(n_jobs, "job");
            warn(&format!(
                "{jobs} of Slurm left as they are; `sintonia node auto --stop --with-jobs` ends them"
            ));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn turn(&mut self) -> anyhow::Result<()> {
        let Some(statuses) = self.ask() else {
            self.client = None;
            return self.idle(Idleness::NoAnswer, "the daemon of this machine does not answer");
        };
        self.write_peers(&statuses)?;
        let nodes: Vec<Node> = statuses.iter().filter_map(|node| self.node(node)).collect();
        self.read_queue()?;
        self.note_joined(&nodes)?;
        let now_ms = now_ms();
        self.memory.observe(&nodes, self.rule.window_ms(), now_ms);
        let answers = self.queue_read.is_some_and(|(_, answers)| answers);
        let snapshot = Snapshot {
            now_ms,
            nodes: &nodes,
            jobs: answers.then_some(&self.record.jobs),
            n_cores_per_node: self.record.n_cores_per_node,
        };
        for decision in self.rule.decide(&snapshot, &mut self.memory) {
            self.carry_out(&decision)?;
        }
        self.record.failures.clone_from(&self.memory.failures);
        self.record.looked_ms = now_ms;
        if WRITES_EVERY_MS <= now_ms.saturating_sub(self.written_ms) {
            self.write()?;
        }
        Ok(())
    }

    /// Nodes as the daemon of this machine knows them.
    fn ask(&mut self) -> Option<Vec<NodeStatus>> {
        if self.client.is_none() {
            self.client = self.options.state.running().connect().ok()?.ok();
        }
        match self.client.as_mut()?.ask(&ClientRequest::Nodes) {
            Ok(DaemonAnswer::Nodes { nodes }) => Some(nodes),
            _ => None,
        }
    }

    /// Node for the rule, if it is up.
    fn node(&self, status: &NodeStatus) -> Option<Node> {
        (status.presence == Presence::Up).then(|| Node {
            name: status.node.clone(),
            n_cores: status.n_cores.into(),
            n_running: status.n_running.into(),
            n_queued: status.n_queued,
            n_wanted: status.n_cores_wanted,
            n_leased: status.n_leased,
            n_ended: status.counts.n_ended,
            slot: self.template.slot_of_node(&status.node),
        })
    }

    /// Writes the addresses of nodes that jobs may join: this one first, then others that no job started.
    fn write_peers(&mut self, nodes: &[NodeStatus]) -> anyhow::Result<()> {
        let own = self.client.as_ref().map(Client::node).unwrap_or_default();
        let lasts = |node: &&NodeStatus| {
            node.presence == Presence::Up && self.template.slot_of_node(&node.node).is_none()
        };
        let mut lasting: Vec<&NodeStatus> = nodes.iter().filter(lasts).collect();
        lasting.sort_by_key(|node| node.node != own);
        let addresses = lasting.iter().take(N_PEERS_MAX).map(|node| format!("{}\n", node.address));
        let peers: String = addresses.collect();
        if peers != self.peers {
            files::replace(&self.template.peers(), peers.as_bytes()).context(NotWritten)?;
            self.peers = peers;
        }
        Ok(())
    }

    /// Reads Slurm's queue from time to time, while there are jobs.
    fn read_queue(&mut self) -> anyhow::Result<()> {
        let every = self.options.demand.queue_every;
        let is_due = self.queue_read.is_none_or(|(at, answered)| {
            every <= at.elapsed() && !(answered && self.record.jobs.0.is_empty())
        });
        if !is_due {
            return Ok(());
        }
        let queue = slurm::queue(&self.template.job_prefix);
        self.queue_read = Some((Instant::now(), queue.is_ok()));
        let Ok(queue) = queue else { return Ok(()) };
        for change in self.record.jobs.update(&queue, now_ms()) {
            self.take(change)?;
        }
        Ok(())
    }

    fn take(&mut self, change: Change) -> anyhow::Result<()> {
        match change {
            Change::Adopted { slot, id } => self.say(Event::Adopted, (slot, Some(id)), ""),
            Change::Started { slot, id, place } => {
                self.say(Event::Started, (slot, Some(id)), &format!("on {place}"))
            }
            Change::Duplicate { slot, id } => {
                let why = match slurm::cancel(id) {
                    Ok(()) => "there is another job with this name",
                    Err(error) => {
                        &format!("there is another job with this name, and {}", error.sentence())
                    }
                };
                self.say(Event::Canceled, (slot, Some(id)), why)
            }
            Change::Ended { job: Job { slot, id, .. }, has_failed: false } => {
                self.say(Event::Ended, (slot, id), "")
            }
            Change::Ended { job: Job { slot, id, .. }, .. } => {
                let log = id.map(|id| self.template.output(&id.to_string()));
                let why = match log.filter(|path| path.exists()) {
                    Some(path) => format!("it ended before it joined; see `{}`", path.display()),
                    None => "it ended before it ran".to_owned(),
                };
                self.memory.failed(why.clone(), now_ms());
                self.say(Event::Failed, (slot, id), &why)
            }
        }
    }

    /// Records which jobs have joined, and how many cores their nodes have.
    fn note_joined(&mut self, nodes: &[Node]) -> anyhow::Result<()> {
        for node in nodes {
            let Some(slot) = node.slot else { continue };
            let Some(job) = self.record.jobs.of_slot(slot).filter(|job| !job.has_joined) else {
                continue;
            };
            job.has_joined = true;
            let id = job.id;
            self.memory.joined();
            self.record.n_cores_per_node = Some(node.n_cores);
            let cores = display::units::plural(node.n_cores, "core");
            self.say(Event::Joined, (slot, id), &format!("with {cores} for each node"))?;
        }
        Ok(())
    }

    fn carry_out(&mut self, decision: &Decision) -> anyhow::Result<()> {
        let why = &decision.why;
        match decision.action {
            Action::Nothing(idleness) => return self.idle(idleness, why),
            Action::Submit { slot } => self.submit(slot, why)?,
            Action::Leave { slot } => {
                let n_nodes = self.options.job.nodes_per_job;
                self.end(slot, (Event::Leaves, why), |id| slurm::leave(id, n_nodes))?;
            }
            Action::Cancel { slot } => {
                let is_late =
                    self.record.jobs.of_slot(slot).is_some_and(|job| job.stage == Stage::Running);
                if is_late {
                    self.memory.failed(why.clone(), now_ms());
                }
                self.end(slot, (Event::Canceled, why), slurm::cancel)?;
            }
        }
        Ok(())
    }

    fn submit(&mut self, slot: u32, why: &str) -> anyhow::Result<()> {
        self.record.jobs.ask(slot, now_ms());
        self.write()?;
        let n_nodes = self.options.job.nodes_per_job;
        let is_kept = slot.saturating_mul(n_nodes) <= self.options.demand.min;
        let words = self.template.words(&self.options.job, slot);
        let script = self.template.script(&self.options.job, slot, is_kept);
        match slurm::submit(&words, &script) {
            Ok(id) => {
                if let Some(job) = self.record.jobs.of_slot(slot) {
                    (job.id, job.stage) = (Some(id), Stage::Pending);
                }
                // What follows is news, whatever was said before.
                self.idleness = None;
                "a job was just submitted".clone_into(&mut self.record.why);
                self.say(Event::Submitted, (slot, Some(id)), why)
            }
            Err(SlurmError::Refused(sentence)) => {
                self.record.jobs.remove(slot);
                self.memory.failed(sentence.clone(), now_ms());
                self.say(Event::Refused, (slot, None), &sentence)
            }
            // The queue will show whether it was submitted.
            Err(SlurmError::NoAnswer(sentence)) => {
                self.memory.failed(sentence.clone(), now_ms());
                self.say(Event::Refused, (slot, None), &format!("{sentence}; it may arrive yet"))
            }
        }
    }

    /// Tells a job to end; if Slurm does not take that, it is tried again.
    fn end(
        &mut self,
        slot: u32,
        (event, why): (Event, &str),
        tell: impl Fn(u64) -> Result<(), SlurmError>,
    ) -> anyhow::Result<()> {
        let Some(job) = self.record.jobs.of_slot(slot) else { return Ok(()) };
        let Some(id) = job.id else { return Ok(()) };
        match tell(id) {
            Ok(()) => {
                (job.stage, job.since_ms) = (Stage::Leaving, now_ms());
                self.say(event, (slot, Some(id)), why)
            }
            Err(error) => {
                warn(&format!("{}; it is tried again", error.sentence()));
                Ok(())
            }
        }
    }

    /// Prints and records that nothing is done, when the reason is of another kind than before.
    fn idle(&mut self, idleness: Idleness, why: &str) -> anyhow::Result<()> {
        why.clone_into(&mut self.record.why);
        if self.idleness == Some(idleness) {
            return Ok(());
        }
        self.idleness = Some(idleness);
        let json = json!({"event": "nothing", "kind": idleness, "why": why});
        self.print(json, &format!("submits nothing: {why}"))?;
        self.write()
    }

    /// Prints and records what was done or seen.
    fn say(
        &mut self,
        event: Event,
        (slot, job): (u32, Option<u64>),
        why: &str,
    ) -> anyhow::Result<()> {
        let entry = Entry { at_ms: now_ms(), event, slot, job, why: why.to_owned() };
        let sentence = entry.sentence(&self.template.node_prefix);
        let node = format!("{}{slot}", self.template.node_prefix);
        let json = json!({"event": event, "node": node, "job": job, "why": why});
        self.record.add(entry);
        self.print(json, &sentence)?;
        self.write()
    }

    fn print(&self, mut json: Value, sentence: &str) -> anyhow::Result<()> {
        let now = chrono::Local::now();
        if self.options.json {
            json["time"] = now.to_rfc3339_opts(chrono::SecondsFormat::Millis, false).into();
            return result(&format!("{json}\n")).map(drop);
        }
        result(&format!("{} {sentence}\n", now.format("%H:%M:%S"))).map(drop)
    }

    fn write(&mut self) -> anyhow::Result<()> {
        self.written_ms = now_ms();
        self.record.write(&self.folder).context(NotWritten)
    }
}
