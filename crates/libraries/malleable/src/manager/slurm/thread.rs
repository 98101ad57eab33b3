//! Thread that talks to Slurm, so that the program does not wait for it.
//!
//! # Invariants
//! - Nodes that were borrowed but not taken are returned, also when the program withdraws the request or ends.

use super::super::Ticket;
use super::super::hosts::is_same;
use super::commands::{CommandError, Queued};
use super::limits::{Lent, TimeLimits};
use super::queue::SlurmQueue;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time between two checks of the queue while jobs are waited for.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Time that a job may wait after Slurm has found no node for it. It stays in the queue, while those that run hold
/// their nodes for nothing.
const NO_NODE: Duration = Duration::from_secs(3);
/// Time after which a failed action is retried.
const RETRY_EVERY: Duration = Duration::from_secs(2);

/// Order to the thread.
#[derive(Debug)]
pub(super) enum SlurmOrder {
    /// Borrow nodes, until a deadline.
    Borrow { ticket: Ticket, n_nodes: u32, hosts: Vec<String>, until: Instant },
    /// Withdraw the request.
    Forget(Ticket),
    /// Ask for the time limits.
    AskLimits,
    /// End these companions.
    Return(Vec<u64>),
}

/// State shared by the thread and the program.
#[derive(Debug, Default)]
struct SharedState {
    answers: BTreeMap<Ticket, Result<Vec<Lent>, String>>,
    waiting: String,
    /// Companions of an earlier rank 0, with ranks.
    adopted: Vec<Lent>,
    /// Reply to [`SlurmOrder::AskLimits`].
    limits: Option<TimeLimits>,
}

/// The program's handle of the thread.
#[derive(Debug)]
pub(super) struct SlurmHandle {
    shared: Arc<Mutex<SharedState>>,
    /// Sender of orders; dropped to end the thread.
    orders: Option<Sender<SlurmOrder>>,
    thread: Option<JoinHandle<()>>,
}

impl SlurmHandle {
    /// Starts the thread. `occupied` are the hosts with ranks: their companions, which an earlier rank 0 may have
    /// borrowed, are adopted, and others ended.
    pub(super) fn start(queue: impl SlurmQueue, occupied: Vec<String>) -> Self {
        let (orders, received) = channel();
        let shared = Arc::<Mutex<SharedState>>::default();
        let mut slurm_thread = SlurmThread {
            shared: shared.clone(),
            queue,
            loans: BTreeMap::new(),
            returns: vec![],
            occupied: Some(occupied),
            has_to_ask: false,
            rest_until: None,
        };
        let thread = std::thread::Builder::new().name("sintonia-slurm".to_owned());
        let thread = thread.spawn(move || slurm_thread.work(&received)).ok();
        Self { shared, orders: Some(orders), thread }
    }

    pub(super) fn order(&self, order: SlurmOrder) {
        let sent = self.orders.as_ref().map(|orders| orders.send(order));
        if let Some(Err(lost)) = sent
            && let SlurmOrder::Borrow { ticket, .. } = lost.0
        {
            let why = "the thread that talks to Slurm is not there".to_owned();
            lock(&self.shared).answers.insert(ticket, Err(why));
        }
    }

    /// Takes the reply: nodes, `None` while pending, or the reason of a refusal.
    pub(super) fn answer(&self, ticket: Ticket) -> Result<Option<Vec<Lent>>, String> {
        lock(&self.shared).answers.remove(&ticket).transpose()
    }

    /// Takes the adopted companions.
    pub(super) fn adopted(&self) -> Vec<Lent> {
        std::mem::take(&mut lock(&self.shared).adopted)
    }

    /// Takes the time limits that were asked for, once they are known.
    pub(super) fn limits(&self) -> Option<TimeLimits> {
        lock(&self.shared).limits.take()
    }

    /// Reason for waiting.
    pub(super) fn waiting(&self) -> String {
        lock(&self.shared).waiting.clone()
    }
}

impl Drop for SlurmHandle {
    fn drop(&mut self) {
        self.orders = None;
        self.thread.take().map(JoinHandle::join);
    }
}

/// Nodes being borrowed.
#[derive(Debug)]
struct Loan {
    hosts: Vec<String>,
    n_missing: u32,
    jobs: Vec<u64>,
    until: Instant,
    /// Time since when Slurm has reported that there is no node.
    vain_since: Option<Instant>,
}

struct SlurmThread<Q> {
    shared: Arc<Mutex<SharedState>>,
    queue: Q,
    loans: BTreeMap<Ticket, Loan>,
    /// Companions to end.
    returns: Vec<u64>,
    /// Hosts that had ranks at the start, until their companions are adopted.
    occupied: Option<Vec<String>>,
    /// Whether time limits are asked for.
    has_to_ask: bool,
    rest_until: Option<Instant>,
}

impl<Q: SlurmQueue> SlurmThread<Q> {
    fn work(&mut self, orders: &Receiver<SlurmOrder>) {
        self.check_queue();
        loop {
            let order = match self.is_busy() {
                true => orders.recv_timeout(LOOK_EVERY),
                false => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match order {
                Ok(order) => self.take(order),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            orders.try_iter().for_each(|order| self.take(order));
            self.check_queue();
        }
        // The program ends: nodes that it did not return are returned for it.
        let tickets = self.loans.keys().copied().collect::<Vec<_>>();
        tickets.into_iter().for_each(|ticket| self.give_up(ticket));
        let unclaimed = std::mem::take(&mut lock(&self.shared).answers);
        self.returns.extend(unclaimed.into_values().flatten().flatten().map(|lent| lent.job));
        self.rest_until = None;
        self.end_returned();
    }

    fn is_busy(&self) -> bool {
        !self.loans.is_empty()
            || !self.returns.is_empty()
            || self.occupied.is_some()
            || self.has_to_ask
    }

    fn take(&mut self, order: SlurmOrder) {
        match order {
            SlurmOrder::Borrow { ticket, n_nodes, hosts, until } => {
                let (jobs, vain_since) = (Vec::new(), None);
                let loan = Loan { hosts, n_missing: n_nodes, jobs, until, vain_since };
                self.loans.insert(ticket, loan);
            }
            SlurmOrder::Forget(ticket) => {
                self.give_up(ticket);
                let answer = lock(&self.shared).answers.remove(&ticket);
                self.returns.extend(answer.into_iter().flatten().flatten().map(|lent| lent.job));
            }
            SlurmOrder::Return(jobs) => self.returns.extend(jobs),
            SlurmOrder::AskLimits => self.has_to_ask = true,
        }
    }

    fn give_up(&mut self, ticket: Ticket) {
        self.returns.extend(self.loans.remove(&ticket).into_iter().flat_map(|loan| loan.jobs));
    }

    fn check_queue(&mut self) {
        if self.rest_until.is_some_and(|until| Instant::now() < until) {
            return self.expire("Slurm does not answer");
        }
        self.rest_until = None;
        if let Err(error) = self.adopt() {
            return self.rest(&error);
        }
        self.end_returned();
        let asked = self.ask_limits().and_then(|()| self.submit_missing());
        if let Err(error) = asked.and_then(|()| self.collect()) {
            self.rest(&error);
        }
    }

    /// Adopts companions from before the start if they have ranks, and ends the others.
    fn adopt(&mut self) -> Result<(), CommandError> {
        let Some(occupied) = &self.occupied else { return Ok(()) };
        for queued in self.queue.companions()? {
            if occupied.iter().any(|host| is_same(host, &queued.node)) {
                lock(&self.shared).adopted.push(lent(&queued));
            } else {
                self.returns.push(queued.job);
            }
        }
        self.occupied = None;
        Ok(())
    }

    /// Asks for the time limits, if they are wanted.
    fn ask_limits(&mut self) -> Result<(), CommandError> {
        if self.has_to_ask {
            let companions = self.queue.companions()?;
            let own = self.queue.own_time_left()?.map(|left| Instant::now() + left);
            let limited =
                companions.iter().map(lent).filter_map(|lent| Some((lent.job, lent.ends?)));
            let limits = TimeLimits { own, companions: limited.collect() };
            lock(&self.shared).limits = Some(limits);
            self.has_to_ask = false;
        }
        Ok(())
    }

    /// Submits jobs for missing nodes. A refusal is final; while Slurm is away, it is retried.
    fn submit_missing(&mut self) -> Result<(), CommandError> {
        let mut refused = Vec::new();
        for (ticket, loan) in &mut self.loans {
            while 0 < loan.n_missing {
                match self.queue.submit(&loan.hosts) {
                    Ok(job) => loan.jobs.push(job),
                    Err(CommandError::Failed { said, .. }) if !is_away(&said) => {
                        refused.push((*ticket, format!("Slurm lends no node: {said}")));
                        break;
                    }
                    Err(error) => return Err(error),
                }
                loan.n_missing -= 1;
            }
        }
        refused.into_iter().for_each(|(ticket, why)| self.refuse(ticket, why));
        Ok(())
    }

    /// Checks which loans are complete.
    fn collect(&mut self) -> Result<(), CommandError> {
        if self.loans.is_empty() {
            return Ok(());
        }
        let queue = self.queue.companions()?;
        let mut reasons = Vec::new();
        for ticket in self.loans.keys().copied().collect::<Vec<_>>() {
            let loan = &self.loans[&ticket];
            let found = loan.jobs.iter().map(|job| queue.iter().find(|queued| queued.job == *job));
            let found = found.collect::<Vec<_>>();
            if found.iter().all(|job| job.is_some_and(|job| job.state == "RUNNING")) {
                let lent = found.into_iter().flatten().map(lent).collect();
                lock(&self.shared).answers.insert(ticket, Ok(lent));
                self.loans.remove(&ticket);
            } else if found.iter().any(Option::is_none) {
                self.refuse(
                    ticket,
                    "a Slurm job that was to provide a node was canceled by another user or program".to_owned(),
                );
            } else {
                let waits = found.into_iter().flatten().filter(|job| job.state != "RUNNING");
                let waits = waits.collect::<Vec<_>>();
                let is_vain = waits.iter().any(|job| is_vain(&job.reason));
                reasons.extend(
                    waits.iter().map(|job| format!("job {} waits ({})", job.job, job.reason)),
                );
                self.note_vain(ticket, is_vain);
            }
        }
        let reasons = reasons.join(", ");
        self.expire(&reasons);
        lock(&self.shared).waiting = reasons;
        Ok(())
    }

    /// Keeps the first time at which there was no node.
    fn note_vain(&mut self, ticket: Ticket, is_vain: bool) {
        if let Some(loan) = self.loans.get_mut(&ticket) {
            loan.vain_since = is_vain.then(|| loan.vain_since.unwrap_or_else(Instant::now));
        }
    }

    /// Refuses loans that have waited for too long.
    fn expire(&mut self, why: &str) {
        let now = Instant::now();
        let is_vain = |loan: &Loan| loan.vain_since.is_some_and(|since| NO_NODE <= now - since);
        let late = self.loans.iter().filter(|(_, loan)| loan.until <= now || is_vain(loan));
        for ticket in late.map(|(ticket, _)| *ticket).collect::<Vec<_>>() {
            self.refuse(ticket, format!("Slurm lent no node in time: {why}"));
        }
    }

    fn refuse(&mut self, ticket: Ticket, why: String) {
        self.give_up(ticket);
        lock(&self.shared).answers.insert(ticket, Err(why));
    }

    fn end_returned(&mut self) {
        if self.returns.is_empty() {
            return;
        }
        match self.queue.cancel(&self.returns) {
            Ok(()) => self.returns.clear(),
            Err(error) => self.rest(&error),
        }
    }

    fn rest(&mut self, error: &CommandError) {
        lock(&self.shared).waiting = error.to_string();
        self.rest_until = Some(Instant::now() + RETRY_EVERY);
        self.expire(&error.to_string());
    }
}

/// Node of a companion that runs.
fn lent(queued: &Queued) -> Lent {
    let ends = queued.left.map(|left| Instant::now() + left);
    Lent { job: queued.job, node: queued.node.clone(), ends }
}

/// Returns whether Slurm has looked for a node and found none.
fn is_vain(reason: &str) -> bool {
    ["Resources", "Priority"].contains(&reason)
}

/// Returns whether a command's error means that the controller could not be reached.
fn is_away(said: &str) -> bool {
    ["contact", "onnection", "timed out", "temporarily"].iter().any(|word| said.contains(word))
}

fn lock(shared: &Mutex<SharedState>) -> std::sync::MutexGuard<'_, SharedState> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
