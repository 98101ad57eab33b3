//! Random messages, as `proptest` strategies.

use events::{
    Awaited, AwaitedRequest, CallRecord, Clock, CollectiveCalls, CommunicatorId, CommunicatorKey,
    Cores, Moments, OpenMpCounters, Peer, ProbePoint, ProcessKey, Rank, RegionCounters,
    SampledTime, SizeHistogram, Ticks, Usage, ValueType, WorldId,
};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::select;
use wire::{
    CommunicatorReport, EventShape, EventSummary, InCall, ProcessReport, ProcessSum, Records,
    SummaryBatch, ThreadRange, ThreadReport, ThreadState, ToAnalyzer, ToCollector,
};

pub(crate) fn to_analyzer() -> impl Strategy<Value = ToAnalyzer> {
    prop_oneof![
        (any::<u32>(), any::<u64>())
            .prop_map(|(probe, node_ns)| ToAnalyzer::ClockReply { probe, node_ns }),
        report().prop_map(|report| ToAnalyzer::Process(Box::new(report))),
        records().prop_map(ToAnalyzer::Records),
        batch().prop_map(ToAnalyzer::Summaries),
        (any::<u64>(), vec(any::<String>(), 0..3))
            .prop_map(|(n_lost, warnings)| ToAnalyzer::Finished { n_lost, warnings }),
    ]
}

pub(crate) fn to_collector() -> impl Strategy<Value = ToCollector> {
    prop_oneof![
        any::<u32>().prop_map(|probe| ToCollector::ClockProbe { probe }),
        (key(), any::<u32>(), any::<u64>()).prop_map(|(process, thread, up_to)| {
            ToCollector::Acknowledge { process, thread, up_to }
        }),
        (key(), any::<bool>()).prop_map(|(process, gone)| ToCollector::Kept { process, gone }),
        (vec(shape(), 0..4), any::<u32>(), any::<u32>()).prop_map(
            |(shapes, flush_every_ms, read_every_ms)| ToCollector::Events {
                shapes,
                flush_every_ms,
                read_every_ms,
            }
        ),
        (proptest::option::of(key()), vec(any::<u32>(), 0..5))
            .prop_map(|(process, events)| ToCollector::Summarize { process, events }),
        vec(range(), 0..4).prop_map(|ranges| ToCollector::Resume { ranges }),
        any::<u64>().prop_map(|number| ToCollector::Summed { number }),
        Just(ToCollector::Finish),
        Just(ToCollector::Leave),
    ]
}

pub(crate) fn records() -> impl Strategy<Value = Records> {
    (key(), any::<u32>(), any::<u64>(), vec(call(), 0..20))
        .prop_map(|(process, thread, first, records)| Records { process, thread, first, records })
}

fn batch() -> impl Strategy<Value = SummaryBatch> {
    let parts = (vec(event(), 0..3), vec(range(), 0..4));
    (any::<[u64; 2]>(), parts).prop_map(|([number, n_unmatched], (events, ranges))| SummaryBatch {
        number,
        events,
        ranges,
        n_unmatched,
    })
}

fn event() -> impl Strategy<Value = EventSummary> {
    let moments = (vec(moments(), 0..3), moments());
    (any::<[u32; 2]>(), any::<[u64; 3]>(), moments, vec(process_sum(), 0..3)).prop_map(
        |([event, n_ranks], [n, first_ticks, last_ticks], moments, processes)| {
            let (attributes, duration_ticks) = moments;
            let sum = EventSummary { event, n, n_ranks, ..EventSummary::default() };
            EventSummary { first_ticks, last_ticks, attributes, duration_ticks, processes, ..sum }
        },
    )
}

fn process_sum() -> impl Strategy<Value = ProcessSum> {
    (key(), any::<[u64; 2]>(), moments()).prop_map(|(process, [n, outer_ticks], duration_ticks)| {
        ProcessSum { process, n, duration_ticks, outer_ticks }
    })
}

fn moments() -> impl Strategy<Value = Moments> {
    (any::<u64>(), proptest::array::uniform4(-1e9..1e9_f64))
        .prop_map(|(n, [mean, squares, min, max])| Moments { n, mean, squares, min, max })
}

fn range() -> impl Strategy<Value = ThreadRange> {
    (key(), any::<u32>(), any::<[u64; 2]>(), vec(any::<(u32, u64)>(), 0..3)).prop_map(
        |(process, thread, [first, end], open)| ThreadRange { process, thread, first, end, open },
    )
}

fn shape() -> impl Strategy<Value = EventShape> {
    let kinds = vec(select(&ValueType::ALL[..]), 0..4);
    (any::<[bool; 2]>(), any::<u32>(), kinds).prop_map(
        |([is_exit, by_process], function, kinds)| {
            let place = if is_exit { ProbePoint::Exit } else { ProbePoint::Entry };
            EventShape { place, function, kinds, by_process }
        },
    )
}

fn key() -> impl Strategy<Value = ProcessKey> {
    (any::<u32>(), any::<u64>()).prop_map(|(pid, started)| ProcessKey { pid, started })
}

fn call() -> impl Strategy<Value = CallRecord> {
    any::<[u64; 8]>().prop_map(bytemuck::cast)
}

fn report() -> impl Strategy<Value = ProcessReport> {
    let numbers = (key(), any::<[u32; 4]>(), any::<[u64; 9]>(), any::<[bool; 3]>(), 0.0..1e6_f64);
    let parts = (any::<[String; 5]>(), vec(communicator(), 0..3), vec(thread(), 0..4));
    (numbers, parts).prop_map(|((key, small, large, flags, cost_ns_per_call), parts)| {
        let (texts, communicators, threads) = parts;
        let [rank, size, threads_refused, main_thread] = small;
        let [spawned, finalizing, gone] = flags;
        let [first_ticks, first_ns, last_ticks, last_ns, now, init_end, finalize_begin, ..] = large;
        let [.., world, reserved_bytes] = large;
        let [node, host, modules, library, program] = texts;
        ProcessReport {
            key,
            node,
            host,
            world: WorldId(world),
            rank: Rank(rank),
            size,
            spawned,
            finalizing,
            gone,
            left: gone && !finalizing,
            clock: Clock { first_ticks, first_ns, last_ticks, last_ns },
            now: Ticks(now),
            init_end: Ticks(init_end),
            finalize_begin: finalizing.then_some(Ticks(finalize_begin)),
            cost_ns_per_call,
            threads_refused,
            main_thread,
            reserved_bytes,
            library,
            program,
            modules,
            communicators,
            collectives: vec![CollectiveCalls { n_calls: large[0], ..CollectiveCalls::default() }],
            threads,
            openmp: vec![OpenMpCounters { address: large[1], ..OpenMpCounters::default() }],
            openmp_uncounted: size,
            usage: Usage { cpu_ns: reserved_bytes, n_reads: now, ..Usage::default() },
            cores: Cores { n_online: rank, quota: gone.then_some(1.5), ..Cores::default() },
        }
    })
}

fn communicator() -> impl Strategy<Value = CommunicatorReport> {
    (any::<u32>(), vec(any::<u32>(), 0..5))
        .prop_map(|(id, world_ranks)| CommunicatorReport { id: CommunicatorId(id), world_ranks })
}

fn thread() -> impl Strategy<Value = ThreadReport> {
    let in_call = any::<Option<(u16, u64)>>();
    (any::<[u32; 2]>(), vec(region(), 0..4), vec(peer(), 0..4), in_call, any::<[u64; 4]>())
        .prop_map(|([idx, tid], regions, peers, in_call, counts)| ThreadReport {
            idx,
            tid,
            regions,
            peers,
            in_call: in_call.map(|(operation, address)| InCall { operation, address }),
            awaited: in_call.map(|(operation, _)| awaited(operation, idx)),
            last_call: in_call.map(|(operation, address)| InCall { operation, address }),
            state: in_call.map(|(_, address)| match address % 3 {
                0 => ThreadState::Running,
                1 => ThreadState::Sleeping,
                _ => ThreadState::Stopped,
            }),
            since: Ticks(counts[0]),
            calls_without_region: counts[1],
            n_written: counts[2],
            n_dropped: counts[3],
        })
}

fn awaited(operation: u16, number: u32) -> Awaited {
    let communicator = CommunicatorKey { id: number, ordinal: 1 };
    let request = AwaitedRequest { operation, peer: number.cast_signed(), tag: -1, communicator };
    Awaited {
        communicator,
        peer: -3,
        n_requests: number,
        requests: vec![request; 2],
        ..Awaited::default()
    }
}

fn region() -> impl Strategy<Value = RegionCounters> {
    (any::<[u64; 7]>(), any::<u16>(), vec((0..43_usize, any::<u32>()), 0..5)).prop_map(
        |(numbers, operation, bins)| {
            let [address, previous, n_calls, mpi_ticks, compute_ticks, mpi_ticks_max, bytes] =
                numbers;
            let mut counts = [0; events::size_histogram::N_BINS];
            bins.into_iter().for_each(|(bin, count)| counts[bin] = count);
            RegionCounters {
                address,
                previous,
                operation,
                n_calls,
                mpi_ticks,
                compute_ticks,
                mpi_ticks_max,
                bytes,
                sizes: SizeHistogram::from_counts(counts),
                compute: SampledTime { elapsed: 9, cpu: 7, runqueue: operation.into() },
                mpi: SampledTime::default(),
            }
        },
    )
}

fn peer() -> impl Strategy<Value = (u32, Peer)> {
    (any::<u32>(), any::<[u64; 4]>()).prop_map(|(rank, counts)| {
        let [n_sent, bytes_sent, n_received, bytes_received] = counts;
        (rank, Peer { n_sent, bytes_sent, n_received, bytes_received, ..Peer::default() })
    })
}
