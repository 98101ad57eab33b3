//! Finder of iterations in made sequences of calls.

use super::*;
use events::{FunctionKind, RegionCounters};
use wire::ThreadReport;
use wire::control::WatchedCalls;

const BARRIER: u16 = 7;
/// Index of the thread that calls MPI.
const THREAD: u32 = 2;

fn named(address: &CodeAddress<'_>) -> String {
    format!("solve (solve.c:{})", address.file_offset)
}

/// Report of a rank whose call sites were passed this often.
fn report(sites: &[(u64, u64)]) -> ProcessReport {
    let region = |(address, n_calls): &(u64, u64)| RegionCounters {
        address: *address,
        n_calls: *n_calls,
        operation: BARRIER,
        ..Default::default()
    };
    let regions = sites.iter().map(region).collect();
    let modules = "1000-9000 r-xp 00000000 08:01 5 /bin/program\n".to_owned();
    let threads = vec![ThreadReport { idx: THREAD, regions, ..ThreadReport::default() }];
    ProcessReport { modules, threads, ..ProcessReport::default() }
}

fn record(address: u64, ticks: u64, n_calls: u64) -> CallRecord {
    let kind = FunctionKind::Watched as u16;
    let operation = BARRIER;
    WatchedCall { address, exit_ticks: ticks, n_calls, operation, kind, ..WatchedCall::default() }
        .into()
}

/// A program in simulated time, a tick to a millisecond: each rank makes a call per tick.
struct Program {
    finder: IterationFinder,
    /// Time in ms.
    now: u64,
    /// Call sites of each rank with the numbers of their passages.
    passed: Vec<Vec<(u64, u64)>>,
    /// What the probe of each rank records: a call site with its passages for a record, or 0 for the next calls.
    recorded: Vec<Option<(u64, u32)>>,
    /// Passages and calls of each rank since its last record.
    since: Vec<(u32, u64)>,
    has_ended: Vec<bool>,
    told: Vec<String>,
    n_ended: usize,
}

impl Program {
    fn new(n_ranks: usize, described: Option<&str>) -> Self {
        let finder = IterationFinder::new(true, described.map(str::to_owned));
        let mut program = Self {
            finder,
            now: 0,
            passed: vec![Vec::new(); n_ranks],
            recorded: vec![None; n_ranks],
            since: vec![(0, 0); n_ranks],
            has_ended: vec![false; n_ranks],
            told: Vec::new(),
            n_ended: 0,
        };
        program.report();
        program
    }

    fn now_s(&self) -> f64 {
        self.now as f64 * 1e-3
    }

    fn report(&mut self) {
        for rank in (0..self.passed.len()).filter(|rank| !self.has_ended[*rank]).collect::<Vec<_>>()
        {
            let report = report(&self.passed[rank]);
            let rank = Rank(u32::try_from(rank).unwrap());
            let mut steps = self.finder.see(rank, &report, self.now_s(), named);
            steps.extend(self.finder.count(rank, &report, self.now_s()));
            self.take(steps);
        }
    }

    fn take(&mut self, steps: Vec<Step>) {
        for step in steps {
            match step {
                Step::Order(Rank(rank), Order::Watch { thread, calls, .. }) => {
                    assert_eq!(thread, THREAD);
                    self.since[rank as usize] = (0, 0);
                    self.recorded[rank as usize] = match calls {
                        WatchedCalls::None => None,
                        WatchedCalls::Next { .. } => Some((0, 1)),
                        WatchedCalls::Site { address, every } => Some((address, every)),
                    };
                }
                Step::Tell(Input::Iterations(
                    IterationSource::Found { text, .. }
                    | IterationSource::Windows { text, .. }
                    | IterationSource::Unknown(text),
                )) => self.told.push(text),
                Step::Tell(Input::IterationEnded { .. }) => self.n_ended += 1,
                other => panic!("{other:?}"),
            }
        }
    }

    /// Lets a time in ms pass without calls.
    fn pause(&mut self, ms: u64) {
        for _ in 0..ms {
            self.now += 1;
            let steps = self.finder.pass_time(self.now_s(), named);
            self.take(steps);
            if self.now.is_multiple_of(200) {
                self.report();
            }
        }
    }

    /// Lets ranks make calls, a letter for a call site; a space is a time without a call.
    fn call(&mut self, texts: &[String]) {
        let n_calls = texts.iter().map(String::len).max().unwrap_or(0);
        for at in 0..n_calls {
            for (rank, text) in texts.iter().enumerate() {
                if let Some(letter) = text.as_bytes().get(at).filter(|letter| **letter != b' ') {
                    self.call_at(rank, 0x1000 + u64::from(*letter));
                }
            }
            self.pause(1);
        }
    }

    fn call_at(&mut self, rank: usize, address: u64) {
        match self.passed[rank].iter_mut().find(|(known, _)| *known == address) {
            Some((_, n_passed)) => *n_passed += 1,
            None => self.passed[rank].push((address, 1)),
        }
        let Some((site, every)) = self.recorded[rank] else { return };
        let (n_passed, n_calls) = &mut self.since[rank];
        *n_calls += 1;
        *n_passed += u32::from(site == 0 || site == address);
        if *n_passed == every && (site == 0 || site == address) {
            let record = record(address, self.now, *n_calls);
            self.since[rank] = (0, 0);
            let from = (Rank(u32::try_from(rank).unwrap()), THREAD);
            let step = self.finder.hear(from, &record, self.now_s(), |ticks| ticks as f64 * 1e-3);
            self.take(step.into_iter().collect());
        }
    }

    /// Checks the beginnings and ends of all sentences.
    #[track_caller]
    fn check(&self, expected: &[(&str, &str)]) {
        let fits = |(text, (begin, end)): (&String, &(&str, &str))| {
            text.starts_with(begin) && text.ends_with(end)
        };
        let fit = self.told.iter().zip(expected).all(fits);
        assert!(fit && self.told.len() == expected.len(), "{:?}, not {expected:?}", self.told);
    }
}

/// Some turns of a loop.
fn turns(text: &str, n: usize) -> String {
    text.repeat(n)
}

#[test]
fn a_loop_is_listened_to_found_measured_and_left() {
    let mut program = Program::new(1, None);
    program.call(&[turns("abc", 200)]);
    program.check(&[("an iteration is 4 passages of MPI_", "12.000 ms, 12 MPI calls of rank 0")]);
    assert!(5 < program.n_ended, "{}", program.n_ended);
    program.pause(6000);
    let over = "no iteration has ended for long: the program does something else now";
    assert_eq!(program.told[1..], [over]);
    program.call(&[turns("xyzw", 300)]);
    assert_eq!(program.told.len(), 3, "{:?}", program.told);
}

#[test]
fn ranks_that_come_late_are_listened_to_if_they_are_low() {
    let mut finder = IterationFinder::new(true, None);
    assert_eq!(finder.pass_time(0.0, named), [], "no rank is there");
    let mut listen = |rank| {
        let steps = finder.see(Rank(rank), &report(&[]), 0.0, named);
        let rank = |step: &Step| match step {
            Step::Order(Rank(rank), Order::Watch { calls, .. }) => {
                (*rank, *calls != WatchedCalls::None)
            }
            other => panic!("{other:?}"),
        };
        steps.iter().map(rank).collect::<Vec<_>>()
    };
    for rank in [5, 4, 1] {
        assert_eq!(listen(rank), [(rank, true)]);
    }
    assert_eq!(listen(0), [(5, false), (0, true)]);
    assert_eq!(listen(5), []);
    assert_eq!(listen(0), []);
}

#[test]
fn a_program_that_computes_first_is_waited_for() {
    let mut program = Program::new(2, None);
    program.call(&["irs".to_owned(), "irs".to_owned()]);
    program.pause(20_000);
    program.check(&[]);
    program.call(&[turns("abc", 200), turns("abc", 200)]);
    program.check(&[("an iteration is", "of rank 0")]);
}

#[test]
fn where_nothing_repeats_this_is_told_once_and_listened_again() {
    let mut program = Program::new(1, None);
    for at in 0..9000 {
        program.call_at(0, 0x1000 + at);
        program.pause(1);
    }
    program.check(&[("no iteration was found: nothing repeats often enough in", "MPI calls")]);
    program.call(&[turns("abc", 1500)]);
    assert_eq!(program.told.len(), 2, "{:?}", program.told);
}

#[test]
fn where_the_same_calls_come_in_any_order_windows_are_compared_until_iterations_are_found() {
    let mut program = Program::new(1, None);
    let mut place = 1_u32;
    for at in 0..180_000 {
        place = place.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        program.call_at(0, 0x1000 + u64::from((place >> 16) % 300));
        program.pause(u64::from(at % 20 == 0));
    }
    program.check(&[
        ("no iteration was found: nothing repeats often enough in", "MPI calls"),
        ("no iteration was found, but rank 0 makes MPI calls", "are compared by them"),
    ]);
    assert!(5 < program.n_ended, "{}", program.n_ended);
    program.call(&[turns("abc", 9000)]);
    assert!(
        program.told.iter().any(|text| text.starts_with("an iteration is")),
        "{:?}",
        program.told
    );
}

#[test]
fn a_rank_that_does_something_else_is_not_measured() {
    let mut program = Program::new(4, None);
    let worker = turns("swrc ", 200);
    program.call(&[turns("                       g", 40), worker.clone(), worker.clone(), worker]);
    program.check(&[("an iteration is", "of rank 1")]);
}

#[test]
fn where_the_lowest_ranks_are_silent_others_are_listened_to() {
    let mut program = Program::new(6, None);
    let (idle, worker) = (String::new(), turns("swrc", 500));
    program.call(&[idle.clone(), idle.clone(), idle, worker.clone(), worker.clone(), worker]);
    program.check(&[("an iteration is", "of rank 3")]);
}

#[test]
fn a_rank_that_ends_is_replaced() {
    let mut program = Program::new(2, None);
    program.call(&[turns("abc", 200), turns("abc", 200)]);
    program.finder.forget(Rank(0), program.now_s());
    program.has_ended[0] = true;
    program.call(&[String::new(), turns("abc", 200)]);
    program.check(&[("an iteration is", "of rank 0"), ("an iteration is", "of rank 1")]);
}

#[test]
fn the_loop_after_a_setup_loop_is_found_soon() {
    let mut program = Program::new(1, None);
    program.call(&[turns("xyz", 400)]);
    let left = program.now;
    let has_found = |program: &Program| program.told.len() == 2;
    while !has_found(&program) && program.now < left + 5000 {
        program.call(&[turns("abcde", 1)]);
    }
    assert!(has_found(&program) && program.now < left + 1500, "{:?} {}", program.told, program.now);
}

#[test]
fn a_loop_that_uses_the_same_call_site_otherwise_is_another_one() {
    let mut program = Program::new(1, None);
    program.call(&[turns("axyz", 400)]);
    program.call(&[turns("abcdefghijkmnopq", 200)]);
    program.check(&[
        ("an iteration is", "12 MPI calls of rank 0"),
        ("an iteration is", "16 MPI calls of rank 0"),
    ]);
}

#[test]
fn much_output_now_and_then_raises_a_doubt_that_nobody_hears_of() {
    let mut program = Program::new(1, None);
    program.call(&[turns("abc", 300)]);
    let n_ended = program.n_ended;
    for _ in 0..4 {
        program.call(&[turns("o", 450)]);
        program.call(&[turns("abc", 600)]);
    }
    program.check(&[("an iteration is", "of rank 0")]);
    assert!(n_ended + 100 < program.n_ended, "{n_ended} {}", program.n_ended);
}

#[test]
fn a_described_call_counts_from_its_first_passage() {
    let mut program = Program::new(2, Some(&format!("solve.c:{}", u64::from(b'b'))));
    program.call(&[turns("abc", 20), turns("abc", 20)]);
    program.check(&[("an iteration is one passage of MPI_", "on rank 0")]);
    assert_eq!(program.n_ended, 19);
    program.pause(60_000);
    program.call(&[turns("abc", 1), turns("abc", 1)]);
    assert_eq!((program.n_ended, program.told.len()), (20, 1), "it is not given up");
}

#[test]
fn a_described_call_is_found_late_in_the_report_of_any_rank() {
    let mut program = Program::new(5, Some(&format!("solve.c:{}", u64::from(b'z'))));
    let calls = |text: &str| vec![text.to_owned(); 4].into_iter();
    program.call(&calls(&turns("abc", 2000)).chain([String::new()]).collect::<Vec<_>>());
    program.check(&[]);
    let last =
        [turns("abc", 100), turns("abc", 100), turns("abc", 100), String::new(), turns("xyz", 100)];
    program.call(&last);
    program.check(&[("an iteration is one passage of MPI_", "on rank 4")]);
    assert!(2 < program.n_ended);
}
