//! Log of a daemon, limited in rate and size.
//!
//! Strangers and faults cause messages, and the log lies beside the journal, whose disk it must not fill. So a sentence
//! that was written recently is counted instead, as is everything beyond [`N_WRITTEN_MAX`] sentences in a minute. A log in
//! a file is started anew when it is long; the previous part is kept.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time in which a sentence is written once, and for which sentences are counted.
const WINDOW: Duration = Duration::from_secs(60);
/// Most sentences written in a [`WINDOW`].
const N_WRITTEN_MAX: u64 = 50;
/// Most bytes of a sentence; the rest is cut off.
const SENTENCE_BYTES_MAX: usize = 2048;
/// Most bytes of a log in a file, and of its previous part.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Log of a daemon.
#[derive(Debug)]
pub(super) struct Log {
    /// File that standard error goes to, if it is the daemon's own.
    file: Option<PathBuf>,
    limiter: Mutex<RateLimiter>,
}

impl Log {
    /// Makes a log on standard error; `file` is where that goes, if it is a file of this daemon alone.
    pub(super) fn new(file: Option<PathBuf>) -> Self {
        Self { file, limiter: Mutex::default() }
    }

    /// Writes a sentence, or counts it.
    pub(super) fn say(&self, sentence: &str) {
        let mut limiter = self.limiter.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = limiter.take(sentence, Instant::now());
        if !lines.is_empty()
            && let Some(path) = &self.file
        {
            // Without a new file the old one is continued.
            begin_anew(path).ok();
        }
        for line in lines {
            // The reader of standard error may be gone.
            writeln!(std::io::stderr(), "sintonia: {line}").ok();
        }
    }
}

/// Redirects standard output and error into a new file when the log is long.
fn begin_anew(path: &Path) -> std::io::Result<()> {
    if let Some(file) = put_aside(path)? {
        rustix::stdio::dup2_stdout(&file)?;
        rustix::stdio::dup2_stderr(&file)?;
    }
    Ok(())
}

/// Renames a log that is long, and opens a new one.
fn put_aside(path: &Path) -> std::io::Result<Option<File>> {
    if fs::metadata(path)?.len() < FILE_BYTES_MAX {
        return Ok(None);
    }
    fs::rename(path, before(path))?;
    OpenOptions::new().create(true).append(true).mode(0o600).open(path).map(Some)
}

/// Path of the previous part of the log.
fn before(path: &Path) -> PathBuf {
    path.with_added_extension("1")
}

/// Sentences written, and how often; time is an argument.
#[derive(Debug, Default)]
struct RateLimiter {
    began: Option<Instant>,
    n_written: u64,
    /// Sentences of this window, and how often each was counted instead of written.
    repeats: HashMap<String, u64>,
    n_left_out: u64,
}

impl RateLimiter {
    /// Lines to write when `sentence` is logged.
    fn take(&mut self, sentence: &str, now: Instant) -> Vec<String> {
        let mut lines = Vec::new();
        if self.began.is_none_or(|began| WINDOW <= now - began) {
            lines = self.counts();
            *self = Self { began: Some(now), ..Self::default() };
        }
        let sentence = shortened(sentence);
        if let Some(n_more) = self.repeats.get_mut(&sentence) {
            *n_more += 1;
        } else if self.n_written < N_WRITTEN_MAX {
            self.n_written += 1;
            self.repeats.insert(sentence.clone(), 0);
            lines.push(sentence);
        } else {
            self.n_left_out += 1;
        }
        lines
    }

    /// Lines about what was counted instead of written.
    fn counts(&self) -> Vec<String> {
        let repeated = self.repeats.iter().filter(|(_, n_more)| 0 < **n_more);
        let mut lines: Vec<_> =
            repeated.map(|(sentence, n_more)| format!("{n_more} times more: {sentence}")).collect();
        lines.sort();
        if 0 < self.n_left_out {
            lines.push(format!("{} further messages were left out", self.n_left_out));
        }
        lines
    }
}

/// Sentence in one line and cut to [`SENTENCE_BYTES_MAX`].
fn shortened(sentence: &str) -> String {
    let sentence = sentence.replace(['\n', '\r'], " ");
    let end = sentence.floor_char_boundary(SENTENCE_BYTES_MAX);
    if end == sentence.len() { sentence } else { format!("{} ...", &sentence[..end]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `said` has sentences and the seconds at which they are logged.
    #[track_caller]
    fn check(said: &[(u64, &str)], expected: &[&str]) {
        let (mut limiter, start) = (RateLimiter::default(), Instant::now());
        let take = |(at_s, sentence): &(u64, &str)| {
            limiter.take(sentence, start + Duration::from_secs(*at_s))
        };
        assert_eq!(said.iter().flat_map(take).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_sentence_that_was_just_said_is_counted() {
        check(&[(0, "a"), (1, "b"), (2, "c")], &["a", "b", "c"]);
        check(&[(0, "a"), (1, "a"), (2, "b"), (3, "a")], &["a", "b"]);
        check(&[(0, "a"), (1, "a"), (59, "a"), (60, "a")], &["a", "2 times more: a", "a"]);
        check(&[(0, "a"), (90, "a"), (150, "b")], &["a", "a", "b"]);
        check(&[(0, "a\nsintonia: b")], &["a sintonia: b"]);
    }

    /// Garbage from the network made a log of 1.7 MB in 8 seconds.
    #[test]
    fn a_flood_of_sentences_is_a_few_lines() {
        let (mut limiter, now) = (RateLimiter::default(), Instant::now());
        let mut lines: Vec<_> =
            (0..100_000).flat_map(|number| limiter.take(&number.to_string(), now)).collect();
        lines.extend(limiter.take("later", now + WINDOW));
        assert_eq!(lines.len(), usize::try_from(N_WRITTEN_MAX).unwrap() + 2);
        assert_eq!(lines[lines.len() - 2], "99950 further messages were left out");
        let long = limiter.take(&"é".repeat(10_000), now + WINDOW);
        assert!(long[0].len() < SENTENCE_BYTES_MAX + 8);
    }

    #[test]
    fn a_long_log_is_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("node.log");
        fs::write(&path, "short").unwrap();
        assert!(put_aside(&path).unwrap().is_none());
        for content in ["1", "2"] {
            fs::write(&path, content.repeat(1 << 20)).unwrap();
            writeln!(put_aside(&path).unwrap().unwrap(), "new").unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "new\n");
            assert!(fs::read_to_string(before(&path)).unwrap().starts_with(content));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
