//! Whole summaries of hand-made reports.

use super::*;
use crate::samples::{
    FIRST_TICKS, SECOND, STARTED_S, operation_number, peer, process_with, region, text_of,
};
use events::CodeAddress;
use events::Ticks;
use wire::{InCall, ProcessReport};

/// Names functions after their offsets; `/lib/stripped.so` has no line information.
struct Named;

impl SourceLookup for Named {
    fn place(&mut self, address: &CodeAddress<'_>) -> SourceLocation {
        SourceLocation {
            function: format!("f{:x}", address.file_offset),
            file: "/src/fire.c".into(),
            line: 7,
            module: address.module.into(),
            offset: address.file_offset,
        }
    }

    fn has_lines(&mut self, address: &CodeAddress<'_>) -> bool {
        address.module != "/lib/stripped.so"
    }
}

fn summary(processes: Vec<ProcessReport>) -> Summary {
    let measured = MeasuredRun { processes, n_records_lost: 2, ..MeasuredRun::default() };
    let facts = RunFacts {
        started_s: STARTED_S,
        wall_s: 12.5,
        command: vec!["mpirun".into()],
        ..RunFacts::default()
    };
    let roster = Roster::new(&measured, facts.started_s);
    let sites = Sites::new(&roster);
    summarize(&measured, &facts, (&roster, &sites), &mut Named)
}

/// Returns a rank 0 that computes 8 s and waits 2 s, and a rank 1 on another node that does the opposite.
fn two_nodes() -> Vec<ProcessReport> {
    let rank = |rank: u32, mpi_s: f64| {
        let send = region(rank, (0, 0x10), "MPI_Send", 4, (0.0, 1.0));
        let receive = region(rank, (0x10, 0x20), "MPI_Recv", 4, (mpi_s, 1.0));
        let mut process = process_with(3, rank, vec![send, receive]);
        process.node = format!("node{rank}-4026531840");
        process.host = format!("node{rank}");
        process.threads[0].peers = vec![(1 - rank, peer(4, 256, 4, 256))];
        process.threads[0].n_dropped = 1;
        process
    };
    vec![rank(1, 8.0), rank(0, 2.0)]
}

#[test]
fn a_run_is_summed_up() {
    let summary = summary(two_nodes());
    assert_eq!((summary.n_ranks, summary.n_nodes, summary.mpi.as_str()), (2, 2, "Open MPI v4.1.4"));
    assert!((summary.elapsed_s - 10.0).abs() < 1e-9);
    assert!((summary.pop.parallel_efficiency - 0.5).abs() < 1e-9);
    assert!((summary.pop.load_balance_out - 0.625).abs() < 1e-9);
    let useful_s: Vec<f64> = summary.ranks.iter().map(|rank| rank.useful_s).collect();
    assert_eq!(useful_s, [8.0, 2.0]);
    assert_eq!(summary.ranks[0].node, "node0");
    assert_eq!(summary.ranks[0].end, "finalized");
    assert_eq!((summary.ranks[1].calls, summary.ranks[1].bytes), (8, 512));
    assert_eq!(summary.operations["MPI_Recv"].calls, 8);
    assert_eq!(summary.traffic.len(), 2);
    let world = &summary.worlds[0];
    assert_eq!((world.n_ranks, world.size, world.program.as_str()), (2, 2, "/bin/fire"));
    assert!((world.start_s - 1.0).abs() < 1e-9);
}

#[test]
fn messages_that_are_waited_for_count_once_in_the_bytes_of_a_rank() {
    let regions = vec![
        region(0, (0, 0x10), "MPI_Irecv", 4, (0.0, 1.0)),
        region(0, (0x10, 0x20), "MPI_Waitall", 2, (1.0, 1.0)),
    ];
    let summary = summary(vec![process_with(0, 0, regions)]);
    assert_eq!((summary.ranks[0].calls, summary.ranks[0].bytes), (6, 256));
    assert_eq!(summary.operations["MPI_Waitall"].bytes, 128);
}

#[test]
fn a_call_site_has_its_place_and_the_time_of_every_rank() {
    let summary = summary(two_nodes());
    let site = &summary.call_sites[0];
    assert_eq!((site.id, site.operation.as_str(), site.calls), (0, "MPI_Recv", 8));
    assert_eq!(site.time_by_rank_s, [2.0, 8.0]);
    assert_eq!(site.sizes, [(64, 8)]);
    assert_eq!(call_in_words(site), "MPI_Recv at fire.c:7 (f1020)");
    let region = summary.regions.iter().find(|region| region.to == Some(0)).unwrap();
    assert_eq!((region.from, region.calls), (Some(1), 8));
    assert_eq!(region.compute_by_rank_s, [1.0, 1.0]);
}

#[test]
fn the_price_of_observing_is_told() {
    let summary = summary(two_nodes());
    let tool = &summary.tool;
    assert_eq!((tool.calls, tool.records_dropped, tool.shared_memory_bytes), (16, 4, 2000));
    assert!((tool.ns_per_call - 15.0).abs() < 1e-9);
    assert!((tool.share_of_time - 16.0 * 15e-9 / 20.0).abs() < 1e-15);
    assert!(tool.warnings.iter().any(|w| w.contains("4 records were dropped")), "{tool:?}");
}

#[test]
fn a_rank_that_did_not_finalize_says_where_it_was() {
    let mut processes = two_nodes();
    let dead = &mut processes[0];
    dead.finalizing = false;
    dead.finalize_begin = None;
    let call = InCall { operation: operation_number("MPI_Recv"), address: text_of(1) + 0x20 };
    dead.threads[0].in_call = Some(call);
    dead.threads[0].since = Ticks(FIRST_TICKS + 9 * SECOND);
    let check = |processes: Vec<ProcessReport>, end: &str, seen: Option<&str>| {
        let rank = &summary(processes).ranks[1];
        assert_eq!((rank.end.as_str(), rank.last_seen_in.as_deref()), (end, seen));
    };
    let somewhere = Some("MPI_Recv at fire.c:7 (f1020)");
    check(processes.clone(), "ended without MPI_Finalize", somewhere);
    processes[0].gone = false;
    check(processes.clone(), "running", somewhere);
    processes[0].threads[0].in_call = None;
    check(processes, "running", None);
}

#[test]
fn a_library_without_lines_is_named() {
    let mut processes = two_nodes();
    processes[0].modules = processes[0].modules.replace("/bin/fire", "/lib/stripped.so");
    let is_named = |processes: Vec<ProcessReport>| {
        summary(processes).tool.warnings.iter().any(|w| w.contains("`/lib/stripped.so`"))
    };
    assert!(is_named(processes.clone()));
    for counters in &mut processes[0].threads[0].regions {
        counters.mpi_ticks = 1;
    }
    assert!(!is_named(processes), "its calls take no time");
}

#[test]
fn a_run_without_mpi_is_an_empty_page_that_says_so() {
    let summary = summary(vec![]);
    assert_eq!((summary.n_ranks, summary.mpi.as_str()), (0, ""));
    assert!(summary.tool.warnings[0].contains("No MPI process was seen"));
    assert!((summary.wall_s - 12.5).abs() < 1e-9);
}

#[test]
fn a_library_has_a_name_and_a_version() {
    let check = |version: &str, expected: &str| assert_eq!(library(version), expected);
    check("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", "Open MPI v4.1.4");
    check("MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7", "MPICH 4.0.2");
    let intel = "Intel(R) MPI Library 2021.9 for Linux* OS";
    check(&format!("{intel}\n"), intel);
    check("", "");
}
