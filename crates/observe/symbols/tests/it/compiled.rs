//! Programs compiled and run once, with the addresses they reported and their memory map.

use events::{CodeAddress, ModuleMap, SourceLocation};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use symbols::{Detail, Resolver};
use tempfile::TempDir;

pub(crate) struct Compiled {
    path: String,
    calls: HashMap<String, u64>,
    maps: ModuleMap,
    /// Keeps the files until the test ends.
    _dir: TempDir,
}

/// Returns whether a compiler or tool is installed.
pub(crate) fn have(tool: &str) -> bool {
    Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success())
}

pub(crate) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/programs").join(name)
}

#[track_caller]
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().expect("the tool is installed");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

/// Compiles `files` to `output`, in `dir`.
#[track_caller]
pub(crate) fn compile(
    dir: &TempDir,
    compiler: &str,
    flags: &[&str],
    files: impl IntoIterator<Item = PathBuf>,
    output: &str,
) -> PathBuf {
    let path = dir.path().join(output);
    let mut command = Command::new(compiler);
    run(command.current_dir(dir).args(flags).args(files).arg("-o").arg(&path));
    path
}

impl Compiled {
    /// Compiles `sources` and the reporting functions with `compiler`.
    #[track_caller]
    pub(crate) fn new(compiler: &str, flags: &[&str], sources: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let flags_of_report = ["-O1", "-fPIC", "-c"];
        let report = compile(&dir, "gcc", &flags_of_report, [source("report.c")], "report.o");
        let sources = sources.iter().map(|name| source(name)).chain([report]);
        let path = compile(&dir, compiler, flags, sources, "program");
        Self::of(dir, &path)
    }

    /// Compiles the C program with a shared library compiled with `flags`.
    #[track_caller]
    pub(crate) fn with_library(flags: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let flags = [&["-shared", "-fPIC"], flags].concat();
        let sources = ["library.c", "report.c"].map(source);
        let library = compile(&dir, "gcc", &flags, sources, "library.so");
        let flags = ["-g", "-O2", "-DWITH_LIBRARY"];
        let path = compile(&dir, "gcc", &flags, [source("calls.c"), library], "program");
        Self::of(dir, &path)
    }

    fn of(dir: TempDir, path: &Path) -> Self {
        let output = run(&mut Command::new(path));
        let (calls, maps): (Vec<&str>, Vec<&str>) =
            output.lines().partition(|line| line.starts_with("call "));
        let call = |line: &&str| {
            let (what, address) = line["call ".len()..].split_once(' ').expect("two words");
            (what.to_owned(), u64::from_str_radix(address, 16).expect("a number"))
        };
        let (maps, problems) = ModuleMap::parse(&maps.join("\n"));
        assert_eq!(problems, []);
        let path = path.to_str().expect("a path in UTF-8").to_owned();
        Self { path, calls: calls.iter().map(call).collect(), maps, _dir: dir }
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Changes the program file by a tool whose last arguments are input and, unless an option names
    /// another file, output.
    #[track_caller]
    pub(crate) fn tool(&self, tool: &str, args: &[&str]) {
        let (options, files): (Vec<&str>, Vec<&str>) =
            args.iter().partition(|a| a.starts_with("--"));
        run(Command::new(tool).args(options).arg(&self.path).args(files));
    }

    fn address(&self, call: &str) -> CodeAddress<'_> {
        self.maps.locate(self.calls[call]).expect("in a module")
    }

    pub(crate) fn place(&self, call: &str) -> SourceLocation {
        Resolver::new().place_of_return(&self.address(call))
    }

    pub(crate) fn detail(&self, call: &str) -> Detail {
        Resolver::new().detail(&self.address(call))
    }

    /// Expects each call in a function, a file (the end of its path) and a line.
    #[track_caller]
    pub(crate) fn check(&self, expected: &[(&str, &str, &str, u32)]) {
        for (call, function, file, line) in expected {
            let place = self.place(call);
            let found = (place.function.as_str(), place.line);
            assert_eq!(found, (*function, *line), "{call}: {place:?}");
            assert!(place.file.ends_with(file), "{call}: {place:?}");
            assert_eq!(place.file.is_empty(), file.is_empty(), "{call}: {place:?}");
        }
    }
}
