//! Identity of what a command runs, as far as it is known before the run: program and build, launcher, machine, ranks.

use super::store::Named;
use crate::programs::Programs;
use learning::{Facts, Key, Machine, Profile, Size};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Options of launchers before the number of ranks.
const N_RANKS_OPTIONS: [&str; 5] = ["-n", "-np", "--np", "--n", "--ntasks"];
/// Beginnings of the names of interpreters: the program is the script that they run.
const INTERPRETERS: [&str; 7] = ["python", "perl", "ruby", "julia", "Rscript", "bash", "sh"];
const CHUNK_BYTES: usize = 1 << 20;

/// Identity of what a command runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Identity {
    program: String,
    build: String,
    launcher: String,
    machine: Machine,
    /// Number of ranks that the command asks for, if it says so.
    n_ranks: Option<usize>,
    /// Checksum of the command's words.
    pub(crate) command_id: String,
}

impl Identity {
    /// Identity of a command; `None` if its program cannot be read.
    pub(crate) fn of(command: &[OsString], programs: &Programs) -> Option<Self> {
        let observed = programs.observed.as_deref()?;
        let program = script(command, observed).unwrap_or_else(|| observed.to_owned());
        let launcher = programs.all.first().map_or(Path::new(""), PathBuf::as_path);
        let launcher = std::fs::canonicalize(launcher).unwrap_or_else(|_| launcher.to_owned());
        let words = command.join(OsStr::new("\0"));
        Some(Self {
            program: program.file_name()?.to_string_lossy().into_owned(),
            build: build(&program)?,
            launcher: launcher.to_string_lossy().into_owned(),
            machine: machine(),
            n_ranks: n_ranks(command, observed, std::env::var("SLURM_NTASKS").ok()),
            command_id: format!("{:08x}", crc32fast::hash(words.as_encoded_bytes())),
        })
    }

    /// Key of the profile of a run that has ended.
    pub(crate) fn key(&self, facts: &Facts, size: Size) -> Key {
        Key {
            program: self.program.clone(),
            build: self.build.clone(),
            launcher: self.launcher.clone(),
            n_ranks: facts.n_ranks,
            mpi: facts.mpi.clone(),
            machine: self.machine.clone(),
            n_nodes: facts.n_nodes,
            size,
        }
    }

    /// Takes the profile that a run begins with: one of the same command, else the latest with as many ranks.
    pub(crate) fn nearest(&self, known: &mut Vec<Named>) -> Option<Named> {
        let rank = |profile: &Profile| {
            let key = &profile.key;
            let is_alike = (&key.program, &key.build, &key.launcher, &key.machine)
                == (&self.program, &self.build, &self.launcher, &self.machine);
            let is_same = profile.runs.iter().any(|run| run.command_id == self.command_id);
            let is_as_many =
                self.n_ranks == Some(key.n_ranks) && matches!(key.size, Size::Iteration(_));
            let latest_s = profile.runs.last().map_or(0.0, |run| run.started_s);
            (is_alike && (is_same || is_as_many)).then_some((is_same, latest_s))
        };
        let ranked = known.iter().enumerate().filter_map(|(at, it)| Some((rank(&it.profile)?, at)));
        let best = ranked
            .max_by(|(one, _), (other, _)| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
        best.map(|(_, at)| known.swap_remove(at))
    }
}

/// Script that an interpreter runs.
fn script(command: &[OsString], observed: &Path) -> Option<PathBuf> {
    let name = observed.file_name()?.to_string_lossy();
    if !INTERPRETERS.iter().any(|it| name.starts_with(it)) {
        return None;
    }
    let at = command.iter().position(|word| Path::new(word).file_name() == observed.file_name())?;
    let later = command[at + 1..].iter().map(PathBuf::from);
    later.into_iter().find(|path| path.is_file())
}

/// Checksum and length of a file.
fn build(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let (mut hasher, mut n_bytes) = (crc32fast::Hasher::new(), 0);
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let n = file.read(&mut chunk).ok()?;
        if n == 0 {
            return Some(format!("{:08x}-{n_bytes}", hasher.finalize()));
        }
        hasher.update(&chunk[..n]);
        n_bytes += n;
    }
}

fn machine() -> Machine {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let processor = model.map_or(String::new(), |(_, name)| name.trim().to_owned());
    let n_cores = text.lines().filter(|line| line.starts_with("processor")).count();
    Machine { processor, n_cores }
}

/// Number of ranks that the words before the program ask for, or the batch system gives.
fn n_ranks(command: &[OsString], observed: &Path, of_slurm: Option<String>) -> Option<usize> {
    let is_program = |word: &OsString| Path::new(word) == observed;
    let before: Vec<&str> = command
        .iter()
        .take_while(|word| !is_program(word))
        .filter_map(|word| word.to_str())
        .collect();
    let asked = before.iter().enumerate().find_map(|(at, word)| match word.split_once('=') {
        Some((option, value)) if N_RANKS_OPTIONS.contains(&option) => value.parse().ok(),
        _ if N_RANKS_OPTIONS.contains(word) => before.get(at + 1)?.parse().ok(),
        _ => None,
    });
    asked.or_else(|| of_slurm?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use learning::Run;

    #[track_caller]
    fn check_ranks(command: &str, of_slurm: Option<&str>, expected: Option<usize>) {
        let words: Vec<OsString> = command.split(' ').map(OsString::from).collect();
        let found = n_ranks(&words, Path::new("./p"), of_slurm.map(str::to_owned));
        assert_eq!(found, expected, "{command}");
    }

    #[test]
    fn the_number_of_ranks_stands_before_the_program() {
        check_ranks("mpirun -np 4 ./p -n 9", None, Some(4));
        check_ranks("srun --ntasks=8 ./p", Some("3"), Some(8));
        check_ranks("srun ./p", Some("3"), Some(3));
        check_ranks("mpirun ./p -n 9", None, None);
    }

    fn named(program: &str, n_ranks: usize, command_id: &str, started_s: f64) -> Named {
        let key = Key {
            program: program.to_owned(),
            n_ranks,
            size: Size::Iteration(0),
            ..Key::default()
        };
        let run = Run { command_id: command_id.to_owned(), started_s, ..Run::default() };
        let profile = Profile { key, runs: vec![run], ..Profile::default() };
        Named { name: format!("{program}{n_ranks}{command_id}"), profile }
    }

    #[track_caller]
    fn check_nearest(n_ranks: Option<usize>, command_id: &str, expected: Option<&str>) {
        let identity = Identity {
            program: "p".to_owned(),
            n_ranks,
            command_id: command_id.to_owned(),
            ..Identity::default()
        };
        let mut known = vec![
            named("p", 4, "a", 1.0),
            named("p", 4, "b", 2.0),
            named("p", 8, "c", 3.0),
            named("q", 4, "d", 4.0),
        ];
        let nearest = identity.nearest(&mut known).map(|it| it.name);
        assert_eq!(nearest.as_deref(), expected);
    }

    #[test]
    fn a_run_begins_with_its_own_command_or_the_latest_like_it() {
        check_nearest(None, "a", Some("p4a"));
        check_nearest(Some(4), "a", Some("p4a"));
        check_nearest(Some(4), "x", Some("p4b"));
        check_nearest(None, "x", None);
        check_nearest(Some(4), "d", Some("p4b"));
    }
}
