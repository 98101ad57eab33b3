//! Hosts of a launcher's command line, and the same command for those of them that are left.
//!
//! Both launchers name hosts in a list (`-hosts a,b:4`, `--host a:2`) or in a file (`-f FILE`, `--hostfile FILE`). Only
//! words before the program count, since a malleable program has options of these names, too.

use host_list::NamedNode;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

const LISTS: [&str; 5] = ["-hosts", "--hosts", "-host", "--host", "-H"];
const FILES: [&str; 5] = ["-f", "-hostfile", "--hostfile", "-machinefile", "--machinefile"];
const COUNTS: [&str; 4] = ["-n", "-np", "--np", "-c"];
/// Options whose value may be the name of a program.
const VALUED: [&str; 10] = [
    "--map-by",
    "--bind-to",
    "--rank-by",
    "-launcher",
    "-rmk",
    "-launcher-exec",
    "-x",
    "-wdir",
    "--wdir",
    "-iface",
];
/// Options with two values.
const PAIRED: [&str; 7] = ["--mca", "-mca", "--prtemca", "--pmixmca", "--gmca", "-genv", "-env"];

/// Hosts that a launcher is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LauncherHosts {
    /// Position of the value that names them.
    at: usize,
    /// Position of the number of ranks, if it is there.
    count_at: Option<usize>,
    /// Text of the host file, if it is one.
    file: Option<String>,
    pub(super) hosts: Vec<NamedNode>,
}

/// What is left of a command: the words, a host file to write, and numbers for a sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rest {
    pub(super) words: Vec<OsString>,
    pub(super) host_file: Option<(PathBuf, String)>,
    /// Ranks before and now, where the command says how many.
    pub(super) n_ranks: Option<(u32, u32)>,
    pub(super) n_hosts: (usize, usize),
}

impl LauncherHosts {
    /// Finds the hosts in a command; `read` reads a host file.
    pub(super) fn of(
        words: &[OsString],
        is_program: impl Fn(&OsStr) -> bool,
        read: impl Fn(&Path) -> Option<String>,
    ) -> Option<Self> {
        let end = end_of_options(words, is_program);
        let at = value_of(&words[..end], &LISTS).or_else(|| value_of(&words[..end], &FILES))?;
        let count_at = value_of(&words[..end], &COUNTS);
        let value = words[at].to_str()?;
        if LISTS.contains(&words[at - 1].to_str()?) {
            let hosts = host_list::hosts(value).ok()?;
            return Some(Self { at, count_at, file: None, hosts });
        }
        let text = read(Path::new(value))?;
        let hosts = host_list::host_file(&text).ok()?;
        Some(Self { at, count_at, file: Some(text), hosts })
    }

    /// The command without the `dead` hosts; `host_file` is the path for a file without them.
    ///
    /// It has as many ranks as fit into the places left; where places are not counted, the same number for each host.
    pub(super) fn without(
        &self,
        words: &[OsString],
        dead: &BTreeSet<String>,
        host_file: &Path,
    ) -> Rest {
        let left = |host: &&NamedNode| !dead.contains(&host.name);
        let hosts = self.hosts.iter().filter(left).collect::<Vec<_>>();
        let mut rest = Rest {
            words: words.to_vec(),
            n_hosts: (self.hosts.len(), hosts.len()),
            ..Rest::default()
        };
        if let Some(at) = self.count_at
            && let Some(n) = words[at].to_str().and_then(|text| text.parse::<u32>().ok())
        {
            let fitting = self.fitting(n, &hosts);
            rest.words[at] = fitting.to_string().into();
            rest.n_ranks = Some((n, fitting));
        }
        if let Some(text) = &self.file {
            let is_left = |line: &&str| {
                let name = line.split_whitespace().next().unwrap_or_default();
                !host_list::hosts(name)
                    .is_ok_and(|all| all.iter().any(|host| dead.contains(&host.name)))
            };
            let lines = text.lines().filter(is_left).map(|line| format!("{line}\n"));
            rest.words[self.at] = host_file.into();
            rest.host_file = Some((host_file.to_owned(), lines.collect()));
        } else {
            let named = hosts.iter().map(|host| match host.n_places {
                Some(n_places) => format!("{}:{n_places}", host.name),
                None => host.name.clone(),
            });
            rest.words[self.at] = named.collect::<Vec<_>>().join(",").into();
        }
        rest
    }

    fn fitting(&self, n_ranks: u32, left: &[&NamedNode]) -> u32 {
        let places = left.iter().map(|host| host.n_places).sum::<Option<u32>>();
        let by_host = || {
            let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
            let all = count(self.hosts.len()).max(1);
            u32::try_from(u64::from(n_ranks) * count(left.len()) / all).unwrap_or(n_ranks)
        };
        places.unwrap_or_else(by_host).clamp(1, n_ranks.max(1))
    }
}

/// Position of the program: a word that is one, and not the value of an option.
fn end_of_options(words: &[OsString], is_program: impl Fn(&OsStr) -> bool) -> usize {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let text = word.to_str().unwrap_or_default();
        let is_valued =
            [&LISTS[..], &FILES, &COUNTS, &VALUED].iter().any(|some| some.contains(&text));
        at += match () {
            () if PAIRED.contains(&text) => 3,
            () if is_valued => 2,
            () if !text.starts_with('-') && is_program(word) => return at,
            () => 1,
        };
    }
    words.len()
}

fn value_of(words: &[OsString], options: &[&str]) -> Option<usize> {
    let at =
        words.iter().position(|word| word.to_str().is_some_and(|word| options.contains(&word)))?;
    (at + 1 < words.len()).then_some(at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# nodes\na slots=2\nb slots=2\nc:4\n";

    fn words(command: &str) -> Vec<OsString> {
        command.split_whitespace().map(OsString::from).collect()
    }

    fn hosts(command: &[OsString]) -> Option<LauncherHosts> {
        let is_program = |word: &OsStr| word == "./cg" || word == "node";
        LauncherHosts::of(command, is_program, |_| Some(FILE.to_owned()))
    }

    /// Checks what is left of a command when these hosts are dead.
    #[track_caller]
    fn check(command: &str, dead: &[&str], expected: &str) {
        let words = words(command);
        let dead = dead.iter().map(|name| (*name).to_owned()).collect();
        let rest = hosts(&words).expect("it names hosts").without(&words, &dead, Path::new("new"));
        let shown: Vec<_> = rest.words.iter().map(|word| word.to_string_lossy()).collect();
        assert_eq!(shown.join(" "), expected);
        assert_eq!(rest.host_file.is_some(), expected.contains("new"));
    }

    #[test]
    fn dead_hosts_are_left_out_of_lists() {
        check("mpiexec -hosts a,b -n 4 ./cg", &["b"], "mpiexec -hosts a -n 2 ./cg");
        check("mpiexec -n 4 --host a:3,b:1 ./cg -n 7", &["b"], "mpiexec -n 3 --host a:3 ./cg -n 7");
        check("mpiexec -n 1 -hosts n[1-3] ./cg", &["n1", "n3"], "mpiexec -n 1 -hosts n2 ./cg");
        check("mpiexec -hosts a,b ./cg -n 4", &["b"], "mpiexec -hosts a ./cg -n 4");
    }

    #[test]
    fn dead_hosts_are_left_out_of_files() {
        check("mpiexec -f old -n 8 ./cg", &["b"], "mpiexec -f new -n 6 ./cg");
        let command = words("mpiexec --hostfile old -np 8 ./cg");
        let dead = BTreeSet::from(["c".to_owned()]);
        let rest =
            hosts(&command).expect("it names hosts").without(&command, &dead, Path::new("x"));
        assert_eq!(rest.host_file.expect("a file").1, "# nodes\na slots=2\nb slots=2\n");
        assert_eq!((rest.n_ranks, rest.n_hosts), (Some((8, 4)), (3, 2)));
    }

    #[test]
    fn options_of_the_program_are_its_own() {
        assert_eq!(hosts(&words("mpiexec -n 2 ./cg --hostfile a -hosts b")), None);
        assert_eq!(hosts(&words("mpiexec --oversubscribe ./cg --hostfile a")), None);
        let found = hosts(&words("mpiexec --map-by node --mca a node -hosts b ./cg"));
        assert_eq!(found.expect("it names hosts").hosts[0].name, "b");
    }
}
