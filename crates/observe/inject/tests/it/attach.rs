//! A small program that computes, sleeps or allocates, and gets a library while it runs.

use inject::{CallInProcess, InjectError, inject};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

const LIBRARY: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
int loaded(const char *text) { dprintf(1, "got %s\n", text); free(malloc(100000)); return 42; }
int quiet(const char *text) { volatile long double x = 1.0L; (void)text; errno = 77; x = x / 3; free(malloc(100000)); return 42; }
int held(const char *folder) { int at = open(folder, O_PATH); close(openat(at, "called", O_CREAT | O_WRONLY, 0600)); while (faccessat(at, "may return", F_OK, 0) != 0) usleep(1000); close(at); return 42; }
"#;

/// Program that works until a line arrives on its standard input, then prints its result. Any other byte asks it for a
/// sign of life from the thread that is attached to.
const PROGRAM: &str = include_str!("program.c");

fn compile(folder: &Path, name: &str, source: &str, options: &[&str]) -> PathBuf {
    let (input, output) = (folder.join(format!("{name}.c")), folder.join(name));
    std::fs::write(&input, source).unwrap();
    let status = Command::new("cc")
        .args(["-O2", "-pthread", "-o"])
        .arg(&output)
        .arg(&input)
        .args(options)
        .status()
        .unwrap();
    assert!(status.success());
    output
}

/// The library and the program, compiled.
pub(crate) struct Compiled {
    pub(crate) folder: tempfile::TempDir,
    library: PathBuf,
    pub(crate) program: PathBuf,
}

impl Compiled {
    pub(crate) fn new(program_options: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let library = compile(folder.path(), "library.so", LIBRARY, &["-shared", "-fPIC"]);
        let program = compile(folder.path(), "program", PROGRAM, program_options);
        Self { folder, library, program }
    }

    pub(crate) fn call<'a>(&'a self, function: &'a str, argument: &'a str) -> CallInProcess<'a> {
        CallInProcess { library: &self.library, function, argument }
    }
}

pub(crate) struct Running {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Running {
    pub(crate) fn start(program: &Path, how: &str) -> Self {
        let mut child = Command::new(program)
            .arg(how)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut running = Self { child, output };
        assert_eq!(running.line(), "ready");
        running
    }

    pub(crate) fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Expects a sign of life from the thread that is attached to.
    #[track_caller]
    pub(crate) fn check_goes_on(&mut self, when: &str) {
        let input = self.child.stdin.as_mut().unwrap();
        input.write_all(b"?").expect(when);
        assert_eq!(self.line(), "here", "{when}");
    }

    #[track_caller]
    pub(crate) fn end(mut self) {
        self.child.stdin.take().unwrap().write_all(b"\n").unwrap();
        assert_eq!(self.line(), "right 2");
        assert_eq!(self.child.wait().unwrap().code(), Some(7));
    }
}

#[track_caller]
fn check(compiled: &Compiled, how: &str) {
    let mut running = Running::start(&compiled.program, how);
    for round in 0..20 {
        let argument = format!("round {round}");
        let call = compiled.call("loaded", &argument);
        assert_eq!(inject(running.pid(), call).expect("loads"), 42);
        assert_eq!(running.line(), format!("got {argument}"));
    }
    running.end();
}

#[test]
fn a_waiting_program_goes_on_waiting() {
    let compiled = Compiled::new(&["-lm"]);
    check(&compiled, "sleep");
    // Calls that the kernel does not restart by itself after a stop.
    check(&compiled, "epoll");
    check(&compiled, "sockets");
    check(&compiled, "read");
    check(&compiled, "nap");
}

#[test]
fn a_computing_program_keeps_its_state() {
    let compiled = Compiled::new(&["-lm"]);
    check(&compiled, "compute");
    // In the midst of its registers, and inside its allocator.
    check(&compiled, "registers");
    check(&compiled, "allocate");
    // In code that the allocator has called: regression, a rank of MPICH stayed locked for ever.
    check(&compiled, "hooked");
}

#[test]
fn a_library_that_cannot_be_loaded_leaves_the_program_as_it_was() {
    let compiled = Compiled::new(&["-lm"]);
    let running = Running::start(&compiled.program, "compute");
    let library = compiled.folder.path().join("program.c");
    let call = CallInProcess { library: &library, ..compiled.call("loaded", "") };
    let error = inject(running.pid(), call).unwrap_err();
    assert!(
        matches!(&error, InjectError::NotLoaded { reason, .. } if reason.contains("ELF")),
        "{error}"
    );
    let call = CallInProcess { library: Path::new("/nowhere.so"), ..call };
    assert!(matches!(inject(running.pid(), call), Err(InjectError::NotVisible { .. })));
    running.end();
}

#[test]
fn a_static_program_is_refused() {
    let compiled = Compiled::new(&["-static"]);
    // Regression: the program's wait ended with `EINTR` when the thread was released.
    let running = Running::start(&compiled.program, "epoll");
    let call = compiled.call("loaded", "");
    for _ in 0..20 {
        assert!(matches!(inject(running.pid(), call), Err(InjectError::Static(_))));
    }
    running.end();
}

#[test]
fn a_process_that_is_gone_is_named() {
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let pid = child.id().cast_signed();
    let call =
        CallInProcess { library: Path::new("/nowhere.so"), function: "loaded", argument: "" };
    assert!(matches!(inject(pid, call), Err(InjectError::NoProcess(_))));
}
