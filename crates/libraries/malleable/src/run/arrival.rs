//! Arrival of a new rank: it waits for commands of the first source.

use super::arrival_command::{ArrivalCommand, hear};
use super::preparing::watchdog;
use super::switch::{Underway, moved_within};
use super::{Malleable, RankPhase, Step};
use crate::data::{Data, State};
use crate::error::Error;
use crate::options::Options;
use crate::present_ranks::PresentRanks;
use crate::ready::Prepared;
use crate::spawn;
use mpi::{Intercomm, Mpi};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Largest wait: an iteration of the other ranks may take long, and so may the preparation before it.
const PATIENCE: Duration = Duration::from_hours(24);
/// Time spent on moving data before the next check for a command.
const STINT: Duration = Duration::from_millis(5);

impl Malleable {
    /// Joins the ranks that started this process.
    pub(super) fn arrive(
        mpi: Arc<Mpi>,
        options: Options,
        parent: Option<Intercomm>,
    ) -> Result<Self, Error> {
        let watchdog = watchdog(options.deadline, &Arc::default());
        let patience = 3 * options.deadline;
        let joined = parent.map_or(Ok(None), |parent| spawn::arrive(&mpi, parent, patience));
        let arrived = joined.map_err(|error| Error::Join { why: error.to_string() })?;
        drop(watchdog);
        let Some(mut prepared) = arrived else {
            let ranks = PresentRanks::alone(&mpi)?;
            mpi.close();
            return Ok(Self::of(mpi, options, ranks, RankPhase::Gone, (None, None)));
        };
        let ranks = prepared.ranks.take().map_or_else(|| PresentRanks::alone(&mpi), Ok)?;
        let phase = RankPhase::Arriving(Box::new(prepared));
        Ok(Self::of(mpi, options, ranks, phase, (None, None)))
    }

    /// Carries out commands of the first source until this rank has its part of the data, or is dismissed.
    pub(super) fn take_place<S: State>(
        &mut self,
        prepared: Prepared,
        state: &mut S,
    ) -> Result<Step, Error> {
        let mut underway = Underway::of(prepared);
        let (iteration, called) = loop {
            let at_most = if underway.is_travelling() { Duration::ZERO } else { PATIENCE };
            match hear(&underway.prepared, at_most)? {
                Some(ArrivalCommand::Switch(iteration)) => break (iteration, Instant::now()),
                Some(ArrivalCommand::Move) => underway.begin(&mut Data::of(state))?,
                Some(ArrivalCommand::Leave) => return self.leave_unused(underway, state),
                None if underway.is_travelling() => underway.wait(STINT)?,
                None => return Err(Error::Silent { seconds: PATIENCE.as_secs_f64() }),
            }
        };
        self.iteration = iteration;
        let (prepared, moved) =
            underway.switch(&mut Data::of(state), moved_within(&self.options))?;
        self.settle(prepared, moved, called)?;
        state.unpack();
        state.size_begins(&self.ranks.comm)?;
        Ok(Step::Continue)
    }

    fn leave_unused<S: State>(&mut self, underway: Underway, state: &mut S) -> Result<Step, Error> {
        underway.into_prepared(self.options.deadline)?.free()?;
        if let Some(launched) = self.launched.clone() {
            return self.sleep(&launched, state);
        }
        self.phase = RankPhase::Gone;
        self.close()?;
        Ok(Step::Left)
    }
}
