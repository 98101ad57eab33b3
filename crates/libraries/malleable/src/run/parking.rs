//! A rank that sleeps while it is not wanted, since its library cannot start processes.

use super::{Malleable, RankPhase, Step, begin_computing};
use crate::data::State;
use crate::error::Error;
use crate::launched_ranks::LaunchedRanks;
use crate::options::Options;
use crate::present_ranks::PresentRanks;
use mpi::{Comm, Mpi};
use std::sync::Arc;

impl Malleable {
    /// Begins a program of which all possible ranks were launched; those beyond the first size sleep.
    pub(super) fn begin_parked(
        mpi: Arc<Mpi>,
        options: Options,
        all: Comm,
        obstacle: Option<String>,
    ) -> Result<Self, Error> {
        let (rank, n_launched) = (all.rank(), all.size());
        let n_first = options.preferred.unwrap_or(n_launched).clamp(1, n_launched);
        let present = all.split((rank < n_first).then_some(0), 0)?;
        let launched = Arc::new(LaunchedRanks { all });
        let mut run = if let Some(comm) = present {
            let world = LaunchedRanks::world_of(rank);
            begin_computing(mpi, options, comm, (world, obstacle))?
        } else {
            let ranks = PresentRanks::alone(&mpi)?;
            let mut run = Self::of(mpi, options, ranks, RankPhase::Gone, (None, obstacle));
            if !run.is_woken(&launched)? {
                run.mpi.close();
            }
            run
        };
        run.launched = Some(launched);
        Ok(run)
    }

    /// Sleeps; when woken, it takes its place like a new rank.
    pub(super) fn sleep<S: State>(
        &mut self,
        launched: &Arc<LaunchedRanks>,
        state: &mut S,
    ) -> Result<Step, Error> {
        let alone = PresentRanks::alone(&self.mpi)?;
        std::mem::replace(&mut self.ranks, alone).free()?;
        if self.is_woken(launched)?
            && let RankPhase::Arriving(arrival) =
                std::mem::replace(&mut self.phase, RankPhase::Computing)
        {
            return self.take_place(*arrival, state);
        }
        self.phase = RankPhase::Gone;
        self.mpi.close();
        Ok(Step::Left)
    }

    /// Sleeps until this rank is wanted; `false` when the program is done.
    fn is_woken(&mut self, launched: &LaunchedRanks) -> Result<bool, Error> {
        let woken = launched.sleep().map_err(|error| Error::Join { why: error.to_string() })?;
        let Some(mut prepared) = woken else { return Ok(false) };
        if let Some(ranks) = prepared.ranks.take() {
            self.ranks = ranks;
        }
        self.phase = RankPhase::Arriving(Box::new(prepared));
        Ok(true)
    }
}
