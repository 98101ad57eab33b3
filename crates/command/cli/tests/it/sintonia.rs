//! Starts the program in folders of its own.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

/// Folders for records and shared memory.
#[derive(Debug)]
pub(crate) struct Sandbox {
    dir: TempDir,
}

/// Output and exit code of a call of the program.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) code: Option<i32>,
    pub(crate) output: String,
    pub(crate) errors: String,
}

impl From<Output> for CommandOutput {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            output: String::from_utf8_lossy(&output.stdout).into_owned(),
            errors: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl CommandOutput {
    /// Checks the exit code, and that a part of a message is among the errors.
    #[track_caller]
    pub(crate) fn check_errors(&self, code: i32, part: &str) {
        assert_eq!(self.code, Some(code), "{}{}", self.output, self.errors);
        assert!(self.errors.contains(part), "{}", self.errors);
    }
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        for name in ["shm", "tmp"] {
            std::fs::create_dir(dir.path().join(name)).expect("a folder");
        }
        Self { dir }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Command of `sintonia` with these words, in this sandbox.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, words: &[S]) -> Command {
        self.command_of(launch::place::built("sintonia").as_ref(), words)
    }

    /// Runs a shell script in this sandbox, in which `$0` is the program.
    pub(crate) fn shell(&self, script: &str) -> CommandOutput {
        let program = launch::place::built("sintonia");
        let words = ["-c".as_ref(), script.as_ref(), program.as_os_str()];
        self.command_of("sh".as_ref(), &words).output().expect("it can be started").into()
    }

    fn command_of<S: AsRef<OsStr>>(&self, program: &OsStr, words: &[S]) -> Command {
        let mut command = Command::new(program);
        command.args(words).current_dir(self.dir.path()).stdin(Stdio::null());
        command.env("SINTONIA_SHM_DIR", self.path("shm")).env("TMPDIR", self.path("tmp"));
        command.env("SINTONIA_LIB", harmless_library()).env_remove("NO_COLOR");
        command
    }

    pub(crate) fn sintonia<S: AsRef<OsStr>>(&self, words: &[S]) -> CommandOutput {
        self.command(words).output().expect("it can be started").into()
    }

    /// Starts the program with pipes; its input stays open until the test ends.
    pub(crate) fn start<S: AsRef<OsStr>>(&self, words: &[S]) -> Child {
        let mut command = self.command(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("it can be started")
    }

    /// Checks that nothing is left in shared memory or among temporary files.
    #[track_caller]
    pub(crate) fn check_clean(&self) {
        for name in ["shm", "tmp"] {
            let left: Vec<_> = std::fs::read_dir(self.path(name)).expect("ours").collect();
            assert!(left.is_empty(), "{left:?}");
        }
    }
}

/// Library that may be preloaded into any program: these tests are about the launcher, not the probe.
fn harmless_library() -> PathBuf {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("our own");
    let paths = maps.lines().filter_map(|line| line.split_ascii_whitespace().nth(5));
    let library = paths.into_iter().find(|path| path.contains("/libc.so")).expect("the C library");
    PathBuf::from(library)
}
