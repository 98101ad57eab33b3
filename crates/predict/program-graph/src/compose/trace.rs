//! Reader of time-independent traces, which `sintonia export --format simgrid` writes and `smpirun -replay`
//! reads.
//!
//! A line is one action of a rank: `RANK ACTION NUMBERS`. Sizes are in bytes, computation in floating-point
//! operations at a given rate.
//!
//! | line | meaning |
//! |---|---|
//! | `R init`, `R finalize` | begin and end |
//! | `R compute FLOPS` | computation |
//! | `R send`, `isend`, `recv`, `irecv` `PEER TAG BYTES` | a message |
//! | `R wait FROM TO TAG` | waits for the earliest open start with these values |
//! | `R waitall` | waits for all open starts |
//! | `R bcast BYTES ROOT`, `reduce BYTES FLOPS ROOT` | collectives of all ranks, ... |
//! | `R allreduce`, `scan`, `exscan` `BYTES FLOPS` | |
//! | `R gather`, `scatter` `SEND RECV ROOT`; `allgather`, `alltoall` `SEND RECV` | |
//! | `R gatherv SEND N*RECV ROOT`, `scatterv N*SEND RECV ROOT` | |
//! | `R allgatherv SEND N*RECV`, `reducescatter N*RECV FLOPS` | |
//! | `R alltoallv SENT N*SENT RECEIVED N*RECEIVED`, `barrier` | |
//!
//! Source: SimGrid 3.32, "SMPI: trace replay".
//!
//! # Invariants
//! - A line that is not understood is an error: leaving it out would change the meaning of the trace.
//!
//! # Not here
//! Datatypes of other sizes, and communicators: `export` writes neither.

use super::program::{
    CallSite, Collective, ProgramBuilder, ProgramError, RankOperation, RankPrograms,
};
use crate::shape::SendMode;
use mpi_abi::CollectiveKind;
use std::collections::{HashMap, VecDeque};
use thiserror::Error;

/// Reason why a trace cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// A line does not have the form of an action.
    #[error("`{file}` line {line}: invalid action `{text}`; {wanted}")]
    Line {
        /// Name of the file.
        file: String,
        /// Number of the line, from 1.
        line: u32,
        /// Text of the line.
        text: String,
        /// Form that is expected.
        wanted: &'static str,
    },
    /// An action refers to a rank or request that does not exist.
    #[error("`{file}` line {line}")]
    Action {
        /// Name of the file.
        file: String,
        /// Number of the line, from 1.
        line: u32,
        /// Reason.
        source: ProgramError,
    },
}

/// Reads the files of a trace, in any order.
#[derive(Debug)]
pub struct TraceReader {
    builder: ProgramBuilder,
    n_ranks: usize,
    flops_per_s: f64,
    /// Rank and place of the line that is being read.
    rank: u32,
    place: CallSite,
    /// Open starts, by rank, then by sender, receiver and tag.
    started: Vec<HashMap<[u32; 3], VecDeque<u64>>>,
    n_started: u64,
}

/// Reason why a line is invalid.
enum Wrong {
    Form(&'static str),
    Step(ProgramError),
}

impl TraceReader {
    /// Creates a reader for a trace of `n_ranks`, with the rate at which it counts computation.
    #[must_use]
    pub fn new(n_ranks: usize, flops_per_s: f64) -> Self {
        Self {
            builder: ProgramBuilder::new(n_ranks),
            n_ranks,
            flops_per_s,
            rank: 0,
            place: CallSite::default(),
            started: vec![HashMap::new(); n_ranks],
            n_started: 0,
        }
    }

    /// Reads one file, with the steps of one or several ranks.
    ///
    /// # Errors
    /// When a line is not an action of a rank of the trace.
    pub fn read(&mut self, file: &str, text: &str) -> Result<(), TraceError> {
        let mut numbers = Vec::new();
        for (line, text) in (1_u32..).zip(text.lines()) {
            self.line(line, text, &mut numbers).map_err(|wrong| match wrong {
                Wrong::Form(wanted) => {
                    // Its beginning is enough for a message.
                    let (file, text) = (file.to_owned(), text.chars().take(60).collect());
                    TraceError::Line { file, line, text, wanted }
                }
                Wrong::Step(source) => TraceError::Action { file: file.to_owned(), line, source },
            })?;
        }
        Ok(())
    }

    /// Returns the program of all files.
    #[must_use]
    pub fn finish(self) -> RankPrograms {
        self.builder.finish()
    }

    fn line(&mut self, line: u32, text: &str, numbers: &mut Vec<f64>) -> Result<(), Wrong> {
        let mut words = text.split_ascii_whitespace();
        let Some(rank) = words.next() else { return Ok(()) };
        if rank.starts_with('#') {
            return Ok(());
        }
        self.rank = rank.parse().map_err(|_| Wrong::Form("it begins with a rank"))?;
        let name = words.next().ok_or(Wrong::Form("after the rank comes an action"))?;
        numbers.clear();
        for word in words {
            let number =
                word.parse().ok().filter(|number: &f64| 0.0 <= *number && number.is_finite());
            numbers.push(number.ok_or(Wrong::Form("after the action come numbers"))?);
        }
        self.place = CallSite { region: self.builder.region(name), site: line };
        self.action(name, numbers)
    }

    fn action(&mut self, name: &str, numbers: &[f64]) -> Result<(), Wrong> {
        match (name, numbers) {
            ("init" | "finalize", []) => Ok(()),
            ("compute", [flops]) => self.compute(*flops),
            ("send" | "isend", [to, tag, bytes]) => {
                let (to, tag) = (number(*to)?, number(*tag)?);
                let request = (name == "isend").then(|| self.start([self.rank, to, tag]));
                let (bytes, mode) = (length(*bytes), SendMode::Standard);
                let request = request.transpose()?;
                self.push(RankOperation::Send { to, tag, bytes, mode, request })
            }
            ("recv" | "irecv", [from, tag, _]) => {
                let (from, tag) = (number(*from)?, number(*tag)?);
                let request = (name == "irecv").then(|| self.start([from, self.rank, tag]));
                self.push(RankOperation::Receive { from, tag, request: request.transpose()? })
            }
            ("wait", [from, to, tag]) => {
                let key = [number(*from)?, number(*to)?, number(*tag)?];
                let started = self.started.get_mut(self.rank as usize);
                let first = started.and_then(|started| started.get_mut(&key)?.pop_front());
                let request =
                    first.ok_or(Wrong::Form("nothing is started that it could wait for"))?;
                self.push(RankOperation::Wait { request })
            }
            ("waitall", []) => self.wait_for_all(),
            _ => self.collective(name, numbers),
        }
    }

    fn push(&mut self, operation: RankOperation) -> Result<(), Wrong> {
        self.builder.push(self.rank, self.place, operation).map_err(Wrong::Step)
    }

    fn compute(&mut self, flops: f64) -> Result<(), Wrong> {
        if flops <= 0.0 {
            return Ok(());
        }
        self.push(RankOperation::Compute { seconds: flops / self.flops_per_s })
    }

    fn start(&mut self, key: [u32; 3]) -> Result<u64, Wrong> {
        let (rank, n_ranks) = (self.rank, self.n_ranks);
        let started = self.started.get_mut(rank as usize);
        let started = started.ok_or(Wrong::Step(ProgramError::NoSuchRank { rank, n_ranks }))?;
        self.n_started += 1;
        started.entry(key).or_default().push_back(self.n_started);
        Ok(self.n_started)
    }

    fn wait_for_all(&mut self) -> Result<(), Wrong> {
        let started = self.started.get_mut(self.rank as usize);
        let open = started.map(|started| started.drain().flat_map(|(_, open)| open));
        let mut open: Vec<u64> = open.map_or_else(Vec::new, Iterator::collect);
        open.sort_unstable();
        open.into_iter().try_for_each(|request| self.push(RankOperation::Wait { request }))
    }

    fn collective(&mut self, name: &str, numbers: &[f64]) -> Result<(), Wrong> {
        let kind = CollectiveKind::of_name(name)
            .ok_or(Wrong::Form("an action of this name is not known"))?;
        let n = self.n_ranks;
        let (bytes, root, flops) = match (kind, numbers) {
            (CollectiveKind::Barrier, []) => (0.0, 0.0, 0.0),
            (CollectiveKind::Reduce, [bytes, flops, root]) => (*bytes, *root, *flops),
            (CollectiveKind::Bcast, [bytes, root])
            | (CollectiveKind::Gather, [bytes, _, root])
            | (CollectiveKind::Scatter, [_, bytes, root]) => (*bytes, *root, 0.0),
            (CollectiveKind::Gatherv, [bytes, all @ .., root])
            | (CollectiveKind::Scatterv, [all @ .., bytes, root])
                if all.len() == n =>
            {
                (*bytes, *root, 0.0)
            }
            (
                CollectiveKind::Allreduce | CollectiveKind::Scan | CollectiveKind::Exscan,
                [bytes, flops],
            ) => (*bytes, 0.0, *flops),
            (CollectiveKind::Allgather | CollectiveKind::Alltoall, [bytes, _]) => {
                (*bytes, 0.0, 0.0)
            }
            (CollectiveKind::Allgatherv, [bytes, all @ ..]) if all.len() == n => (*bytes, 0.0, 0.0),
            (CollectiveKind::ReduceScatter, [all @ .., flops]) if all.len() == n => {
                (all.iter().sum(), 0.0, *flops)
            }
            (CollectiveKind::Alltoallv, all) if all.len() == 2 * n + 2 => (all[0], 0.0, 0.0),
            _ => return Err(Wrong::Form("it does not have the numbers that this action needs")),
        };
        let received = numbers.get(n + 1).filter(|_| kind == CollectiveKind::Alltoallv);
        let bytes_received = received.copied().map_or(0, length);
        let (bytes, root) = (length(bytes), number(root)?);
        self.push(RankOperation::Collective(Collective { kind, root, bytes, bytes_received }))?;
        self.compute(flops)
    }
}

/// Converts a rank or a tag.
fn number(number: f64) -> Result<u32, Wrong> {
    let is_whole = number.fract() == 0.0 && number <= f64::from(u32::MAX);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "just looked at")]
    let whole = number as u32;
    is_whole.then_some(whole).ok_or(Wrong::Form("ranks and tags are whole numbers"))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative; whole bytes"
)]
fn length(bytes: f64) -> u64 {
    bytes as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compose::{Machine, Network, evaluate};
    use proptest::prelude::*;

    fn read(lines: &[&str]) -> Result<RankPrograms, TraceError> {
        let mut reader = TraceReader::new(lines.len(), 1e9);
        for (rank, text) in lines.iter().enumerate() {
            reader.read(&format!("rank-{rank}.txt"), text)?;
        }
        Ok(reader.finish())
    }

    #[track_caller]
    fn check_wrong(line: &str, names: &str) {
        let error = read(&[&format!("0 init\n{line}\n"), ""]).expect_err("a wrong line");
        let source = std::error::Error::source(&error).map(ToString::to_string);
        let text = format!("{error} {}", source.unwrap_or_default());
        assert!(text.contains("line 2") && text.contains(names), "{text}");
    }

    #[test]
    fn lines_that_are_no_actions_are_named() {
        check_wrong("x send 1 0 8", "begins with a rank");
        check_wrong("0", "comes an action");
        check_wrong("0 jump 1", "not known");
        check_wrong("0 send 1 0", "not known");
        check_wrong("0 send 7 0 8", "rank 7 is not there");
        check_wrong("9 isend 1 0 8", "rank 9 is not there");
        check_wrong("0 send 1 -5 8", "numbers");
        check_wrong("0 send 1 0.5 8", "whole numbers");
        check_wrong("0 wait 0 1 0", "nothing is started");
        check_wrong("0 alltoallv 3 1 2 3 1", "numbers that this action needs");
        check_wrong("0 bcast 8 2", "rank 2 is not there");
    }

    #[test]
    fn what_the_exporter_writes_is_evaluated() {
        let first = "0 init\n0 compute 1000000000\n0 isend 1 5 1000\n0 wait 0 1 5\n\
            0 alltoallv 20 10 10 20 10 10\n0 finalize\n";
        let second = "1 init\n1 irecv 0 5 1000\n1 wait 0 1 5\n1 alltoallv 20 10 10 20 10 10\n\
            1 compute 500000000\n1 finalize\n";
        let program = read(&[first, second]).expect("a trace");
        let machine = Machine::of(Network::uniform(0.0, 1e-6));
        let outcome = evaluate(&program, &machine).expect("a time");
        // A second, 1000 bytes, 10 bytes to the other rank, half a second.
        assert!((outcome.total_s - (1.0 + 1e-3 + 1e-5 + 0.5)).abs() < 1e-12, "{outcome:?}");
    }

    #[test]
    fn every_collective_has_a_line() {
        let lines = "barrier|bcast 8 1|reduce 8 0 1|allreduce 8 0|scan 8 0|exscan 8 0|gather 8 8 1|\
            scatter 8 8 1|allgather 8 8|alltoall 8 8|gatherv 8 8 8 1|scatterv 8 8 8 1|\
            allgatherv 8 8 8|reducescatter 8 8 0|alltoallv 16 8 8 16 8 8";
        let names = lines.split('|').filter_map(|line| line.split(' ').next());
        assert_eq!(
            names.collect::<std::collections::BTreeSet<_>>().len(),
            CollectiveKind::ALL.len()
        );
        let of =
            |rank: u32| lines.split('|').map(|line| format!("{rank} {line}\n")).collect::<String>();
        let program = read(&[&of(0), &of(1)]).expect("a trace");
        let machine = Machine::of(Network::uniform(1e-6, 0.0));
        let outcome = evaluate(&program, &machine).expect("a time");
        let timed = outcome.regions.iter().filter(|region| 0.0 < region.mean_s);
        assert_eq!(timed.count(), CollectiveKind::ALL.len(), "{:?}", outcome.regions);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_or_the_evaluation_fail(
            lines in prop::collection::vec(prop::collection::vec(0..WORDS.len(), 0..7), 0..40),
        ) {
            let line = |words: &Vec<usize>| words.iter().map(|at| WORDS[*at]).collect::<Vec<_>>().join(" ");
            let text: Vec<String> = lines.iter().map(line).collect();
            // Prefixes of each line, which are all invalid.
            let mut reader = TraceReader::new(3, 1e9);
            for line in &text {
                reader.read("trace", line).ok();
            }
            let machine = Machine::of(Network::uniform(1e-6, 1e-9));
            if let Ok(outcome) = evaluate(&reader.finish(), &machine) {
                prop_assert!(outcome.total_s.is_finite() && 0.0 <= outcome.total_s);
            }
        }
    }

    const WORDS: [&str; 20] = [
        "0", "1", "2", "3", "8", "1e9", "inf", "-1", "send", "isend", "recv", "irecv", "wait",
        "waitall", "compute", "bcast", "reduce", "barrier", "alltoall", "x",
    ];
}
