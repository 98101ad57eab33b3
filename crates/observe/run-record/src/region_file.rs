//! `regions.parquet`: counters of each rank, thread and pair of call sites.

use crate::event_file::{operation_name, operation_named};
use crate::table::{Layout, TableError, TableReader, TableWriter};
use events::OperationId;
use std::path::Path;

const LAYOUT: Layout = Layout {
    schema: "message region {
        required int32 world (INTEGER(32,false));
        required int32 rank (INTEGER(32,false));
        required int32 thread (INTEGER(32,false));
        optional int32 from_call_site (INTEGER(32,false));
        optional int32 call_site (INTEGER(32,false));
        required binary operation (STRING);
        required int64 calls (INTEGER(64,false));
        required double compute_s;
        required double mpi_s;
        required double mpi_max_s;
        required int64 bytes (INTEGER(64,false));
    }",
    growing: &[],
};

/// Time that one thread spent on the computation after one call site and on the MPI call that ends it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RegionRow {
    /// Index in [`Summary::worlds`](crate::Summary::worlds).
    pub world: u32,
    /// Rank in the world.
    pub rank: u32,
    /// Thread of the rank; 0 is the thread that initialized MPI.
    pub thread: u32,
    /// [`CallSite::id`](crate::summary::CallSite::id) of the call before; `None` at the start of a thread.
    pub from_call_site: Option<u32>,
    /// [`CallSite::id`](crate::summary::CallSite::id) of the call that ends the region, if known.
    pub call_site: Option<u32>,
    /// Operation called there.
    pub operation: OperationId,
    /// Number of calls.
    pub calls: u64,
    /// Time of computation before the calls, in s.
    pub compute_s: f64,
    /// Time inside the calls, in s.
    pub mpi_s: f64,
    /// Longest single call, in s.
    pub mpi_max_s: f64,
    /// Bytes moved.
    pub bytes: u64,
}

pub(crate) fn write(path: &Path, rows: &[RegionRow]) -> Result<(), TableError> {
    let mut table = TableWriter::create(path, &LAYOUT)?;
    table.group(|group| {
        group.u32(rows.iter().map(|r| r.world))?;
        group.u32(rows.iter().map(|r| r.rank))?;
        group.u32(rows.iter().map(|r| r.thread))?;
        group.optional_u32(rows.iter().map(|r| r.from_call_site))?;
        group.optional_u32(rows.iter().map(|r| r.call_site))?;
        group.words(rows.iter().map(|r| operation_name(r.operation)))?;
        group.u64(rows.iter().map(|r| r.calls))?;
        group.f64(rows.iter().map(|r| r.compute_s))?;
        group.f64(rows.iter().map(|r| r.mpi_s))?;
        group.f64(rows.iter().map(|r| r.mpi_max_s))?;
        group.u64(rows.iter().map(|r| r.bytes))
    })?;
    table.finish()
}

pub(crate) fn read(path: &Path) -> Result<Vec<RegionRow>, TableError> {
    let table = TableReader::open(path)?;
    let mut rows = Vec::new();
    for group in 0..table.n_groups() {
        read_group(&table, group, &mut rows)?;
    }
    Ok(rows)
}

fn read_group(
    table: &TableReader,
    group: usize,
    rows: &mut Vec<RegionRow>,
) -> Result<(), TableError> {
    let group = table.group(group)?;
    let world = group.u32("world")?;
    let rank = group.u32("rank")?;
    let thread = group.u32("thread")?;
    let from_call_site = group.optional_u32("from_call_site")?;
    let call_site = group.optional_u32("call_site")?;
    let operation = group.words("operation")?;
    let calls = group.u64("calls")?;
    let compute_s = group.f64("compute_s")?;
    let mpi_s = group.f64("mpi_s")?;
    let mpi_max_s = group.f64("mpi_max_s")?;
    let bytes = group.u64("bytes")?;
    rows.extend((0..world.len()).filter_map(|i| {
        Some(RegionRow {
            world: world[i],
            rank: rank[i],
            thread: thread[i],
            from_call_site: from_call_site[i],
            call_site: call_site[i],
            operation: operation_named(operation[i].data())?,
            calls: calls[i],
            compute_s: compute_s[i],
            mpi_s: mpi_s[i],
            mpi_max_s: mpi_max_s[i],
            bytes: bytes[i],
        })
    }));
    Ok(())
}
