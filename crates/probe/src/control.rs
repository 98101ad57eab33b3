//! Carries out what this process is told: probes in and out, changes to the program.
//!
//! In `MPI_Init` the program's own thread listens until the plan for the start has been carried out. From
//! then on a thread of ours does; it sleeps until the collector rings, and ends with the watch.
//!
//! # Invariants
//! - The program waits for us in `MPI_Init` and in `MPI_Finalize` only, and both have a bound.
//! - When the thread cannot be made, the program goes on, and the segment says why nobody listens.
//!
//! # Not here
//! The mailboxes (`ring::control`), what orders say (`wire::control`), the probes (`instrument`).
#![allow(unsafe_code, reason = "a bell that is never freed")]

mod actions;
mod change;
mod library;
mod memory;
mod modules;
mod own_thread;
mod problem;
mod sites;

use crate::{collector, process};
use actions::Actions;
use ring::control::{AnswerWriter, Bell, OrderReader};
use ring::{SegmentWriter, ThreadWriter};
use sites::Sites;
use std::path::PathBuf;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::time::{Duration, Instant};
use wire::{Answer, Order};

pub(crate) use own_thread::{name_and_mark, start};

/// How long `MPI_Init` waits for the plan where there is no collector.
const LONGEST_START_ALONE: Duration = Duration::from_secs(3);
/// The same where there is one: the analyzer may have much to do, and a collector that has lost it for good
/// says so.
const LONGEST_START: Duration = Duration::from_secs(10);
/// Time between looks whether there still is one.
const START_STEP: Duration = Duration::from_secs(1);
/// How long `MPI_Finalize` waits until probes are switched off.
const LONGEST_END: Duration = Duration::from_secs(2);
/// The thread looks around that often even when nobody rings.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);
/// The same in a program that was attached to: somebody has to be there.
const LONGEST_TRUST: Duration = Duration::from_secs(5);
/// Looks that find nobody before it leaves by itself.
const N_ALONE_MAX: u32 = 3;
/// It comes back so soon for records that found no room.
const SOON: Duration = Duration::from_millis(50);

/// Nobody listens.
const SILENT: u32 = 0;
/// The thread listens.
const LISTENING: u32 = 1;
/// The thread is asked to end.
const ENDING: u32 = 2;
/// It has ended.
const ENDED: u32 = 3;

static STATE: AtomicU32 = AtomicU32::new(SILENT);
/// Rung by threads of the program; one that nobody hears any more stays as it is.
static BELL: AtomicPtr<Bell> = AtomicPtr::new(null_mut());

/// Wakes the thread: there is something to do that is no order.
fn wake() {
    // SAFETY: null, or what `Control::open` has leaked.
    if let Some(bell) = unsafe { BELL.load(Ordering::Acquire).as_ref() } {
        bell.ring();
    }
}

/// The one who listens.
#[derive(Debug)]
pub(crate) struct Control {
    orders: OrderReader,
    answers: AnswerWriter,
    folder: PathBuf,
    sites: Sites,
    actions: Actions,
    /// A ring of its own for records that found no room elsewhere; taken when there are any.
    ring: Option<ThreadWriter>,
    /// The plan for the start has been carried out.
    is_started: bool,
    /// Nobody is to listen any more.
    is_over: bool,
}

impl Control {
    /// Opens the mailboxes of a segment; none, and the segment says why, when there is no room.
    pub(crate) fn open(segment: &SegmentWriter, folder: PathBuf) -> Option<Self> {
        let Ok((orders, answers)) = segment.open_control() else {
            segment.refuse_control(libc::ENOSPC);
            return None;
        };
        BELL.store(Box::into_raw(Box::new(orders.bell())), Ordering::Release);
        let (sites, actions) = (Sites::default(), Actions::default());
        Some(Self {
            orders,
            answers,
            folder,
            sites,
            actions,
            ring: None,
            is_started: false,
            is_over: false,
        })
    }

    /// Carries out orders until the plan for the start is done, or time is over.
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

    /// How long to wait now, if still, after having waited so long.
    fn left_at_start(&self, waited: Duration) -> Option<Duration> {
        let left = LONGEST_START_ALONE.saturating_sub(waited);
        if !left.is_zero() {
            return Some(left);
        }
        let is_hopeful = waited < LONGEST_START && collector::is_collected(&self.folder);
        is_hopeful.then_some(START_STEP)
    }

    /// Goes on in a thread of its own.
    pub(crate) fn go_on_in_thread(self, segment: &SegmentWriter) {
        if self.is_over {
            return;
        }
        STATE.store(LISTENING, Ordering::Release);
        if let Err(errno) = own_thread::start_with(Box::new(move || self.listen())) {
            STATE.store(SILENT, Ordering::Release);
            segment.refuse_control(errno);
        }
    }

    /// Listens in the calling thread, which is ours.
    pub(crate) fn listen_here(self) {
        STATE.store(LISTENING, Ordering::Release);
        self.listen();
    }

    /// The thread's life.
    fn listen(mut self) {
        let mut n_alone = 0;
        let sleep = if process::is_attached() { LONGEST_TRUST } else { LONGEST_SLEEP };
        while STATE.load(Ordering::Acquire) == LISTENING && !self.is_over {
            let n_rings = self.orders.bell().n_rings();
            self.carry_out_all();
            let is_all_told = self.tell_rest();
            if STATE.load(Ordering::Acquire) == LISTENING && !self.is_over {
                let at_most = if is_all_told { sleep } else { SOON };
                self.orders.bell().wait(n_rings, at_most);
            }
            n_alone = if process::is_alone(&self.folder) { n_alone + 1 } else { 0 };
            if N_ALONE_MAX <= n_alone && !self.is_over {
                self.detach();
                process::detached();
            }
        }
        if !self.is_over {
            self.fall_silent();
        }
        if let Some(ring) = self.ring {
            ring.detach();
        }
        STATE.store(ENDED, Ordering::Release);
        own_thread::wake_all(&STATE);
    }

    /// Nothing is changed any more, nothing is recorded; probes stay where they are.
    fn fall_silent(&mut self) {
        self.actions.withdraw_all();
        self.sites.switch_off();
        self.tell_rest();
    }

    /// Records changes that found no room in the ring of the thread that carried them out; false when
    /// there is none here, either.
    fn tell_rest(&mut self) -> bool {
        let ring = &mut self.ring;
        self.actions.tell_rest(|record| {
            if ring.is_none() {
                *ring = process::attach_thread(own_thread::tid()).map(|(writer, ..)| writer);
            }
            ring.as_mut().is_some_and(|ring| ring.append(&record.into()))
        })
    }

    fn carry_out_all(&mut self) {
        let mut has_answered = false;
        while let Some(order) = self.orders.pop() {
            // Bytes that are no order of this version have come from a broken collector.
            let Ok(order) = wire::decode::<Order>(&order) else { continue };
            if let Some(answer) = self.carry_out(&order) {
                self.say(&answer);
                has_answered = true;
            }
            if self.is_over {
                return process::detached();
            }
        }
        if has_answered {
            collector::ring_doorbell(&self.folder);
        }
    }

    fn say(&mut self, answer: &Answer) {
        if let Ok(bytes) = wire::to_bytes(answer) {
            // What finds no room is counted where the collector sees it.
            self.answers.push(&bytes);
        }
    }

    fn carry_out(&mut self, order: &Order) -> Option<Answer> {
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
            Order::Detach => Some(self.detach()),
            Order::Read { modules, variables } => Some(change::read(modules, variables)),
        }
    }

    /// Takes everything out.
    fn detach(&mut self) -> Answer {
        self.fall_silent();
        self.is_over = true;
        STATE.store(ENDED, Ordering::Release);
        Answer::Detached { refused: self.sites.remove_all() }
    }
}

/// Ends the thread and waits, with a bound, until events are switched off.
pub(crate) fn end() {
    let is_listening =
        STATE.compare_exchange(LISTENING, ENDING, Ordering::AcqRel, Ordering::Acquire).is_ok();
    if is_listening {
        wake();
        own_thread::wait_while(&STATE, ENDING, LONGEST_END);
    }
}
