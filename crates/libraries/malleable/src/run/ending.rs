//! End of the program: all ranks report that they are done, and finalize MPI.
//!
//! [`Malleable::finish`] does it, or the drop. A drop must not wait for ranks that never come: after a failure or a
//! panic it does nothing, and as the process ends without finalizing MPI, the launcher ends the others.

use super::arrival_command::{ArrivalCommand, call, dismiss};
use super::preparing::Waited;
use super::saving::forget;
use super::{Malleable, RankPhase, hear};
use crate::error::Error;
use crate::present_ranks::PresentRanks;
use crate::tags::Tag;
use std::time::{Duration, Instant};

/// Largest wait: a rank may work on its results for long.
const PATIENCE: Duration = Duration::from_hours(24 * 365);

/// Knowledge about the end of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Ending {
    /// Nothing is known.
    #[default]
    Open,
    /// An iteration, the same on all ranks, was the last one.
    Done,
    /// This rank cannot continue, and the state of the others is unknown.
    Failed,
}

impl Malleable {
    /// Ends the program, once results are collected: all ranks call it, or drop this. It waits for them, and for
    /// processes that left. Afterwards [`comm`](Self::comm) contains only this rank.
    ///
    /// # Errors
    /// If ranks can no longer communicate; after an error, also if the other ranks do not get here.
    pub fn finish(&mut self) -> Result<(), Error> {
        if matches!(self.phase, RankPhase::Gone) {
            return Ok(());
        }
        let has_failed = self.ending == Ending::Failed;
        let at_most = if has_failed { self.options.deadline } else { PATIENCE };
        let finished = are_all_done(&self.ranks, at_most).and_then(|are_done| {
            if !are_done {
                return Err(Error::Silent { seconds: at_most.as_secs_f64() });
            }
            if !has_failed {
                forget(&self.options, &self.ranks);
            }
            self.end()
        });
        self.phase = RankPhase::Gone;
        finished
    }

    /// Ends background work, and MPI.
    fn end(&mut self) -> Result<(), Error> {
        match std::mem::replace(&mut self.phase, RankPhase::Gone) {
            RankPhase::Gone => return Ok(()),
            RankPhase::Preparing(preparing) => match preparing.wait(self.options.deadline) {
                Waited::Ready(prepared) => dismiss(&self.ranks, *prepared)?,
                Waited::Failed => {}
                Waited::Stuck => {
                    self.is_stuck = true;
                    self.mpi.kill_at_exit(self.mark.clone());
                }
            },
            RankPhase::Moving(underway) => {
                if self.ranks.is_first() {
                    call(&underway.prepared, ArrivalCommand::Leave)?;
                }
                underway.into_prepared(self.options.deadline)?.free()?;
            }
            RankPhase::Arriving(_)
            | RankPhase::Resuming(_)
            | RankPhase::Starting
            | RankPhase::Computing => {}
        }
        if self.until_look.is_some() && self.coordinator.is_none() {
            hear(&self.ranks)?;
        }
        if let Some(coordinator) = &mut self.coordinator {
            coordinator.finish(self.iteration, &self.ranks);
            let worlds = self.ranks.worlds();
            self.launched.as_ref().map_or(Ok(()), |launched| launched.dismiss(&worlds))?;
        }
        self.close()
    }

    /// Frees the communicators and closes MPI, which ends with the process.
    pub(super) fn close(&mut self) -> Result<(), Error> {
        let is_first = self.ranks.is_first();
        self.peers.let_go();
        let alone = PresentRanks::alone(&self.mpi)?;
        std::mem::replace(&mut self.ranks, alone).free()?;
        if self.is_stuck {
            self.mpi.exit_without_finalize(is_first)?;
        } else {
            self.mpi.close();
        }
        Ok(())
    }
}

/// Waits until all ranks are done; `false` where one is not in time.
fn are_all_done(ranks: &PresentRanks, at_most: Duration) -> Result<bool, Error> {
    let backstage = &ranks.backstage;
    if !ranks.is_first() {
        backstage.send::<u8>(&[], 0, Tag::Done.number())?;
        return Ok(backstage.take::<u8>(Some(0), Some(Tag::AllDone.number()), at_most)?.is_some());
    }
    let until = Instant::now() + at_most;
    for rank in 1..ranks.size() {
        let left = until.saturating_duration_since(Instant::now());
        if backstage.take::<u8>(Some(rank), Some(Tag::Done.number()), left)?.is_none() {
            return Ok(false);
        }
    }
    (1..ranks.size())
        .try_for_each(|rank| backstage.send::<u8>(&[], rank, Tag::AllDone.number()))?;
    Ok(true)
}

/// Like [`finish`](Malleable::finish), if that was not called. After [`Step::Done`](crate::Step::Done) of
/// [`iterate`](Malleable::iterate) it waits for all ranks; in a loop of the program's own, where this may be the way
/// out after an error, for one deadline. After a panic or an error of this library, it does nothing: the launcher ends
/// the program.
impl Drop for Malleable {
    fn drop(&mut self) {
        let is_over = matches!(self.phase, RankPhase::Gone | RankPhase::Arriving(_));
        if is_over || self.ending == Ending::Failed || std::thread::panicking() {
            return;
        }
        let is_sure = self.ending == Ending::Done;
        let at_most = if is_sure { PATIENCE } else { self.options.deadline };
        if are_all_done(&self.ranks, at_most).unwrap_or(false) {
            if is_sure {
                forget(&self.options, &self.ranks);
            }
            // The error has no receiver, and the launcher sees it.
            let _ended = self.end();
        }
    }
}
