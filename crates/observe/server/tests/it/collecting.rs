//! Runs in which all processes live to the end.

use crate::stage::{Rank, Stage, eventually, n_records_of, report_of};
use wire::ProcessReport;

fn finalizing(rank: u32, n_records: u64) -> Rank {
    Rank { rank, n_records, ending: "finalize" }
}

#[test]
fn everything_that_ranks_wrote_arrives_once_and_in_order() {
    let (stage, server) = Stage::new();
    let collector = stage.collector();
    let mut ranks: Vec<_> = (0..3).map(|rank| stage.rank(finalizing(rank, 5000))).collect();
    assert!(ranks.iter_mut().all(|rank| rank.ends()));
    let measured = stage.end(server, collector);
    assert_eq!(measured.processes.len(), 3);
    for rank in 0..3 {
        let report = report_of(&measured, rank);
        assert!(report.finalizing && report.gone && report.finalize_begin.is_some());
        assert_eq!(report.threads[0].regions[0].n_calls, 5000);
        assert_eq!((report.threads[0].n_written, report.threads[0].n_dropped), (5000, 0));
        assert_eq!(n_records_of(report.key.pid, &measured.spools), 5000);
    }
    assert_eq!(measured.n_records_lost, 0);
    assert_eq!(measured.warnings, Vec::<String>::new());
}

#[test]
fn statistics_need_no_records() {
    let (stage, server) = Stage::new();
    let collector = stage.collector();
    assert!(stage.rank(finalizing(2, 0)).ends());
    let measured = stage.end(server, collector);
    assert_eq!(report_of(&measured, 2).threads[0].regions[0].bytes, 3);
    assert!(measured.spools.is_empty());
}

#[test]
fn segments_from_before_the_collector_are_found() {
    let (stage, server) = Stage::new();
    assert!(stage.rank(finalizing(1, 200)).ends());
    let measured = stage.end(server, stage.collector());
    let pid = report_of(&measured, 1).key.pid;
    assert_eq!(n_records_of(pid, &measured.spools), 200);
}

#[test]
fn a_running_process_is_reported_with_the_call_it_is_in() {
    let (stage, server) = Stage::new();
    let collector = stage.collector();
    let mut rank = stage.rank(Rank { rank: 1, n_records: 0, ending: "wait" });
    let is_in_call = |report: &ProcessReport| {
        report.threads.iter().any(|thread| thread.in_call.is_some_and(|call| call.operation == 7))
    };
    assert!(eventually(|| server.processes().iter().any(is_in_call)));
    assert!(server.processes().iter().all(|report| !report.gone && !report.finalizing));
    rank.kill();
    let measured = stage.end(server, collector);
    let report = report_of(&measured, 1);
    assert!(report.gone && !report.finalizing && is_in_call(report));
    assert!(report.clock.first_ns < report.clock.last_ns, "the collector's own second point");
}

#[test]
fn mappings_are_read_again_when_a_call_site_is_in_none() {
    let (stage, server) = Stage::new();
    let collector = stage.collector();
    // The rank reports no modules, so the mapping of its own program is new.
    let _rank = stage.rank(Rank { rank: 0, n_records: 0, ending: "wait" });
    let own = std::env::current_exe().unwrap().display().to_string();
    assert!(eventually(|| server.processes().iter().any(|report| report.modules.contains(&own))));
    drop(_rank);
    assert!(report_of(&stage.end(server, collector), 0).modules.contains(&own));
}

#[test]
fn a_node_has_one_collector() {
    let (stage, server) = Stage::new();
    let first = stage.collector();
    let _rank = stage.rank(Rank { rank: 0, n_records: 0, ending: "wait" });
    assert!(eventually(|| server.processes().len() == 1));
    assert!(stage.collector().ends(), "the second leaves at once");
    drop(_rank);
    stage.end(server, first);
}
