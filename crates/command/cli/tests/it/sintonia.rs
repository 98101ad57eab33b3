//! Starts the program in folders of its own.

use serde::de::DeserializeOwned;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
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
    /// Output of a command that must succeed without a message.
    #[track_caller]
    pub(crate) fn silent(self) -> String {
        assert_eq!((self.code, self.errors.as_str()), (Some(0), ""), "{}", self.output);
        self.output
    }

    /// Output of a command that must succeed, as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        self.parsed()
    }

    #[track_caller]
    pub(crate) fn parsed<T: DeserializeOwned>(&self) -> T {
        assert_eq!(self.code, Some(0), "{}", self.errors);
        serde_json::from_str(&self.output).expect("JSON")
    }

    /// Checks the exit code and the output.
    #[track_caller]
    pub(crate) fn check_output(&self, code: i32, output: &str) {
        let found = (self.code, self.output.as_str());
        assert_eq!(found, (Some(code), output), "{}", self.errors);
    }

    /// Checks the exit code, and that a part of a message is among the errors.
    #[track_caller]
    pub(crate) fn check_errors(&self, code: i32, part: &str) {
        assert_eq!(self.code, Some(code), "{}{}", self.output, self.errors);
        assert!(self.errors.contains(part), "no `{part}` in {}", self.errors);
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

    /// Makes a sandbox with files of these names and texts.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let sandbox = Self::new();
        files.iter().for_each(|(name, text)| sandbox.write(name, text));
        sandbox
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file, and the folders that it lies in.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap_or(&path)).expect("the folder is ours");
        std::fs::write(path, content).expect("the folder is ours");
    }

    #[track_caller]
    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("a file of text")
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

    /// Runs the program with the words of a line.
    pub(crate) fn said(&self, line: &str) -> CommandOutput {
        self.sintonia(&line.split_whitespace().collect::<Vec<_>>())
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

/// Waits until a condition holds; returns false if it does not within half a minute.
pub(crate) fn wait_until(is_so: impl FnMut() -> bool) -> bool {
    server::wait_until(Instant::now() + Duration::from_secs(30), is_so)
}

/// Library that may be preloaded into any program: these tests are about the launcher, not the probe.
fn harmless_library() -> PathBuf {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("our own");
    let paths = maps.lines().filter_map(|line| line.split_ascii_whitespace().nth(5));
    let library = paths.into_iter().find(|path| path.contains("/libc.so")).expect("the C library");
    PathBuf::from(library)
}
