//! Chooses where the analyzer listens: on this node alone, unless anything suggests that ranks run on other nodes.
//!
//! In doubt it listens everywhere: a rank that cannot connect is worse than a port that strangers find, since they
//! learn nothing there.

use std::ffi::{OsStr, OsString};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// Launchers whose options are known.
const LAUNCHERS: &str = "mpirun mpiexec orterun prterun mpiexec.hydra mpiexec.gforker mpirun.openmpi mpiexec.openmpi \
                         mpirun.mpich mpiexec.mpich hydra_mpiexec oshrun";
/// Prefixes of the variables set by systems that give a job its nodes.
const BATCH: &str =
    "SLURM_JOB SLURM_NODELIST SLURM_NNODES PBS_ LSB_ PE_HOSTFILE OAR_ COBALT_ FLUX_ LOADL_ PJM_";
/// Prefixes of the variables that set a launcher's options.
const OF_LAUNCHERS: &str = "OMPI_ PRTE_ PMIX_ HYDRA_ MPIEXEC_ I_MPI_ MPICH_";
/// Parts of such names that suggest hosts, or a file with hosts or further options.
const OF_VARIABLES: &str = "HOST RSH AGENT MACHINE BOOTSTRAP LAUNCHER RMK CONFIG_FILE PARAM_FILES";
/// Options, without dashes, that name hosts, another job, or a file with hosts or further options.
///
/// Hydra takes any number of dashes, upper and lower case, and `=`; Open MPI 5 takes prefixes of names.
const OPTIONS: &str =
    "f rf app configfile rmk dvm dvm-uri hnp tune am amca hostfile machinefile rankfile";
/// Words within an argument that suggest the same, as in `--mca orte_default_hostfile f`.
const WORDS: &str = "host machine rankfile param_files";
/// Files in which launchers find hosts without an option, below a folder of settings.
const FILES: &str = "openmpi-default-hostfile openmpi-mca-params.conf prte-default-hostfile prte-mca-params.conf \
                     prte.conf mpiexec.conf mpiexec.hydra.conf";
/// Prefixes of the folders in `etc` that belong to a launcher: Debian has `openmpi`, Fedora `openmpi-x86_64`.
const FOLDERS: &str = "openmpi mpich prte pmix";
/// Such files below the user's home.
const FILES_OF_PERSON: &str =
    ".openmpi/mca-params.conf .prte/mca-params.conf .pmix/mca-params.conf .mpiexec.hydra.conf";
/// Bytes of a program within which its libraries are named.
const PROGRAM_BYTES_MAX: u64 = 8 << 20;

/// Returns whether one of these words, which blanks separate, satisfies a condition.
fn any(words: &'static str, holds: impl FnMut(&'static str) -> bool) -> bool {
    words.split(' ').any(holds)
}

/// Facts about a command before it starts.
#[derive(Clone, Copy)]
pub(crate) struct CommandFacts<'a> {
    /// Command and its arguments; empty if the program runs already.
    pub(crate) command: &'a [String],
    /// Names of the environment variables.
    pub(crate) variables: &'a [OsString],
    /// Root folder, below which all others are looked for.
    pub(crate) root: &'a Path,
    /// Home of the user.
    pub(crate) home: Option<&'a Path>,
    /// File of the command, if it was found.
    pub(crate) program: Option<&'a Path>,
}

/// Address to listen at: the one asked for, else that of this node alone or all.
pub(crate) fn address(asked: Option<SocketAddr>, start: &CommandFacts<'_>) -> SocketAddr {
    asked.unwrap_or_else(|| match suggests_others(start) {
        true => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        false => SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
    })
}

/// File of a command: itself, or found in the folders of `PATH`.
pub(crate) fn program(command: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    if command.contains('/') {
        return Some(PathBuf::from(command)).filter(|path| path.is_file());
    }
    let folders = path.map(std::env::split_paths).into_iter().flatten();
    folders.map(|folder| folder.join(command)).find(|path| path.is_file())
}

fn suggests_others(start: &CommandFacts<'_>) -> bool {
    let Some((program, arguments)) = start.command.split_first() else { return false };
    let name = Path::new(program).file_name().and_then(OsStr::to_str).unwrap_or_default();
    let is_launcher = any(LAUNCHERS, |launcher| launcher == name);
    // A bare MPI program starts on this node, but its library starts further ranks where a launcher would.
    start.variables.iter().any(|name| is_of_nodes(name))
        || names_hosts(arguments)
        || has_host_file(start)
        || !is_launcher && !start.program.is_some_and(is_of_mpi)
}

fn is_of_nodes(variable: &OsStr) -> bool {
    let name = variable.to_string_lossy();
    let upper = name.to_ascii_uppercase();
    let begins = |beginning: &str| name.starts_with(beginning);
    any(BATCH, begins)
        || any(OF_LAUNCHERS, begins) && any(OF_VARIABLES, |word| upper.contains(word))
}

/// Returns whether an argument, of the launcher or of the program, is about other hosts than this one.
fn names_hosts(arguments: &[String]) -> bool {
    let mut arguments = arguments.iter().peekable();
    while let Some(argument) = arguments.next() {
        let lower = argument.to_ascii_lowercase();
        let (option, value) = match lower.split_once('=') {
            Some((option, value)) => (option, Some(value)),
            None => (lower.as_str(), None),
        };
        let is_list = ["-h", "-host", "--host", "-hosts", "--hosts"].contains(&option);
        let next = || arguments.peek().map(|hosts| hosts.as_str());
        if is_list && value.or_else(next).is_some_and(are_this) {
            arguments.next_if(|_| value.is_none());
        } else if argument == "-H" || is_of_hosts(option) || any(WORDS, |word| lower.contains(word))
        {
            return true;
        }
    }
    false
}

/// Returns whether an option is one of [`OPTIONS`], or a prefix that is long enough to be understood as one.
fn is_of_hosts(option: &str) -> bool {
    let name = option.trim_start_matches('-');
    let is_begun = |known: &str| known == name || 2 <= name.len() && known.starts_with(name);
    name.len() < option.len() && any(OPTIONS, is_begun)
}

/// Returns whether a list of hosts names only this one, by a name that means it on every host.
fn are_this(hosts: &str) -> bool {
    let name = |host: &str| host.split(':').next().unwrap_or_default().to_owned();
    hosts.split(',').map(name).all(|host| host == "localhost" || host.starts_with("127."))
}

/// Returns whether the launcher finds hosts in a file of its installation or of this user.
fn has_host_file(start: &CommandFacts<'_>) -> bool {
    let real = start.program.and_then(|program| program.canonicalize().ok());
    let installation = real.as_deref().and_then(Path::parent).and_then(Path::parent);
    let of_system = ["etc", "usr/etc"].map(|folder| start.root.join(folder));
    let settings = installation.map(|folder| folder.join("etc")).into_iter().chain(of_system);
    let below = |folder: &Path, files| any(files, |file| names_other_hosts(&folder.join(file)));
    settings.flat_map(|folder| of_launchers(&folder)).any(|folder| below(&folder, FILES))
        || start.home.is_some_and(|folder| below(folder, FILES_OF_PERSON))
}

/// Folder of settings, and the folders in it that belong to a launcher.
fn of_launchers(settings: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(settings).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name());
    let is_one = |name: &OsString| any(FOLDERS, |start| name.to_string_lossy().starts_with(start));
    let inner = names.filter(is_one).map(|name| settings.join(name));
    std::iter::once(settings.to_owned()).chain(inner).collect()
}

/// Returns whether a file has a line about hosts: any line of a list of hosts or options, else one that sets a place of
/// hosts.
fn names_other_hosts(path: &Path) -> bool {
    let Ok(text) = std::fs::read_to_string(path) else { return false };
    let name = path.to_string_lossy();
    let is_list = name.ends_with("hostfile") || name.ends_with("mpiexec.hydra.conf");
    let lines = text.lines().map(str::trim);
    let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.any(|line| {
        let lower = line.to_ascii_lowercase();
        let is_in = |word| lower.contains(word);
        is_list || any(WORDS, is_in) || any("rsh agent", is_in)
    })
}

/// Returns whether the file is a program that uses MPI itself, and so starts on this node. Scripts and other launchers
/// may do anything.
fn is_of_mpi(program: &Path) -> bool {
    use std::io::Read;
    let mut bytes = Vec::new();
    let read = std::fs::File::open(program)
        .and_then(|file| file.take(PROGRAM_BYTES_MAX).read_to_end(&mut bytes));
    let names = |text: &[u8]| bytes.windows(text.len()).any(|bytes| bytes == text);
    read.is_ok() && bytes.starts_with(b"\x7fELF") && names(b"libmpi")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Start without a command, on a machine without folders.
    fn nothing() -> CommandFacts<'static> {
        let root = Path::new("/nonexistent");
        CommandFacts { command: &[], variables: &[], root, home: None, program: None }
    }

    #[track_caller]
    fn check(command: &str, variables: &[&str], others: bool) {
        let command: Vec<_> = command.split(' ').map(str::to_owned).collect();
        let variables: Vec<_> = variables.iter().map(OsString::from).collect();
        let start = CommandFacts { command: &command, variables: &variables, ..nothing() };
        assert_eq!(suggests_others(&start), others, "{command:?} {variables:?}");
    }

    /// Checks that each of these variables alone suggests other nodes.
    #[track_caller]
    fn check_variables(variables: &str) {
        for variable in variables.split(' ') {
            check("mpirun -n 4 ./a.out", &[variable], true);
        }
    }

    #[test]
    fn a_launcher_without_hosts_starts_ranks_here() {
        check("mpirun -n 4 ./a.out", &[], false);
        let line = "/opt/bin/mpiexec --oversubscribe -np 4 ./a.out --size 7";
        check(line, &["HOME", "OMPI_MCA_btl"], false);
        check("mpiexec -host localhost:4,127.0.0.1 -n 4 ./a.out", &[], false);
    }

    #[test]
    fn whatever_suggests_other_nodes_is_believed() {
        let hosts = "-H n1,n2|--host n1|-host localhost,n1|-hosts n1|--hostfile f|-machinefile f|-f f|--add-hostfile f|\
                     --rankfile f|--app f|--mca orte_default_hostfile f";
        for hosts in hosts.split('|') {
            check(&format!("mpirun {hosts} -n 4 ./a.out"), &[], true);
        }
        check("mpirun -n 1 ./malleable --hosts f", &[], true);
        check_variables(
            "SLURM_JOB_ID PBS_NODEFILE OMPI_MCA_orte_default_hostfile HYDRA_HOST_FILE OMPI_MCA_plm_rsh_agent",
        );
    }

    #[test]
    fn what_is_not_known_may_do_anything() {
        check("srun -n 4 ./a.out", &[], true);
        check("sh run.sh", &[], true);
        check("flux run ./a.out", &[], true);
        check("python3 solve.py", &[], true);
    }

    #[test]
    fn a_program_of_mpi_by_itself_is_on_this_node() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("a.out");
        let check = |content: &[u8], others: bool| {
            std::fs::write(&program, content).unwrap();
            let command = [program.display().to_string()];
            let start = CommandFacts { command: &command, program: Some(&program), ..nothing() };
            assert_eq!(suggests_others(&start), others);
        };
        check(b"\x7fELF..libmpi.so.40..", false);
        check(b"\x7fELF..libc.so.6..", true);
        check(b"#!/bin/sh\nmpirun libmpi\n", true);
    }

    /// With these options of Hydra and Open MPI 5, the port was on loopback only while ranks ran on other nodes.
    #[test]
    fn options_are_known_however_a_launcher_takes_them() {
        let hosts = "-f=f|--f f|-F f|--configfile f|-ConfigFile=f|-rmk=pbs|--rmk slurm|--app=f|--ap f|--dvm=file:f|\
                     --hnp file:f|--tune f|--tun=f|-am f|--amca f|-hostf f|--host=n1|--mca mca_base_param_files f";
        for hosts in hosts.split('|') {
            check(&format!("mpiexec {hosts} -n 4 ./a.out"), &[], true);
        }
        check("mpiexec --host=localhost:4 -n 4 ./a.out", &[], false);
        check("mpiexec -genv A=f --bind-to core -n 4 ./a.out -a 3 file", &[], false);
        check_variables(
            "HYDRA_CONFIG_FILE HYDRA_RMK HYDRA_LAUNCHER I_MPI_HYDRA_HOSTS_GROUP OMPI_MCA_mca_base_param_files",
        );
    }

    /// Places of Debian, Fedora and a user where launchers find hosts by themselves; those of the test machine are not
    /// used, since a test must not depend on them.
    #[test]
    fn a_host_file_of_the_installation_the_system_or_the_person_counts() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("opt/bin/mpirun");
        std::fs::create_dir_all(folder.path().join("opt/bin")).unwrap();
        let (root, home) = (folder.path(), folder.path().join("home"));
        let check_by = |command: &str, file: &str, content: &str, others: bool| {
            let file = folder.path().join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, content).unwrap();
            let command = [command.to_owned()];
            let (home, program) = (Some(home.as_path()), Some(program.as_path()));
            let start = CommandFacts { command: &command, variables: &[], root, home, program };
            assert_eq!(suggests_others(&start), others, "{} {content}", file.display());
            std::fs::remove_file(&file).unwrap();
        };
        std::fs::write(&program, b"\x7fELF..libmpi.so.40..").unwrap();
        let check = |file: &str, content: &str, others: bool| {
            check_by("mpirun", file, content, others);
            // Ranks that an MPI program starts by itself use these hosts as well.
            check_by("./a.out", file, content, others);
        };
        check("opt/etc/openmpi-default-hostfile", "# none\n\n", false);
        check("opt/etc/openmpi-default-hostfile", "# two\nnode1 slots=4\n", true);
        check("opt/etc/mpiexec.hydra.conf", "-f hosts\n", true);
        check("etc/mpiexec.hydra.conf", "# nothing\n", false);
        check("usr/etc/mpiexec.hydra.conf", "-f hosts\n", true);
        check("etc/openmpi/openmpi-mca-params.conf", "orte_default_hostfile = h\n", true);
        check("etc/openmpi-x86_64/openmpi-mca-params.conf", "btl = tcp,self\n", false);
        check("etc/openmpi-x86_64/openmpi-mca-params.conf", "orte_default_hostfile = h\n", true);
        check("etc/openmpi-x86_64/openmpi-default-hostfile", "node1\n", true);
        check("etc/mpich-x86_64/mpiexec.hydra.conf", "-hosts node1\n", true);
        check("home/.openmpi/mca-params.conf", "btl = tcp,self\n", false);
        check("home/.openmpi/mca-params.conf", "orte_default_hostfile = h\n", true);
        check("home/.mpiexec.hydra.conf", "-configfile f\n", true);
    }

    #[test]
    fn an_address_that_is_asked_for_is_used() {
        let none = nothing();
        assert_eq!(address(None, &none).to_string(), "127.0.0.1:0");
        let asked = "[fd00::1]:7".parse().unwrap();
        assert_eq!(address(Some(asked), &none), asked);
        let command = ["srun".to_owned()];
        let unknown = CommandFacts { command: &command, ..none };
        assert_eq!(address(None, &unknown).to_string(), "[::]:0");
    }
}
