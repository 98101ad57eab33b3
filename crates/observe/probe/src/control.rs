//! Execution of the collector's orders in this process: probes are installed and removed, the program is changed.
//!
//! In `MPI_Init` the program's own thread executes orders until the plan for the start is done, where something of the
//! program is described. From then on a control thread does; it sleeps until the collector rings the bell, and ends with
//! monitoring.
//!
//! # Invariants
//! - The program waits for us in `MPI_Init` and in `MPI_Finalize` only, both with a time limit.
//! - If the thread cannot be created, the program continues, and the segment holds the reason.
#![allow(unsafe_code, reason = "a bell that is never freed")]

mod actions;
mod change;
mod control_thread;
mod later_sites;
mod library;
mod modules;
mod problem;
mod reached;
mod sites;
mod variable;

use crate::{collector, levers, monitoring, thread, watch};
use actions::Actions;
use ring::control::{AnswerWriter, Bell, OrderReader};
use ring::{SegmentWriter, ThreadWriter, futex};
use sites::Sites;
use std::path::PathBuf;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::time::{Duration, Instant};
use wire::{Order, OrderAnswer};

pub(crate) use control_thread::{name_and_mark, start, start_with, wait_while};

/// Longest wait of `MPI_Init` for the plan without a collector.
const LONGEST_START_ALONE: Duration = Duration::from_secs(3);
/// Longest wait of `MPI_Init` for the plan with a collector: the analyzer may be busy, and a collector that
/// has lost the analyzer for good says so.
const LONGEST_START: Duration = Duration::from_secs(10);
/// Time between checks for a collector during that wait.
const START_STEP: Duration = Duration::from_secs(1);
/// Longest wait of `MPI_Finalize` for the probes to be switched off.
const LONGEST_END: Duration = Duration::from_secs(2);
/// Longest time between two polls of the mailbox when no wake-up arrives.
const POLL_INTERVAL: Duration = Duration::from_secs(60);
/// The same in a program that was attached to, where the control thread must notice that its collector is gone.
const ATTACHED_POLL_INTERVAL: Duration = Duration::from_secs(5);
/// Number of polls without a collector after which the control thread detaches by itself.
const N_LOST_POLLS_MAX: u32 = 3;
/// Time between two looks for libraries that the program loads later, while sites in them are wanted.
const LIBRARY_POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Time between polls while records wait for room in a ring.
const PENDING_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// No thread executes orders.
const IDLE: u32 = 0;
/// The control thread executes orders.
const LISTENING: u32 = 1;
/// The control thread is asked to end.
const ENDING: u32 = 2;
/// The control thread has ended.
const ENDED: u32 = 3;

static STATE: AtomicU32 = AtomicU32::new(IDLE);
/// Bell rung by threads of the program; stays in place after the control thread has ended.
static BELL: AtomicPtr<Bell> = AtomicPtr::new(null_mut());

/// Wakes the control thread for work that is not an order.
fn wake() {
    // SAFETY: null, or what `Control::open` has leaked.
    if let Some(bell) = unsafe { BELL.load(Ordering::Acquire).as_ref() } {
        bell.ring();
    }
}

/// Returns whether something holds only as long as a collector is there.
fn needs_collector() -> bool {
    monitoring::is_attached() || levers::is_any_set()
}

fn poll_interval() -> Duration {
    match () {
        () if levers::is_any_set() => levers::RENEWAL_INTERVAL,
        () if monitoring::is_attached() => ATTACHED_POLL_INTERVAL,
        () => POLL_INTERVAL,
    }
}

/// Executor of orders.
#[derive(Debug)]
pub(crate) struct OrderExecutor {
    orders: OrderReader,
    answers: AnswerWriter,
    folder: PathBuf,
    /// Ends a monitoring that began by attaching, once the probes are removed.
    after_detach: fn(),
    sites: Sites,
    actions: Actions,
    /// The control thread's own ring, for records that found no room elsewhere; attached when needed.
    ring: Option<ThreadWriter>,
    /// Whether the plan for the start is done.
    is_started: bool,
    /// Whether no further orders are executed.
    is_over: bool,
}

impl OrderExecutor {
    /// Opens the mailboxes of a segment; without room, returns `None` and stores the reason in the segment.
    pub(crate) fn open(
        segment: &SegmentWriter,
        folder: PathBuf,
        after_detach: fn(),
    ) -> Option<Self> {
        let Ok((orders, answers)) = segment.open_control() else {
            segment.refuse_control(libc::ENOSPC);
            return None;
        };
        BELL.store(Box::into_raw(Box::new(orders.bell())), Ordering::Release);
        Some(Self {
            orders,
            answers,
            folder,
            after_detach,
            sites: Sites::default(),
            actions: Actions::default(),
            ring: None,
            is_started: false,
            is_over: false,
        })
    }

    /// Executes orders until the plan for the start is done or the time limit is reached.
    pub(crate) fn listen_at_start(&mut self) {
        let begin = Instant::now();
        loop {
            let n_rings = self.orders.bell().n_rings();
            self.carry_out_all();
            if self.is_started || self.is_over {
                return;
            }
            let Some(left) = self.left_at_start(begin.elapsed()) else { return };
            self.orders.bell().wait(n_rings, left);
        }
    }

    /// Returns the next time to wait after having waited for `waited`; `None` if the limit is reached.
    fn left_at_start(&self, waited: Duration) -> Option<Duration> {
        let left = LONGEST_START_ALONE.saturating_sub(waited);
        if !left.is_zero() {
            return Some(left);
        }
        let is_hopeful = waited < LONGEST_START && collector::is_collected(&self.folder);
        is_hopeful.then_some(START_STEP)
    }

    /// Continues in a new control thread.
    pub(crate) fn go_on_in_thread(self, segment: &SegmentWriter) {
        if self.is_over {
            return;
        }
        STATE.store(LISTENING, Ordering::Release);
        if let Err(errno) = control_thread::start_with(Box::new(move || self.listen())) {
            STATE.store(IDLE, Ordering::Release);
            segment.refuse_control(errno);
        }
    }

    /// Executes orders in the calling thread, which is the control thread.
    pub(crate) fn listen_here(self) {
        STATE.store(LISTENING, Ordering::Release);
        self.listen();
    }

    /// Main loop of the control thread.
    fn listen(mut self) {
        let mut n_lost_polls = 0;
        while STATE.load(Ordering::Acquire) == LISTENING && !self.is_over {
            let n_rings = self.orders.bell().n_rings();
            self.carry_out_all();
            let is_flushed = self.flush_pending();
            if STATE.load(Ordering::Acquire) == LISTENING && !self.is_over {
                let at_most = if is_flushed { poll_interval() } else { PENDING_POLL_INTERVAL };
                self.wait(n_rings, at_most);
            }
            levers::renew();
            let is_lost = needs_collector() && !collector::is_collected(&self.folder);
            n_lost_polls = if is_lost { n_lost_polls + 1 } else { 0 };
            if N_LOST_POLLS_MAX <= n_lost_polls && !self.is_over {
                self.go_on_alone();
            }
        }
        if !self.is_over {
            self.deactivate();
        }
        if let Some(ring) = self.ring {
            ring.detach();
        }
        STATE.store(ENDED, Ordering::Release);
        futex::wake_all(&STATE);
    }

    /// Waits until the bell rings, for at most this time; meanwhile installs the probes in libraries that come.
    fn wait(&mut self, n_rings: u32, at_most: Duration) {
        let (bell, begin) = (self.orders.bell(), Instant::now());
        loop {
            if let Some(answer) = self.sites.install_later() {
                self.say(&answer);
                collector::ring_doorbell(&self.folder);
            }
            let left = at_most.saturating_sub(begin.elapsed());
            if left.is_zero() || bell.n_rings() != n_rings {
                return;
            }
            if !self.sites.waits_for_libraries() {
                return bell.wait(n_rings, left);
            }
            bell.wait(n_rings, left.min(LIBRARY_POLL_INTERVAL));
        }
    }

    /// Does what a lost collector can no longer order: leaves a program that was attached to, and sets levers back.
    fn go_on_alone(&mut self) {
        if monitoring::is_attached() {
            self.detach();
            (self.after_detach)();
        } else {
            levers::release();
        }
    }

    /// Withdraws all actions, sets levers back and switches all events off; probes stay installed.
    fn deactivate(&mut self) {
        watch::stop();
        self.actions.withdraw_all();
        levers::release();
        self.sites.switch_off();
        self.flush_pending();
    }

    /// Appends records of changes that found no room in the ring of the thread that carried them out;
    /// returns false if some found no room in the control thread's ring either.
    fn flush_pending(&mut self) -> bool {
        let ring = &mut self.ring;
        self.actions.flush_pending(|record| {
            if ring.is_none() {
                *ring = monitoring::attach_thread(thread::tid()).map(|(writer, ..)| writer);
            }
            ring.as_mut().is_some_and(|ring| ring.append(&record.into()))
        })
    }

    fn carry_out_all(&mut self) {
        let mut has_answered = false;
        while let Some(order) = self.orders.pop() {
            // Bytes that are not an order of this version come from a broken collector.
            let Ok(order) = wire::decode::<Order>(&order) else { continue };
            if let Some(answer) = self.carry_out(&order) {
                self.say(&answer);
                has_answered = true;
            }
            if self.is_over {
                return (self.after_detach)();
            }
        }
        if has_answered {
            collector::ring_doorbell(&self.folder);
        }
    }

    fn say(&mut self, answer: &OrderAnswer) {
        if let Ok(bytes) = wire::to_bytes(answer) {
            // The segment counts answers that find no room, for the collector.
            self.answers.push(&bytes);
        }
    }

    fn carry_out(&mut self, order: &Order) -> Option<OrderAnswer> {
        match order {
            Order::Install { modules, sites } => Some(self.sites.install(modules, sites)),
            Order::Remove { sites } => Some(self.sites.remove(sites)),
            Order::Switch { points, on } => Some(self.sites.switch(points, *on)),
            Order::Prepare { .. } => self.actions.prepare(order, &self.sites),
            Order::Commit { action, at_hit } => self.actions.commit(*action, *at_hit),
            Order::Withdraw { action } => Some(self.actions.withdraw(*action)),
            Order::Go => {
                self.is_started = true;
                None
            }
            Order::ReleaseLevers => {
                levers::release();
                None
            }
            Order::Detach => Some(self.detach()),
            Order::Read { modules, variables } => Some(change::read(modules, variables)),
            Order::Watch { thread, calls, operations } => {
                watch::start(*thread, calls, operations);
                None
            }
        }
    }

    /// Removes all probes and stops executing orders.
    fn detach(&mut self) -> OrderAnswer {
        self.deactivate();
        self.is_over = true;
        STATE.store(ENDED, Ordering::Release);
        OrderAnswer::Detached { refused: self.sites.remove_all() }
    }
}

/// Ends the control thread; waits, with a time limit, until events are switched off.
pub(crate) fn end() {
    let is_listening =
        STATE.compare_exchange(LISTENING, ENDING, Ordering::AcqRel, Ordering::Acquire).is_ok();
    if is_listening {
        wake();
        control_thread::wait_while(&STATE, ENDING, LONGEST_END);
    }
}
