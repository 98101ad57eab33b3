//! Tasks from a recorded workload, in the Standard Workload Format (Feitelson, version 2.2).
//!
//! A line has 18 numbers: of a job, the second is its time of submission, the fourth its run time, both in s, the fifth the
//! number of processors that it had and the eighth that which it asked for; -1 stands for what is not known. Lines that
//! begin with `;` are comments. Nodes balance tasks of one core: a job of k processors counts as k tasks.

use super::scenario::{N_TASKS_MAX, TracedTask};
use std::sync::Arc;

/// Numbers of a line, counted from 0.
const SUBMITTED: usize = 1;
const RUN: usize = 3;
const PROCESSORS: usize = 4;
const PROCESSORS_ASKED: usize = 7;

/// Recorded tasks in the order of their arrival, and what was left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The tasks; at least one.
    pub tasks: Arc<[TracedTask]>,
    /// Number of jobs that they belong to.
    pub n_jobs: u64,
    /// Number of jobs whose run time or processors are not known, or that never ran.
    pub n_left_out: u64,
}

/// Reasons why a trace cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// A line has too few numbers, or something else.
    #[error(
        "line {0} is not one of the Standard Workload Format: 18 numbers, such as those of the Parallel Workloads Archive"
    )]
    Line(usize),
    /// There is no job that ran.
    #[error("no job of the trace has a run time and a number of processors")]
    Empty,
    /// There are more tasks than can be simulated.
    #[error("the trace has more than {N_TASKS_MAX} tasks")]
    TooLong,
}

impl Trace {
    /// Reads a trace.
    ///
    /// # Errors
    /// When a line is not of the format, no job ran, or there are too many.
    pub fn read_swf(text: &str) -> Result<Self, TraceError> {
        let (mut tasks, mut n_jobs, mut n_left_out) = (Vec::new(), 0, 0);
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with(';') {
                continue;
            }
            let numbers = line.split_whitespace().map(str::parse::<f64>);
            let numbers: Vec<f64> =
                numbers.collect::<Result<_, _>>().map_err(|_| TraceError::Line(number))?;
            if numbers.len() <= PROCESSORS_ASKED {
                return Err(TraceError::Line(number));
            }
            let [arrival_s, work_s] = [numbers[SUBMITTED], numbers[RUN]];
            let known =
                [numbers[PROCESSORS], numbers[PROCESSORS_ASKED]].into_iter().find(|n| 0.0 < *n);
            let is_usable = 0.0 <= arrival_s && 0.0 < work_s && work_s.is_finite();
            let Some(n_processors) = known.filter(|_| is_usable) else {
                n_left_out += 1;
                continue;
            };
            n_jobs += 1;
            if (N_TASKS_MAX as f64) < tasks.len() as f64 + n_processors {
                return Err(TraceError::TooLong);
            }
            let n_tasks = (0_u64..).take_while(|k| (*k as f64) < n_processors);
            tasks.extend(n_tasks.map(|_| TracedTask { arrival_s, work_s }));
        }
        tasks.sort_by(|a, b| a.arrival_s.total_cmp(&b.arrival_s));
        let first_s = tasks.first().ok_or(TraceError::Empty)?.arrival_s;
        tasks.iter_mut().for_each(|task| task.arrival_s -= first_s);
        Ok(Self { tasks: tasks.into(), n_jobs, n_left_out })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOBS: &str = "; Version: 2.2\n\
        2 50 0 7 3 -1 -1 -1 -1 -1 1 1 1 1 1 -1 -1 -1\n\
        1 40 3 20.5 -1 -1 -1 2 -1 -1 1 1 1 1 1 -1 -1 -1\n\n\
        3 60 0 -1 4 -1 -1 4 -1 -1 0 1 1 1 1 -1 -1 -1\n";

    #[test]
    fn a_job_is_a_task_for_each_processor() {
        let trace = Trace::read_swf(JOBS).unwrap();
        let expected = [(0.0, 20.5), (0.0, 20.5), (10.0, 7.0), (10.0, 7.0), (10.0, 7.0)];
        let expected = expected.map(|(arrival_s, work_s)| TracedTask { arrival_s, work_s });
        assert_eq!((&trace.tasks[..], trace.n_jobs, trace.n_left_out), (&expected[..], 2, 1));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let said = |text: &str| Trace::read_swf(text).unwrap_err().to_string();
        assert!(said("1 2 3\n").starts_with("line 1 is not one of"));
        assert!(said(&format!("{JOBS}4 many 0 7 3 1 1 1\n")).starts_with("line 6 is not"));
        assert_eq!(
            said("; nothing\n"),
            "no job of the trace has a run time and a number of processors"
        );
        assert_eq!(said("1 0 0 5 1e12 -1 -1 -1\n"), "the trace has more than 100000000 tasks");
    }
}
