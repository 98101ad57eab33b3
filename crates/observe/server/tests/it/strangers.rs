//! Connections of strangers, and eavesdropping on or tampering with connections.

use crate::network::Network;
use crate::stage::{DEADLINE, RUN, Rank, Stage, eventually, has_written, n_records_of, report_of};
use channel::Handshake;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::Path;
use wire::{Secret, Verdict};

const WAITING: Rank = Rank { rank: 1, n_records: 5000, ending: "wait" };

/// Returns the analyzer's answer to these bytes, up to the end of the connection.
#[track_caller]
fn answer_to(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(DEADLINE)).expect("a deadline");
    // The analyzer may close the connection before it has read all bytes.
    stream.write_all(bytes).ok();
    stream.shutdown(Shutdown::Write).ok();
    let mut answer = Vec::new();
    let ended = stream.read_to_end(&mut answer).map_err(|error| error.kind());
    assert!(matches!(ended, Ok(_) | Err(ErrorKind::ConnectionReset)), "it does not hang up");
    answer
}

/// Returns the bytes that a collector of protocol 4 sends.
fn earlier_stream() -> Vec<u8> {
    let path = "../wire/tests/samples/protocol-4/collector.stream";
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a sample")
}

/// Strangers used to be answered with the number of the run, and a hundred of them left no room for real warnings.
#[test]
fn strangers_learn_nothing_and_are_one_number_in_the_report() {
    let (stage, server) = Stage::new();
    let (address, collector) = (server.address(), stage.collector());
    for number in 0..40_u8 {
        assert_eq!(answer_to(address, format!("GET /{number} HTTP/1.1\r\n\r\n").as_bytes()), b"");
        let record = [b"sintorun\x00\x40".as_slice(), &[number; 64]].concat();
        assert_eq!(answer_to(address, &record), b"");
        let mut earlier = earlier_stream();
        // Each attempt uses another run number.
        earlier[14] = number;
        assert_eq!(answer_to(address, &earlier), b"");
    }
    assert!(stage.rank(Rank { ending: "finalize", ..WAITING }).ends());
    let measured = stage.end(server, collector);
    let warnings = measured.warnings;
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(
        warnings[0].starts_with("a collector of an earlier version (its messages have version 4)")
    );
    assert!(warnings[1].starts_with("the analyzer rejected 120 connections"), "{warnings:?}");
}

/// Both the collector of a later version and the user reading the report are told about it.
#[test]
fn another_version_is_one_sentence_on_both_sides() {
    let (_stage, server) = Stage::new();
    let mut stream = TcpStream::connect(server.address()).expect("it listens");
    let prologue = [b"sintorun".as_slice(), &RUN.to_le_bytes()].concat();
    let mut handshake = Handshake::dialing(&prologue, &[7; 32]);
    let mut said = b"sintorun".to_vec();
    let hello = wire::to_bytes(&(wire::PROTOCOL + 1, "what comes later")).expect("short");
    handshake.seal(&hello, &mut said).expect("short");
    stream.write_all(&said).expect("it listens");
    let verdict = handshake.open(&channel::read_record(&mut stream).expect("it answers"));
    let verdict = wire::hello::unversioned(&verdict.expect("it has the secret"));
    let sentence = format!(
        "the other side uses protocol version {}, this side version {}; use one version of Sintonia on all nodes",
        wire::PROTOCOL + 1,
        wire::PROTOCOL
    );
    assert_eq!(verdict, Ok(Verdict::Refused { reason: sentence.clone() }));
    assert_eq!(stream.read(&mut [0]).expect("it hangs up"), 0);
    assert_eq!(server.close().warnings, [sentence]);
}

/// After the handshake, anyone between two nodes used to be able to read and write everything.
#[test]
fn what_is_said_cannot_be_read_on_the_way() {
    let (mut stage, server) = Stage::new();
    let network = Network::before(server.address());
    stage.address = network.address();
    let collector = stage.collector();
    // Before the collector is connected, it saves records in a file instead of sending them.
    let mut first = stage.rank(Rank { rank: 0, n_records: 0, ..WAITING });
    assert!(eventually(|| !server.processes().is_empty()));
    let mut rank = stage.rank(WAITING);
    // What did not come this way before the rank's death would be read from its segment.
    assert!(eventually(|| has_written(&server, 5000) && 5000 * 64 < network.overheard().len()));
    first.kill();
    rank.kill();
    let measured = stage.end(server, collector);
    let pid = report_of(&measured, 1).key.pid;
    assert_eq!(n_records_of(pid, &measured.spools), 5000);
    let said = [network.overheard(), network.overheard_back()].concat();
    let shows = |text: &[u8]| said.windows(text.len()).any(|bytes| bytes == text);
    // Neither the program's path nor the records' call site can be seen.
    assert!(!shows(b"/bin/test"));
    assert!(!shows(&crate::roles::ADDRESS.to_le_bytes()));
}

/// A byte altered in transit used to be accepted as an order.
#[test]
fn what_was_changed_on_the_way_is_said_again() {
    let (mut stage, server) = Stage::new();
    let network = Network::before(server.address());
    stage.address = network.address();
    let collector = stage.collector();
    let mut rank = stage.rank(Rank { n_records: 20_000, ..WAITING });
    assert!(eventually(|| !server.processes().is_empty()));
    network.lie_once();
    assert!(eventually(|| network.has_lied()));
    assert!(eventually(|| has_written(&server, 20_000)), "they connect again");
    rank.kill();
    let measured = stage.end(server, collector);
    let report = report_of(&measured, 1);
    assert_eq!(report.threads[0].n_dropped, 0);
    assert_eq!(n_records_of(report.key.pid, &measured.spools), 20_000);
}

/// A replayed connection of a collector must not count as news of a rank.
#[test]
fn what_was_overheard_is_no_key() {
    let (mut stage, server) = Stage::new();
    let (address, network) = (server.address(), Network::before(server.address()));
    stage.address = network.address();
    let mut collector = stage.collector();
    let mut rank = stage.rank(WAITING);
    assert!(eventually(|| !server.processes().is_empty()));
    let overheard = network.overheard();
    rank.kill();
    collector.kill();
    drop(server);
    stage.address = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = stage.serve(Secret::from_bytes([7; 32]), None);
    assert_ne!(server.address(), address);
    // The answer is as long as a welcome, and contains nothing readable.
    let answer = answer_to(server.address(), &overheard);
    assert!(answer.len() < 100, "{}", answer.len());
    assert!(server.processes().is_empty());
    assert_eq!(server.close().warnings.len(), 1);
}

/// IPv6 addresses used to be missing from those offered; one listener accepts both kinds.
#[test]
fn collectors_come_over_ipv6_as_well() {
    for listen in ["[::1]:0", "[::]:0"] {
        let (mut stage, server) = Stage::new();
        drop(server);
        stage.address = listen.parse().expect("an address");
        let server = stage.serve(Secret::from_bytes([7; 32]), None);
        let port = server.address().port();
        stage.address = SocketAddr::new("::1".parse().expect("an address"), port);
        let collector = stage.collector();
        assert!(stage.rank(Rank { n_records: 100, ending: "finalize", ..WAITING }).ends());
        let measured = stage.end(server, collector);
        let pid = report_of(&measured, 1).key.pid;
        assert_eq!(n_records_of(pid, &measured.spools), 100);
    }
}
