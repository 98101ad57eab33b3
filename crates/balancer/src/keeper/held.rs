//! Ends that the daemon has not asked to forget, in the order in which they happened.

use std::{
    collections::{BTreeMap, HashMap},
    fs, io,
    path::Path,
};

use balanced::{Output, Text};

use super::words::{decode, encode};
use crate::core::words::{Attempt, Ended};

/// Where ends wait when the keeper ends before a daemon has asked for them.
const FILE: &str = "keeper.held";

/// Numbered ends with a bound on the output they hold.
#[derive(Debug)]
pub(super) struct HeldEnds {
    ends: BTreeMap<u64, Ended>,
    numbers: HashMap<Attempt, u64>,
    n_bytes: usize,
    bytes_max: usize,
    last_number: u64,
    /// Up to here they were written to the present daemon.
    sent_number: u64,
}

impl HeldEnds {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self {
            ends: BTreeMap::new(),
            numbers: HashMap::new(),
            n_bytes: 0,
            bytes_max,
            last_number: 0,
            sent_number: 0,
        }
    }

    /// What an earlier keeper left in the folder. The file is removed: it is held here from now on.
    pub(super) fn load(state: &Path, bytes_max: usize) -> Self {
        let mut held = Self::new(bytes_max);
        let bytes = fs::read(state.join(FILE)).unwrap_or_default();
        let mut rest = bytes.as_slice();
        // A damaged file loses what follows the damage: those tasks run again.
        while let Ok(Some((ended, n_bytes))) = decode::<Ended>(rest) {
            held.push(ended);
            rest = &rest[n_bytes..];
        }
        // When it cannot be removed its ends are reported twice, and the daemon knows them.
        fs::remove_file(state.join(FILE)).ok();
        held
    }

    /// Writes down what is left, for the next keeper.
    pub(super) fn save(&self, state: &Path) -> io::Result<()> {
        if self.ends.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::new();
        for ended in self.ends.values() {
            encode(ended, &mut bytes).map_err(io::Error::other)?;
        }
        let beside = state.join("keeper.held.new");
        fs::write(&beside, bytes)?;
        fs::File::open(&beside)?.sync_all()?;
        fs::rename(beside, state.join(FILE))
    }

    pub(super) fn push(&mut self, mut ended: Ended) {
        if self.bytes_max < self.n_bytes + ended.output.n_bytes() {
            ended.output = dropped(&ended.output);
        }
        self.n_bytes += ended.output.n_bytes();
        self.last_number += 1;
        self.numbers.insert(ended.attempt, self.last_number);
        self.ends.insert(self.last_number, ended);
    }

    pub(super) fn forget(&mut self, attempt: &Attempt) {
        let ended = self.numbers.remove(attempt).and_then(|number| self.ends.remove(&number));
        self.n_bytes -= ended.map_or(0, |ended| ended.output.n_bytes());
    }

    /// A new daemon has heard of none.
    pub(super) fn send_again(&mut self) {
        self.sent_number = 0;
    }

    /// The next end that the present daemon has not been told.
    pub(super) fn next_unsent(&mut self) -> Option<&Ended> {
        let (number, ended) = self.ends.range(self.sent_number + 1..).next()?;
        self.sent_number = *number;
        Some(ended)
    }

    pub(super) fn holds(&self, attempt: &Attempt) -> bool {
        self.numbers.contains_key(attempt)
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }
}

fn dropped(output: &Output) -> Output {
    let n_kept_bytes = u64::try_from(output.n_bytes()).unwrap_or(u64::MAX);
    Output {
        stdout: Text::default(),
        stderr: Text::default(),
        n_dropped_bytes: output.n_dropped_bytes.saturating_add(n_kept_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::attempt, *};
    use crate::core::words::AttemptEnd;

    fn ended(number: u64, n_output: usize) -> Ended {
        Ended {
            attempt: attempt(number),
            end: AttemptEnd::Exit(0),
            started_ms: 1,
            ended_ms: 2,
            output: Output { stdout: Text(vec![b'x'; n_output]), ..Output::default() },
        }
    }

    fn next_number(held: &mut HeldEnds) -> Option<u64> {
        held.next_unsent().map(|ended| ended.attempt.task.number)
    }

    #[test]
    fn an_end_is_told_once_to_each_daemon_until_it_is_forgotten() {
        let mut held = HeldEnds::new(100);
        (1..=3).for_each(|number| held.push(ended(number, 0)));
        assert_eq!((next_number(&mut held), next_number(&mut held)), (Some(1), Some(2)));
        held.forget(&attempt(1));
        held.forget(&attempt(9));
        assert_eq!((next_number(&mut held), next_number(&mut held)), (Some(3), None));
        held.send_again();
        assert_eq!(next_number(&mut held), Some(2));
        assert!(!held.holds(&attempt(1)) && held.holds(&attempt(2)));
    }

    #[test]
    fn output_beyond_the_bound_is_dropped_and_counted() {
        let mut held = HeldEnds::new(100);
        held.push(ended(1, 60));
        held.push(ended(2, 60));
        let kept = |held: &mut HeldEnds| {
            let output = &held.next_unsent().unwrap().output;
            (output.n_bytes(), output.n_dropped_bytes)
        };
        assert_eq!((kept(&mut held), kept(&mut held)), ((60, 0), (0, 60)));
        held.forget(&attempt(1));
        held.push(ended(3, 60));
        assert_eq!(kept(&mut held), (60, 0));
    }

    #[test]
    fn what_nobody_asked_for_waits_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut held = HeldEnds::new(100);
        held.push(ended(1, 3));
        held.push(ended(2, 4));
        held.save(folder.path()).unwrap();
        let mut next = HeldEnds::load(folder.path(), 100);
        assert_eq!(next.next_unsent(), Some(&ended(1, 3)));
        assert_eq!(next.len(), 2);
        assert_eq!(HeldEnds::load(folder.path(), 100).len(), 0, "it was read once");
    }
}
