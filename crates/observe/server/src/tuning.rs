//! Thread of the tuner: hands it what the connections receive, and carries what it does to collectors and record.
//!
//! # Invariants
//! - Writing records to disk never waits for tunlets: events that arrive too fast are not delivered to them, and
//!   are counted. Answers and actions are always delivered.

mod inbox;

pub(crate) use inbox::Inbox;

use crate::Shared;
use events::CodeAddress;
use events::tuning::TuningLine;
use run_record::TuningWriter;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};
use symbols::Resolver;
use tuner::{Outlet, Tuner, TuningOptions};
use wire::ToCollector;

/// Longest time between two ticks of the conductor.
const TICK: Duration = Duration::from_millis(20);

/// Starts the thread, which ends when the inbox is closed and returns sentences about the tool's own problems.
pub(crate) fn start(
    (options, lines): (TuningOptions, &Path),
    inbox: Arc<Inbox>,
    shared: &Arc<Shared>,
) -> io::Result<JoinHandle<Vec<String>>> {
    let clock = RunClock::new(shared.facts.started_s);
    let outlet = RunOutlet::new(Arc::clone(shared), lines);
    let tuner = Tuner::new(options, outlet, shared.facts.started_s, clock.now_s());
    Builder::new().name("tuning".to_owned()).spawn(move || run(tuner, &clock, &inbox))
}

fn run(mut tuner: Tuner<RunOutlet>, clock: &RunClock, inbox: &Inbox) -> Vec<String> {
    loop {
        let batch = inbox.take(TICK);
        for input in batch.inputs {
            tuner.hear(clock.now_s(), input);
        }
        tuner.pass_time(clock.now_s());
        if batch.is_last {
            let outlet = tuner.finish(clock.now_s(), batch.n_unheard);
            return outlet.problem.into_iter().collect();
        }
    }
}

/// Clock of a run, which never goes back.
struct RunClock {
    from: Instant,
    /// Seconds of the run at `from`.
    from_s: f64,
}

impl RunClock {
    /// Creates the clock of a run that started at `started_s`, in s since 1970.
    fn new(started_s: f64) -> Self {
        let (_, now_ns) = ring::clock::point();
        Self { from: Instant::now(), from_s: now_ns as f64 * 1e-9 - started_s }
    }

    fn now_s(&self) -> f64 {
        self.from_s + self.from.elapsed().as_secs_f64()
    }
}

/// Collectors and record of a run. An error of writing ends the recording of lines, not the run.
struct RunOutlet {
    shared: Arc<Shared>,
    lines: Option<TuningWriter>,
    /// Reason why lines are missing.
    problem: Option<String>,
    resolver: Resolver,
}

impl RunOutlet {
    fn new(shared: Arc<Shared>, lines: &Path) -> Self {
        let opened = TuningWriter::open(lines);
        let problem = opened.as_ref().err().map(ToString::to_string);
        Self { shared, lines: opened.ok(), problem, resolver: Resolver::new() }
    }
}

impl Outlet for RunOutlet {
    fn say(&self, node: &str, message: &ToCollector) -> bool {
        self.shared.say(node, message)
    }

    fn record(&mut self, line: TuningLine) {
        if let Some(lines) = &mut self.lines
            && let Err(error) = lines.append(&line)
        {
            let problem = || format!("decisions are missing in the record: {error}");
            self.problem.get_or_insert_with(problem);
        }
    }

    fn name(&mut self, address: &CodeAddress<'_>) -> String {
        let place = self.resolver.place_of_return(address);
        if place.line == 0 {
            place.function
        } else {
            format!("{} ({}:{})", place.function, place.file, place.line)
        }
    }
}
