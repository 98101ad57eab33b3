//! Writes the state from time to time, and reads it when the program is restarted.

use super::{Malleable, RankPhase, Step};
use crate::causes::with_causes;
use crate::checkpoint::{self, CheckpointError, Constants, Found, Index};
use crate::data::{Data, State};
use crate::error::Error;
use crate::options::Options;
use crate::order::Saving;
use crate::present_ranks::PresentRanks;
use std::io::Write;
use std::time::Instant;

/// Checkpoint from which the program continues.
#[derive(Debug)]
pub(super) struct Resume {
    index: Index,
    /// Files, on rank 0.
    found: Option<Found>,
}

/// Times of writing the state, on rank 0.
#[derive(Debug)]
pub(super) struct Saver {
    /// Time of the last checkpoint, or of the start.
    last: Instant,
    /// Iteration of the last checkpoint.
    last_iteration: u64,
    ordered: Saving,
    constants: Constants,
    has_complained: bool,
}

impl Default for Saver {
    fn default() -> Self {
        let constants = Constants::Missing;
        let (last, ordered) = (Instant::now(), Saving::No);
        Self { last, last_iteration: 0, ordered, constants, has_complained: false }
    }
}

impl Saver {
    /// Decides what is written at the next check.
    pub(super) fn order(&mut self, options: &Options, iteration: u64) -> Saving {
        let n_iterations = iteration.saturating_sub(self.last_iteration);
        let is_due = options.checkpoint_every.is_over(n_iterations, self.last.elapsed());
        self.ordered = match self.constants {
            _ if options.checkpoint.is_none() || !is_due => Saving::No,
            Constants::Missing => Saving::All,
            Constants::Written(_) => Saving::Variable,
        };
        self.ordered
    }

    /// Takes the last decision.
    pub(super) fn take_ordered(&mut self) -> Saving {
        std::mem::take(&mut self.ordered)
    }
}

impl Resume {
    /// Opens the checkpoint, if there is one; all ranks call it.
    pub(super) fn look(options: &Options, ranks: &PresentRanks) -> Result<Option<Self>, Error> {
        let Some(path) = &options.checkpoint else { return Ok(None) };
        let found = if ranks.is_first() { Found::at(path) } else { Ok(None) };
        let text = match &found {
            Ok(Some(found)) => serde_json::to_string(&found.index).unwrap_or_default(),
            Ok(None) => String::new(),
            Err(error) => with_causes(error),
        };
        let text = ranks.tell(text)?;
        let found = found?;
        if text.is_empty() {
            return Ok(None);
        }
        let index = serde_json::from_str(&text);
        let index = index.map_err(|_| CheckpointError::Elsewhere { why: text })?;
        Ok(Some(Self { index, found }))
    }

    /// First phase of a rank that was started by the launcher.
    pub(super) fn phase(options: &Options, ranks: &PresentRanks) -> Result<RankPhase, Error> {
        let resume = Self::look(options, ranks)?;
        Ok(resume.map_or(RankPhase::Starting, |resume| RankPhase::Resuming(Box::new(resume))))
    }
}

impl Malleable {
    /// Takes this rank's part of the state from the checkpoint, at the first resize point.
    pub(super) fn resume<S: State>(
        &mut self,
        Resume { index, found }: Resume,
        state: &mut S,
    ) -> Result<Step, Error> {
        let path = self.options.checkpoint.clone().unwrap_or_default();
        checkpoint::load(&self.ranks, (&path, &index), found, &mut Data::of(state))?;
        self.iteration = index.iteration;
        if let Some(coordinator) = &mut self.coordinator {
            coordinator.skip_schedule(index.iteration);
        }
        self.saver.constants = Constants::Written(index.constants);
        self.saver.last_iteration = index.iteration;
        state.unpack();
        state.size_begins(&self.ranks.comm)?;
        Ok(Step::Continue)
    }

    /// Writes the state; a full disk does not end the program.
    pub(super) fn save<S: State>(&mut self, saving: Saving, state: &mut S) -> Result<(), Error> {
        let Some(path) = self.options.checkpoint.as_ref().filter(|_| saving != Saving::No) else {
            return Ok(());
        };
        let constants = match (saving, self.saver.constants) {
            (Saving::All, _) => Constants::Missing,
            (_, Constants::Missing) => Constants::Written(0),
            (_, written) => written,
        };
        state.pack();
        let data = &mut Data::of(state);
        match checkpoint::save(&self.ranks, data, path, self.iteration, constants)? {
            Ok(id) if self.ranks.is_first() => self.saver.constants = Constants::Written(id),
            Ok(_) => {}
            Err(error) if !self.saver.has_complained => {
                // Without standard error, the missing file shows it.
                let why = with_causes(&error);
                let _said = writeln!(std::io::stderr(), "{why}; the program goes on");
                self.saver.has_complained = true;
            }
            Err(_) => {}
        }
        (self.saver.last, self.saver.last_iteration) = (Instant::now(), self.iteration);
        Ok(())
    }
}

/// Removes the checkpoint of a program that is done.
pub(super) fn forget(options: &Options, ranks: &PresentRanks) {
    if let Some(path) = options.checkpoint.as_ref().filter(|_| ranks.is_first()) {
        checkpoint::remove(path);
    }
}
