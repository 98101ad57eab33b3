//! Running attempt: its process, its output so far, and the time when it has to end.

use super::memory_group::MemoryGroup;
use super::protocol::{Destination, StartAttempt};
use super::starting::{Started, output_files};
use node_core::interface::{Attempt, AttemptEnd, EndedAttempt, Killed, Moment, RunningAttempt};
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, PipeReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use task_api::{Output, OutputText, StreamNews, Usage};

/// Most reads of a pipe after its task has ended: they empty a full pipe, unless another process still writes.
const N_LAST_READS: usize = 32;

/// Running attempt.
#[derive(Debug)]
pub(super) struct RunningTask {
    pub(super) running: RunningAttempt,
    /// Name of the task.
    pub(super) name: String,
    /// End of its lease.
    pub(super) until: Option<Moment>,
    /// Moment at which it has run for as long as it may.
    limit: Option<Moment>,
    /// Most memory of its processes that was seen, in KiB; 0 where nobody looks.
    pub(super) memory_max_kib: u64,
    /// Control group that bounds its memory.
    pub(super) memory_group: Option<MemoryGroup>,
    /// Reason for which it is being ended.
    pub(super) killed: Option<Killed>,
    /// Moment at which it is killed after it was asked to end.
    kill_at: Option<Moment>,
    pub(super) pid: Pid,
    started: Instant,
    streams: [Option<Stream>; 2],
    /// Files that receive the output instead.
    files: Option<[PathBuf; 2]>,
}

#[derive(Debug)]
struct Stream {
    reader: Option<PipeReader>,
    capture: Capture,
}

impl RunningTask {
    pub(super) fn new(start: &StartAttempt, started: Started, now: Moment) -> Self {
        let bytes_max = match &start.output {
            Destination::Kept(bytes_max) => *bytes_max,
            Destination::Folder(_) => 0,
        };
        let stream = |reader| Stream { reader: Some(reader), capture: Capture::new(bytes_max) };
        Self {
            running: RunningAttempt {
                attempt: start.attempt,
                started_ms: since_1970_ms(),
                allocation: start.allocation.clone(),
            },
            name: start.name.clone(),
            until: start.until,
            limit: start.time_limit_ms.map(|ms| now.plus_ms(ms)),
            memory_max_kib: 0,
            memory_group: None,
            killed: None,
            kill_at: None,
            pid: started.pid,
            started: Instant::now(),
            streams: started.streams.map(|reader| reader.map(stream)),
            files: output_files(start),
        }
    }

    /// Ends of pipes that can be read, by stream.
    pub(super) fn readers(&self) -> [Option<&PipeReader>; 2] {
        self.streams.each_ref().map(|stream| stream.as_ref()?.reader.as_ref())
    }

    /// Reads once; returns false when there was nothing. A stream that has ended is closed.
    pub(super) fn read(&mut self, stream_idx: usize, buffer: &mut [u8]) -> bool {
        let Some(Some(stream)) = self.streams.get_mut(stream_idx) else { return false };
        let Some(reader) = &mut stream.reader else { return false };
        match reader.read(buffer) {
            Ok(0) => stream.reader = None,
            Ok(n_bytes) => {
                stream.capture.push(&buffer[..n_bytes]);
                return true;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => stream.reader = None,
        }
        false
    }

    /// What was written behind so many bytes of each stream, of at most `n_bytes_max` in all.
    pub(super) fn news(&self, known: [u64; 2], n_bytes_max: usize) -> [StreamNews; 2] {
        let mut n_left = n_bytes_max;
        [0, 1].map(|idx| {
            let news = match (&self.streams[idx], &self.files) {
                (Some(stream), _) => stream.capture.news(known[idx], n_left),
                // A file that cannot be read now may be there later.
                (None, Some(files)) => file_news(&files[idx], known[idx], n_left)
                    .unwrap_or(StreamNews { from: known[idx], ..StreamNews::default() }),
                (None, None) => StreamNews::default(),
            };
            n_left -= news.text.0.len().min(n_left);
            news
        })
    }

    /// Asks the task to end, and sets the time after which it is killed. When its lease has expired it is killed at
    /// once.
    pub(super) fn end(&mut self, because: Killed, now: Moment, grace: Duration) {
        if self.killed.is_some() {
            return;
        }
        self.killed = Some(because);
        if because == Killed::LeaseOut {
            return self.signal(Signal::KILL);
        }
        let grace_ns = u64::try_from(grace.as_nanos()).unwrap_or(u64::MAX);
        self.kill_at = Some(Moment(now.0.saturating_add(grace_ns)));
        self.signal(Signal::TERM);
    }

    /// Sends a signal to the whole group. Until the first process is reaped, its number is the group's, so no other
    /// process can be hit.
    pub(super) fn signal(&self, signal: Signal) {
        // The group may have ended meanwhile.
        kill_process_group(self.pid, signal).ok();
    }

    /// Moment at which the task has to be ended or killed.
    pub(super) fn deadline(&self) -> Option<Moment> {
        let limits = [self.until, self.limit].into_iter().flatten();
        if self.killed.is_some() { self.kill_at } else { limits.min() }
    }

    /// Ends the task or kills it, when its deadline has passed.
    pub(super) fn enforce(&mut self, now: Moment, grace: Duration) {
        if self.killed.is_none() {
            let is_over = self.limit.is_some_and(|limit| limit <= now);
            let because = if is_over { Killed::TimeLimit } else { Killed::LeaseOut };
            return self.end(because, now, grace);
        }
        self.kill_at = None;
        self.signal(Signal::KILL);
    }

    /// Returns whether the system has ended one of its processes for want of memory.
    pub(super) fn was_short_of_memory(&self) -> bool {
        self.memory_group.as_ref().is_some_and(MemoryGroup::was_short)
    }

    /// Report of a task that has ended.
    pub(super) fn finish(
        mut self,
        (end, usage): (AttemptEnd, Usage),
        buffer: &mut [u8],
    ) -> EndedAttempt {
        for stream_idx in 0..self.streams.len() {
            let mut n_reads_left = N_LAST_READS;
            while 0 < n_reads_left && self.read(stream_idx, buffer) {
                n_reads_left -= 1;
            }
        }
        let ran_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let [(stdout, n_stdout_dropped), (stderr, n_stderr_dropped)] = self.streams.map(|stream| {
            stream.map_or_else(|| (OutputText::default(), 0), |stream| stream.capture.finish())
        });
        EndedAttempt {
            attempt: self.running.attempt,
            end: self.killed.map_or(end, AttemptEnd::Killed),
            started_ms: self.running.started_ms,
            ended_ms: self.running.started_ms.saturating_add(ran_ms),
            output: Output {
                stdout,
                stderr,
                n_dropped_bytes: n_stdout_dropped.saturating_add(n_stderr_dropped),
            },
            usage: Usage { memory_max_kib: usage.memory_max_kib.max(self.memory_max_kib), ..usage },
        }
    }
}

/// Most bytes of output in an answer: as JSON they are at most twice as many, and fit into a message between nodes.
const NEWS_BYTES_MAX: usize = 256 << 10;

/// What attempts have written behind so many bytes of each stream, of those that run.
pub(super) fn news_of<'a>(
    wanted: Vec<(Attempt, [u64; 2])>,
    task: impl Fn(&Attempt) -> Option<&'a RunningTask>,
) -> Vec<(Attempt, [StreamNews; 2])> {
    let mut n_left = NEWS_BYTES_MAX;
    let news = wanted.into_iter().filter_map(|(attempt, known)| {
        let news = task(&attempt)?.news(known, n_left);
        n_left -= news.iter().map(|it| it.text.0.len()).sum::<usize>().min(n_left);
        Some((attempt, news))
    });
    news.collect()
}

/// Part of a file behind `known` bytes.
fn file_news(path: &Path, known: u64, n_bytes_max: usize) -> io::Result<StreamNews> {
    let file = File::open(path)?;
    let mut bytes = vec![0; n_bytes_max];
    let n_bytes = file.read_at(&mut bytes, known)?;
    bytes.truncate(n_bytes);
    let n_bytes = file.metadata()?.len();
    Ok(StreamNews { from: known, text: OutputText(bytes), n_bytes })
}

/// Report of an attempt that never ran.
pub(super) fn never_ran(attempt: Attempt, end: AttemptEnd) -> EndedAttempt {
    let now_ms = since_1970_ms();
    let (output, usage) = (Output::default(), Usage::default());
    EndedAttempt { attempt, end, started_ms: now_ms, ended_ms: now_ms, output, usage }
}

fn since_1970_ms() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

/// Keeps the first and the last half of `bytes_max`: programs print what they are at the beginning, and errors at
/// the end.
#[derive(Debug)]
pub(super) struct Capture {
    bytes_max: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    n_dropped: u64,
}

impl Capture {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, head: Vec::new(), tail: VecDeque::new(), n_dropped: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let head_room = (self.bytes_max - self.bytes_max / 2).saturating_sub(self.head.len());
        let (first, rest) = bytes.split_at(head_room.min(bytes.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let excess = self.tail.len().saturating_sub(self.bytes_max / 2);
        self.tail.drain(..excess);
        self.n_dropped += u64::try_from(excess).unwrap_or(u64::MAX);
    }

    /// What is kept behind `known` bytes, of at most `n_bytes_max`.
    fn news(&self, known: u64, n_bytes_max: usize) -> StreamNews {
        let n_head = self.head.len() as u64;
        let tail_from = n_head + self.n_dropped;
        let at = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        // The head is whole, and only the tail moves.
        let (from, bytes): (u64, Vec<u8>) = match known {
            _ if known < n_head => {
                let rest = if self.n_dropped == 0 { self.tail.len() } else { 0 };
                let head = self.head.iter().skip(at(known));
                (
                    known,
                    head.chain(self.tail.iter().take(rest)).take(n_bytes_max).copied().collect(),
                )
            }
            _ => {
                let from = known.max(tail_from);
                let tail = self.tail.iter().skip(at(from - tail_from));
                (from, tail.take(n_bytes_max).copied().collect())
            }
        };
        let n_bytes = tail_from + self.tail.len() as u64;
        StreamNews { from, text: OutputText(bytes), n_bytes }
    }

    /// Returns the kept bytes and the number of dropped ones; a line between the halves tells of those.
    pub(super) fn finish(self) -> (OutputText, u64) {
        let mut bytes = self.head;
        if 0 < self.n_dropped && 0 < self.bytes_max {
            let line = format!("\n[sintonia: {} bytes were not kept]\n", self.n_dropped);
            bytes.extend_from_slice(line.as_bytes());
        }
        bytes.extend(self.tail);
        (OutputText(bytes), self.n_dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes_max: usize, pieces: &[&str], kept: &str, n_dropped: u64) {
        let mut capture = Capture::new(bytes_max);
        pieces.iter().for_each(|piece| capture.push(piece.as_bytes()));
        assert_eq!(
            capture.finish(),
            (OutputText(kept.as_bytes().to_vec()), n_dropped),
            "{pieces:?}"
        );
    }

    #[test]
    fn the_beginning_and_the_end_are_kept() {
        check(8, &[], "", 0);
        check(8, &["abc"], "abc", 0);
        check(8, &["abcdefgh"], "abcdefgh", 0);
        check(8, &["abcdefghi"], "abcd\n[sintonia: 1 bytes were not kept]\nfghi", 1);
        check(8, &["ab", "cdef", "ghijkl"], "abcd\n[sintonia: 4 bytes were not kept]\nijkl", 4);
        check(3, &["abcdef"], "ab\n[sintonia: 3 bytes were not kept]\nf", 3);
        check(0, &["abc"], "", 3);
    }

    #[test]
    fn news_begin_where_the_reader_is() {
        let mut capture = Capture::new(8);
        let check = |capture: &Capture, known, n_max, expected: (u64, &str, u64)| {
            let news = capture.news(known, n_max);
            let text = String::from_utf8(news.text.0).unwrap();
            assert_eq!((news.from, text.as_str(), news.n_bytes), expected);
        };
        check(&capture, 0, 99, (0, "", 0));
        capture.push(b"abcdef");
        check(&capture, 0, 99, (0, "abcdef", 6));
        check(&capture, 3, 2, (3, "de", 6));
        check(&capture, 5, 99, (5, "f", 6));
        check(&capture, 6, 99, (6, "", 6));
        capture.push(b"ghijk");
        check(&capture, 2, 99, (2, "cd", 11));
        check(&capture, 4, 99, (7, "hijk", 11));
        check(&capture, 9, 99, (9, "jk", 11));
    }
}
