//! Warnings for the record, each once: messages about functions that many ranks report are joined.
//!
//! A message waits for a moment for other ranks that report the same. Addresses are ignored in the comparison,
//! since they differ between processes.

use events::Rank;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of warnings.
const N_WARNINGS_MAX: usize = 200;
/// Time in s for which a first message waits for other ranks.
const PATIENCE_S: f64 = 1.0;
/// Maximum number of waiting messages; one more releases all of them.
const N_WAITING_MAX: usize = 1024;
/// Maximum number of rank spans that are listed; more are only counted.
const N_SPANS_MAX: usize = 8;

/// Waiting message.
#[derive(Debug)]
struct PendingMessage {
    since_s: f64,
    /// Text from the first rank.
    reason: String,
    ranks: BTreeSet<Rank>,
}

/// Warnings that were given, and waiting messages of ranks about sites.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    /// Messages by site and text without addresses.
    waiting: BTreeMap<(u32, String), PendingMessage>,
    given: Vec<String>,
}

impl Warnings {
    /// Returns whether a warning is to be recorded: once, and up to a bound.
    pub(crate) fn is_new(&mut self, text: &str) -> bool {
        let is_new =
            self.given.len() < N_WARNINGS_MAX && !self.given.iter().any(|given| given == text);
        if is_new {
            self.given.push(text.to_owned());
        }
        is_new
    }

    /// Adds a message; `rank` is `None` for a process that is no rank.
    pub(crate) fn add(&mut self, site: u32, reason: &str, rank: Option<Rank>, now_s: f64) {
        let new =
            || PendingMessage { since_s: now_s, reason: reason.to_owned(), ranks: BTreeSet::new() };
        let message = self.waiting.entry((site, without_addresses(reason))).or_insert_with(new);
        message.ranks.extend(rank);
    }

    /// Removes and returns sites and messages that have waited long enough.
    pub(crate) fn take_ripe(&mut self, now_s: f64) -> Vec<(u32, String)> {
        let is_full = N_WAITING_MAX < self.waiting.len();
        self.take(|message| is_full || PATIENCE_S <= now_s - message.since_s)
    }

    /// Removes and returns all remaining messages.
    pub(crate) fn take_all(&mut self) -> Vec<(u32, String)> {
        self.take(|_| true)
    }

    fn take(&mut self, is_due: impl Fn(&PendingMessage) -> bool) -> Vec<(u32, String)> {
        let due = self.waiting.extract_if(.., |_, message| is_due(message));
        due.map(|((site, _), message)| (site, message.in_words())).collect()
    }
}

impl PendingMessage {
    fn in_words(&self) -> String {
        let reason = &self.reason;
        match in_words(&self.ranks) {
            Some(ranks) => format!("{reason} ({ranks})"),
            None => reason.clone(),
        }
    }
}

/// Returns `on rank 3`, `on ranks 0-2, 7`, or only their number.
fn in_words(ranks: &BTreeSet<Rank>) -> Option<String> {
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for Rank(rank) in ranks {
        match spans.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*rank) => *last = *rank,
            _ => spans.push((*rank, *rank)),
        }
    }
    let span = |(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    match spans[..] {
        [] => None,
        [(first, last)] if first == last => Some(format!("on rank {first}")),
        _ if N_SPANS_MAX < spans.len() => Some(format!("on {} ranks", ranks.len())),
        _ => Some(format!("on ranks {}", spans.iter().map(span).collect::<Vec<_>>().join(", "))),
    }
}

/// Returns the message with every number that begins with `0x` shortened to `0x`.
fn without_addresses(reason: &str) -> String {
    let mut parts = reason.split("0x");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + "0x" + part.trim_start_matches(|letter: char| letter.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(message: &[(u32, &str, Option<u32>)], expected: &[(u32, &str)]) {
        let (mut warnings, now) = (Warnings::default(), 5.0);
        for (site, reason, rank) in message {
            warnings.add(*site, reason, rank.map(Rank), now);
        }
        assert!(warnings.take_ripe(now).is_empty(), "others may come");
        let found = warnings.take_ripe(now + PATIENCE_S);
        let found: Vec<_> = found.iter().map(|(site, text)| (*site, text.as_str())).collect();
        assert_eq!(found, expected);
        assert!(warnings.take_all().is_empty(), "once");
    }

    #[test]
    fn equal_sentences_are_joined() {
        check(&[(1, "no", Some(3))], &[(1, "no (on rank 3)")]);
        check(&[(1, "no", None)], &[(1, "no")]);
        let all: Vec<_> = (0..8).map(|rank| (1, "no", Some(rank))).collect();
        check(&all, &[(1, "no (on ranks 0-7)")]);
        check(&[(1, "no", Some(0)), (1, "no", Some(0))], &[(1, "no (on rank 0)")]);
        let mixed =
            [(1, "no", Some(7)), (2, "no", Some(0)), (1, "no", Some(1)), (1, "no", Some(0))];
        check(&mixed, &[(1, "no (on ranks 0-1, 7)"), (2, "no (on rank 0)")]);
        let even: Vec<_> = (0..9).map(|n| (1, "no", Some(2 * n))).collect();
        check(&even, &[(1, "no (on 9 ranks)")]);
    }

    #[test]
    fn addresses_differ_between_processes() {
        let alike = [(1, "f at `0x5f1` is full", Some(0)), (1, "f at `0xabc` is full", Some(1))];
        check(&alike, &[(1, "f at `0x5f1` is full (on ranks 0-1)")]);
        let unlike = [(1, "needs 1 byte", Some(0)), (1, "needs 2 bytes", Some(1))];
        check(&unlike, &[(1, "needs 1 byte (on rank 0)"), (1, "needs 2 bytes (on rank 1)")]);
    }

    #[test]
    fn what_waits_has_a_bound() {
        let (mut warnings, now) = (Warnings::default(), 5.0);
        (0..=1024).for_each(|site| warnings.add(site, "no", None, now));
        assert_eq!(warnings.take_ripe(now).len(), N_WAITING_MAX + 1);
    }
}
