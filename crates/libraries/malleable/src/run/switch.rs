//! Switch to the new size.

use super::arrival_command::{ArrivalCommand, call};
use super::mover::Mover;
use super::preparing::Waited;
use super::{Malleable, RankPhase, Step};
use crate::coordinator::{Coordinator, HandoverState};
use crate::data::{Data, State};
use crate::error::Error;
use crate::fault::{self, FaultPoint};
use crate::leave_signal;
use crate::moving::{Method, MoveError, Moved, Moving};
use crate::options::Options;
use crate::present_ranks::{Member, PresentRanks};
use crate::ready::{Prepared, free_shared};
use crate::release::report_exit;
use crate::tags::Tag;
use mpi::Request;
use resize_api::{BytesMoved, Resize};
use std::fmt;
use std::time::{Duration, Instant};

/// Smallest limit on moving data, however short other deadlines are.
const MOVE_AT_LEAST: Duration = Duration::from_mins(10);

/// Largest time that data may take to move while the program waits.
pub(super) fn moved_within(options: &Options) -> Duration {
    (10 * options.deadline).max(MOVE_AT_LEAST)
}

/// Prepared resize whose data may be moving already.
pub(super) struct Underway {
    pub(super) prepared: Prepared,
    moving: Option<Moving>,
    /// Has the data instead, while a thread makes progress with them.
    mover: Option<Mover>,
    /// Whether constant data have arrived everywhere.
    pub(super) is_everywhere: bool,
    /// Time that the program stood still to begin the move.
    stood: Duration,
}

impl fmt::Debug for Underway {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Underway");
        shown.field("plan", &self.prepared.plan).finish_non_exhaustive()
    }
}

impl Underway {
    pub(super) fn of(prepared: Prepared) -> Self {
        let (moving, mover) = (None, None);
        Self { prepared, moving, mover, is_everywhere: false, stood: Duration::ZERO }
    }

    /// Returns whether data are moving, and have not all arrived.
    pub(super) fn is_travelling(&self) -> bool {
        (self.moving.is_some() || self.mover.is_some()) && !self.is_everywhere
    }

    /// Begins to move constant data.
    pub(super) fn begin(&mut self, data: &mut Data<'_>) -> Result<(), MoveError> {
        let began = Instant::now();
        fault::at(FaultPoint::Move, self.prepared.bridge.rank());
        let method = self.prepared.plan.method.unwrap_or(Method::Sync);
        self.moving = Some(Moving::begin(&self.prepared.bridge(), data, method)?);
        self.stood = began.elapsed();
        Ok(())
    }

    /// Lets a thread make progress while this one computes, where that helps.
    fn move_beside(&mut self) -> Result<(), MoveError> {
        let bridge = self.prepared.bridge();
        if let Some(moving) = self.moving.take_if(|moving| moving.is_beside(&bridge)) {
            self.mover = Some(Mover::start(moving, &self.prepared)?);
        }
        Ok(())
    }

    /// Takes the data back from the thread.
    fn stop_mover(&mut self) -> Result<(), MoveError> {
        if let Some(mover) = self.mover.take() {
            self.moving = Some(mover.stop()?);
        }
        Ok(())
    }

    /// Makes progress with the data.
    pub(super) fn advance(&mut self) -> Result<(), MoveError> {
        if let Some(mover) = &self.mover {
            let has_ended = mover.has_ended();
            self.is_everywhere = mover.is_everywhere();
            return if has_ended { self.stop_mover() } else { Ok(()) };
        }
        if let Some(moving) = self.moving.as_mut().filter(|_| !self.is_everywhere) {
            self.is_everywhere = moving.test(&self.prepared.bridge())?;
        }
        Ok(())
    }

    /// Makes progress on a rank that has nothing else to do.
    pub(super) fn wait(&mut self, at_most: Duration) -> Result<(), MoveError> {
        if let Some(moving) = &mut self.moving {
            self.is_everywhere = moving.wait(&self.prepared.bridge(), at_most)?;
        }
        Ok(())
    }

    /// Moves all data that have not been moved.
    pub(super) fn switch(
        mut self,
        data: &mut Data<'_>,
        at_most: Duration,
    ) -> Result<(Prepared, [Moved; 2]), MoveError> {
        fault::at(FaultPoint::Switch, self.prepared.bridge.rank());
        self.stop_mover()?;
        if self.moving.is_none() {
            self.begin(data)?;
        }
        let Self { prepared, moving, .. } = self;
        let switch = moving.map(|moving| moving.switch(&prepared.bridge(), data, at_most));
        let moved = switch.transpose()?.unwrap_or_default();
        Ok((prepared, moved))
    }

    /// Waits until no more data move, after the resize was given up, and frees the windows. All ranks of the bridge
    /// call it.
    pub(super) fn into_prepared(mut self, at_most: Duration) -> Result<Prepared, MoveError> {
        self.stop_mover()?;
        if self.is_travelling() {
            self.wait(at_most)?;
        }
        if let Some(moving) = self.moving.filter(|_| self.is_everywhere) {
            moving.give_up()?;
        }
        Ok(self.prepared)
    }
}

impl Malleable {
    /// Begins to move constant data; the program continues.
    pub(super) fn move_constant<S: State>(&mut self, state: &mut S) -> Result<(), Error> {
        let Some(mut underway) = self.take_prepared() else { return Ok(()) };
        if self.ranks.is_first() {
            call(&underway.prepared, ArrivalCommand::Move)?;
        }
        state.pack();
        underway.begin(&mut Data::of(state))?;
        underway.move_beside()?;
        self.phase = RankPhase::Moving(Box::new(underway));
        Ok(())
    }

    /// Begins the new size.
    pub(super) fn switch<S: State>(&mut self, state: &mut S) -> Result<Step, Error> {
        let began = Instant::now();
        let Some(underway) = self.take_prepared() else { return Ok(Step::Continue) };
        let began = began.checked_sub(underway.stood).unwrap_or(began);
        state.size_ends(&self.ranks.comm)?;
        state.pack();
        let handover = self.hand_over(&underway.prepared)?;
        let (prepared, moved) =
            underway.switch(&mut Data::of(state), moved_within(&self.options))?;
        handover.map_or(Ok(Vec::new()), |handover| handover.finish(moved_within(&self.options)))?;
        if prepared.ranks.is_none() {
            return self.leave(prepared, state);
        }
        self.settle(prepared, moved, began)?;
        state.unpack();
        state.size_begins(&self.ranks.comm)?;
        Ok(Step::Continue)
    }

    /// Takes the prepared resize; rank 0 has made sure that all ranks have it.
    fn take_prepared(&mut self) -> Option<Underway> {
        match std::mem::replace(&mut self.phase, RankPhase::Computing) {
            RankPhase::Moving(underway) => Some(*underway),
            RankPhase::Preparing(preparing) => match preparing.wait(self.options.deadline) {
                Waited::Ready(prepared) => Some(Underway::of(*prepared)),
                Waited::Failed | Waited::Stuck => None,
            },
            other => {
                self.phase = other;
                None
            }
        }
    }

    /// On the first source, calls new ranks, and hands the coordinator's state over to the next rank 0.
    fn hand_over(&mut self, prepared: &Prepared) -> Result<Option<Request<Vec<u8>>>, Error> {
        let Some(coordinator) = &mut self.coordinator else { return Ok(None) };
        call(prepared, ArrivalCommand::Switch(self.iteration))?;
        let hosts = prepared
            .plan
            .leavers()
            .filter_map(|rank| self.ranks.members.get(rank as usize).map(Member::host));
        coordinator.note_left(hosts.collect());
        let meanwhile = self.iteration.saturating_sub(coordinator.ordered.at);
        coordinator.note(|resize| {
            resize.iteration = self.iteration;
            resize.iterations_meanwhile = meanwhile;
            resize.seconds.spawn = prepared.spawn_s;
            resize.seconds.connect = prepared.connect_s;
        });
        let next = prepared.plan.next_first();
        if 0 < next
            && let Some(coordinator) = self.coordinator.take()
        {
            let text = serde_json::to_vec(&coordinator.hand_over()).unwrap_or_default();
            // The next rank 0 receives it when it has its data.
            return Ok(Some(prepared.bridge.isend(text, next, Tag::Handover.number())?));
        }
        Ok(None)
    }

    /// Begins the new size on this rank.
    pub(super) fn settle(
        &mut self,
        prepared: Prepared,
        moved: [Moved; 2],
        began: Instant,
    ) -> Result<(), Error> {
        let Prepared { bridge, plan, ranks, release, .. } = prepared;
        fault::at(FaultPoint::Settle, bridge.rank());
        // A new rank has the present ranks already.
        let former = ranks.map(|ranks| std::mem::replace(&mut self.ranks, ranks));
        if self.ranks.is_first() && self.coordinator.is_none() {
            let (tag, patience) = (Tag::Handover.number(), moved_within(&self.options));
            let heard = bridge.take::<u8>(Some(0), Some(tag), patience)?;
            let handover = heard.and_then(|(_, text)| serde_json::from_slice(&text).ok());
            let handover: HandoverState = handover.unwrap_or_default();
            self.coordinator = Some(Coordinator::inherit(&self.options, &self.ranks, handover)?);
        }
        if let Some(coordinator) = &mut self.coordinator {
            coordinator.watch_exits(release, plan.leavers().count());
            if let Some(method) = plan.method {
                coordinator.note_method(method);
            }
            coordinator.note(|resize| note_moved(resize, moved, began.elapsed()));
            coordinator.switched();
        }
        former.map_or(Ok(()), PresentRanks::free)?;
        free_shared(bridge)?;
        self.until_look = None;
        leave_signal::note_resize(false);
        Ok(())
    }

    /// Ends or parks this process; its data are with other ranks.
    fn leave<S: State>(&mut self, prepared: Prepared, state: &mut S) -> Result<Step, Error> {
        if let Some(launched) = self.launched.clone() {
            prepared.free()?;
            return self.sleep(&launched, state);
        }
        if let Some(address) = &prepared.address {
            // If nobody receives it, the other ranks may not notice that this process is gone.
            let _is_heard = report_exit(address);
        }
        prepared.free()?;
        self.phase = RankPhase::Gone;
        self.close()?;
        Ok(Step::Left)
    }
}

fn note_moved(resize: &mut Resize, [constant, variable]: [Moved; 2], waited: Duration) {
    resize.seconds.wait = waited.as_secs_f64();
    resize.seconds.constant = constant.seconds;
    resize.seconds.variable = variable.seconds;
    let moved = constant.bytes_sent + variable.bytes_sent;
    resize.bytes = BytesMoved { constant: constant.bytes, variable: variable.bytes, moved };
}
