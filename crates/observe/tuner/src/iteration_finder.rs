//! Iterations of a program that nobody described: a rank's MPI calls are recorded for a while, the call site that ends an
//! iteration is found in their sequence, and from then on only its passages are recorded.
//!
//! ```text
//! Waiting    until it is time to listen
//! Listening  to the next calls of the lowest rank, first to all, then to collectives alone
//! Measuring  passages of a call site, until they stop
//! ```

use crate::period::{self, Call, Period};
use events::tuning::IterationCalls;
use events::{CallRecord, CodeAddress, ModuleMap, OperationId, Rank, WatchedCall};
use mpi_abi::{Class, ParameterKind};
use std::collections::BTreeSet;
use tunlets::conductor::{Input, IterationSource};
use wire::control::WatchedCalls;
use wire::{Order, ProcessReport};

/// Calls recorded in one go.
const N_CALLS: u32 = 4096;
/// Time in s before the first look at recorded calls; later looks come after twice the time.
const FIRST_LOOK_S: f64 = 0.5;
/// Time in s without iterations after which tunlets no longer wait for some.
const PATIENCE_S: f64 = 3.0;
/// Longest time in s between two attempts.
const LONGEST_REST_S: f64 = 60.0;
/// Longest time in s for which one attempt listens.
const LONGEST_ATTEMPT_S: f64 = 60.0;
/// Least duration in s of what is measured: shorter iterations are joined.
const SHORTEST_S: f64 = 0.01;
/// Most passages for one record.
const N_JOINED_MAX: f64 = 1e6;
/// Time in s, and durations of the longest iteration, without a passage after which the loop is over.
const SILENCE: (f64, f64) = (5.0, 10.0);

/// Result of a step: an order for a rank, or news for the conductor.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Send an order to a rank.
    Order(Rank, Order),
    /// Tell the conductor.
    Tell(Input),
}

/// Finder of iterations; see the module documentation.
#[derive(Debug)]
pub(super) struct IterationFinder {
    /// Call site of the description.
    described: Option<String>,
    /// Lowest rank, with the index of its thread that calls MPI.
    watched: Option<WatchedRank>,
    /// Rank and thread that were asked for their calls.
    asked: Option<(Rank, u32)>,
    state: State,
    n_failures: u32,
    /// Time at which the first calls were asked for.
    first_s: Option<f64>,
    has_told: bool,
}

#[derive(Debug)]
struct WatchedRank {
    rank: Rank,
    thread: u32,
    modules: ModuleMap,
    /// Call sites that are not the described one.
    others: BTreeSet<u64>,
}

#[derive(Debug)]
enum State {
    Off,
    Waiting { until_s: f64 },
    Listening { since_s: f64, look_s: f64, calls: Vec<Call> },
    Measuring { mark: Mark, last_s: Option<f64>, heard_s: f64 },
}

/// Call site whose passages end iterations.
#[derive(Clone, Copy, Debug)]
struct Mark {
    address: u64,
    /// Duration of the longest iteration in s; 0 if it is not known yet.
    longest_s: f64,
    /// Calls in an iteration; 1 if not known.
    n_calls: f64,
    is_per_call: bool,
}

impl IterationFinder {
    /// Creates a finder, which does nothing if `is_wanted` is false; `described` names the call site that the description
    /// takes for the end of an iteration.
    pub(super) fn new(is_wanted: bool, described: Option<String>) -> Self {
        let state = if is_wanted { State::Waiting { until_s: 0.0 } } else { State::Off };
        let (watched, asked) = (None, None);
        Self { described, watched, asked, state, n_failures: 0, first_s: None, has_told: false }
    }

    /// Processes a report of a present rank; `name` names the place before a return address.
    pub(super) fn see(
        &mut self,
        rank: Rank,
        report: &ProcessReport,
        now_s: f64,
        name: impl FnMut(&CodeAddress<'_>) -> String,
    ) -> Vec<Step> {
        if matches!(self.state, State::Off)
            || self.watched.as_ref().is_some_and(|it| it.rank < rank)
        {
            return Vec::new();
        }
        let n_calls = |thread: &&wire::ThreadReport| {
            thread.regions.iter().map(|region| region.n_calls).sum::<u64>()
        };
        let busiest = report.threads.iter().max_by_key(n_calls);
        let thread = busiest.map_or(report.main_thread, |thread| thread.idx);
        let known = self.watched.take().filter(|it| it.rank == rank);
        let (mut modules, others) =
            known.map_or_else(Default::default, |known| (known.modules, known.others));
        if !report.modules.is_empty() {
            modules = ModuleMap::parse(&report.modules).0;
        }
        self.watched = Some(WatchedRank { rank, thread, modules, others });
        let mut steps: Vec<Step> = self.leave_other(now_s).into_iter().collect();
        steps.extend(self.look_for_described(report, now_s, name));
        steps
    }

    /// Ends the recording of calls in another thread than the watched one, and begins again with the watched one: a higher
    /// rank may have appeared first.
    fn leave_other(&mut self, now_s: f64) -> Option<Step> {
        let watched = self.watched.as_ref().map(|it| (it.rank, it.thread));
        let (rank, thread) = self.asked.take_if(|asked| Some(*asked) != watched)?;
        self.state = State::Waiting { until_s: now_s };
        Some(order(rank, thread, WatchedCalls::None, is_call))
    }

    /// Processes the end of a rank.
    pub(super) fn forget(&mut self, rank: Rank, now_s: f64) {
        if self.watched.as_ref().is_some_and(|it| it.rank == rank) {
            (self.watched, self.asked) = (None, None);
            if !matches!(self.state, State::Off) {
                self.state = State::Waiting { until_s: now_s };
            }
        }
    }

    /// Processes a record of a rank's thread; `time_s` converts ticks.
    pub(super) fn hear(
        &mut self,
        (rank, thread): (Rank, u32),
        record: &CallRecord,
        now_s: f64,
        time_s: impl Fn(u64) -> f64,
    ) -> Option<Step> {
        let heard = WatchedCall::of(record)?;
        let is_watched = |it: &WatchedRank| it.rank == rank && it.thread == thread;
        if !self.watched.as_ref().is_some_and(is_watched) {
            return None;
        }
        let end_s = time_s(heard.exit_ticks);
        match &mut self.state {
            State::Listening { calls, .. } => {
                let WatchedCall { address, operation, bytes, .. } = heard;
                calls.push(Call { address, operation, bytes, end_s });
                None
            }
            // Calls of the attempt before may still arrive.
            State::Measuring { mark, .. }
                if heard.address != mark.address || heard.n_calls == 1 && 1.0 < mark.n_calls =>
            {
                None
            }
            State::Measuring { mark, last_s, heard_s } => {
                *heard_s = now_s;
                let start_s = last_s.replace(end_s)?;
                mark.longest_s = mark.longest_s.max(end_s - start_s);
                let work = if mark.is_per_call { heard.n_calls as f64 / mark.n_calls } else { 1.0 };
                Some(Step::Tell(Input::IterationEnded { start_s, end_s, work }))
            }
            State::Off | State::Waiting { .. } => None,
        }
    }

    /// Does what is due at `now_s`; `name` names the place before a return address.
    pub(super) fn pass_time(
        &mut self,
        now_s: f64,
        name: impl FnMut(&CodeAddress<'_>) -> String,
    ) -> Vec<Step> {
        let Some(WatchedRank { rank, thread, .. }) = self.watched else { return Vec::new() };
        match &self.state {
            State::Waiting { until_s } if *until_s <= now_s && self.described.is_none() => {
                self.first_s.get_or_insert(now_s);
                let (since_s, look_s) = (now_s, now_s + FIRST_LOOK_S);
                self.state = State::Listening { since_s, look_s, calls: Vec::new() };
                let is_counted =
                    if self.n_failures.is_multiple_of(2) { is_call } else { is_collective };
                let calls = WatchedCalls::Next { n_calls: N_CALLS };
                self.asked = Some((rank, thread));
                vec![order(rank, thread, calls, is_counted)]
            }
            State::Listening { look_s, calls, .. }
                if *look_s <= now_s || N_CALLS as usize <= calls.len() =>
            {
                self.look(now_s, name)
            }
            State::Measuring { mark, heard_s, .. }
                if SILENCE.0.max(SILENCE.1 * mark.longest_s) < now_s - heard_s =>
            {
                self.n_failures = 0;
                self.state = State::Waiting { until_s: now_s };
                let text = "no iteration has ended for long: the program does something else now";
                vec![Step::Tell(Input::Iterations(IterationSource::Unknown(text.to_owned())))]
            }
            _ => Vec::new(),
        }
    }

    /// Looks for the period in what was heard.
    fn look(&mut self, now_s: f64, name: impl FnMut(&CodeAddress<'_>) -> String) -> Vec<Step> {
        let State::Listening { since_s, look_s, calls } = &mut self.state else {
            return Vec::new();
        };
        if let Some(found) = period::find(calls) {
            return self.measure(found, now_s, name);
        }
        let heard_s = now_s - *since_s;
        *look_s = now_s + heard_s.max(FIRST_LOOK_S);
        let n_calls = calls.len();
        if N_CALLS as usize <= n_calls || LONGEST_ATTEMPT_S <= heard_s {
            self.n_failures += 1;
            // The second attempt, to collectives alone, follows at once.
            let rest_s = f64::from(self.n_failures / 2).exp2() - 1.0;
            self.state = State::Waiting { until_s: now_s + rest_s.min(LONGEST_REST_S) };
        }
        let is_late = self.first_s.is_some_and(|first_s| PATIENCE_S <= now_s - first_s);
        if self.has_told || !(is_late || 2 <= self.n_failures) {
            return Vec::new();
        }
        self.has_told = true;
        let text = match n_calls {
            0 => {
                let rank = self.watched.as_ref().map_or(0, |it| it.rank.0);
                format!("no iteration was found: rank {rank} made no MPI calls in {heard_s:.0} s")
            }
            _ => format!(
                "no iteration was found: nothing repeats often enough in {n_calls} MPI calls"
            ),
        };
        vec![Step::Tell(Input::Iterations(IterationSource::Unknown(text)))]
    }

    fn measure(
        &mut self,
        found: Period,
        now_s: f64,
        mut name: impl FnMut(&CodeAddress<'_>) -> String,
    ) -> Vec<Step> {
        let Some(WatchedRank { rank, thread, modules, .. }) = &self.watched else {
            return Vec::new();
        };
        let n_joined = (SHORTEST_S / found.duration_s.max(1e-9)).ceil().clamp(1.0, N_JOINED_MAX);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "within its bounds"
        )]
        let every = found.every.saturating_mul(n_joined as u32);
        let place = modules.locate(found.address).map(|address| name(&address));
        let (duration_s, n_calls) = (n_joined * found.duration_s, n_joined * found.n_calls);
        let (address, is_per_call) = (found.address, found.is_per_call);
        let passages = match every {
            1 => "one passage".to_owned(),
            _ => format!("{every} passages"),
        };
        let text = format!(
            "an iteration is {passages} of {} in {}: {:.3} ms, {n_calls:.0} MPI calls",
            operation_name(found.operation),
            place.unwrap_or_else(|| format!("{address:#x}")),
            1e3 * duration_s,
        );
        let order = order(*rank, *thread, WatchedCalls::Site { address, every }, is_call);
        let mark = Mark { address, longest_s: duration_s, n_calls, is_per_call };
        self.state = State::Measuring { mark, last_s: None, heard_s: now_s };
        (self.n_failures, self.has_told) = (0, true);
        let calls = Some(IterationCalls { n: found.n_calls, n_joined });
        let source = IterationSource::Found { text, duration_s, calls };
        vec![order, Step::Tell(Input::Iterations(source))]
    }

    /// Looks among the call sites of a report for the described one.
    fn look_for_described(
        &mut self,
        report: &ProcessReport,
        now_s: f64,
        mut name: impl FnMut(&CodeAddress<'_>) -> String,
    ) -> Vec<Step> {
        let (Some(described), State::Waiting { .. }) = (&self.described, &self.state) else {
            return Vec::new();
        };
        let Some(WatchedRank { rank, modules, others, .. }) = &mut self.watched else {
            return Vec::new();
        };
        for thread in &report.threads {
            for region in &thread.regions {
                let Some(at) = modules.locate(region.address) else { continue };
                if !others.insert(region.address) {
                    continue;
                }
                let (operation, place) = (operation_name(region.operation), name(&at));
                if is_meant(described, operation, &place) {
                    let text = format!("an iteration is one passage of {operation} in {place}");
                    let (address, every) = (region.address, 1);
                    let mark = Mark { address, longest_s: 0.0, n_calls: 1.0, is_per_call: false };
                    self.state = State::Measuring { mark, last_s: None, heard_s: now_s };
                    let calls = WatchedCalls::Site { address, every };
                    self.asked = Some((*rank, thread.idx));
                    let source = IterationSource::Found { text, duration_s: 0.0, calls: None };
                    let tell = Step::Tell(Input::Iterations(source));
                    return vec![order(*rank, thread.idx, calls, is_call), tell];
                }
            }
        }
        Vec::new()
    }
}

/// Returns whether a description such as `solve.c:120` or `MPI_Allreduce in solve` means the call of an operation at a
/// place such as `solve (solve.c:120)`.
fn is_meant(described: &str, operation: &str, place: &str) -> bool {
    let (function, line) = match place.split_once(" (") {
        Some((function, line)) => (function, line.trim_end_matches(')')),
        None => (place, ""),
    };
    match described.split_once(" in ") {
        Some((named, within)) => named == operation && within == function,
        None => {
            let shorter = line.strip_suffix(described);
            shorter.is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
        }
    }
}

fn operation_name(operation: u16) -> &'static str {
    mpi_abi::operation(OperationId(operation)).map_or("an MPI call", |it| it.name.as_str())
}

/// Returns whether an operation is part of the program's steps: those that only look whether something has arrived are
/// called as often as there is time.
fn is_call(operation: &mpi_abi::Operation) -> bool {
    let is_look = operation.position(ParameterKind::Flag).is_some() || operation.stem == "Testsome";
    !is_look || operation.class == Class::Environment
}

fn is_collective(operation: &mpi_abi::Operation) -> bool {
    matches!(operation.class, Class::Collective | Class::Neighborhood)
}

fn order(
    rank: Rank,
    thread: u32,
    calls: WatchedCalls,
    is_counted: fn(&mpi_abi::Operation) -> bool,
) -> Step {
    let all = mpi_abi::operations();
    let mut operations = vec![0_u64; all.len().div_ceil(64)];
    for (at, _) in all.iter().enumerate().filter(|(_, operation)| is_counted(operation)) {
        operations[at / 64] |= 1 << (at % 64);
    }
    Step::Order(rank, Order::Watch { thread, calls, operations })
}

#[cfg(test)]
mod tests {
    use super::*;
    use events::{FunctionKind, RegionCounters};
    use wire::ThreadReport;

    const BARRIER: u16 = 7;

    fn named(address: &CodeAddress<'_>) -> String {
        format!("solve (solve.c:{})", address.file_offset)
    }

    fn report(addresses: &[u64]) -> ProcessReport {
        let region =
            |address: &u64| RegionCounters { address: *address, n_calls: 1, ..Default::default() };
        let regions = addresses.iter().map(region).collect();
        let modules = "1000-9000 r-xp 00000000 08:01 5 /bin/program\n".to_owned();
        let threads = vec![ThreadReport { idx: 2, regions, ..ThreadReport::default() }];
        ProcessReport { modules, threads, ..ProcessReport::default() }
    }

    fn record(address: u64, ticks: u64, n_calls: u64) -> CallRecord {
        let kind = FunctionKind::Watched as u16;
        let operation = BARRIER;
        WatchedCall {
            address,
            exit_ticks: ticks,
            n_calls,
            operation,
            kind,
            ..WatchedCall::default()
        }
        .into()
    }

    /// Lets the finder hear a record of rank 0 at its own time, a tick to a millisecond.
    fn hear(finder: &mut IterationFinder, record: &CallRecord) -> Option<Step> {
        let ticks = WatchedCall::of(record).unwrap().exit_ticks;
        finder.hear((Rank(0), 2), record, ticks as f64 * 1e-3, |ticks| ticks as f64 * 1e-3)
    }

    /// Returns what a step asks for, or tells.
    fn in_words(steps: &[Step]) -> Vec<String> {
        let words = |step: &Step| match step {
            Step::Order(Rank(rank), Order::Watch { thread, calls, .. }) => {
                format!("{rank}.{thread}: {calls:?}")
            }
            Step::Tell(Input::Iterations(
                IterationSource::Found { text, .. } | IterationSource::Unknown(text),
            )) => text.clone(),
            other => format!("{other:?}"),
        };
        steps.iter().map(words).collect()
    }

    #[test]
    fn a_loop_is_listened_to_found_measured_and_left() {
        let mut finder = IterationFinder::new(true, None);
        assert_eq!(finder.pass_time(0.0, named), [], "no rank is there");
        assert_eq!(finder.see(Rank(0), &report(&[0x1010]), 0.0, named), []);
        assert_eq!(in_words(&finder.pass_time(0.0, named)), ["0.2: Next { n_calls: 4096 }"]);
        for at in 0..300 {
            let address = 0x1010 + at % 3 * 0x10;
            assert_eq!(hear(&mut finder, &record(address, at, 1)), None);
        }
        assert_eq!(finder.pass_time(0.3, named), [], "more may come");
        let found = in_words(&finder.pass_time(0.5, named));
        assert!(
            found[0].starts_with("0.2: Site { address: 41") && found[0].ends_with("every: 4 }"),
            "{found:?}"
        );
        assert!(found[1].starts_with("an iteration is 4 passages of MPI_"), "{found:?}");
        assert!(found[1].ends_with("): 12.000 ms, 12 MPI calls"), "{found:?}");
        let State::Measuring { mark, .. } = finder.state else { panic!("{finder:?}") };
        assert_eq!(hear(&mut finder, &record(mark.address, 505, 1)), None, "of the attempt before");
        assert_eq!(hear(&mut finder, &record(mark.address, 512, 12)), None, "the first one");
        let ended = Input::IterationEnded { start_s: 0.512, end_s: 0.524, work: 1.0 };
        assert_eq!(hear(&mut finder, &record(mark.address, 524, 12)), Some(Step::Tell(ended)));
        assert_eq!(finder.pass_time(1.0, named), []);
        assert_eq!(finder.pass_time(6.0, named).len(), 1, "it is over");
        assert_eq!(finder.pass_time(6.0, named).len(), 1, "and another is looked for");
    }

    #[test]
    fn the_lowest_rank_is_asked_also_if_another_one_came_first() {
        let mut finder = IterationFinder::new(true, None);
        assert_eq!(finder.see(Rank(1), &report(&[0x1010]), 0.0, named), []);
        assert_eq!(in_words(&finder.pass_time(0.0, named)), ["1.2: Next { n_calls: 4096 }"]);
        assert_eq!(in_words(&finder.see(Rank(0), &report(&[0x1010]), 0.1, named)), ["1.2: None"]);
        assert_eq!(in_words(&finder.pass_time(0.1, named)), ["0.2: Next { n_calls: 4096 }"]);
        assert_eq!(finder.see(Rank(1), &report(&[0x1010]), 0.2, named), []);
        assert_eq!(finder.see(Rank(0), &report(&[0x1010]), 0.2, named), []);
        assert_eq!(finder.pass_time(0.2, named), []);
    }

    #[test]
    fn where_nothing_repeats_this_is_told_once_and_listened_again() {
        let mut finder = IterationFinder::new(true, None);
        finder.see(Rank(0), &report(&[]), 0.0, named);
        let mut told = Vec::new();
        for step in 0..2000 {
            told.extend(finder.pass_time(f64::from(step) * 0.05, named));
        }
        let told = in_words(&told);
        let texts = told.iter().filter(|text| text.starts_with("no iteration")).count();
        assert_eq!((texts, told.len()), (1, 3), "{told:?}");
    }

    #[test]
    fn a_described_call_is_found_among_those_that_were_made() {
        let mut finder = IterationFinder::new(true, Some("solve.c:32".to_owned()));
        assert_eq!(finder.see(Rank(0), &report(&[0x1010]), 0.0, named), []);
        assert_eq!(finder.pass_time(9.0, named), [], "it is not guessed");
        let found = in_words(&finder.see(Rank(0), &report(&[0x1010, 0x1020]), 9.0, named));
        assert_eq!(found[0], "0.2: Site { address: 4128, every: 1 }");
        finder.forget(Rank(0), 9.5);
        assert!(matches!(finder.state, State::Waiting { .. }));
    }

    #[test]
    fn calls_are_named_by_line_or_by_operation_and_function() {
        let is = |described| is_meant(described, "MPI_Allreduce", "cg::solve (src/solve.c:12)");
        assert!(is("solve.c:12") && is("src/solve.c:12") && is("MPI_Allreduce in cg::solve"));
        assert!(!is("solve.c:1") && !is("olve.c:12") && !is("MPI_Bcast in cg::solve"));
        assert!(!is_meant("solve.c:12", "MPI_Bcast", "main"));
    }
}
