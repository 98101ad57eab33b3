//! Tables of files: MPI-IO by call site, and what the ranks read and write by system calls.

use super::{Listing, Medium, share};
use crate::{place, ranking};
use display::ink::Tone;
use display::table::{Cell, Table};
use display::text::shorten;
use display::units::{bytes, whole};
use run_record::Summary;
use run_record::summary::{CallSite, FileTotals, RankTotals};

/// Bytes of all ranks from which on their files are shown: programs read their libraries and write a few lines.
const BYTES_MIN: u64 = 1 << 20;

/// Returns the call sites of MPI-IO, most time first.
pub(super) fn mpi_io(summary: &Summary, medium: Medium) -> Listing {
    let all_s = ranking::time_of_all_s(summary);
    let class = |site: &CallSite| {
        summary.operations.get(&site.operation).is_some_and(|operation| operation.class == "io")
    };
    let sites: Vec<&CallSite> = summary.call_sites.iter().filter(|site| class(site)).collect();
    let table = Table::new(sites.iter().take(medium.n_max(8, 200)))
        .left("call", |site| shorten(&medium.operation(&site.operation), 18))
        .name("function", |site| place::function(&site.place))
        .name("place", |site| {
            let hint = place::full(&site.place);
            Cell::from(place::location(&site.place)).tone(Tone::Strong).hint(hint)
        })
        .right("calls", |site| Cell::count(site.calls))
        .right("time", |site| Cell::seconds(site.time_s))
        .right("share", |site| share(site.time_s, all_s))
        .right("bytes", |site| Cell::bytes(site.bytes))
        .right("per call", |site| Cell::bytes(site.bytes / site.calls.max(1)))
        .right("per second", |site| rate(site.bytes, site.time_s))
        .with_rows(|_| String::new());
    Listing {
        id: "mpi-io",
        title: "Files by MPI-IO",
        note: "time over all ranks; per second of a rank in the call",
        table,
        n_rows: sites.len(),
        remarks: Vec::new(),
    }
}

/// Returns the ranks with what they read and wrote, most bytes first.
pub(super) fn files(summary: &Summary, medium: Medium) -> Listing {
    let of = |rank| -> Option<(&RankTotals, FileTotals)> {
        let rank: &RankTotals = rank;
        Some((rank, rank.usage.as_ref()?.files))
    };
    let mut ranks: Vec<(&RankTotals, FileTotals)> = summary.ranks.iter().filter_map(of).collect();
    if ranks.iter().map(|(_, files)| moved(files)).sum::<u64>() < BYTES_MIN {
        ranks.clear();
    }
    let n_rows = ranks.len();
    ranks.sort_by_key(|(_, files)| std::cmp::Reverse(moved(files)));
    ranks.truncate(medium.n_max(4, 200));
    let table = Table::new(ranks)
        .right("rank", |(rank, _)| ranking::name(summary, rank))
        .right("read", |(_, files)| Cell::bytes(files.read_bytes))
        .right("written", |(_, files)| Cell::bytes(files.written_bytes))
        .right("system calls", |(_, files)| Cell::count(files.calls))
        .right("per call", |(_, files)| Cell::bytes(moved(files) / files.calls.max(1)))
        .right("per second", |(rank, files)| rate(moved(files), rank.elapsed_s))
        .with_rows(|_| String::new());
    Listing {
        id: "files",
        title: "Files",
        note: "of each rank by system calls, over its whole time; MPI's own transfers through files and sockets included",
        table,
        n_rows,
        remarks: Vec::new(),
    }
}

fn moved(files: &FileTotals) -> u64 {
    files.read_bytes.saturating_add(files.written_bytes)
}

fn rate(n_bytes: u64, time_s: f64) -> Cell {
    let per_s = n_bytes as f64 / time_s.max(f64::MIN_POSITIVE);
    match n_bytes {
        0 => Cell::from(""),
        _ => Cell::from(format!("{}/s", bytes(whole(per_s)))).value(per_s),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use run_record::summary::{OperationTotals, RankUsage};

    #[test]
    fn only_files_have_a_bandwidth() {
        let mut summary = Summary::default();
        let io = OperationTotals { class: "io".into(), ..OperationTotals::default() };
        summary.operations.insert("MPI_File_write".into(), io);
        let site = |operation: &str| CallSite {
            operation: operation.into(),
            calls: 10,
            bytes: 20 << 20,
            time_s: 2.0,
            ..CallSite::default()
        };
        summary.call_sites = vec![site("MPI_Send"), site("MPI_File_write")];
        let listing = mpi_io(&summary, Medium::Page);
        let text = listing.table.lines(200, false).join("\n");
        assert_eq!(listing.n_rows, 1);
        assert!(text.contains("10.0 MiB/s") && text.contains("2.00 MiB"), "{text}");
    }

    #[test]
    fn ranks_that_write_little_have_no_table() {
        let with = |written_bytes| {
            let files = FileTotals { written_bytes, calls: 4, ..FileTotals::default() };
            let usage = Some(RankUsage { files, ..RankUsage::default() });
            let rank = RankTotals { elapsed_s: 2.0, usage, ..RankTotals::default() };
            files_of(vec![rank])
        };
        fn files_of(ranks: Vec<RankTotals>) -> usize {
            files(&Summary { ranks, ..Summary::default() }, Medium::Page).n_rows
        }
        assert_eq!((with(1000), with(4 << 20)), (0, 1));
    }
}
