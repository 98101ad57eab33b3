//! Commands of the first source to new ranks.

use crate::error::Error;
use crate::present_ranks::PresentRanks;
use crate::ready::Prepared;
use crate::tags::Tag;
use bytemuck::{Pod, Zeroable};
use mpi::MpiError;
use std::time::Duration;

/// Command to the new ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArrivalCommand {
    /// Begin to move constant data.
    Move,
    /// Begin the new size, before this iteration.
    Switch(u64),
    /// Leave: the resize was given up.
    Leave,
}

/// Command in the form in which it is sent.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
struct Sent {
    kind: u64,
    iteration: u64,
}

/// Sends a command to all new ranks.
pub(super) fn call(prepared: &Prepared, command: ArrivalCommand) -> Result<(), MpiError> {
    let (kind, iteration) = match command {
        ArrivalCommand::Leave => (0, 0),
        ArrivalCommand::Move => (1, 0),
        ArrivalCommand::Switch(iteration) => (2, iteration),
    };
    let (first, end) = (prepared.plan.n_sources, prepared.plan.n_all());
    let sent = [Sent { kind, iteration }];
    (first..end)
        .try_for_each(|number| prepared.bridge.send(&sent, number, Tag::ArrivalCommand.number()))
}

/// Waits for a command.
pub(super) fn hear(
    prepared: &Prepared,
    at_most: Duration,
) -> Result<Option<ArrivalCommand>, MpiError> {
    let heard =
        prepared.bridge.take::<Sent>(Some(0), Some(Tag::ArrivalCommand.number()), at_most)?;
    Ok(heard.and_then(|(_, sent)| sent.first().copied()).map(|sent| match sent.kind {
        1 => ArrivalCommand::Move,
        2 => ArrivalCommand::Switch(sent.iteration),
        _ => ArrivalCommand::Leave,
    }))
}

/// Dismisses new processes that are not needed.
pub(super) fn dismiss(ranks: &PresentRanks, prepared: Prepared) -> Result<(), Error> {
    if ranks.is_first() {
        call(&prepared, ArrivalCommand::Leave)?;
    }
    Ok(prepared.free()?)
}
