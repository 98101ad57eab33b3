//! Progress of tasks that are waited for: a line on a terminal, and one a minute elsewhere.
//!
//! The daemon tells only ends. What runs is asked for by a thread with a connection of its own, which also draws the
//! line while nothing ends.

use super::tally::Tally;
use super::{TaskOutput, Wait};
use crate::location::DaemonLocation;
use display::bars;
use display::units::plural;
use node_daemon::client_socket::Client;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use task_api::{ClientRequest, DaemonAnswer, TaskFilter, TaskRange, TaskState};
use user_io::progress::ProgressLine;
use user_io::terminal::{Color, Terminal};

/// Time between two lines of progress.
const TELL_EVERY: Duration = Duration::from_millis(100);
/// Time between two lines where there is no terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(60);
/// Time between two questions for what runs.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// Most running tasks that are counted.
const N_RUNNING_MAX: u32 = 1_000;
/// Columns of the bar: at most, and at least.
const N_BAR: (usize, usize) = (24, 6);

/// Progress that is shown.
pub(super) struct Progress {
    shown: Arc<Mutex<Shown>>,
    /// Ends the thread when it is dropped.
    asking: Option<mpsc::Sender<()>>,
}

/// State of the line, shared with the thread.
struct Shown {
    line: ProgressLine,
    width: usize,
    /// Time of the last line where there is no terminal; `None` if none are to be printed.
    plain: Option<Instant>,
    counts: Counts,
    first_open: u64,
    /// End of the wait as it was foretold last.
    ends_at: Option<Instant>,
}

/// Numbers of tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    n_tasks: u64,
    n_ended: u64,
    n_failed: u64,
    n_running: u64,
}

impl Progress {
    /// Progress of these tasks.
    pub(super) fn of(wait: &Wait<'_>) -> Self {
        let line = ProgressLine::every(TELL_EVERY);
        let is_plain = !line.is_terminal && wait.output == TaskOutput::Output;
        let is_shown = (line.is_terminal || is_plain) && wait.output != TaskOutput::Followed;
        let shown = Shown {
            line,
            width: Terminal::new(Color::Never).style().width,
            plain: is_plain.then(Instant::now),
            counts: Counts { n_tasks: wait.tasks.n_tasks(), ..Counts::default() },
            first_open: wait.tasks.first,
            ends_at: None,
        };
        let shown = Arc::new(Mutex::new(shown));
        let is_worth_it = is_shown && 1 < wait.tasks.n_tasks();
        let location = is_worth_it.then(|| wait.location.clone());
        let asking = location.and_then(|it| ask(it, wait.tasks.clone(), Arc::clone(&shown)));
        Self { shown, asking }
    }

    /// Shows how far the tasks are.
    pub(super) fn show(&mut self, tally: &Tally) {
        let mut shown = lock(&self.shown);
        shown.first_open = tally.first_open();
        let Tally { n_tasks, n_ended, n_failed, .. } = *tally;
        shown.counts = Counts { n_tasks, n_ended, n_failed, ..shown.counts };
        let left = tally.left_s(shown.counts.n_running);
        let left = left.and_then(|left_s| Duration::try_from_secs_f64(left_s).ok());
        shown.ends_at = left.and_then(|left| Instant::now().checked_add(left));
        shown.draw();
    }

    /// Removes the line, since something else is printed.
    pub(super) fn clear(&mut self) {
        lock(&self.shown).line.clear();
    }

    /// Removes the line for good.
    pub(super) fn end(&mut self) {
        self.asking = None;
        let mut shown = lock(&self.shown);
        shown.line.clear();
        (shown.line.is_terminal, shown.plain) = (false, None);
    }
}

fn lock(shown: &Mutex<Shown>) -> MutexGuard<'_, Shown> {
    shown.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts to ask for what runs; returns what ends that. Where no thread can be started, only ends are shown.
fn ask(
    location: DaemonLocation,
    tasks: TaskRange,
    shown: Arc<Mutex<Shown>>,
) -> Option<mpsc::Sender<()>> {
    let (end, ended) = mpsc::channel();
    let ask = move || {
        let mut client = None;
        while ended.recv_timeout(ASK_EVERY) == Err(RecvTimeoutError::Timeout) {
            let first = lock(&shown).first_open.min(tasks.last);
            let open = TaskRange { first, ..tasks.clone() };
            // After an error, as when the daemon is restarted, the next turn connects again.
            client = n_running(client, &location, &open).ok().map(|(client, n_running)| {
                lock(&shown).counts.n_running = n_running;
                client
            });
            lock(&shown).draw();
        }
    };
    std::thread::Builder::new().name("progress".to_owned()).spawn(ask).ok().map(|_| end)
}

/// Number of these tasks that run.
fn n_running(
    client: Option<Client>,
    location: &DaemonLocation,
    tasks: &TaskRange,
) -> anyhow::Result<(Client, u64)> {
    let mut client = client.map_or_else(|| location.connect(), |client| Ok(Ok(client)))??;
    let mut n_running = 0;
    for state in [TaskState::Running, TaskState::Leased] {
        let (tasks, state) = (Some(tasks.clone()), Some(state));
        let filter = TaskFilter { tasks, state, ..TaskFilter::default() };
        let (n_max, is_backward) = (N_RUNNING_MAX, false);
        let question = ClientRequest::Tasks { filter, after: None, n_max, is_backward };
        if let DaemonAnswer::Tasks { tasks, .. } = client.ask(&question)? {
            n_running += tasks.iter().filter(|task| task.started_ms.is_some()).count() as u64;
        }
    }
    Ok((client, n_running))
}

impl Shown {
    fn draw(&mut self) {
        let (counts, width) = (self.counts, self.width);
        let left = self.ends_at.map(|at| at.saturating_duration_since(Instant::now()));
        let left_s = left.map(|left| left.as_secs_f64());
        self.line.show(|| bar(counts, left_s, width));
        if self.plain.is_some_and(|last| PLAIN_EVERY <= last.elapsed()) {
            self.plain = Some(Instant::now());
            eprintln!("sintonia: {}", sentence(counts, left_s));
        }
    }
}

/// Line of a terminal of this width: a bar if there is room, and numbers.
fn bar(counts: Counts, left_s: Option<f64>, width: usize) -> String {
    let sentence = sentence(counts, left_s);
    // The last column stays free, so that no terminal wraps the line.
    let room = width.saturating_sub("sintonia: ".len() + sentence.chars().count() + 2);
    if room < N_BAR.1 {
        return format!("sintonia: {sentence}").chars().take(width.saturating_sub(1)).collect();
    }
    let share = counts.n_ended as f64 / counts.n_tasks.max(1) as f64;
    let [done, rest] = bars::gauge(share, room.min(N_BAR.0));
    format!("sintonia: {done}{rest} {sentence}")
}

fn sentence(counts: Counts, left_s: Option<f64>) -> String {
    let Counts { n_tasks, n_ended, n_failed, n_running } = counts;
    let failed = if n_failed == 0 { String::new() } else { format!(", {n_failed} failed") };
    let running = if n_running == 0 { String::new() } else { format!(", {n_running} running") };
    let left =
        left_s.map_or_else(String::new, |left_s| format!(", about {} left", rounded(left_s)));
    format!("{n_ended}/{n_tasks} ended{failed}{running}{left}")
}

/// A time that is only roughly known.
fn rounded(span_s: f64) -> String {
    match span_s {
        ..90.0 => format!("{} s", display::units::whole(span_s.ceil())),
        ..5_400.0 => plural(display::units::whole(span_s / 60.0), "minute"),
        _ => plural(display::units::whole(span_s / 3_600.0), "hour"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(left_s: Option<f64>, width: usize, expected: &str) {
        let counts = Counts { n_tasks: 400, n_ended: 100, n_failed: 2, n_running: 4 };
        assert_eq!(bar(counts, left_s, width), expected);
    }

    #[test]
    fn the_line_fits_the_terminal() {
        let wide = "sintonia: ██████·················· 100/400 ended, 2 failed, 4 running, about 30 s left";
        check(Some(29.2), 100, wide);
        check(
            Some(600.0),
            70,
            "sintonia: 100/400 ended, 2 failed, 4 running, about 10 minutes left",
        );
        check(None, 60, "sintonia: ███▌·········· 100/400 ended, 2 failed, 4 running");
        check(Some(9_000.0), 30, "sintonia: 100/400 ended, 2 fa");
    }
}
