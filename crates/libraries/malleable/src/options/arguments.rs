//! Command line arguments for the options.

use super::{ManagerKind, Options, OptionsError, Placement, Redistribution};
use resize_api::{Spawn, Strategy};
use std::str::FromStr;
use std::time::Duration;

/// Variable with further arguments, which are read first.
const VARIABLE: &str = "SINTONIA_MALLEABLE";

impl Options {
    /// Reads the options from the variable `SINTONIA_MALLEABLE` and then from the arguments of the
    /// process:
    ///
    /// | argument | |
    /// |---|---|
    /// | `--sizes MIN:MAX` | [`sizes`](Self::sizes) |
    /// | `--preferred N` | [`preferred`](Self::preferred) |
    /// | `--schedule ITERATION:SIZE,...` | [`schedule`](Self::schedule) |
    /// | `--check-every K\|auto` | [`check_every`](Self::check_every) |
    /// | `--strategy merge\|baseline` | [`strategy`](Self::strategy) |
    /// | `--spawn tree\|one\|per-node\|sequential\|companion` | [`spawn`](Self::spawn) |
    /// | `--foreground` | [`foreground`](Self::foreground) |
    /// | `--redistribution auto\|sync\|async\|p2p\|get` | [`redistribution`](Self::redistribution) |
    /// | `--placement balance\|fill\|nearest` | [`placement`](Self::placement) |
    /// | `--hosts FILE` | [`hosts`](Self::hosts) |
    /// | `--manager none\|hosts\|slurm\|auto` | [`manager`](Self::manager) |
    /// | `--model FILE[:NAME=VALUE,...]\|learn\|explore` | [`model`](Self::model) |
    /// | `--iterations N` | [`iterations`](Self::iterations) |
    /// | `--record DIR` | [`record`](Self::record) |
    /// | `--control DIR` | [`control`](Self::control) |
    /// | `--deadline SECONDS` | [`deadline`](Self::deadline) |
    /// | `--checkpoint FILE` | [`checkpoint`](Self::checkpoint) |
    /// | `--checkpoint-every SECONDS` | [`checkpoint_every`](Self::checkpoint_every) |
    /// | `--explain` | [`explain`](Self::explain) |
    ///
    /// `--option=value` works as well. Other arguments are left to the program.
    ///
    /// # Errors
    /// [`OptionsError`] if a value is missing or not valid.
    pub fn from_args() -> Result<Self, OptionsError> {
        Self::from_args_and_rest().map(|(options, _)| options)
    }

    /// Like [`from_args`](Self::from_args); also returns the arguments left to the program.
    ///
    /// # Errors
    /// As for [`from_args`](Self::from_args).
    pub fn from_args_and_rest() -> Result<(Self, Vec<String>), OptionsError> {
        let mut options = Self::default();
        let variable = std::env::var(VARIABLE).unwrap_or_default();
        options.take_all(variable.split_whitespace().map(str::to_owned))?;
        let others = options.take_all(std::env::args().skip(1))?;
        Ok((options, others))
    }

    /// Reads the options from `words`; also returns the words that are none of these.
    ///
    /// # Errors
    /// [`OptionsError`] if a value is missing or not valid.
    pub fn parse(
        words: impl IntoIterator<Item = String>,
    ) -> Result<(Self, Vec<String>), OptionsError> {
        let mut options = Self::default();
        let others = options.take_all(words)?;
        Ok((options, others))
    }

    fn take_all(
        &mut self,
        words: impl IntoIterator<Item = String>,
    ) -> Result<Vec<String>, OptionsError> {
        let mut others = Vec::new();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            if word == "--" {
                others.extend(words);
                break;
            }
            if !self.take(&word, &mut words)? {
                others.push(word);
            }
        }
        Ok(others)
    }

    /// Reads a word with its value; `false` when it is not an option of this library.
    fn take(
        &mut self,
        word: &str,
        rest: &mut impl Iterator<Item = String>,
    ) -> Result<bool, OptionsError> {
        let (option, attached) = match word.split_once('=') {
            Some((option, value)) => (option, Some(value.to_owned())),
            None => (word, None),
        };
        let mut value = |expected| -> Result<Value, OptionsError> {
            let option = option.to_owned();
            let found = attached.clone().or_else(|| rest.next());
            let text = found.ok_or(OptionsError::NoValue { option: option.clone(), expected })?;
            Ok(Value { option, text, expected })
        };
        match option {
            "--sizes" => self.sizes = Some(value("MIN:MAX")?.word(sizes)?),
            "--preferred" => self.preferred = Some(value("N")?.word(positive)?),
            "--schedule" => self.schedule = value("ITERATION:SIZE,...")?.word(schedule)?,
            "--check-every" => self.check_every = value("K|auto")?.word(check_every)?,
            "--strategy" => self.strategy = value("merge|baseline")?.word(strategy)?,
            "--spawn" => {
                self.spawn = value("tree|one|per-node|sequential|companion")?.word(spawn)?;
            }
            "--foreground" => self.is_foreground = true,
            "--redistribution" => {
                self.redistribution = value("auto|sync|async|p2p|get")?.word(redistribution)?;
            }
            "--placement" => self.placement = value("balance|fill|nearest")?.word(placement)?,
            "--hosts" => self.hosts = Some(value("FILE")?.text.into()),
            "--manager" => self.manager = value("none|hosts|slurm|auto")?.word(manager)?,
            "--model" => self.model = Some(value("FILE|learn|explore")?.text.into()),
            "--iterations" => self.n_iterations = Some(value("N")?.word(positive)?),
            "--record" => self.record = Some(value("DIR")?.text.into()),
            "--control" => self.control = Some(value("DIR")?.text.into()),
            "--deadline" => self.deadline = value("SECONDS")?.word(seconds)?,
            "--checkpoint" => self.checkpoint = Some(value("FILE")?.text.into()),
            "--checkpoint-every" => self.checkpoint_every = value("SECONDS")?.word(seconds)?,
            "--explain" => self.is_explaining = true,
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

fn positive<N: FromStr + PartialOrd + From<u8>>(text: &str) -> Option<N> {
    text.parse().ok().filter(|n| N::from(1) <= *n)
}

fn sizes(text: &str) -> Option<(u32, u32)> {
    let (min, max) = text.split_once(':').unwrap_or((text, text));
    let (min, max) = (positive(min)?, positive(max)?);
    (min <= max).then_some((min, max))
}

fn schedule(text: &str) -> Option<Vec<(u64, u32)>> {
    let pair = |text: &str| {
        let (iteration, size) = text.split_once(':')?;
        Some((iteration.parse().ok()?, positive(size)?))
    };
    let mut pairs = text.split(',').map(pair).collect::<Option<Vec<_>>>()?;
    pairs.sort_by_key(|(iteration, _)| *iteration);
    Some(pairs)
}

fn check_every(text: &str) -> Option<Option<u32>> {
    if text == "auto" { Some(None) } else { positive(text).map(Some) }
}

fn strategy(text: &str) -> Option<Strategy> {
    match text {
        "merge" => Some(Strategy::Merge),
        "baseline" => Some(Strategy::Baseline),
        _ => None,
    }
}

fn spawn(text: &str) -> Option<Spawn> {
    match text {
        "tree" => Some(Spawn::Tree),
        "one" => Some(Spawn::One),
        "per-node" => Some(Spawn::PerNode),
        "sequential" => Some(Spawn::Sequential),
        "companion" => Some(Spawn::Companion),
        _ => None,
    }
}

fn redistribution(text: &str) -> Option<Redistribution> {
    match text {
        "auto" => Some(Redistribution::Auto),
        "sync" => Some(Redistribution::Sync),
        "async" => Some(Redistribution::Async),
        "p2p" => Some(Redistribution::PointToPoint),
        "get" => Some(Redistribution::Get),
        _ => None,
    }
}

fn placement(text: &str) -> Option<Placement> {
    match text {
        "balance" => Some(Placement::Balance),
        "fill" => Some(Placement::Fill),
        "nearest" => Some(Placement::Nearest),
        _ => None,
    }
}

fn manager(text: &str) -> Option<ManagerKind> {
    match text {
        "none" => Some(ManagerKind::None),
        "hosts" => Some(ManagerKind::Hosts),
        "slurm" => Some(ManagerKind::Slurm),
        "auto" => Some(ManagerKind::Auto),
        _ => None,
    }
}

fn seconds(text: &str) -> Option<Duration> {
    let seconds = text.parse().ok().filter(|seconds| 0.0 < *seconds)?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &str, expected: Options) {
        let words = words.split_whitespace().map(str::to_owned);
        assert_eq!(Options::parse(words), Ok((expected, Vec::new())));
    }

    #[test]
    fn words_are_options() {
        check("", Options::new());
        check("--sizes 2:8 --preferred 4", Options::new().sizes(2, 8).preferred(4));
        check("--sizes=3", Options::new().sizes(3, 3));
        check("--schedule 20:4,10:8", Options::new().schedule([(10, 8), (20, 4)]));
        check("--check-every 5", Options::new().check_every(5));
        check("--check-every auto", Options::new());
        check("--strategy baseline --spawn one", {
            Options::new().strategy(Strategy::Baseline).spawn(Spawn::One)
        });
        check("--spawn companion --foreground", {
            Options::new().spawn(Spawn::Companion).foreground()
        });
        check("--redistribution p2p", {
            Options::new().redistribution(Redistribution::PointToPoint)
        });
        check("--placement fill --hosts h", Options::new().placement(Placement::Fill).hosts("h"));
        check("--manager slurm", Options::new().manager(ManagerKind::Slurm));
        check("--model m --iterations 9", Options::new().model("m").iterations(9));
        check("--record r --control c", Options::new().record("r").control("c"));
        check("--deadline 0.5", Options::new().deadline(Duration::from_millis(500)));
        check("--checkpoint f --checkpoint-every 3 --explain", {
            Options::new().checkpoint("f").checkpoint_every(Duration::from_secs(3)).explain()
        });
    }

    #[test]
    fn other_words_are_the_programs_own() {
        let words = ["a.mtx", "--rows", "5", "--sizes", "1:2", "--", "--sizes"];
        let (options, others) = Options::parse(words.map(str::to_owned)).unwrap();
        assert_eq!(options, Options::new().sizes(1, 2));
        assert_eq!(others, ["a.mtx", "--rows", "5", "--sizes"]);
    }

    #[track_caller]
    fn check_refused(words: &str, part: &str) {
        let refused = Options::parse(words.split_whitespace().map(str::to_owned)).unwrap_err();
        assert!(refused.to_string().contains(part), "{refused}");
    }

    #[test]
    fn wrong_words_are_refused() {
        check_refused("--sizes", "`--sizes MIN:MAX`");
        check_refused("--sizes 4:2", "`--sizes 4:2` is not understood");
        check_refused("--schedule 10:0", "ITERATION:SIZE");
        check_refused("--schedule 10", "ITERATION:SIZE");
        check_refused("--check-every 0", "`--check-every K|auto`");
        check_refused("--strategy best", "merge|baseline");
        check_refused("--deadline 0", "SECONDS");
    }

    #[test]
    fn sizes_are_those_of_the_schedule_where_none_are_given() {
        assert_eq!(Options::new().sizes_with(3), (3, 3));
        assert_eq!(Options::new().schedule([(1, 2), (2, 8)]).sizes_with(3), (2, 8));
        assert_eq!(Options::new().sizes(1, 4).schedule([(2, 8)]).sizes_with(3), (1, 4));
    }
}
