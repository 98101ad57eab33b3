//! Malleable programs, and the result of a resize, as text.

use display::table::Table;
use display::units::seconds;
use resize_api::{JobStatus, Resize, Sizes, State};
use std::path::Path;

/// Table with a line for each job.
pub(super) fn table(jobs: &[JobStatus], folder: &Path) -> String {
    if jobs.is_empty() {
        let folder = folder.display();
        return format!("no malleable program is running (no status in `{folder}`)\n");
    }
    let iteration = |job: &JobStatus| match job.n_iterations {
        Some(n) => format!("{}/{n}", job.iteration),
        None => job.iteration.to_string(),
    };
    let table = Table::new(jobs)
        .left("JOB", |job| job.job.as_str())
        .left("PROGRAM", |job| job.program.as_str())
        .right("RANKS", |job| job.size.to_string())
        .left("MAY HAVE", |job| range(job.sizes))
        .right("ITERATION", |job| iteration(job))
        .right("EACH", |job| job.seconds_per_iteration.map_or_else(|| "-".to_owned(), seconds))
        .left("STATE", |job| words(job.state));
    table.to_string()
}

fn range(sizes: Sizes) -> String {
    let Sizes { min, max, preferred } = sizes;
    match preferred {
        Some(preferred) => format!("{min} to {max}, best {preferred}"),
        None => format!("{min} to {max}"),
    }
}

/// Text about the times of the parts of a resize.
pub(super) fn breakdown(resize: &Resize) -> String {
    let Resize { iteration, from, to, seconds: times, bytes, .. } = resize;
    let parts = [
        ("decided", times.decide),
        ("processes started", times.spawn),
        ("joined", times.connect),
        ("constant data moved", times.constant),
        ("variable data moved", times.variable),
        ("processes gone", times.release),
    ];
    let parts = parts.into_iter().filter(|(_, time_s)| 0.0 < *time_s);
    let parts = parts.map(|(what, time_s)| (what, seconds(time_s)));
    let parts = Table::new(parts.chain([("moved", display::units::bytes(bytes.moved))]))
        .left("", |(what, _)| format!("  {what}"))
        .right("", |(_, amount)| amount.clone());
    let (waited, n) = (seconds(times.wait), resize.iterations_meanwhile);
    format!(
        "{from} -> {to} ranks before iteration {iteration}; the program waited {waited}, {n} iterations ran meanwhile\n{parts}"
    )
}

/// State in words.
pub(super) fn words(state: State) -> &'static str {
    match state {
        State::Idle => "computes",
        State::Deciding => "decides and asks for nodes",
        State::Spawning => "starts processes",
        State::Connecting => "joins processes",
        State::MovingConstant => "moves constant data and computes",
        State::MovingVariable => "moves variable data",
        State::Releasing => "waits until processes are gone",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use resize_api::Seconds;

    #[test]
    fn jobs_are_lines() {
        let sizes = Sizes { min: 1, max: 16, preferred: Some(8) };
        let slurm = JobStatus {
            job: "4711".to_owned(),
            program: "cg".to_owned(),
            size: 4,
            sizes,
            iteration: 120,
            n_iterations: Some(1000),
            seconds_per_iteration: Some(0.0125),
            ..JobStatus::default()
        };
        let other =
            JobStatus { job: "host-7".to_owned(), state: State::Spawning, ..JobStatus::default() };
        let text = table(&[slurm, other], Path::new("/jobs"));
        assert_eq!(
            text,
            "JOB     PROGRAM  RANKS  MAY HAVE         ITERATION     EACH  STATE\n\
             4711    cg           4  1 to 16, best 8   120/1000  12.5 ms  computes\n\
             host-7               0  1 to 1                   0        -  starts processes\n"
        );
        assert_eq!(
            table(&[], Path::new("/jobs")),
            "no malleable program is running (no status in `/jobs`)\n"
        );
    }

    #[test]
    fn a_resize_says_where_its_time_went() {
        let seconds = Seconds { spawn: 1.25, wait: 0.05, variable: 0.03, ..Seconds::default() };
        let resize = Resize { iteration: 9, from: 4, to: 8, seconds, ..Resize::default() };
        assert_eq!(
            breakdown(&resize),
            "4 -> 8 ranks before iteration 9; the program waited 50.0 ms, 0 iterations ran meanwhile\n  \
             processes started     1.25 s\n  \
             variable data moved  30.0 ms\n  \
             moved                    0 B\n"
        );
    }
}
