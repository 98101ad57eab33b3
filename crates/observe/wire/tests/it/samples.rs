//! Sample streams of both sides with every kind of message, as files, from this version and from earlier ones.
//!
//! When the encoding of a message changes, increase [`wire::PROTOCOL`] and keep the streams of the version before: a
//! receiver of such a stream must report in one sentence what the user has to do.

use events::{
    CallRecord, Clock, CommunicatorId, CoreSet, Cores, Moments, OpenMpCounters, Peer, ProbePoint,
    ProcessKey, Rank, RegionCounters, SampledTime, SizeHistogram, Ticks, Usage, Value, ValueType,
    WorldId,
};
use frame::FrameBuffer;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use wire::control::{
    ActionEffect, Attribute, Lever, Location, Module, Replacement, Site, SitePoint, ValueOrigin,
    WatchedCalls, Way, WayStart,
};
use wire::{
    CommunicatorReport, EventShape, EventSummary, FRAMES, InCall, Order, OrderAnswer, PROTOCOL,
    PathNode, ProcessReport, ProcessSamples, ProcessSum, Records, SummaryBatch, ThreadRange,
    ThreadReport, ToAnalyzer, ToCollector,
};

const KEY: ProcessKey = ProcessKey { pid: 4711, started: 123_456_789 };

/// Every message of a collector, in the order in which a connection carries them.
fn of_collector() -> Vec<ToAnalyzer> {
    let answers = [
        OrderAnswer::Installed {
            refused: vec![(1, "too short".to_owned())],
            warnings: vec![(2, "slow".to_owned())],
            took_ns: 1_500_000,
        },
        OrderAnswer::Ready { action: 7, n_hits: 12, old: 4, note: "linear".to_owned() },
        OrderAnswer::Refused { action: 8, reason: "no such site".to_owned() },
        OrderAnswer::Withdrawn { action: 9, n_done: 3 },
        OrderAnswer::Detached { refused: vec![(2, "in use".to_owned())] },
        OrderAnswer::Values { values: vec![(0, 4), (1, 8)] },
    ];
    let before = [
        ToAnalyzer::Process(Box::new(report())),
        ToAnalyzer::ClockReply { probe: 3, node_ns: 1_700_000_000_000_000_000 },
        ToAnalyzer::Records(Records { process: KEY, thread: 0, first: 40, records: calls() }),
        ToAnalyzer::Summaries(batch()),
        ToAnalyzer::Samples(Box::new(sampled())),
    ];
    let answers = answers.map(|answer| ToAnalyzer::Answer { process: KEY, answer });
    let end = ToAnalyzer::Finished { n_lost: 2, warnings: vec!["a segment is damaged".to_owned()] };
    before.into_iter().chain(answers).chain([end]).collect()
}

fn way(start: WayStart) -> Way {
    Way { start, n_steps: 2, offsets: [8, -16, 0, 0] }
}

/// Every message of an analyzer, in the order in which a connection carries them.
fn of_analyzer() -> Vec<ToCollector> {
    let shape = EventShape {
        place: ProbePoint::Entry,
        function: 1,
        kinds: ValueType::ALL.to_vec(),
        by_process: true,
    };
    let before = [
        ToCollector::Events { shapes: vec![shape], flush_every_ms: 100, read_every_ms: 10 },
        ToCollector::Summarize { process: Some(KEY), events: vec![1, 2] },
        ToCollector::Summarize { process: None, events: vec![3] },
        ToCollector::Resume { ranges: vec![range()] },
        ToCollector::ClockProbe { probe: 3 },
        ToCollector::Acknowledge { process: KEY, thread: 0, up_to: 42 },
        ToCollector::Summed { number: 17 },
        ToCollector::Kept { process: KEY, gone: false },
    ];
    let orders = orders().into_iter();
    let orders = orders.map(|order| ToCollector::Order { process: KEY, order: Box::new(order) });
    before.into_iter().chain(orders).chain([ToCollector::Finish, ToCollector::Leave]).collect()
}

fn sampled() -> ProcessSamples {
    ProcessSamples {
        process: KEY,
        node: "n".to_owned(),
        period_ns: 10_101_010,
        samples: 12,
        lost: 1,
        cut: 2,
        cost_ns: 900,
        problem: "no room".to_owned(),
        modules: "400000-500000 r-xp 00000000 00:00 1 /bin/program\n".to_owned(),
        nodes: vec![PathNode::default(), PathNode { parent: 0, address: 0x40_1000, samples: 12 }],
    }
}

fn orders() -> Vec<Order> {
    let at = Location { module: 0, address: 0x4010 };
    let modules = vec![Module { name: "libx.so".to_owned(), build_id: vec![1, 2, 3] }];
    let source = |source| Attribute { source, kind: ValueType::I32 };
    let attributes = vec![
        source(ValueOrigin::Global(at)),
        source(ValueOrigin::Integer(1)),
        source(ValueOrigin::Referred(2)),
        source(ValueOrigin::Float(3)),
        source(ValueOrigin::Returned),
        source(ValueOrigin::Reached(way(WayStart::Argument(1)))),
        source(ValueOrigin::Reached(way(WayStart::Variable(at)))),
    ];
    let site = Site {
        id: 1,
        function: at,
        n_bytes: 64,
        n_bytes_to_next: 80,
        entry: Some(SitePoint { event: 1, attributes, is_on: true }),
        exit: None,
        is_sync: true,
    };
    let changes = [
        ActionEffect::Set { at, kind: ValueType::I32, value: Value::Int(8) },
        ActionEffect::Call {
            function: at,
            arguments: vec![(ValueType::F64, Value::Float(0.5))],
            returns: None,
        },
        ActionEffect::Load { path: "/lib/other.so".to_owned() },
        ActionEffect::Replace { site: 1, by: Replacement::Function(at) },
        ActionEffect::Replace { site: 1, by: Replacement::Exported("libx.so:f".to_owned()) },
        ActionEffect::Replace { site: 1, by: Replacement::Original },
        ActionEffect::Lever { lever: Lever::Waiting, value: 2 },
        ActionEffect::SetReached {
            way: way(WayStart::Argument(1)),
            kind: ValueType::F64,
            value: Value::Float(0.25),
        },
    ];
    let prepare = |change| Order::Prepare {
        action: 7,
        modules: modules.clone(),
        sync: (1, ProbePoint::Exit),
        change,
        repeats: false,
    };
    let mut orders = vec![
        Order::Install { modules: modules.clone(), sites: vec![site] },
        Order::Remove { sites: vec![1] },
        Order::Switch { points: vec![(1, ProbePoint::Entry)], on: true },
    ];
    orders.extend(changes.map(prepare));
    orders.extend([
        Order::Commit { action: 7, at_hit: 12 },
        Order::Withdraw { action: 7 },
        Order::Go,
        Order::Detach,
        Order::Watch {
            thread: 0,
            calls: WatchedCalls::Site { address: 64, every: 3 },
            operations: vec![5, 0, 1 << 63],
        },
        Order::ReleaseLevers,
        Order::Read { modules: modules.clone(), variables: vec![(0, at, ValueType::I32)] },
    ]);
    orders
}

fn calls() -> Vec<CallRecord> {
    let call = |i: u64| CallRecord {
        enter_ticks: 1000 + i,
        exit_ticks: 2000 + i,
        address: 0x40_1000,
        bytes: 8 * i,
        ..CallRecord::default()
    };
    vec![call(1), call(2)]
}

fn moments() -> Moments {
    Moments { n: 2, mean: 1.5, squares: 0.5, min: 1.0, max: 2.0 }
}

fn range() -> ThreadRange {
    ThreadRange { process: KEY, thread: 0, first: 40, end: 42, open: vec![(1, 1001)] }
}

fn batch() -> SummaryBatch {
    let event = EventSummary {
        event: 1,
        n: 2,
        n_ranks: 1,
        first_ticks: 1001,
        last_ticks: 1002,
        attributes: vec![moments()],
        duration_ticks: moments(),
        processes: vec![ProcessSum {
            process: KEY,
            n: 2,
            duration_ticks: moments(),
            outer_ticks: 3,
        }],
    };
    SummaryBatch { number: 17, events: vec![event], ranges: vec![range()], n_unmatched: 1 }
}

fn report() -> ProcessReport {
    let mut counts = [0; events::size_histogram::N_BINS];
    counts[3] = 2;
    let region = RegionCounters {
        address: 0x40_1000,
        previous: 0x40_0f00,
        operation: 7,
        n_calls: 2,
        mpi_ticks: 2000,
        compute_ticks: 5000,
        mpi_ticks_max: 1200,
        bytes: 16,
        sizes: SizeHistogram::from_counts(counts),
        compute: SampledTime { elapsed: 5, cpu: 3, runqueue: 1 },
        mpi: SampledTime { elapsed: 3, cpu: 2, runqueue: 0 },
    };
    let peer =
        Peer { n_sent: 1, bytes_sent: 8, n_received: 1, bytes_received: 8, ..Peer::default() };
    let thread = ThreadReport {
        tid: 4711,
        regions: vec![region],
        peers: vec![(1, peer)],
        in_call: Some(InCall { operation: 7, address: 0x40_1000 }),
        since: Ticks(2002),
        n_written: 42,
        n_dropped: 1,
        ..ThreadReport::default()
    };
    ProcessReport {
        key: KEY,
        node: "node1-4026531840".to_owned(),
        host: "node1".to_owned(),
        world: WorldId(77),
        rank: Rank(1),
        size: 4,
        finalizing: true,
        clock: Clock { first_ticks: 1, first_ns: 2, last_ticks: 3, last_ns: 4 },
        now: Ticks(3000),
        init_end: Ticks(900),
        finalize_begin: Some(Ticks(2900)),
        cost_ns_per_call: 42.5,
        reserved_bytes: 1 << 20,
        library: "Open MPI v4.1.4".to_owned(),
        program: "/bin/program".to_owned(),
        modules: "400000-500000 r-xp 00000000 00:00 1 /bin/program\n".to_owned(),
        communicators: vec![CommunicatorReport {
            id: CommunicatorId(1),
            world_ranks: vec![0, 1, u32::MAX],
        }],
        threads: vec![thread],
        openmp: vec![OpenMpCounters {
            address: 0x40_2001,
            n_executions: 3,
            elapsed_ticks: 900,
            team_ticks: 1800,
            busy_ticks: 1500,
            busy_max_ticks: 800,
            late_ticks: 50,
            n_threads_max: 2,
            ..OpenMpCounters::default()
        }],
        usage: Usage { cpu_ns: 5_000_000, n_threads: 2, ..Usage::default() },
        cores: Cores {
            mask: CoreSet::parse("0-1,4").expect("a list"),
            quota: Some(1.5),
            n_online: 8,
            ..Cores::default()
        },
        ..ProcessReport::default()
    }
}

fn folder(protocol: u16) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/samples/protocol-{protocol}"))
}

/// Asserts that the messages encode to the sample file of the current version, and that the file decodes to them.
#[track_caller]
fn check<M: Serialize + DeserializeOwned + PartialEq + Debug>(name: &str, expected: &[M]) {
    let path = folder(PROTOCOL).join(name);
    let mut stream = Vec::new();
    expected.iter().for_each(|message| FRAMES.encode(message, &mut stream).expect("short"));
    let sample = std::fs::read(&path).unwrap_or_default();
    let made = std::env::temp_dir().join(name);
    std::fs::write(&made, &stream).expect("a place for the stream");
    assert!(
        stream == sample,
        "`{}` is what version {PROTOCOL} is: where messages change, let `PROTOCOL` grow and add a folder with `{}`",
        path.display(),
        made.display()
    );
    let mut frames = FrameBuffer::new(FRAMES);
    frames.push(&sample);
    for message in expected {
        assert_eq!(frames.next_message::<M>().expect("a message").as_ref(), Some(message));
    }
    assert_eq!(frames.n_waiting(), 0);
}

#[test]
fn the_bytes_of_this_version_do_not_change() {
    check("collector.stream", &of_collector());
    check("analyzer.stream", &of_analyzer());
}

/// A collector of an earlier version is distinguished from a stranger, so that the report can tell the user what to do.
#[test]
fn a_collector_of_an_earlier_version_is_known_by_its_first_bytes() {
    let stream = std::fs::read(folder(4).join("collector.stream")).expect("a sample");
    assert_eq!(wire::hello::earlier_version(&stream[..16]), Some(4));
    assert_eq!(wire::hello::earlier_version(&stream[..12]), None);
    let present = std::fs::read(folder(PROTOCOL).join("collector.stream")).expect("a sample");
    assert_eq!(wire::hello::earlier_version(&present), None);
}
