//! Ends that the daemon has not asked to forget, in the order in which they happened.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::io::Errno;
use task_api::{Output, OutputText, Usage};

use super::protocol::{FRAMES, MESSAGE_BYTES_MAX};
use crate::blocks::{self, BlockFileKind, BlockItem, Blocks};
use crate::quarantine::{FileWarning, quarantine};
use node_core::interface::{Attempt, EndedAttempt};

/// File for the ends that a keeper leaves when it ends before a daemon has taken them: a block for each, and an
/// empty block behind them.
pub(super) const FILE: &str = "keeper.held";
/// Copy of a damaged file as it was found.
const DAMAGED: &str = "keeper.held.damaged";
const KIND: BlockFileKind =
    BlockFileKind { magic: *b"\xa7KH\x03", payload_bytes_max: MESSAGE_BYTES_MAX };
/// Kind of the second version, without what attempts have used.
const KIND_SECOND: BlockFileKind = BlockFileKind { magic: *b"\xa7KH\x02", ..KIND };
/// Kind of the first version with blocks, which wrote no empty one.
const KIND_BEFORE: BlockFileKind = BlockFileKind { magic: *b"\xa7KH\x01", ..KIND };
const SEED: u32 = 0;

/// Numbered ends with a bound on their output.
#[derive(Debug)]
pub(super) struct HeldEnds {
    ends: BTreeMap<u64, EndedAttempt>,
    numbers: HashMap<Attempt, u64>,
    n_bytes: usize,
    bytes_max: usize,
    last_number: u64,
    /// Number of the last end that was written to the present daemon.
    sent_number: u64,
    /// The file that some of them came from, and the number of the last of these.
    loaded: Option<(PathBuf, u64)>,
}

/// Warning of damaged ends that an earlier keeper left, reported to users until they remove the damaged file.
pub(crate) fn file_warning(state: &Path) -> FileWarning {
    let path = state.join(DAMAGED);
    let sentence = format!(
        "the results of tasks that ended while no daemon ran were damaged on disk: tasks may run again after they \
         ended; the damaged file is kept as `{}`; remove it to clear this warning",
        path.display()
    );
    FileWarning { path, sentence }
}

/// Ends in such a file, and whether it is damaged.
pub(super) fn ends_in(bytes: &[u8]) -> (Vec<EndedAttempt>, bool) {
    let with_usage = |payload: &[u8]| {
        let (ended, usage) = postcard::from_bytes::<(EndedAttempt, Usage)>(payload).ok()?;
        Some(EndedAttempt { usage, ..ended })
    };
    let without_usage = |payload: &[u8]| postcard::from_bytes(payload).ok();
    for found in [blocks_in(KIND, bytes, with_usage), blocks_in(KIND_SECOND, bytes, without_usage)]
    {
        if found.is_closed || !found.ends.is_empty() {
            return (found.ends, found.is_damaged || !found.is_closed);
        }
    }
    let before = blocks_in(KIND_BEFORE, bytes, without_usage);
    if !before.ends.is_empty() {
        return (before.ends, before.is_damaged);
    }
    let (ends, is_damaged) = old_ends_in(bytes);
    (ends, is_damaged || bytes.is_empty())
}

/// Contents of blocks of one kind.
#[derive(Default)]
struct HeldSummary {
    ends: Vec<EndedAttempt>,
    is_damaged: bool,
    /// True if the empty block at the end is there.
    is_closed: bool,
}

fn blocks_in(
    kind: BlockFileKind,
    bytes: &[u8],
    decode: impl Fn(&[u8]) -> Option<EndedAttempt>,
) -> HeldSummary {
    let mut contents = HeldSummary::default();
    for found in Blocks::new(kind, SEED, bytes, Some(1)) {
        match found {
            BlockItem::Block { payload: [], .. } => contents.is_closed = true,
            BlockItem::Block { payload, .. } => match decode(payload) {
                Some(ended) => contents.ends.push(ended),
                None => contents.is_damaged = true,
            },
            BlockItem::Hole(_) | BlockItem::Tail { .. } => contents.is_damaged = true,
        }
    }
    contents
}

/// Ends in a file of the first version, which has no blocks and is read up to the first damage.
fn old_ends_in(bytes: &[u8]) -> (Vec<EndedAttempt>, bool) {
    let mut ends = Vec::new();
    let mut rest = bytes;
    while let Ok(Some(first)) = FRAMES.first(rest)
        && let Ok(ended) = frame::decode(first.payload)
    {
        ends.push(ended);
        rest = first.rest;
    }
    (ends, !rest.is_empty())
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
            loaded: None,
        }
    }

    /// Loads the ends that an earlier keeper left in the folder. The file stays until all of them are forgotten.
    ///
    /// # Errors
    /// When the file cannot be read now, which does not mean that it is empty.
    pub(super) fn load(state: &Path, bytes_max: usize) -> io::Result<Self> {
        let mut held = Self::new(bytes_max);
        let path = state.join(FILE);
        let (ends, is_damaged) = match fs::read(&path) {
            Ok(bytes) => ends_in(&bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(held),
            // The disk cannot read the file, which will not pass.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::IO) => (Vec::new(), true),
            Err(error) => return Err(error),
        };
        let aside = state.join(DAMAGED);
        if is_damaged {
            quarantine(&path, &aside).or_else(|_| fs::rename(&path, &aside))?;
        }
        ends.into_iter().for_each(|ended| held.push(ended));
        held.loaded = Some((path, held.last_number));
        held.let_go();
        Ok(held)
    }

    /// Writes the remaining ends to a file, for the next keeper.
    pub(super) fn save(&self, state: &Path) -> io::Result<()> {
        if self.ends.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::new();
        for (ended, sequence) in self.ends.values().zip(1..) {
            let begin = blocks::open(&mut bytes);
            bytes = postcard::to_extend(&(ended, ended.usage), bytes).map_err(io::Error::other)?;
            blocks::seal(KIND, SEED, sequence, begin, &mut bytes);
        }
        let begin = blocks::open(&mut bytes);
        blocks::seal(KIND, SEED, self.ends.len() as u64 + 1, begin, &mut bytes);
        files::replace_durably(&state.join(FILE), &bytes)
    }

    pub(super) fn push(&mut self, mut ended: EndedAttempt) {
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
        self.let_go();
    }

    /// Removes the loaded file when all of its ends are forgotten.
    fn let_go(&mut self) {
        let is_over = |last: u64| self.ends.range(..=last).next().is_none();
        if let Some((path, _)) = self.loaded.take_if(|(_, last)| is_over(*last)) {
            // When it cannot be removed its ends are reported twice, and the daemon recognizes them.
            fs::remove_file(path).ok();
        }
    }

    /// Starts over for a new daemon, which was told of no end yet.
    pub(super) fn send_again(&mut self) {
        self.sent_number = 0;
    }

    /// Next end that the present daemon has not been told.
    pub(super) fn next_unsent(&mut self) -> Option<&EndedAttempt> {
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
        stdout: OutputText::default(),
        stderr: OutputText::default(),
        n_dropped_bytes: output.n_dropped_bytes.saturating_add(n_kept_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::attempt, *};
    use node_core::interface::AttemptEnd;

    fn ended(number: u64, n_output: usize) -> EndedAttempt {
        EndedAttempt {
            attempt: attempt(number),
            end: AttemptEnd::Exit(0),
            started_ms: 1,
            ended_ms: 2,
            output: Output { stdout: OutputText(vec![b'x'; n_output]), ..Output::default() },
            usage: Usage { cpu_ms: number, ..Usage::default() },
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
        let mut next = HeldEnds::load(folder.path(), 100).unwrap();
        assert_eq!(next.next_unsent(), Some(&ended(1, 3)));
        assert_eq!(next.len(), 2);
        // Fault: the keeper was killed before a daemon knew of the ends.
        assert_eq!(
            HeldEnds::load(folder.path(), 100).unwrap().len(),
            2,
            "nobody has forgotten them"
        );
        next.forget(&attempt(1));
        next.forget(&attempt(2));
        assert_eq!(HeldEnds::load(folder.path(), 100).unwrap().len(), 0, "all were forgotten");
    }

    /// Fault: a damaged spot lost all ends behind it, and a flipped bit could change one.
    #[test]
    fn a_damaged_spot_takes_only_the_ends_that_it_touches() {
        let folder = tempfile::tempdir().unwrap();
        let mut held = HeldEnds::new(100);
        (1..=3).for_each(|number| held.push(ended(number, 3)));
        held.save(folder.path()).unwrap();
        let whole = fs::read(folder.path().join(FILE)).unwrap();
        let n_bytes_each = (whole.len() - blocks::HEAD_BYTES) / 3;
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            let (ends, is_damaged) = ends_in(&bytes);
            let expected = (1..=3).filter(|number| at / n_bytes_each != number - 1);
            let expected = expected.map(|number| ended(number as u64, 3)).collect::<Vec<_>>();
            assert_eq!((ends, is_damaged), (expected, true), "{at}");
            // Fault: a file that was cut between two blocks looked like a whole one.
            let (ends, is_damaged) = ends_in(&whole[..at]);
            assert_eq!((ends.len(), is_damaged), (at / n_bytes_each, true), "{at}");
        }
        assert_eq!(file_warning(folder.path()).active(), None);
        fs::write(folder.path().join(FILE), &whole[1..]).unwrap();
        assert_eq!(HeldEnds::load(folder.path(), 100).unwrap().len(), 2);
        assert!(file_warning(folder.path()).active().is_some());
        assert_eq!(fs::read(folder.path().join(DAMAGED)).unwrap(), &whole[1..]);
    }

    /// Fault: a file that could not be read was taken for an empty one, and removed.
    #[test]
    fn a_file_that_cannot_be_read_is_not_an_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        fs::create_dir(&path).unwrap();
        assert!(HeldEnds::load(folder.path(), 100).is_err());
        fs::remove_dir(&path).unwrap();
        // Nothing is mapped at address 0 of a process, so reading fails with an input/output error.
        std::os::unix::fs::symlink("/proc/self/mem", &path).unwrap();
        assert_eq!(HeldEnds::load(folder.path(), 100).unwrap().len(), 0);
        assert!(file_warning(folder.path()).active().is_some());
    }

    #[test]
    fn ends_of_the_version_before_are_read() {
        let why = "no such program".to_owned();
        let expected = [
            (4, AttemptEnd::Exit(3)),
            (9, AttemptEnd::Signal(9)),
            (10, AttemptEnd::NotStarted(why)),
            (5, AttemptEnd::Killed(node_core::interface::Killed::Canceled)),
        ];
        let first = include_bytes!("../../tests/samples/keeper-held-v1").as_slice();
        let second = include_bytes!("../../tests/samples/keeper-held-v2").as_slice();
        for sample in [first, second] {
            let (ends, is_damaged) = ends_in(sample);
            assert!(!is_damaged);
            let outcomes = ends.iter().map(|ended| (ended.attempt.task.number, ended.end.clone()));
            assert_eq!(outcomes.collect::<Vec<_>>(), expected);
        }
    }
}
