//! Initial platform: one host per node of the run, and the host of each rank.

use super::SimgridOptions;
use crate::error::ExportError;
use crate::lanes::Trace;
use crate::paraver::write_file;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// Writes `platform.xml`, `hostfile` and `trace.txt`.
pub(super) fn write(
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
