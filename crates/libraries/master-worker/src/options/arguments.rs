//! Command line arguments for the options.

use super::{Options, Prefetch, Talk, Workers};
use option_table::{Interval, OptionTable, interval, one_of, positive, time};

/// The options as arguments.
const TABLE: OptionTable = OptionTable {
    help: "\
Options of the run:
  --policy NAME               how chunks are sized: best (default), static, ss, gss, tss, fac2, ...
  --prefetch off|late|always  when the next chunk is sent to a worker that has one (default: late)
  --synchronous               the master waits after each chunk until the worker has it
  --master-works              the master computes too while no worker needs it
  --workers N|all|auto        how many workers get work (default: all); auto follows a performance model
  --first-workers N           how many take part in the first iteration with auto (default: all)
  --max-workers N             start further workers, up to N in all, where the MPI library can
  --hosts NAME[:N],...        hosts for these workers, and how many on each
  --horizon N                 iterations to come, in which starting a worker has to pay
  --threads N                 threads, the master included, when no MPI launcher started the program
  --attempts N                how often tasks that fail are tried (default: 2)
  --deadline SECONDS          how long a worker may be silent before its work is dealt again (default: 600)
  --checkpoint FILE           write the state to this file
  --checkpoint-every 10it|30s  after so many iterations, or so long (default: 1it)
  --resume                    continue from the checkpoint if there is one
  --network FILE              begin with the latencies that `sintonia netbench --json` wrote
  --progress                  a line per iteration on standard error
  --explain                   and why workers were idle
  --record FILE               write the report on the work as JSON; `sintonia report FILE` shows it
`--option=value` does as well; what stands after `--` is the program's own.
",
    former: &[("--patience", "--deadline"), ("--report", "--record")],
};

impl Options {
    /// The options as arguments, one per line, as a program prints them with `--help`.
    pub const HELP: &'static str = TABLE.help;

    /// Reads the options from the arguments of the process, as [`HELP`](Self::HELP) lists them; `--option=value` works as
    /// well. Other arguments are left to the program. The run returns the error for a wrong value.
    #[must_use]
    pub fn from_args() -> Self {
        Self::parse(std::env::args().skip(1)).0
    }

    /// Reads the options from `arguments`; also returns the arguments that are none of these.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> (Self, Vec<String>) {
        let mut options = Self::default();
        let others = options.read(arguments);
        (options, others)
    }

    /// Changes the options that are among `arguments`; returns the arguments that are none of these.
    pub fn read(&mut self, arguments: impl IntoIterator<Item = String>) -> Vec<String> {
        let (others, problem) =
            TABLE.read(arguments, |option, value| self.set_option(option, value));
        self.problem = self.problem.take().or(problem.map(Into::into));
        others
    }

    /// Sets an option of the table; `None` if its value is not valid.
    fn set_option(&mut self, option: &str, value: &str) -> Option<()> {
        let prefetches =
            [("off", Prefetch::Off), ("late", Prefetch::Late), ("always", Prefetch::Always)];
        let n_workers = || positive(value).map(Workers::Fixed);
        let iterations = || positive(value).map(Interval::Iterations);
        match option {
            "--policy" => value.clone_into(&mut self.policy),
            "--prefetch" => self.prefetch = one_of(value, &prefetches)?,
            "--synchronous" => self.is_synchronous = true,
            "--master-works" => self.is_master_working = true,
            "--workers" => {
                let words = [("all", Workers::All), ("auto", Workers::Tuned)];
                self.pool.workers = one_of(value, &words).or_else(n_workers)?;
            }
            "--first-workers" => self.pool.n_first = Some(positive(value)?),
            "--max-workers" => self.pool.n_max = Some(positive(value)?),
            "--hosts" => self.pool.hosts = hosts(value),
            "--horizon" => self.pool.n_iterations_to_come = Some(positive(value)?),
            "--threads" => self.n_threads = Some(positive(value)?),
            "--attempts" => self.n_attempts = positive(value)?,
            "--deadline" => self.deadline = time(value)?,
            "--checkpoint" => self.checkpoint.file = Some(value.into()),
            // Before there were units, a number was one of iterations.
            "--checkpoint-every" => {
                self.checkpoint.interval = interval(value).or_else(iterations)?;
            }
            "--resume" => self.checkpoint.is_resumed = true,
            "--network" => self.network = Some(value.into()),
            "--progress" => self.talk = Talk::Progress,
            "--explain" => self.talk = Talk::Explain,
            "--record" => self.record = Some(value.into()),
            _ => return None,
        }
        Some(())
    }
}

/// Splits a list of hosts; commas in brackets belong to a name. The run refuses a list that is malformed.
fn hosts(list: &str) -> Vec<String> {
    let words = host_list::words(list).unwrap_or_else(|_| vec![list]);
    words.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn parse(line: &str) -> (Options, Vec<String>) {
        Options::parse(line.split_whitespace().map(str::to_owned))
    }

    #[track_caller]
    fn check(line: &str, expected: Options) {
        assert_eq!(parse(line), (expected, Vec::new()));
    }

    #[test]
    fn every_option_has_an_argument() {
        let new = Options::new;
        check("", new());
        check("--policy gss", new().policy("gss"));
        check("--policy=gss", new().policy("gss"));
        check("--prefetch always --synchronous", new().prefetch(Prefetch::Always).synchronous());
        check("--master-works --workers all", new().master_works());
        check("--workers 3", new().workers(Workers::Fixed(3)));
        check("--workers auto", new().workers(Workers::Tuned));
        check("--first-workers 2", new().workers_first(2));
        check("--max-workers 9 --horizon 40", new().workers_max(9).iterations_to_come(40));
        check("--hosts a,b:2", new().hosts(["a", "b:2"]));
        check("--hosts r[1,2]n[1-3]:2,b", new().hosts(["r[1,2]n[1-3]:2", "b"]));
        check("--threads 5 --attempts 1", new().threads(5).attempts(1));
        check("--deadline 0.5", new().deadline(Duration::from_millis(500)));
        check("--patience 5min", new().deadline(Duration::from_mins(5)));
        let every = |interval| new().checkpoint("a.b").checkpoint_every(interval);
        let seven = every(Interval::Iterations(7));
        check("--checkpoint a.b --checkpoint-every 7it", seven.clone());
        check("--checkpoint a.b --checkpoint-every 7", seven);
        let time = Interval::Time(Duration::from_secs(7));
        check("--checkpoint a.b --checkpoint-every 7s", every(time));
        check("--checkpoint x --resume", new().checkpoint("x").resume());
        check("--network n.json", new().network("n.json"));
        check("--progress", new().talk(Talk::Progress));
        check("--explain", new().talk(Talk::Explain));
        check("--record r.json", new().record("r.json"));
        check("--report r.json", new().record("r.json"));
    }

    #[test]
    fn other_arguments_are_the_programs_own() {
        let (options, others) = parse("200 --threads 2 --bodies 7 -- --resume");
        assert_eq!(options, Options::new().threads(2));
        assert_eq!(others, ["200", "--bodies", "7", "--resume"]);
    }

    #[track_caller]
    fn check_wrong(line: &str, expected: &str) {
        assert_eq!(parse(line).0.check().unwrap_err().to_string(), expected);
    }

    #[test]
    fn wrong_values_are_told() {
        check_wrong("--threads", "`--threads` has no value; write `--threads N`");
        check_wrong(
            "--patience inf",
            "`--patience inf` is not understood; write `--patience SECONDS`",
        );
        check_wrong(
            "--checkpoint-every 0.5",
            "`--checkpoint-every 0.5` is not understood; write `--checkpoint-every 10it|30s`",
        );
        check_wrong(
            "--workers some",
            "`--workers some` is not understood; write `--workers N|all|auto`",
        );
        check_wrong("--hosts a,,b", "`--hosts` is wrong");
        check_wrong("--hosts a:none", "`--hosts` is wrong");
        check_wrong("--policy fastest", "`--policy` is wrong");
        check_wrong("--resume", "`--resume` needs `--checkpoint FILE`, the file to go on from");
    }
}
