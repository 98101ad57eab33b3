//! Table of what ranks used of processors, memory and files.

use super::{Listing, Medium};
use crate::ranking;
use display::table::{Cell, Table};
use display::text::harmless;
use display::units::{percent, plural, share_of};
use run_record::Summary;
use run_record::summary::{NodeUsage, RankTotals, RankUsage};

/// Returns the ranks of which the system told what they used, those that waited longest for a core first.
pub(super) fn processors(summary: &Summary, medium: Medium) -> Listing {
    let known = |rank| -> Option<(&RankTotals, &RankUsage)> {
        let rank: &RankTotals = rank;
        Some((rank, rank.usage.as_ref()?))
    };
    let mut ranks: Vec<(&RankTotals, &RankUsage)> =
        summary.ranks.iter().filter_map(known).collect();
    let n_rows = ranks.len();
    ranks.sort_by(|a, b| b.0.runqueue_s().total_cmp(&a.0.runqueue_s()));
    ranks.truncate(medium.n_max(8, 200));
    let table = Table::new(ranks)
        .right("rank", |(rank, _)| ranking::name(summary, rank))
        .right("cores", |(_, it)| cores(it))
        .right("busy threads", |(_, it)| Cell::count(it.n_busy_threads))
        .when(medium.is_wide())
        .right("CPU time", |(_, it)| Cell::seconds(it.cpu_s))
        .right("in the kernel", |(_, it)| Cell::seconds(it.system_s))
        .when(medium.is_wide())
        .right("waiting for a core", |(rank, _)| Cell::seconds(rank.runqueue_s()))
        .right("share", |(rank, _)| {
            let share = share_of(rank.runqueue_s(), rank.elapsed_s);
            Cell::percent(share).tone(super::tone(share))
        })
        .right("blocked", |(_, it)| Cell::seconds(it.blocked_s))
        .right("page faults", |(_, it)| Cell::count(it.page_faults))
        .right("switches", |(_, it)| Cell::count(it.context_switches))
        .when(medium.is_wide())
        .right("memory", |(_, it)| Cell::bytes(it.memory_max_bytes))
        .right("files", |(_, it)| {
            Cell::bytes(it.files.read_bytes.saturating_add(it.files.written_bytes))
        })
        .when(medium.is_wide())
        .with_rows(|_| String::new());
    Listing {
        id: "processors",
        title: "Cores and memory",
        note: "waiting and blocked: of the thread that called MPI_Init; files: read and written, MPI's own transfers included",
        table,
        n_rows,
        remarks: summary.nodes.iter().take(medium.n_max(4, 64)).map(node).collect(),
    }
}

fn cores(usage: &RankUsage) -> Cell {
    let n_cores = usage.cores_allowed;
    let is_whole = (n_cores - n_cores.round()).abs() < 0.05;
    let text = if is_whole { format!("{n_cores:.0}") } else { format!("{n_cores:.1}") };
    Cell::from(text).value(n_cores).hint(format!("cores {}", harmless(&usage.cores)))
}

/// Returns `node0: 8 ranks on 2 cores (4.0 ranks per core)`.
fn node(node: &NodeUsage) -> String {
    let others = if node.foreign_cores < 0.05 {
        String::new()
    } else {
        format!("; other programs used {} of a core", percent(node.foreign_cores))
    };
    format!(
        "{}: {} on {:.1} cores, {:.2} ranks and {:.2} busy threads per core{others}.",
        harmless(&node.node),
        plural(node.n_ranks, "rank"),
        node.n_cores,
        node.ranks_per_core,
        node.threads_per_core,
    )
}
