//! Runs in which a process is killed: the data in shared memory reach the record nevertheless.

use crate::network::Network;
use crate::stage::{Actor, Rank, Stage, eventually, has_written, n_records_of, report_of};
use collector::recover;
use run_record::measured::MeasuredRun;
use server::Server;
use wire::{ProcessReport, Secret};

const N_RECORDS: u64 = 200;
const WAITING: Rank = Rank { rank: 1, n_records: N_RECORDS, ending: "wait" };

#[track_caller]
fn check_whole(measured: &MeasuredRun, n_records: u64) {
    let report = report_of(measured, 1);
    assert_eq!(report.threads[0].regions[0].n_calls, n_records);
    assert_eq!(n_records_of(report.key.pid, &measured.spools), n_records);
    assert_eq!(measured.n_records_lost, 0);
}

/// Starts a run whose rank has written all its records, and waits.
#[track_caller]
fn waiting() -> (Stage, Server, Actor, Actor) {
    let (stage, server) = Stage::new();
    let (collector, rank) = (stage.collector(), stage.rank(WAITING));
    assert!(eventually(|| has_written(&server, N_RECORDS)));
    (stage, server, collector, rank)
}

#[test]
fn a_rank_that_is_killed() {
    let (stage, server, collector, mut rank) = waiting();
    rank.kill();
    let measured = stage.end(server, collector);
    check_whole(&measured, N_RECORDS);
    assert!(report_of(&measured, 1).gone);
}

#[test]
fn a_collector_that_is_killed_and_replaced() {
    let (stage, server) = Stage::new();
    let mut first = stage.collector();
    let mut rank = stage.rank(Rank { rank: 1, n_records: 20_000, ending: "finalize" });
    assert!(eventually(|| server.processes().iter().any(|p| 0 < p.threads[0].n_written)));
    first.kill();
    let second = stage.collector();
    assert!(rank.ends());
    check_whole(&stage.end(server, second), 20_000);
}

#[test]
fn a_collector_that_is_killed_for_good() {
    let (stage, server, mut collector, mut rank) = waiting();
    collector.kill();
    rank.kill();
    let measured = recover::complete(server.close(), &stage.record, &stage.facts());
    check_whole(&measured, N_RECORDS);
    recover::remove_left(&stage.facts());
    assert!(!stage.run_dir().exists());
}

#[test]
fn an_analyzer_that_is_gone_for_good() {
    let (stage, server, mut collector, mut rank) = waiting();
    drop(server);
    rank.kill();
    assert!(collector.ends(), "nobody needs it any more");
    assert!(!stage.run_dir().exists(), "everything is in files");
    let (facts, measured) = recover::unfinished(&stage.record);
    assert_eq!(facts, stage.facts());
    check_whole(&measured, N_RECORDS);
    assert!(report_of(&measured, 1).gone);
}

#[test]
fn a_connection_that_breaks() {
    let (mut stage, server) = Stage::new();
    let mut network = Network::before(server.address());
    stage.address = network.address();
    let collector = stage.collector();
    let mut rank = stage.rank(Rank { rank: 1, n_records: 30_000, ending: "finalize" });
    for _time in 0..3 {
        let written = |p: &ProcessReport| p.threads.first().map_or(0, |thread| thread.n_written);
        let before: u64 = server.processes().iter().map(written).sum();
        assert!(eventually(|| server.processes().iter().any(|p| p.gone || before < written(p))));
        network.cut();
    }
    assert!(rank.ends());
    check_whole(&stage.end(server, collector), 30_000);
}

#[test]
fn an_analyzer_and_a_collector_that_are_killed() {
    let (stage, server, mut collector, mut rank) = waiting();
    collector.kill();
    drop(server);
    rank.kill();
    let (_, measured) = recover::unfinished(&stage.record);
    check_whole(&measured, N_RECORDS);
}

#[test]
fn an_analyzer_that_is_gone_while_no_disk_takes_anything() {
    let (mut stage, server) = Stage::new();
    stage.has_disk = false;
    let mut collector = stage.collector();
    let mut rank = stage.rank(Rank { n_records: 0, ..WAITING });
    assert!(eventually(|| !server.processes().is_empty()));
    drop(server);
    rank.kill();
    assert!(collector.ends());
    assert!(stage.run_dir().exists(), "it is still in shared memory");
    let (_, measured) = recover::unfinished(&stage.record);
    assert_eq!(report_of(&measured, 1).threads[0].regions[0].n_calls, 1);
}

#[test]
fn who_does_not_know_the_secret_is_told_nothing() {
    let (stage, server) = Stage::new();
    drop(server);
    let stranger = stage.serve(Secret::from_bytes([8; 32]), None);
    let mut collector = stage.collector();
    assert!(stage.rank(Rank { ending: "vanish", ..WAITING }).ends());
    assert!(collector.ends(), "it gives up and spills");
    assert!(stranger.processes().is_empty());
    drop(stranger);
    let (_, measured) = recover::unfinished(&stage.record);
    check_whole(&measured, N_RECORDS);
}
