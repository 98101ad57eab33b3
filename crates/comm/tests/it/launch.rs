//! Starts programs under the launchers of the installed MPI libraries, never for longer than a deadline.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// No launch takes longer unless something is wrong.
const DEADLINE: Duration = Duration::from_secs(90);
/// Marks every process that comes of a launch.
const MARK: &str = "SINTONIA_COMM_TEST";

/// An installed MPI library.
#[derive(Clone, Debug)]
pub(crate) struct Library {
    pub(crate) name: &'static str,
    launcher: PathBuf,
    arguments: &'static [&'static str],
    variables: &'static [(&'static str, &'static str)],
    pub(crate) can_spawn: bool,
}

const OPEN_MPI_ARGUMENTS: &[&str] = &["--oversubscribe", "--bind-to", "none"];

/// Open MPI refuses root, and its waiting ranks take each other's core.
const OPEN_MPI_4: &[(&str, &str)] = &[
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_mpi_yield_when_idle", "1"),
];

/// Without the last ones it sleeps a second at its start.
const OPEN_MPI_5: &[(&str, &str)] = &[
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_mpi_yield_when_idle", "1"),
    ("OMPI_MCA_pml", "ob1"),
    ("OMPI_MCA_btl", "self,sm,tcp"),
    ("OMPI_MCA_coll", "^han"),
];

/// Every library that is installed; those of the distribution must be.
pub(crate) fn libraries() -> Vec<Library> {
    let library = |name, launcher, arguments, variables, can_spawn| Library {
        name,
        launcher,
        arguments,
        variables,
        can_spawn,
    };
    let mut libraries = vec![
        library("Open MPI 4", "mpirun.openmpi".into(), OPEN_MPI_ARGUMENTS, OPEN_MPI_4, false),
        library("MPICH 4", "mpirun.mpich".into(), &[], &[], false),
    ];
    let launcher = |folder: &str| target().join(folder).join("bin/mpiexec");
    let newer = [
        library("Open MPI 5", launcher("venv-openmpi5"), OPEN_MPI_ARGUMENTS, OPEN_MPI_5, true),
        library("MPICH 5", launcher("venv-mpich5"), &[], &[], true),
    ];
    libraries.extend(newer.into_iter().filter(|library| library.launcher.exists()));
    libraries
}

/// Open MPI 5 in the way in which a job goes on when a process of it dies; `None` when it is not installed.
pub(crate) fn surviving() -> Option<Library> {
    let mut library = libraries().into_iter().find(|library| library.name == "Open MPI 5")?;
    library.arguments = &["--oversubscribe", "--bind-to", "none", "--with-ft", "ulfm"];
    Some(library)
}

/// What a program left behind.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) is_success: bool,
    pub(crate) text: String,
}

impl Library {
    /// Runs the example program `name` on ranks of this library.
    #[track_caller]
    pub(crate) fn run(&self, n_ranks: u32, name: &str, arguments: &[&str]) -> Ended {
        let mut command = Command::new(&self.launcher);
        command.args(self.arguments).args(["-n", &n_ranks.to_string()]);
        command.arg(example(name)).args(arguments).envs(self.variables.iter().copied());
        run(command)
    }
}

/// Runs it to its end, or ends it at the deadline.
#[track_caller]
pub(crate) fn run(mut command: Command) -> Ended {
    static N_RUNS: AtomicU32 = AtomicU32::new(0);
    let mark = format!("{}-{}", std::process::id(), N_RUNS.fetch_add(1, Ordering::Relaxed));
    command.env(MARK, &mark).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the launcher is installed");
    let texts = [reader(child.stdout.take()), reader(child.stderr.take())];
    let deadline = Instant::now() + DEADLINE;
    let status = loop {
        match child.try_wait().expect("a child of this process") {
            Some(status) => break Some(status),
            None if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
            None => break None,
        }
    };
    kill_marked(&mark);
    child.wait().expect("a child of this process");
    let texts = texts.map(|text| text.join().expect("reading does not panic"));
    let text = texts.concat();
    assert!(status.is_some(), "{command:?} does not end:\n{text}");
    Ended { is_success: status.is_some_and(|status| status.success()), text }
}

fn reader(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        let failure = read.and_then(Result::err).map_or(String::new(), |error| error.to_string());
        String::from_utf8_lossy(&bytes).into_owned() + &failure
    })
}

/// Ends every process that came of a launch and is still there.
fn kill_marked(mark: &str) {
    let wanted = format!("{MARK}={mark}");
    for entry in std::fs::read_dir("/proc").expect("there is /proc").flatten() {
        let variables = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        if variables.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes()) {
            let pid = entry.file_name();
            // It may have ended by itself meanwhile.
            Command::new("kill")
                .arg("-9")
                .arg(&pid)
                .stderr(Stdio::null())
                .status()
                .expect("`kill` runs");
        }
    }
}

/// The built example program of this name.
pub(crate) fn example(name: &str) -> PathBuf {
    profile().join("examples").join(name)
}

fn profile() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let folder = test.parent().and_then(Path::parent).expect("a test lies in `deps`");
    folder.to_owned()
}

/// The target folder, which also holds what `scripts/setup.sh test` makes.
fn target() -> PathBuf {
    profile().parent().expect("a profile lies in the target folder").to_owned()
}
