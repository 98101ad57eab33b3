//! Cost of a passage: calls of a function, each case with its own copy of the function.

use crate::functions::{call, site};
use crate::{all, print, quantile, rings};
use events::{ProbePoint, ValueType};
use instrument::{Attribute, Instrument, Refusal, Site, ValueSource};
use ring::clock::ticks;
use std::hint::black_box;
use std::sync::atomic::AtomicU64;

const N_ROUNDS: usize = 61;
const N_CALLS: i32 = 20_000;

static VARIABLE: AtomicU64 = AtomicU64::new(7);

/// Function without probes.
const PLAIN: usize = 0;

/// Site to install, and a change of it afterwards.
struct Case {
    name: &'static str,
    site: Site,
    then: fn(&Instrument, u32),
}

/// Installs all probes, and lets the cases take turns.
pub(crate) fn measure(probes: &Instrument) -> Result<(), Refusal> {
    let cases = cases();
    let sites: Vec<_> = cases.iter().map(|case| case.site.clone()).collect();
    all(probes.install(&sites))?;
    for case in &cases {
        (case.then)(probes, case.site.id);
    }
    let (mut plain, mut floor) = (Vec::new(), Vec::new());
    let mut probed = vec![Vec::new(); cases.len()];
    for _ in 0..N_ROUNDS {
        plain.push(call_ns(|number| call(PLAIN, number)));
        floor.push(call_ns(between_readings));
        for (idx, ns) in probed.iter_mut().enumerate() {
            ns.push(call_ns(|number| call(1 + idx, number)));
        }
    }
    assert_eq!(rings::n_written(), n_records(&sites), "no passage without its records");
    let names = ["plain", "floor"].into_iter().chain(cases.iter().map(|case| case.name));
    for (name, mut ns) in names.zip([plain, floor].into_iter().chain(probed)) {
        print(name, quantile(&mut ns, 0), quantile(&mut ns, 50));
    }
    all(probes.remove(&sites.iter().map(|site| site.id).collect::<Vec<_>>()))
}

/// Number of records of all rounds: one for each point, except those of the first site, which is switched off.
fn n_records(sites: &[Site]) -> u64 {
    let points = |site: &Site| u64::from(site.entry.is_some()) + u64::from(site.exit.is_some());
    let n_calls = N_ROUNDS as u64 * u64::from(N_CALLS.unsigned_abs());
    n_calls * sites.iter().skip(1).map(points).sum::<u64>()
}

fn cases() -> Vec<Case> {
    let of = |source, kind| Attribute { source, kind };
    let variable =
        of(ValueSource::Global((&raw const VARIABLE).expose_provenance()), ValueType::U64);
    let number = of(ValueSource::Integer(0), ValueType::I32);
    let long = of(ValueSource::Integer(1), ValueType::I64);
    let returned = of(ValueSource::Returned, ValueType::I32);
    let mut cases = Vec::new();
    let mut add = |name, entry: Option<&[Attribute]>, exit: Option<&[Attribute]>, then| {
        let idx = 1 + cases.len();
        let is_sync = matches!(name, "counted" | "armed");
        let site = Site { is_sync, ..site(idx, entry, exit) };
        cases.push(Case { name, site, then });
    };
    let nothing = |_: &Instrument, _| {};
    add("off", Some(&[]), Some(&[]), switch_off);
    add("entry", Some(&[]), None, nothing);
    add("pair", Some(&[]), Some(&[]), nothing);
    add("variable", Some(&[variable]), Some(&[]), nothing);
    add("three", Some(&[number, long, variable]), Some(&[]), nothing);
    add("returned", Some(&[]), Some(&[returned]), nothing);
    add("counted", Some(&[]), Some(&[]), nothing);
    add("armed", Some(&[]), None, arm);
    cases
}

fn switch_off(probes: &Instrument, site: u32) {
    probes.switch(site, ProbePoint::Entry, false);
    probes.switch(site, ProbePoint::Exit, false);
}

/// Arms an action that is never due, so that each passage checks it.
fn arm(probes: &Instrument, site: u32) {
    probes.arm(site, ProbePoint::Entry, 1, u32::MAX, Box::new(|_| false));
}

/// Cost of reading two time stamps, with a call in between.
fn between_readings(number: i32) -> i32 {
    black_box(ticks());
    let result = call(PLAIN, number);
    black_box(ticks());
    result
}

/// Processor time of one call, in nanoseconds.
fn call_ns(what: impl Fn(i32) -> i32) -> f64 {
    let start_ns = thread_ns();
    for number in 0..N_CALLS {
        black_box(what(black_box(number)));
    }
    (thread_ns() - start_ns) / f64::from(N_CALLS)
}

fn thread_ns() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the time into our variable.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
