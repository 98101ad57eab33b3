//! Traces in the Standard Workload Format (Chapin and others, 1999): a job to a line of 18 numbers.

use super::QueueJob;
use super::workload::{job, set_load};
use random::Random;

/// Places of the time of submission, the run time, the processors used and asked for, and the time asked for.
const SUBMITTED: usize = 1;
const RAN: usize = 3;
const USED: usize = 4;
const ASKED: usize = 7;
const LIMIT: usize = 8;
const N_FIELDS: usize = 18;

/// Reason why a line of a trace is no job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SwfProblem {
    /// The line is not in the format.
    #[error("line {0} does not have the 18 numbers of the Standard Workload Format")]
    Line(usize),
    /// The job asks for more nodes than there are.
    #[error(
        "the job of line {line} asks for {n_nodes} nodes, which is more than there are; give more by `--nodes`"
    )]
    TooLarge {
        /// Number of the line.
        line: usize,
        /// Number of nodes.
        n_nodes: u32,
    },
    /// The job did not run.
    #[error("the job of line {0} has no run time or no processors")]
    NotRun(usize),
}

/// Machine on which a trace is run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SwfMachine {
    /// Number of nodes.
    pub n_nodes: u32,
    /// Processors of the trace that are a node.
    pub cores_per_node: u32,
    /// Load to which the times between arrivals are stretched; `None` leaves them.
    pub load: Option<f64>,
}

/// Reads the first `n_jobs` jobs of a trace, and what was skipped up to there. The format has no speedups: they are drawn as
/// for [`draw_jobs`](super::draw_jobs).
pub fn read_swf(
    text: &str,
    n_jobs: usize,
    machine: SwfMachine,
    seed: u64,
) -> (Vec<QueueJob>, Vec<SwfProblem>) {
    let (mut jobs, mut problems) = (Vec::new(), Vec::new());
    for (line, text) in (1..).zip(text.lines()) {
        if jobs.len() == n_jobs {
            break;
        }
        if text.trim().is_empty() || text.trim_start().starts_with(';') {
            continue;
        }
        match read_line(line, text, machine, seed) {
            Ok(job) => jobs.push(QueueJob { number: jobs.len() as u64 + 1, ..job }),
            Err(problem) => problems.push(problem),
        }
    }
    jobs.sort_by(|a, b| a.submitted_s.total_cmp(&b.submitted_s));
    set_load(&mut jobs, machine.n_nodes, machine.load);
    (jobs, problems)
}

fn read_line(
    line: usize,
    text: &str,
    machine: SwfMachine,
    seed: u64,
) -> Result<QueueJob, SwfProblem> {
    let fields: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
    let fields = fields.ok().filter(|fields| fields.len() == N_FIELDS);
    let fields = fields.filter(|fields| fields.iter().all(|field| field.is_finite()));
    let fields = fields.ok_or(SwfProblem::Line(line))?;
    let n_cores = if 0.0 < fields[ASKED] { fields[ASKED] } else { fields[USED] };
    if fields[RAN] <= 0.0 || n_cores <= 0.0 {
        return Err(SwfProblem::NotRun(line));
    }
    let n_nodes = (n_cores / f64::from(machine.cores_per_node)).ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates, and is above 0"
    )]
    let n_nodes = n_nodes as u32;
    if machine.n_nodes < n_nodes {
        return Err(SwfProblem::TooLarge { line, n_nodes });
    }
    let limit_s = (0.0 < fields[LIMIT]).then_some(fields[LIMIT]);
    let mut random = Random::stream(seed ^ line as u64, 3);
    Ok(QueueJob {
        submitted_s: fields[SUBMITTED],
        ..job(n_nodes, fields[RAN], limit_s, &mut random)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "\
; Version: 2.2
1 100 -1 60 16 -1 -1 32 120 -1 1 1 1 -1 1 -1 -1 -1

2 160 -1 30 8 -1 -1 -1 -1 -1 1 1 1 -1 1 -1 -1 -1
3 170 -1 -1 8 -1 -1 8 60 -1 0 1 1 -1 1 -1 -1 -1
4 180 -1 30 640 -1 -1 640 60 -1 1 1 1 -1 1 -1 -1 -1
five
6 190 -1 30 1 -1 -1 1 10 -1 1 1 1 -1 1 -1 -1 -1
";

    #[test]
    fn jobs_are_read_and_the_rest_is_named() {
        let machine = SwfMachine { n_nodes: 32, cores_per_node: 8, load: None };
        let (jobs, problems) = read_swf(TRACE, 100, machine, 1);
        let found: Vec<_> =
            jobs.iter().map(|job| (job.submitted_s, job.n_nodes, job.run_s)).collect();
        assert_eq!(found, [(0.0, 4, 60.0), (60.0, 1, 30.0), (90.0, 1, 30.0)]);
        // A limit below the run time would have ended the job.
        assert_eq!((jobs[0].limit_s, jobs[2].limit_s), (120.0, 30.0));
        let expected = [
            SwfProblem::NotRun(5),
            SwfProblem::TooLarge { line: 6, n_nodes: 80 },
            SwfProblem::Line(7),
        ];
        assert_eq!(problems, expected);
        assert_eq!(read_swf(TRACE, 1, machine, 1).0.len(), 1);
    }
}
