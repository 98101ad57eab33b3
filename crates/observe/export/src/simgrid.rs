//! Export as a time-independent trace, which `smpirun -replay` runs on a given platform.
//!
//! The folder gets `trace.txt` (the list of the ranks' files for `-replay`), `rank-N.txt`, `hostfile`, and
//! `platform.xml`: a cluster with the nodes of the run, as a starting point. Computation is given in floating-point
//! operations at a configured rate, which is also the speed of the hosts, so that it takes the measured time there.
//!
//! | in the program | in the trace |
//! |---|---|
//! | sends, receives, completions | `send`, `isend`, `recv`, `irecv`, `wait` |
//! | send-receive | `isend`, `recv`, `wait` |
//! | collectives of the world | the action of that name; of a nonblocking one, where its completion is seen |
//! | creating communicators, windows or files | `barrier` |
//! | collectives and creation on other communicators | messages between one member and the others |
//! | waiting without a message (probes, tests) | nothing: the replay itself waits |
//! | everything else | computation of the same duration, and a note |
//!
//! Source: SimGrid 3.32, "SMPI: trace replay", and the parsers of its actions.
//!
//! # Invariants
//! - Every message has both ends and every collective all ranks: the replay of a complete trace terminates.
//!   If the probe dropped records, a note warns that it may not.
//!
//! # Not here
//! Threads beyond the first of each rank: the format has none. Their messages are left out at both ends.

mod collectives;
mod rank;

use crate::error::ExportError;
use crate::format::{ExportFormat, ExportWriter};
use crate::lanes::{Lanes, Trace, is_call, n_ranks, starts_ns};
use crate::messages::MessageEnds;
use crate::paraver::write_file;
use collectives::Collectives;
use rank::{RankWriter, World};
use run_record::RunRecord;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// Options of the export.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimgridOptions {
    /// The world to export: position in [`Summary::worlds`](run_record::Summary::worlds).
    pub world: u32,
    /// Speed of a host in floating-point operations per second.
    pub flops_per_s: f64,
    /// Where nonblocking collectives are.
    pub nonblocking: NonblockingPlace,
}

/// Place of a nonblocking collective in a trace, which has only blocking ones: each can make ranks wait for each other
/// that did not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NonblockingPlace {
    /// Where its completion is seen.
    #[default]
    Completion,
    /// Where it starts.
    Start,
    /// Nowhere: its start is computation.
    Nowhere,
}

impl Default for SimgridOptions {
    fn default() -> Self {
        Self { world: 0, flops_per_s: 1e9, nonblocking: NonblockingPlace::default() }
    }
}

/// Entry of the registry.
pub(crate) const FORMAT: ExportFormat = ExportFormat {
    name: "simgrid",
    sentence: "SimGrid's time-independent trace",
    writer: ExportWriter::Folder(|record, dir, world| {
        simgrid(record, dir, &SimgridOptions { world, ..SimgridOptions::default() })
    }),
};

/// Writes one world of the record into an existing folder; returns the command for the replay, and sentences
/// about what the format could not hold.
///
/// # Errors
/// The record cannot be read, has no events of this world, or a file cannot be written.
pub fn simgrid(
    record: &RunRecord,
    dir: &Path,
    options: &SimgridOptions,
) -> Result<Vec<String>, ExportError> {
    let trace = Trace::open(record)?;
    let lanes = Lanes::of(&trace)?;
    let Some(n_ranks) = n_ranks(&trace, &lanes).get(&options.world).copied() else {
        let dir = record.dir().to_owned();
        return Err(ExportError::NoSuchWorld { dir, world: options.world });
    };
    let world = World {
        flops_per_s: options.flops_per_s,
        start_ns: starts_ns(&trace)?.get(&options.world).copied().unwrap_or(0),
        messages: MessageEnds::of(&trace, &lanes)?,
        collectives: Collectives::of(&trace, options.world, n_ranks)?,
        nonblocking: options.nonblocking,
        lanes,
    };
    let mut notes = Notes::default();
    let mut writers: Vec<RankWriter> = Vec::new();
    for rank in 0..n_ranks {
        writers.push(RankWriter::create(dir, rank, options.world, &world)?);
    }
    trace.try_each(|event| {
        let first_thread = event.world == options.world && event.thread == 0;
        match writers.get_mut(event.rank as usize).filter(|_| first_thread) {
            Some(writer) => Ok(writer.read(event, &world, &mut notes)?),
            None => {
                notes.left_out(event, options.world);
                Ok(())
            }
        }
    })?;
    for writer in writers {
        writer.finish(&world, &mut notes)?;
    }
    write_platform(&trace, options, n_ranks, dir)?;
    let mut sentences = notes.sentences(n_ranks);
    let n_dropped = trace.summary.tool.records_dropped;
    if 0 < n_dropped {
        sentences.push(format!(
            "{n_dropped} records were dropped in the run: a replay may stop because ranks wait for each other"
        ));
    }
    Ok(sentences)
}

/// Counts of calls that the format cannot hold.
#[derive(Debug, Default)]
struct Notes {
    as_computation: BTreeMap<&'static str, u64>,
    of_parts: BTreeMap<&'static str, u64>,
    /// Nonblocking collectives, with where they are.
    nonblocking: BTreeMap<(&'static str, &'static str), u64>,
    n_even: u64,
    n_unmatched: u64,
    n_of_other_threads: u64,
    n_of_other_worlds: u64,
}

impl Notes {
    fn nonblocking(&mut self, name: &'static str, place: NonblockingPlace) {
        let place = match place {
            NonblockingPlace::Completion => "where their completion is seen",
            NonblockingPlace::Start => "where they start",
            // Counted as computation.
            NonblockingPlace::Nowhere => return,
        };
        *self.nonblocking.entry((name, place)).or_default() += 1;
    }

    fn left_out(&mut self, event: &run_record::Event, world: u32) {
        if !is_call(event) {
            return;
        }
        if event.world == world {
            self.n_of_other_threads += 1;
        } else {
            self.n_of_other_worlds += 1;
        }
    }

    fn sentences(self, n_ranks: u32) -> Vec<String> {
        let mut sentences = vec![format!(
            "replay it there with `smpirun -np {n_ranks} -platform platform.xml -hostfile hostfile -replay trace.txt`"
        )];
        for (name, n_calls) in self.as_computation {
            sentences.push(format!(
                "{n_calls} calls of {name} have no action in a replay: their time counts as computation"
            ));
        }
        for (name, n_calls) in self.of_parts {
            sentences.push(format!(
                "{n_calls} calls of {name} on a part of the world are replayed as messages to and from one rank"
            ));
        }
        for ((name, place), n_calls) in self.nonblocking {
            sentences
                .push(format!("{n_calls} calls of {name} are replayed as blocking ones, {place}"));
        }
        let counted = [
            (self.n_unmatched, "messages have no matching end in the trace and are left out"),
            (
                self.n_even,
                "calls are replayed with equal shares for all ranks: the trace holds only their sum",
            ),
            (
                self.n_of_other_threads,
                "calls of further threads are left out: a replay has one thread per rank",
            ),
            (
                self.n_of_other_worlds,
                "calls of other worlds are left out: export them by themselves",
            ),
        ];
        let counted = counted.into_iter().filter(|(n, _)| 0 < *n);
        sentences.extend(counted.map(|(n, text)| format!("{n} {text}")));
        sentences
    }
}

/// Writes `platform.xml` (one host per node of the run), `hostfile` (the host of each rank) and `trace.txt`.
fn write_platform(
    trace: &Trace,
    options: &SimgridOptions,
    n_ranks: u32,
    dir: &Path,
) -> Result<(), ExportError> {
    let mut nodes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut node_of_rank = Vec::new();
    for rank in 0..n_ranks {
        let next = nodes.len();
        node_of_rank.push(*nodes.entry(trace.node(options.world, rank)).or_insert(next));
    }
    let n_cores = |node: usize| node_of_rank.iter().filter(|n| **n == node).count();
    let n_cores = (0..nodes.len()).map(n_cores).max().unwrap_or(1);
    let (last, speed) = (nodes.len().saturating_sub(1), options.flops_per_s);
    write_file(&dir.join("platform.xml"), |out| {
        writeln!(
            out,
            r#"<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <!-- Speed: the rate at which the trace counts computation. Bandwidths and latencies: a
       10 Gbit/s network and shared memory; put in those of the machine to be simulated. -->
  <cluster id="cluster" prefix="node-" suffix="" radical="0-{last}" speed="{speed}f" core="{n_cores}"
           bw="1.25GBps" lat="5us" loopback_bw="10GBps" loopback_lat="500ns"/>
</platform>"#
        )
    })?;
    write_file(&dir.join("hostfile"), |out| {
        node_of_rank.iter().try_for_each(|node| writeln!(out, "node-{node}"))
    })?;
    write_file(&dir.join("trace.txt"), |out| {
        (0..n_ranks).try_for_each(|rank| writeln!(out, "rank-{rank}.txt"))
    })?;
    Ok(())
}
