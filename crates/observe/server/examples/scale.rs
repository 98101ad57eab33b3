//! Measures how many ranks one analyzer can serve: simulated ranks write events into real segments, real
//! collectors (one per simulated node) send them to a real analyzer with a tunlet that counts.
//!
//! `cargo run --release -p server --example scale -- [--ranks N] [--nodes N] [--rate EVENTS/S] [--seconds S] [--every]`
//!
//! Events alternate between entry and exit of a function. Prints a row of the table in `docs/benchmarks.md`.
#![allow(clippy::print_stdout, clippy::expect_used, reason = "a program whose result is printed")]

use app_description::{Actor, Application, AttributeSource, EventAttribute, EventPoint, RankSet};
use collector::{Collector, CollectorOptions, RunEnvironment, place};
use events::{EventRecord, FunctionKind, ValueType};
use ring::{Capacity, SegmentReader, SegmentWriter, ThreadWriter, clock};
use run_record::measured::RunFacts;
use run_record::tuning::TuningMode;
use run_record::{RunRecord, RunStart};
use server::{Server, ServerOptions, wait_until};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tuner::{TuningOptions, TuningPlan};
use tunlets::{Decision, Detail, News, Requests, Tunlet, TunletError, TunletSpec, World};
use wire::{EventFacts, Secret};

const RUN: u64 = 0x5ca1e;
const RING_RECORDS: u32 = 256;

struct Arguments {
    n_ranks: u32,
    n_nodes: u32,
    rate_hz: f64,
    seconds: f64,
    detail: Detail,
}

fn main() {
    let arguments = command_line();
    let dir = tempfile::Builder::new().prefix("scale-").tempdir().expect("a folder");
    let shm = tempfile::Builder::new().prefix("scale-").tempdir_in("/dev/shm").expect("a folder");
    let count = Arc::new(AtomicU64::new(0));
    let server = serve(&arguments, dir.path(), &count);
    let nodes = collect(&arguments, shm.path(), server.address());
    let mut ranks = Simulated::make(&arguments, shm.path());
    let n_known = || server.processes().len();
    let made = Instant::now();
    wait_until(made + Duration::from_secs(60), || n_known() == arguments.n_ranks as usize);
    println!("{} ranks are known after {:.1} s", n_known(), made.elapsed().as_secs_f64());
    let (cpu_before, simulation_before) = (cpu_s(false), cpu_s(true));
    let started = Instant::now();
    let mut late = 0_u64;
    while started.elapsed().as_secs_f64() < arguments.seconds {
        ranks.write(&arguments, started.elapsed().as_secs_f64());
        late = late.max(ranks.n_written.saturating_sub(count.load(Ordering::Relaxed)));
    }
    let took_s = started.elapsed().as_secs_f64();
    let cpu_simulating_s = cpu_s(true) - simulation_before;
    let (n_written, n_dropped) = (ranks.n_written, ranks.n_dropped());
    let behind = n_written.saturating_sub(n_dropped + count.load(Ordering::Relaxed));
    let ended = Instant::now();
    let arrived = wait_until(ended + Duration::from_secs(20), || {
        n_written - n_dropped <= count.load(Ordering::Relaxed)
    });
    let cpu_ours_s = cpu_s(false) - cpu_before - cpu_simulating_s;
    println!(
        "| ranks | asked/s | written/s | heard/s | largest lag, events | behind at the end | caught up after, s | dropped | CPU s/s, collectors and analyzer | CPU s/s, simulation |"
    );
    println!(
        "| {} | {:.0} | {:.0} | {:.0} | {late} | {behind} | {} | {n_dropped} | {:.2} | {:.2} |",
        arguments.n_ranks,
        arguments.rate_hz * f64::from(arguments.n_ranks),
        n_written as f64 / took_s,
        (n_written - n_dropped - behind) as f64 / took_s,
        if arrived { format!("{:.2}", ended.elapsed().as_secs_f64()) } else { "never".to_owned() },
        cpu_ours_s / took_s,
        cpu_simulating_s / took_s,
    );
    server.finish();
    server.close();
    drop(ranks);
    nodes.into_iter().for_each(|node| drop(node.join()));
}

fn command_line() -> Arguments {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |name: &str, otherwise: f64| {
        let at = arguments.iter().position(|argument| argument == name);
        at.and_then(|at| arguments.get(at + 1)?.parse().ok()).unwrap_or(otherwise)
    };
    let is_every = arguments.iter().any(|argument| argument == "--every");
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers")]
    Arguments {
        n_ranks: number("--ranks", 10_000.0) as u32,
        n_nodes: number("--nodes", 10.0) as u32,
        rate_hz: number("--rate", 100.0),
        seconds: number("--seconds", 20.0),
        detail: if is_every { Detail::Every } else { Detail::Summary },
    }
}

/// Adds up the number of passages that it is told about.
struct Counting(Arc<AtomicU64>, Detail);

impl Tunlet for Counting {
    fn spec(&self) -> TunletSpec {
        TunletSpec {
            name: "counting".to_owned(),
            problem: "none".to_owned(),
            needs_events: Vec::new(),
            needs_points: Vec::new(),
            options: Vec::new(),
        }
    }

    fn begin(&mut self, _: &Application, _: &World) -> Result<Requests, TunletError> {
        Ok(Requests { events: vec![self.1; 2], performance: false, points: Vec::new() })
    }

    fn hear(&mut self, news: &News, _: &mut Vec<Decision>) {
        let n = match news {
            News::Event(_) => 1,
            News::Summary(summary) => summary.attributes[0].n,
            _ => 0,
        };
        self.0.fetch_add(n, Ordering::Relaxed);
    }
}

fn serve(arguments: &Arguments, dir: &Path, count: &Arc<AtomicU64>) -> Server {
    let record = RunRecord::create(&dir.join("record"), RunStart::default()).expect("a record");
    let attribute = EventAttribute {
        name: "work".to_owned(),
        source: AttributeSource::Variable("work".to_owned()),
        kind: Some(ValueType::I32),
        line: 1,
    };
    let places = [("start", events::ProbePoint::Entry), ("end", events::ProbePoint::Exit)];
    let event = |(name, place): (&str, events::ProbePoint)| EventPoint {
        name: name.to_owned(),
        actor: 0,
        function: "iterate".to_owned(),
        place,
        attributes: vec![attribute.clone()],
        line: 1,
    };
    let facts = |(name, place): (&str, events::ProbePoint)| EventFacts {
        name: name.to_owned(),
        function: "iterate".to_owned(),
        place,
        attributes: vec![("work".to_owned(), ValueType::I32)],
    };
    let ranks = RankSet { spans: vec![(0, None)] };
    let application = Application {
        actors: vec![Actor { name: "all".to_owned(), ranks, line: 1 }],
        events: places.map(event).to_vec(),
        ..Application::default()
    };
    let tuning = TuningOptions {
        application,
        plan: TuningPlan { events: places.map(facts).to_vec(), ..TuningPlan::default() },
        tunlets: vec![Box::new(Counting(Arc::clone(count), arguments.detail))],
        mode: TuningMode::Observe,
        ..TuningOptions::default()
    };
    Server::start(ServerOptions {
        run: RUN,
        secret: secret(),
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        report_every: Duration::from_secs(2),
        snapshot_every: Duration::from_secs(5),
        spool_dir: record.spool_path(""),
        facts: RunFacts::default(),
        tuning: Some(tuning),
        tuning_lines: record.tuning_path(),
        tuning_switch: record.switch_path(),
    })
    .expect("an address to listen at")
}

fn secret() -> Secret {
    Secret::from_bytes([7; 32])
}

fn node_name(node: u32) -> String {
    format!("node{node}")
}

fn collect(
    arguments: &Arguments,
    shm: &Path,
    analyzer: SocketAddr,
) -> Vec<std::thread::JoinHandle<()>> {
    let start = |node| {
        let environment = RunEnvironment {
            run: RUN,
            shm_dir: shm.to_owned(),
            analyzers: vec![analyzer],
            secret: secret(),
            out: None,
            started_by: "rank".to_owned(),
            sample: false,
        };
        let options = CollectorOptions::default();
        let collector = Collector::take_node(&environment, &node_name(node), options);
        let collector = collector.expect("a folder").expect("nobody else has it");
        std::thread::spawn(move || collector.run())
    };
    (0..arguments.n_nodes).map(start).collect()
}

/// Ranks that only pass through a function.
struct Simulated {
    ranks: Vec<(PathBuf, ThreadWriter)>,
    n_written: u64,
    /// Index of the next rank to write; it wraps around after each round.
    turn: usize,
}

impl Simulated {
    fn make(arguments: &Arguments, shm: &Path) -> Self {
        let make = |rank: u32| {
            let dir = place::run_dir(shm, RUN).join(node_name(rank % arguments.n_nodes));
            let started = clock::ticks();
            let path = dir.join(format!("{rank}-{started:x}.segment"));
            let capacity =
                Capacity { n_threads: 1, n_regions: 8, n_peers: 4, n_records: RING_RECORDS };
            let segment = SegmentWriter::create(&path, capacity, started).expect("room");
            let header = segment.header();
            let (ticks, ns) = clock::point();
            header.rank.store(rank, Ordering::Relaxed);
            header.size.store(arguments.n_ranks, Ordering::Relaxed);
            header.world.store(77, Ordering::Relaxed);
            header.first_ticks.store(ticks, Ordering::Relaxed);
            header.first_ns.store(ns, Ordering::Relaxed);
            header.init_end_ticks.store(ticks, Ordering::Relaxed);
            // Orders are put into the mailbox, but never carried out.
            segment.open_control().expect("room");
            let thread = segment.attach_thread(1).expect("a block");
            segment.publish();
            (path, thread)
        };
        Self { ranks: (0..arguments.n_ranks).map(make).collect(), n_written: 0, turn: 0 }
    }

    /// Writes the records due after `elapsed_s`, then sleeps briefly.
    fn write(&mut self, arguments: &Arguments, elapsed_s: f64) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let due = (elapsed_s * arguments.rate_hz * f64::from(arguments.n_ranks)) as u64;
        while self.n_written < due {
            let n_ranks = self.ranks.len();
            let round = self.n_written / n_ranks as u64;
            let event = u32::from(round % 2 == 1);
            let (ticks, kind) = (clock::ticks(), FunctionKind::Event as u16);
            let values = [10, 0, 0, 0];
            let record = EventRecord { ticks, event, values, kind, ..EventRecord::default() };
            self.ranks[self.turn].1.push(&record.into());
            self.turn = (self.turn + 1) % n_ranks;
            self.n_written += 1;
        }
        std::thread::sleep(Duration::from_millis(1));
    }

    fn n_dropped(&self) -> u64 {
        let dropped = |(path, _): &(PathBuf, ThreadWriter)| {
            let reader = SegmentReader::open(path).expect("still there");
            reader.threads().map(|thread| thread.n_dropped()).sum::<u64>()
        };
        self.ranks.iter().map(dropped).sum()
    }
}

/// Returns the CPU seconds of the process, or of this thread.
fn cpu_s(is_thread: bool) -> f64 {
    let path = if is_thread { "/proc/thread-self/schedstat" } else { "/proc/self/stat" };
    let text = std::fs::read_to_string(path).expect("Linux");
    if is_thread {
        let ns = text.split_ascii_whitespace().next().and_then(|ns| ns.parse::<f64>().ok());
        return ns.unwrap_or(0.0) * 1e-9;
    }
    let fields = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = fields.split_ascii_whitespace().skip(11).take(2);
    ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}
