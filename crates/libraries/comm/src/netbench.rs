//! Measures the time of messages between two ranks, by length.
//!
//! Messages make round trips; half of a round trip is the time of one message. The lengths take turns, so
//! that a disturbance does not affect only one of them, and short ones are repeated more often than long
//! ones. Then several long messages are sent at once, so that they meet their echoes.
//!
//! # Not here
//! Fitting a model to the times: [`models::network`].

use crate::deadline::Deadline;
use crate::{CommError, Tag, Transport};
use models::network::{LengthSample, NetModel, median_of};
use std::time::Duration;

/// Lengths to measure, and limits on the effort.
#[derive(Clone, Debug, PartialEq)]
pub struct NetbenchPlan {
    /// Lengths of messages, in bytes.
    pub lengths: Vec<u64>,
    /// Largest number of rounds over all lengths.
    pub n_rounds: u32,
    /// Time after which no round begins.
    pub at_most: Duration,
    /// Tag of the messages.
    pub tag: Tag,
}

impl Default for NetbenchPlan {
    /// 0 bytes to 4 MiB, two lengths for every doubling, for half a second.
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

/// Longest time that one message may take.
const REPLY_TIMEOUT: Duration = Duration::from_secs(20);
/// Target time for a length in one round, in seconds: short messages are repeated.
const TURN_S: f64 = 20e-6;
/// Largest number of repetitions in a round.
const N_IN_TURN_MAX: u32 = 16;

/// Measures messages between this rank and `partner`, which calls [`answer`] at the same time. `None` when
/// too few were measured for a model.
///
/// # Errors
/// When a message fails or does not come back.
pub fn measure(
    end: &mut dyn Transport,
    partner: u32,
    plan: &NetbenchPlan,
) -> Result<Option<NetModel>, CommError> {
    let deadline = Deadline::after(plan.at_most);
    let mut times_s = vec![Vec::new(); plan.lengths.len()];
    let longest = plan.lengths.iter().copied().max().unwrap_or_default();
    let mut bytes = vec![0; usize::try_from(longest).unwrap_or_default()];
    // The first round is a warm-up of caches and connections.
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
    let measured = plan.lengths.iter().zip(&times_s);
    let samples: Vec<LengthSample> =
        measured.filter_map(|(n_bytes, times_s)| median_of(*n_bytes, times_s)).collect();
    let exchange_ratio = exchange_ratio(end, (partner, plan.tag), &samples, &mut bytes)?;
    end.send(partner, plan.tag, &[END])?;
    Ok(NetModel::fit(&samples).map(|model| NetModel { exchange_ratio, ..model }))
}

/// Number of messages that are sent without waiting for their echoes.
const N_IN_FLIGHT: u32 = 4;
/// Lengths of such messages, in bytes, and the longest time of one, in seconds.
const EXCHANGED_BYTES: std::ops::RangeInclusive<u64> = 131_072..=1_048_576;
const EXCHANGED_S: f64 = 0.05;
/// Number of measurements, of which the median counts.
const N_EXCHANGES: usize = 3;

/// Returns the time of a message while another one comes the other way, over its time alone, if a length was measured that
/// shows it.
///
/// Of `k` messages the first and the last echo pass alone, and each of the others meets an echo: all take the time of
/// `2 + (k - 1) r` messages.
fn exchange_ratio(
    end: &mut dyn Transport,
    (partner, tag): (u32, Tag),
    samples: &[LengthSample],
    bytes: &mut Vec<u8>,
) -> Result<Option<f64>, CommError> {
    let is_fit = |it: &&LengthSample| {
        EXCHANGED_BYTES.contains(&it.n_bytes) && 0.0 < it.median_s && it.median_s < EXCHANGED_S
    };
    let Some(sample) = samples.iter().filter(is_fit).max_by_key(|it| it.n_bytes) else {
        return Ok(None);
    };
    let message = vec![0; usize::try_from(sample.n_bytes).unwrap_or(usize::MAX)];
    let mut ratios = Vec::new();
    for _ in 0..N_EXCHANGES {
        let (begin_s, deadline) = (end.now_s(), Deadline::after(REPLY_TIMEOUT));
        for _ in 0..N_IN_FLIGHT {
            end.send(partner, tag, &[&message])?;
        }
        for _ in 0..N_IN_FLIGHT {
            if end.receive(Some(partner), REPLY_TIMEOUT, bytes)?.is_none() {
                return Err(deadline.late("an echo", partner));
            }
        }
        let n_alone = (end.now_s() - begin_s) / sample.median_s;
        ratios.push((n_alone - 2.0) / f64::from(N_IN_FLIGHT - 1));
    }
    ratios.sort_by(f64::total_cmp);
    Ok(ratios.get(N_EXCHANGES / 2).map(|ratio| ratio.clamp(1.0, 2.0)))
}

/// Message that ends [`answer`]: all other messages consist of zeros.
const END: &[u8] = &[1];

/// Echoes messages of `from` until `from` has measured enough.
///
/// # Errors
/// When a message fails or does not come.
pub fn answer(end: &mut dyn Transport, from: u32) -> Result<(), CommError> {
    let mut bytes = Vec::new();
    loop {
        let deadline = Deadline::after(REPLY_TIMEOUT);
        let Some(envelope) = end.receive(Some(from), REPLY_TIMEOUT, &mut bytes)? else {
            return Err(deadline.late("a message to answer", from));
        };
        if bytes == END {
            return Ok(());
        }
        end.send(from, envelope.tag, &[&bytes])?;
    }
}

/// Returns the round-trip time of a message of `n_bytes` zeros to `partner`, in seconds.
fn ping(
    end: &mut dyn Transport,
    (partner, tag): (u32, Tag),
    n_bytes: u64,
    bytes: &mut Vec<u8>,
) -> Result<f64, CommError> {
    bytes.clear();
    bytes.resize(usize::try_from(n_bytes).unwrap_or(usize::MAX), 0);
    let deadline = Deadline::after(REPLY_TIMEOUT);
    let begin_s = end.now_s();
    end.send(partner, tag, &[bytes])?;
    if end.receive(Some(partner), REPLY_TIMEOUT, bytes)?.is_none() {
        return Err(deadline.late("an echo", partner));
    }
    Ok(end.now_s() - begin_s)
}

/// Measures one length, repeatedly for short messages.
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
