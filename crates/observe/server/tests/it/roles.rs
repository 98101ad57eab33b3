//! Roles of a test's other processes: this binary, started again to play one role.
//!
//! A role is an ignored test, so that it can be started by name but does not run with the others.

use collector::{Collector, CollectorOptions, RunEnvironment, place};
use events::{ActionRecord, CallRecord, EventRecord, FunctionKind, Value, ValueType};
use ring::control::{AnswerWriter, OrderReader};
use ring::{Capacity, SegmentWriter, ThreadWriter, clock};
use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wire::control::ActionEffect;
use wire::{Order, OrderAnswer};

/// Behavior of a rank after writing its records: see [`crate::stage::Rank`].
pub(crate) const ENDING: &str = "TEST_ENDING";
pub(crate) const RANK: &str = "TEST_RANK";
pub(crate) const N_RECORDS: &str = "TEST_RECORDS";
/// Number of records in a ring: fewer than a rank writes.
pub(crate) const RING_RECORDS: u32 = 256;
/// Number of records in the ring of a rank that passes functions.
pub(crate) const SUMMED_RING_RECORDS: u32 = 4096;
/// Return address that is in no module.
pub(crate) const ADDRESS: u64 = 0x1234;

fn variable(name: &str) -> String {
    std::env::var(name).expect("set by the test")
}

fn number(name: &str) -> u64 {
    variable(name).parse().expect("set by the test")
}

fn environment() -> RunEnvironment {
    RunEnvironment::from_variables(|name| std::env::var_os(name)).expect("set by the test")
}

#[test]
#[ignore = "a role in other tests, started by them"]
fn collector() {
    let options =
        CollectorOptions { patience: Duration::from_secs(1), ..CollectorOptions::default() };
    let collector = Collector::take(&environment(), options).expect("a folder that can be used");
    if let Some(collector) = collector {
        collector.run();
    }
}

#[test]
#[ignore = "a role in other tests, started by them"]
fn rank() {
    let folder = environment().run_dir().join(place::node_name());
    std::fs::create_dir_all(&folder).expect("a folder that can be used");
    let started = clock::ticks();
    let path = folder.join(format!("{}-{started:x}.segment", std::process::id()));
    let n_records = number(N_RECORDS);
    let ending = variable(ENDING);
    let ring_records = match ending.as_str() {
        "summed" => SUMMED_RING_RECORDS,
        _ if n_records == 0 => 0,
        _ => RING_RECORDS,
    };
    let capacity = Capacity { n_threads: 2, n_regions: 1024, n_peers: 4, n_records: ring_records };
    let segment = SegmentWriter::create(&path, capacity, started).expect("room for a segment");
    describe(&segment);
    let mut thread = segment.attach_thread(1).expect("a block for the only thread");
    let takes_orders = ["tuned", "summed"].contains(&&*ending);
    let control = takes_orders.then(|| segment.open_control().expect("room for it"));
    segment.publish();
    ring_doorbell(&folder);
    match control {
        Some(control) if ending == "tuned" => iterate(control, &mut thread, &folder),
        Some(control) => pass(control, &folder, &mut thread, n_records),
        None => work(&mut thread, n_records),
    }
    match ending.as_str() {
        "finalize" | "tuned" | "summed" => finalize(&segment, &folder),
        "wait" => {
            thread.enter(7, ADDRESS, clock::ticks());
            wait_for_input();
        }
        _ => {}
    }
}

fn describe(segment: &SegmentWriter) {
    use std::sync::atomic::Ordering::Relaxed;
    let header = segment.header();
    let (ticks, ns) = clock::point();
    header.rank.store(u32::try_from(number(RANK)).expect("small"), Relaxed);
    header.size.store(4, Relaxed);
    header.world.store(77, Relaxed);
    header.first_ticks.store(ticks, Relaxed);
    header.first_ns.store(ns, Relaxed);
    header.init_end_ticks.store(ticks, Relaxed);
    segment.write_text(&header.program, b"/bin/test");
}

/// Writes records numbered by their `bytes`, waiting for room so that none is dropped.
fn work(thread: &mut ThreadWriter, n_records: u64) {
    for number in 0..n_records {
        thread.region(ADDRESS, 0, 7).count(10, 20, number);
        let record = CallRecord { bytes: number, operation: 7, ..CallRecord::default() };
        while !thread.append(&record) {
            std::thread::yield_now();
        }
    }
    if n_records == 0 {
        thread.region(ADDRESS, 0, 7).count(10, 20, 3);
    }
}

fn finalize(segment: &SegmentWriter, folder: &Path) {
    use std::sync::atomic::Ordering::{Relaxed, Release};
    let (ticks, ns) = clock::point();
    segment.header().last_ticks.store(ticks, Relaxed);
    segment.header().last_ns.store(ns, Relaxed);
    segment.header().finalize_begin_ticks.store(ticks, Relaxed);
    segment.header().state.store(ring::LifeState::Finalizing as u32, Release);
    ring_doorbell(folder);
}

fn ring_doorbell(folder: &Path) {
    let socket = UnixDatagram::unbound().expect("a socket");
    // Without a collector, there is no receiver.
    socket.send_to(b"!", PathBuf::from(folder).join(place::DOORBELL)).ok();
}

/// Waits until the test ends, or closes the input.
fn wait_for_input() {
    std::io::stdin().read_to_end(&mut Vec::new()).ok();
}

/// Passes the function `n_calls` times once it may start: entry and exit, each with the number of the call, and
/// an occasional MPI call in between.
fn pass(
    (mut orders, mut answers): (OrderReader, AnswerWriter),
    folder: &Path,
    thread: &mut ThreadWriter,
    n_calls: u64,
) {
    loop {
        let n_rings = orders.bell().n_rings();
        match orders.pop().map(|order| wire::decode(&order).expect("an order")) {
            Some(Order::Go) => break,
            Some(Order::Install { .. }) => {
                let (refused, warnings) = (Vec::new(), Vec::new());
                let answer = OrderAnswer::Installed { refused, warnings, took_ns: 1 };
                answers.push(&wire::to_bytes(&answer).expect("short"));
                ring_doorbell(folder);
            }
            Some(_) => {}
            None => orders.bell().wait(n_rings, Duration::from_millis(100)),
        }
    }
    let mut push = |record: CallRecord| {
        while !thread.append(&record) {
            std::thread::yield_now();
        }
    };
    for number in 0..n_calls {
        push(passage(0, number));
        if number % 10 == 3 {
            push(CallRecord { bytes: number, operation: 7, ..CallRecord::default() });
        }
        push(passage(1, number));
        if number % 10 == 9 {
            // The duration of ten calls: a ring lasts longer than a reconnection takes.
            orders.bell().wait(orders.bell().n_rings(), Duration::from_millis(2));
        }
    }
}

fn passage(event: u32, number: u64) -> CallRecord {
    let (ticks, kind) = (clock::ticks(), FunctionKind::Event as u16);
    let values = [number, 0, 0, 0];
    EventRecord { ticks, event, values, kind, ..EventRecord::default() }.into()
}

const KIND: ValueType = ValueType::I32;

/// The only variable, and the actions pending for it.
struct State {
    value: Value,
    n_hits: u32,
    kept: BTreeMap<u64, (Value, Option<u32>)>,
    is_started: bool,
}

/// Iterates until the input ends, once it may start.
fn iterate(
    (mut orders, mut answers): (OrderReader, AnswerWriter),
    thread: &mut ThreadWriter,
    folder: &Path,
) {
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    std::thread::spawn(move || {
        wait_for_input();
        over.store(true, Ordering::SeqCst);
    });
    let kept = BTreeMap::new();
    let mut state = State { value: Value::Int(1), n_hits: 0, kept, is_started: false };
    while !is_over.load(Ordering::SeqCst) {
        let n_rings = orders.bell().n_rings();
        while let Some(order) = orders.pop() {
            let order = wire::decode(&order).expect("an order");
            state.take(order, &mut answers);
            ring_doorbell(folder);
        }
        if state.is_started {
            state.pass(thread);
        }
        // Duration of an iteration.
        orders.bell().wait(n_rings, Duration::from_millis(2));
        if state.is_started {
            thread.push(&passage(1, 10));
        }
    }
}

impl State {
    fn take(&mut self, order: Order, answers: &mut AnswerWriter) {
        let answer = match order {
            Order::Go => {
                self.is_started = true;
                return;
            }
            Order::Install { sites, .. } => {
                assert!(sites.len() == 1 && sites[0].entry.is_some() && sites[0].exit.is_some());
                OrderAnswer::Installed { refused: Vec::new(), warnings: Vec::new(), took_ns: 1 }
            }
            Order::Prepare { action, change: ActionEffect::Set { value, .. }, .. } => {
                self.kept.insert(action, (value, None));
                let old = KIND.bits(self.value).expect("its own");
                OrderAnswer::Ready { action, n_hits: self.n_hits, old, note: String::new() }
            }
            Order::Commit { action, at_hit } => {
                if let Some(kept) = self.kept.get_mut(&action) {
                    kept.1 = Some(at_hit);
                }
                return;
            }
            Order::Withdraw { action } => {
                let n_done = u32::from(self.kept.remove(&action).is_none());
                OrderAnswer::Withdrawn { action, n_done }
            }
            Order::Read { variables, .. } => {
                let bits = KIND.bits(self.value).expect("its own");
                let values = variables.iter().map(|(id, ..)| (*id, bits)).collect();
                OrderAnswer::Values { values }
            }
            _ => return,
        };
        answers.push(&wire::to_bytes(&answer).expect("short"));
    }

    /// Passes the sync point at the start of an iteration.
    fn pass(&mut self, thread: &mut ThreadWriter) {
        self.n_hits += 1;
        thread.push(&passage(0, 10));
        let n_hits = self.n_hits;
        let due = self.kept.extract_if(.., |_, (_, at_hit)| at_hit.is_some_and(|at| at <= n_hits));
        for (action, (value, _)) in due.collect::<Vec<_>>() {
            let bits = |value| KIND.bits(value).expect("in range");
            let (old, new) = (bits(self.value), bits(value));
            self.value = value;
            let (ticks, kind) = (clock::ticks(), FunctionKind::Action as u16);
            let done =
                ActionRecord { ticks, action, old, new, hit: n_hits, kind, ..Default::default() };
            thread.push(&done.into());
        }
    }
}
