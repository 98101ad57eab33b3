//! Numbers by which Paraver's own configurations identify MPI operations.
//!
//! Source: Extrae 5.1, `MPI_EventEncoding.h` (the numbers it writes into every trace).

use mpi_abi::{Class, Operation};
use std::collections::HashMap;
use std::sync::LazyLock;

/// Event type of an operation, and its value within that type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Encoded {
    pub(super) kind: u32,
    pub(super) value: u32,
}

/// Event types with their names, and the operations of each with their values.
pub(super) const KINDS: [(u32, &str, &str); 5] = [
    (
        50_000_001,
        "MPI Point-to-point",
        "Send=1 Recv=2 Isend=3 Irecv=4 Wait=5 Waitall=6 Bsend=33 Ssend=34 Rsend=35 Ibsend=36 Issend=37 Irsend=38 \
         Cancel=40 Sendrecv=41 Sendrecv_replace=42 Waitany=59 Waitsome=60 Probe=61 Iprobe=62 Bsend_init=112 Recv_init=116 \
         Send_init=117 Rsend_init=121 Ssend_init=122 Mprobe=190 Improbe=191 Mrecv=192 Imrecv=193",
    ),
    (
        50_000_002,
        "MPI Collective Comm",
        "Bcast=7 Barrier=8 Reduce=9 Allreduce=10 Alltoall=11 Alltoallv=12 Gather=13 Gatherv=14 Scatter=15 Scatterv=16 \
         Allgather=17 Allgatherv=18 Scan=30 Reduce_scatter=80 Ireduce=154 Iallreduce=155 Ibarrier=156 Ibcast=157 \
         Ialltoall=158 Ialltoallv=159 Iallgather=160 Iallgatherv=161 Igather=162 Igatherv=163 Iscatter=164 Iscatterv=165 \
         Ireduce_scatter=166 Iscan=167 Reduce_scatter_block=168 Ireduce_scatter_block=169 Alltoallw=170 Ialltoallw=171 \
         Neighbor_allgather=174 Ineighbor_allgather=175 Neighbor_allgatherv=176 Ineighbor_allgatherv=177 \
         Neighbor_alltoall=178 Ineighbor_alltoall=179 Neighbor_alltoallv=180 Ineighbor_alltoallv=181 \
         Neighbor_alltoallw=182 Ineighbor_alltoallw=183 Exscan=214 Iexscan=215",
    ),
    (
        50_000_003,
        "MPI Other",
        "Comm_create=21 Comm_dup=22 Comm_split=23 Comm_free=25 Init=31 Finalize=32 Test=39 Cart_create=43 Cart_sub=49 \
         Graph_create=54 Intercomm_create=96 Intercomm_merge=97 Abort=100 Buffer_detach=114 Request_free=115 Start=123 \
         Startall=124 Testall=125 Testany=126 Testsome=128 Type_free=132 Comm_spawn=151 Comm_spawn_multiple=152 \
         Request_get_status=153 Dist_graph_create=173 Comm_split_type=194 Comm_dup_with_info=211 \
         Dist_graph_create_adjacent=212 Comm_create_group=213",
    ),
    (
        50_000_004,
        "MPI One-sided",
        "Win_create=63 Win_free=64 Put=65 Get=66 Accumulate=67 Win_fence=68 Win_complete=69 Win_start=70 Win_post=71 \
         Win_wait=72 Win_test=73 Win_lock=74 Win_unlock=75 Get_accumulate=172 Fetch_and_op=184 Compare_and_swap=185 \
         Win_flush=186 Win_flush_all=187 Win_flush_local=188 Win_flush_local_all=189",
    ),
    (
        50_000_005,
        "MPI I/O",
        "File_open=141 File_close=142 File_read=143 File_read_all=144 File_write=145 File_write_all=146 File_read_at=147 \
         File_read_at_all=148 File_write_at=149 File_write_at_all=150 File_write_all_begin=195 File_write_all_end=196 \
         File_read_all_begin=197 File_read_all_end=198 File_write_at_all_begin=199 File_write_at_all_end=200 \
         File_read_at_all_begin=201 File_read_at_all_end=202 File_read_ordered=203 File_read_ordered_begin=204 \
         File_read_ordered_end=205 File_read_shared=206 File_write_ordered=207 File_write_ordered_begin=208 \
         File_write_ordered_end=209 File_write_shared=210",
    ),
];

/// First of our own numbers, for operations that Extrae does not number.
const OWN_VALUES: u32 = 10_000;

static ENCODED: LazyLock<HashMap<&str, Encoded>> = LazyLock::new(|| {
    let rows = KINDS.iter().flat_map(|(kind, _, all)| all.split(' ').map(move |row| (*kind, row)));
    let encoded = |(kind, row): (u32, &'static str)| {
        let (stem, value) = row.split_once('=')?;
        Some((stem, Encoded { kind, value: value.parse().ok()? }))
    };
    rows.filter_map(encoded).collect()
});

/// Returns the numbers of an operation; a large-count variant has those of its operation.
pub(super) fn encode(operation: &Operation) -> Encoded {
    if let Some(encoded) = ENCODED.get(operation.stem.as_str()) {
        return *encoded;
    }
    let kind = match operation.class {
        Class::PointToPoint | Class::Completion => 50_000_001,
        Class::Collective | Class::Neighborhood => 50_000_002,
        Class::OneSided => 50_000_004,
        Class::Io => 50_000_005,
        _ => 50_000_003,
    };
    let name = operation.name.trim_end_matches("_c");
    let own = mpi_abi::find(name).map_or(0, |id| u32::from(id.0));
    Encoded { kind, value: OWN_VALUES + own }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read() {
        let n_rows: usize = KINDS.iter().map(|(.., rows)| rows.split(' ').count()).sum();
        assert_eq!(ENCODED.len(), n_rows);
        assert_eq!(ENCODED["Exscan"], Encoded { kind: 50_000_002, value: 214 });
    }
}
