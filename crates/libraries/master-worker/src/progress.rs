//! Progress messages of the master: on a terminal one line that is replaced, elsewhere a line every few
//! seconds, and a summary at the end.

use crate::options::Talk;
use crate::report::{IterationReport, Report};
use display::bars;
use display::units::{plural, seconds};
use std::io::{IsTerminal, Write};

/// Largest width of a summary line, in columns.
const N_COLUMNS: usize = 100;
/// Time between updates of the line on a terminal, in seconds.
const PICTURE_S: f64 = 0.1;
/// Time between lines in a pipe, in seconds.
const CALM_S: f64 = 5.0;
/// Iterations that are all explained; later ones are explained once every `EXPLAIN_AGAIN_S` seconds.
const N_EXPLAINED: u64 = 20;
const EXPLAIN_AGAIN_S: f64 = 1.0;

/// Writer of progress messages; see the module.
pub(crate) struct ProgressReporter {
    talk: Talk,
    is_live: bool,
    out: Box<dyn Write>,
    line: ProgressLine,
    /// True if the terminal shows a line that the next one replaces.
    has_line: bool,
    next_s: f64,
    next_explained_s: f64,
    n_unexplained: u64,
}

impl ProgressReporter {
    /// Writes to standard error.
    pub(crate) fn new(talk: Talk, n_iterations: Option<u64>) -> Self {
        let out = std::io::stderr();
        let is_live = out.is_terminal();
        Self::to(Box::new(out), is_live, talk, n_iterations)
    }

    fn to(out: Box<dyn Write>, is_live: bool, talk: Talk, n_iterations: Option<u64>) -> Self {
        let line = ProgressLine::new(n_iterations);
        let next_s = if is_live { 0.0 } else { f64::NEG_INFINITY };
        Self {
            talk,
            is_live,
            out,
            line,
            has_line: false,
            next_s,
            next_explained_s: 0.0,
            n_unexplained: 0,
        }
    }

    /// Notes the begin of an iteration.
    pub(crate) fn begin(&mut self, iteration: u64, n_tasks: u64, n_workers: u32) {
        self.line.begin(iteration, n_tasks, n_workers);
    }

    /// Updates the progress when it is due; `n_open` tasks are not done.
    pub(crate) fn tick(&mut self, now_s: f64, n_open: impl FnOnce() -> u64) {
        if self.talk == Talk::Nothing || now_s < self.next_s {
            return;
        }
        self.line.see(n_open());
        self.show(now_s);
    }

    /// Notes the end of an iteration, and explains it if asked to.
    pub(crate) fn end(&mut self, report: &IterationReport, now_s: f64) {
        if self.talk == Talk::Nothing {
            return;
        }
        self.line.end(report);
        if self.talk == Talk::Explain {
            self.explain(report, now_s);
        }
    }

    /// Writes a line for the user.
    pub(crate) fn say(&mut self, text: &str) {
        if self.talk != Talk::Nothing {
            self.clear();
            self.write(&format!("{text}\n"));
        }
    }

    /// Writes the summary of the run.
    pub(crate) fn finish(&mut self, report: &Report) {
        let lines = dealing_report::lines(&report.dealt, N_COLUMNS);
        match self.talk {
            Talk::Nothing => {}
            Talk::Progress => lines.iter().take(1).for_each(|line| self.say(line)),
            Talk::Explain => {
                if self.n_unexplained != 0 {
                    self.say(&format!("{} iterations were not explained", self.n_unexplained));
                }
                lines.iter().for_each(|line| self.say(line));
                self.say(&sizing(&report.dealt.policy));
            }
        }
    }

    fn explain(&mut self, report: &IterationReport, now_s: f64) {
        if N_EXPLAINED <= report.iteration && now_s < self.next_explained_s {
            self.n_unexplained += 1;
            return;
        }
        self.next_explained_s = now_s + EXPLAIN_AGAIN_S;
        self.say(&format!("{report}; {}", report.explain()));
    }

    fn show(&mut self, now_s: f64) {
        let is_first = self.next_s == f64::NEG_INFINITY;
        self.next_s = now_s + if self.is_live { PICTURE_S } else { CALM_S };
        if self.is_live {
            let line = format!("\r\x1b[K{}", self.line.picture());
            self.write(&line);
            self.has_line = true;
        } else if !is_first && self.talk == Talk::Progress {
            // A run shorter than the interval gets its line at the end.
            let line = format!("{}\n", self.line.words());
            self.write(&line);
        }
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.has_line) {
            self.write("\r\x1b[K");
        }
    }

    /// Errors are ignored: a user who closed standard error does not want the text.
    fn write(&mut self, text: &str) {
        let _written = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }
}

/// Explains the sizes of the chunks.
fn sizing(policy: &str) -> String {
    match chunking::by_name(policy) {
        Ok(spec) => format!("chunk sizes follow `{policy}`: {}", spec.sentence),
        Err(_) => String::new(),
    }
}

/// Weight of the newest iteration in the mean time of an iteration.
const WEIGHT: f64 = 0.25;
const N_BAR_COLUMNS: usize = 20;

/// Progress of a run.
#[derive(Clone, Copy, Debug, Default)]
struct ProgressLine {
    n_iterations: Option<u64>,
    /// Number of this run's first iteration.
    first: Option<u64>,
    iteration: u64,
    n_tasks: u64,
    n_open: u64,
    n_workers: u32,
    /// Running mean of an iteration's time, in seconds; the newest ones count most.
    usual_s: Option<f64>,
    /// Share of the last iteration's time in which workers computed.
    efficiency: f64,
}

impl ProgressLine {
    fn new(n_iterations: Option<u64>) -> Self {
        Self { n_iterations, ..Self::default() }
    }

    fn begin(&mut self, iteration: u64, n_tasks: u64, n_workers: u32) {
        self.first.get_or_insert(iteration);
        (self.iteration, self.n_tasks, self.n_open) = (iteration, n_tasks, n_tasks);
        self.n_workers = n_workers;
    }

    fn see(&mut self, n_open: u64) {
        self.n_open = n_open.min(self.n_tasks);
    }

    fn end(&mut self, report: &IterationReport) {
        let duration_s = report.duration_s;
        let usual_s = self.usual_s.unwrap_or(duration_s);
        self.usual_s = Some(usual_s + WEIGHT * (duration_s - usual_s));
        self.efficiency = report.efficiency();
        self.n_open = 0;
    }

    /// Progress as one line of text.
    fn words(&self) -> String {
        let mut text = format!(
            "iteration {}{}: {} of {} tasks, {}",
            self.iteration + 1,
            self.n_iterations.map_or_else(String::new, |n| format!(" of {n}")),
            self.n_tasks - self.n_open,
            self.n_tasks,
            plural(self.n_workers, "worker")
        );
        if let Some(usual_s) = self.usual_s {
            text += &format!(
                ", {:.0} % busy; {} per iteration",
                100.0 * self.efficiency,
                seconds(usual_s)
            );
        }
        if let Some(left_s) = self.left_s() {
            text += &format!(", {} left", seconds(left_s));
        }
        text
    }

    /// The same line behind a progress bar.
    fn picture(&self) -> String {
        let bar = bars::gauge(self.done(), N_BAR_COLUMNS).concat();
        format!("{bar} {:3.0} %  {}", 100.0 * self.done(), self.words())
    }

    /// Share that is done: of the run if its number of iterations is known, else of the iteration.
    fn done(&self) -> f64 {
        let part = 1.0 - self.n_open as f64 / self.n_tasks.max(1) as f64;
        match self.n_iterations {
            Some(n) => (self.iteration as f64 + part) / n.max(1) as f64,
            None => part,
        }
    }

    fn left_s(&self) -> Option<f64> {
        let n_left = self.n_iterations?.saturating_sub(self.iteration) as f64;
        let part = 1.0 - self.n_open as f64 / self.n_tasks.max(1) as f64;
        Some((n_left - part).max(0.0) * self.usual_s?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::master::tally::Tally;
    use std::sync::{Arc, Mutex};

    /// Output that tests can read.
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("nobody panics with it").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// Output of a run of six iterations of 2.5 s each.
    fn said(is_live: bool, talk: Talk) -> String {
        let kept = Kept::default();
        let mut reporter = ProgressReporter::to(Box::new(kept.clone()), is_live, talk, Some(6));
        let mut report = Report::new("gss");
        let mut now_s = 100.0;
        for iteration in 0..6 {
            reporter.begin(iteration, 80, 3);
            for n_open in [80, 40, 8] {
                reporter.tick(now_s, || n_open);
                now_s += 0.833;
            }
            let one = crate::report::sample(iteration, &[2.5, 2.0, 1.5]);
            report.add(one.clone(), Tally::default().iterated(&one), 100);
            reporter.end(&one, now_s);
        }
        reporter.say("no further worker can be started: there is no free slot");
        reporter.finish(&report);
        let bytes = kept.0.lock().unwrap();
        String::from_utf8(bytes.clone()).unwrap().replace("\r\x1b[K", "<again>").replace('<', "\n<")
    }

    #[test]
    fn a_pipe_gets_calm_lines() {
        insta::assert_snapshot!("pipe", said(false, Talk::Progress));
    }

    #[test]
    fn a_terminal_gets_one_line_again_and_again() {
        insta::assert_snapshot!("terminal", said(true, Talk::Progress));
    }

    #[test]
    fn iterations_are_explained() {
        insta::assert_snapshot!("explained", said(false, Talk::Explain));
    }

    #[test]
    fn whoever_asked_for_nothing_hears_nothing() {
        assert_eq!(said(true, Talk::Nothing), "");
    }
}
