//! Command line arguments for the options.

use super::{Options, OptionsError, Prefetch, Talk, Workers};
use std::str::FromStr;
use std::time::Duration;

impl Options {
    /// Reads the options from the arguments of the process:
    ///
    /// | argument | |
    /// |---|---|
    /// | `--policy NAME` | [`policy`](Self::policy) |
    /// | `--prefetch off\|late\|always` | [`prefetch`](Self::prefetch) |
    /// | `--synchronous` | [`synchronous`](Self::synchronous) |
    /// | `--master-works` | [`master_works`](Self::master_works) |
    /// | `--workers N\|all\|auto` | [`workers`](Self::workers) |
    /// | `--first-workers N` | [`workers_first`](Self::workers_first) |
    /// | `--max-workers N` | [`workers_max`](Self::workers_max) |
    /// | `--hosts NAME[:N],...` | [`hosts`](Self::hosts) |
    /// | `--horizon N` | [`iterations_to_come`](Self::iterations_to_come) |
    /// | `--threads N` | [`threads`](Self::threads) |
    /// | `--attempts N` | [`attempts`](Self::attempts) |
    /// | `--patience SECONDS` | [`patience`](Self::patience) |
    /// | `--checkpoint FILE` | [`checkpoint`](Self::checkpoint) |
    /// | `--checkpoint-every N` | [`checkpoint_every`](Self::checkpoint_every) |
    /// | `--resume` | [`resume`](Self::resume) |
    /// | `--network FILE` | [`network`](Self::network) |
    /// | `--progress`, `--explain` | [`talk`](Self::talk) |
    /// | `--report FILE` | [`report`](Self::report) |
    ///
    /// `--option=value` works as well. Other arguments are left to the program. The run returns the error
    /// for a wrong value.
    #[must_use]
    pub fn from_args() -> Self {
        Self::parse(std::env::args().skip(1)).0
    }

    /// Reads the options from `arguments`; also returns the arguments that are none of these.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> (Self, Vec<String>) {
        let (mut options, mut others) = (Self::default(), Vec::new());
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            if argument == "--" {
                others.extend(arguments);
                break;
            }
            let taken = options.take(&argument, &mut arguments);
            match taken {
                Ok(true) => {}
                Ok(false) => others.push(argument),
                Err(problem) => options.problem = options.problem.or(Some(problem)),
            }
        }
        (options, others)
    }

    /// Reads an argument with its value; `false` when it is not an option of this library.
    fn take(
        &mut self,
        argument: &str,
        rest: &mut impl Iterator<Item = String>,
    ) -> Result<bool, OptionsError> {
        let (option, attached) = match argument.split_once('=') {
            Some((option, value)) => (option, Some(value.to_owned())),
            None => (argument, None),
        };
        let mut value = |expected| -> Result<Value, OptionsError> {
            let option = option.to_owned();
            let found = attached.clone().or_else(|| rest.next());
            let text = found.ok_or(OptionsError::NoValue { option: option.clone(), expected })?;
            Ok(Value { option, text, expected })
        };
        match option {
            "--policy" => self.policy = value("NAME")?.text,
            "--prefetch" => self.prefetch = value("off|late|always")?.word(prefetch)?,
            "--synchronous" => self.is_synchronous = true,
            "--master-works" => self.is_master_working = true,
            "--workers" => self.workers = value("N|all|auto")?.word(workers)?,
            "--first-workers" => self.n_workers_first = Some(value("N")?.word(positive)?),
            "--max-workers" => self.n_workers_max = Some(value("N")?.word(positive)?),
            "--hosts" => self.hosts = names(&value("NAME[:N],...")?.text)?,
            "--horizon" => self.n_iterations_to_come = Some(value("N")?.word(positive)?),
            "--threads" => self.n_threads = Some(value("N")?.word(positive)?),
            "--attempts" => self.n_attempts = value("N")?.word(positive)?,
            "--patience" => self.patience = value("SECONDS")?.word(seconds)?,
            "--checkpoint" => self.checkpoint = Some(value("FILE")?.text.into()),
            "--checkpoint-every" => self.n_between_checkpoints = value("N")?.word(positive)?,
            "--resume" => self.is_resumed = true,
            "--network" => self.network = Some(value("FILE")?.text.into()),
            "--progress" => self.talk = Talk::Progress,
            "--explain" => self.talk = Talk::Explain,
            "--report" => self.report = Some(value("FILE")?.text.into()),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Value given for an option.
struct Value {
    option: String,
    text: String,
    expected: &'static str,
}

impl Value {
    fn word<T>(self, read: impl Fn(&str) -> Option<T>) -> Result<T, OptionsError> {
        let found = read(&self.text);
        let Self { option, text: value, expected } = self;
        found.ok_or(OptionsError::Value { option, value, expected })
    }
}

fn prefetch(text: &str) -> Option<Prefetch> {
    match text {
        "off" => Some(Prefetch::Off),
        "late" => Some(Prefetch::Late),
        "always" => Some(Prefetch::Always),
        _ => None,
    }
}

fn workers(text: &str) -> Option<Workers> {
    match text {
        "all" => Some(Workers::All),
        "auto" => Some(Workers::Tuned),
        number => positive(number).map(Workers::Fixed),
    }
}

/// Splits a list of hosts; commas in brackets belong to a name.
fn names(text: &str) -> Result<Vec<String>, OptionsError> {
    Ok(host_list::words(text)?.into_iter().map(str::to_owned).collect())
}

fn positive<N: FromStr + Default + PartialEq>(text: &str) -> Option<N> {
    text.parse().ok().filter(|number| *number != N::default())
}

fn seconds(text: &str) -> Option<Duration> {
    let seconds = text.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

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
        check("--patience 0.5", new().patience(Duration::from_millis(500)));
        check("--checkpoint a.b --checkpoint-every 7", new().checkpoint("a.b").checkpoint_every(7));
        check("--checkpoint x --resume", new().checkpoint("x").resume());
        check("--network n.json", new().network("n.json"));
        check("--progress", new().talk(Talk::Progress));
        check("--explain", new().talk(Talk::Explain));
        check("--report r.json", new().report("r.json"));
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
        check_wrong("--threads 0", "`--threads 0` is not understood; write `--threads N`");
        check_wrong(
            "--patience inf",
            "`--patience inf` is not understood; write `--patience SECONDS`",
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
