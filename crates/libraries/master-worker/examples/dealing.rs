//! Measures how many empty chunks are dealt per second: `mpirun -n 3 dealing [N_TASKS] [options]`.

use master_worker::{BoxError, Error, Iteration, Options, Prefetch, Program, Report};
use std::io::Write;
use std::ops::Range;

#[derive(Clone)]
struct Nothing {
    n_tasks: u64,
    n_done: u64,
}

impl Program for Nothing {
    type Shared = ();
    type Input = ();
    type Output = ();

    fn next(&mut self, iteration: u64) -> Option<Iteration<()>> {
        // The first iteration is a warm-up.
        (iteration < 4).then(|| Iteration::new(self.n_tasks, ()))
    }

    fn input(&self, _tasks: Range<u64>) {}

    fn work(&self, (): &(), _tasks: Range<u64>, (): ()) {}

    fn recover(&mut self, tasks: Range<u64>, (): ()) {
        self.n_done += tasks.end - tasks.start;
    }

    fn finish(&mut self, report: &Report) -> Result<(), BoxError> {
        let rates = report.history.iter().skip(1).map(|one| one.n_chunks as f64 / one.duration_s);
        let best = rates.fold(0.0, f64::max);
        Ok(writeln!(std::io::stdout(), "{best:.0} chunks per second, {} tasks", self.n_done)?)
    }
}

fn main() -> Result<(), Error> {
    let (options, arguments) = Options::parse(std::env::args().skip(1));
    let n_tasks = arguments.first().and_then(|text| text.parse().ok()).unwrap_or(200_000);
    for (name, prefetch) in [("one in flight", Prefetch::Off), ("two in flight", Prefetch::Always)]
    {
        let wanted = arguments.get(1).is_none_or(|wanted| name.starts_with(wanted.as_str()));
        if wanted {
            let options = options.clone().policy("ss").prefetch(prefetch);
            return master_worker::run(Nothing { n_tasks, n_done: 0 }, options);
        }
    }
    Ok(())
}
