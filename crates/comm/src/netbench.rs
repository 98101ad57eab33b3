//! Measures how long messages take between two ranks, by their length.
//!
//! Messages go forth and back; half of a round trip is the time of one. The lengths take turns, so that
//! a disturbance does not hit one of them only, and short ones are repeated more often than long ones.
//!
//! # Not here
//! What the times say, and when to measure again in a long run: [`models::network`].

use crate::deadline::Deadline;
use crate::{CommError, Tag, Transport};
use models::network::{NetModel, Refresh, Sample, median_of};
use std::time::Duration;

/// What is measured, and for how long.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Lengths of messages.
    pub lengths: Vec<u64>,
    /// Rounds over all lengths at most.
    pub n_rounds: u32,
    /// No round begins later.
    pub at_most: Duration,
    /// The tag of the messages.
    pub tag: Tag,
}

impl Default for Plan {
    /// 0 bytes to 4 MiB, two lengths to every doubling, for half a second.
    fn default() -> Self {
        let doubled = (0..=21).flat_map(|power| [2_u64 << power, 3 << power]);
        let lengths = [0, 1].into_iter().chain(doubled).filter(|n_bytes| *n_bytes <= 4 << 20);
        Self {
            lengths: lengths.collect(),
            n_rounds: 101,
            at_most: Duration::from_millis(500),
            tag: Tag(255),
        }
    }
}

/// The longest that one message may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time that a length may take in a round: short messages go several times.
const TURN_S: f64 = 20e-6;
/// Repetitions in a turn at most.
const N_IN_TURN_MAX: u32 = 16;

/// Times messages between this rank and `partner`, which calls [`answer`] at the same time. `None` when
/// not enough were timed for a model.
///
/// # Errors
/// When a message fails or does not come back.
pub fn measure(
    end: &mut dyn Transport,
    partner: u32,
    plan: &Plan,
) -> Result<Option<NetModel>, CommError> {
    let deadline = Deadline::after(plan.at_most);
    let mut times_s = vec![Vec::new(); plan.lengths.len()];
    let longest = plan.lengths.iter().copied().max().unwrap_or_default();
    let mut bytes = vec![0; usize::try_from(longest).unwrap_or_default()];
    // The first round warms caches and connections up.
    for round in 0..=plan.n_rounds {
        for (n_bytes, times_s) in plan.lengths.iter().zip(&mut times_s) {
            take_turn(end, (partner, plan.tag), *n_bytes, &mut bytes, times_s)?;
        }
        if round == 0 {
            times_s.iter_mut().for_each(Vec::clear);
        } else if deadline.left().is_none() {
            break;
        }
    }
    end.send(partner, plan.tag, &[END])?;
    let measured = plan.lengths.iter().zip(&times_s);
    let samples: Vec<Sample> =
        measured.filter_map(|(n_bytes, times_s)| median_of(*n_bytes, times_s)).collect();
    Ok(NetModel::fit(&samples))
}

/// What ends [`answer`]: the last byte of a message is otherwise 0.
const END: &[u8] = &[1];

/// Sends messages of `from` back until it has measured enough.
///
/// # Errors
/// When a message fails or does not come.
pub fn answer(end: &mut dyn Transport, from: u32) -> Result<(), CommError> {
    let mut bytes = Vec::new();
    loop {
        let deadline = Deadline::after(PATIENCE);
        let Some(envelope) = end.receive(Some(from), PATIENCE, &mut bytes)? else {
            return Err(deadline.late("a message to answer", from));
        };
        if bytes == END {
            return Ok(());
        }
        echo(end, from, envelope.tag, &bytes)?;
    }
}

/// Seconds for a message of `n_bytes` zeros to go to `partner`, who calls [`echo`] when it comes, and back.
///
/// # Errors
/// When it fails or does not come back.
pub fn ping(
    end: &mut dyn Transport,
    (partner, tag): (u32, Tag),
    n_bytes: u64,
    bytes: &mut Vec<u8>,
) -> Result<f64, CommError> {
    bytes.clear();
    bytes.resize(usize::try_from(n_bytes).unwrap_or(usize::MAX), 0);
    let deadline = Deadline::after(PATIENCE);
    let begin_s = end.now_s();
    end.send(partner, tag, &[bytes])?;
    if end.receive(Some(partner), PATIENCE, bytes)?.is_none() {
        return Err(deadline.late("an echo", partner));
    }
    Ok(end.now_s() - begin_s)
}

/// Times one message with `partner`, who calls [`echo`] when it comes, if one is due by now. Whether it was.
///
/// # Errors
/// As [`ping`].
pub fn refresh(
    end: &mut dyn Transport,
    partner: (u32, Tag),
    refresh: &mut Refresh,
    bytes: &mut Vec<u8>,
) -> Result<bool, CommError> {
    let Some(n_bytes) = refresh.due_bytes(end.now_s()) else { return Ok(false) };
    let round_trip_s = ping(end, partner, n_bytes, bytes)?;
    refresh.timed(n_bytes, round_trip_s);
    Ok(true)
}

/// Sends a message of [`ping`] back.
///
/// # Errors
/// As [`Transport::send`].
pub fn echo(end: &mut dyn Transport, to: u32, tag: Tag, bytes: &[u8]) -> Result<(), CommError> {
    end.send(to, tag, &[bytes])
}

/// Times one length a few times.
fn take_turn(
    end: &mut dyn Transport,
    partner: (u32, Tag),
    n_bytes: u64,
    bytes: &mut Vec<u8>,
    times_s: &mut Vec<f64>,
) -> Result<(), CommError> {
    let begin_s = end.now_s();
    for _ in 0..N_IN_TURN_MAX {
        times_s.push(ping(end, partner, n_bytes, bytes)? / 2.0);
        if TURN_S < end.now_s() - begin_s {
            break;
        }
    }
    Ok(())
}
