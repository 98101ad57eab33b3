//! The generated code compiles without warnings, and sent structs arrive unchanged.

use launch::library::Language;
use launch::{Job, Library};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A folder with the header, the generated code, and a program.
struct Scene {
    folder: TempDir,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let text = include_str!("../programs/shapes.h");
        let (header, problems) = c_structs::read(text);
        assert_eq!(problems, []);
        let code = c_structs::messages(&header, "shapes.h");
        for (name, text) in [("shapes.h", text), ("shapes_messages.h", &code)] {
            std::fs::write(folder.path().join(name), text).expect("a file");
        }
        Self { folder }
    }

    /// Compiles a test program; the compiler must give no warnings.
    #[track_caller]
    fn compile(&self, compiler: &Path, options: &[&str], program: &str) -> PathBuf {
        let made = self.folder.path().join("program");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(program);
        let mut command = Command::new(compiler);
        command.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1"]).args(options);
        command.arg("-I").arg(self.folder.path()).arg(source).arg("-o").arg(&made);
        let output = command.output().expect("it can be started");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{command:?}: {said}");
        made
    }
}

#[track_caller]
fn check(compiler: &str, options: &[&str]) {
    let scene = Scene::new();
    let program = scene.compile(Path::new(compiler), options, "round_trip.c");
    let ended = Job::new(program).run();
    assert_eq!((ended.code, ended.text().as_str()), (0, "same\n"));
}

/// Excludes the old C++ classes of MPI, about which compilers warn.
const CPP: [&str; 5] = ["-std=c++11", "-x", "c++", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"];
const SANITIZED: &str = "-fsanitize=address,undefined";

#[test]
fn structs_come_back_in_c() {
    check("gcc", &["-std=c99", SANITIZED]);
    check("clang", &["-std=c99"]);
}

#[test]
fn structs_come_back_in_cpp() {
    check("g++", &["-std=c++11", "-x", "c++", SANITIZED]);
}

#[test]
fn arrays_arrive_with_their_datatype() {
    for library in Library::SYSTEM {
        for (language, options) in [(Language::C, &["-std=c99"][..]), (Language::Cpp, &CPP)] {
            let scene = Scene::new();
            let program = scene.compile(&library.compiler(language), options, "send.c");
            let ended = library.launch(2, &program).run();
            assert_eq!(
                (ended.code, ended.stdout.as_str()),
                (0, "same\n"),
                "{library:?} {language:?}: {}",
                ended.stderr
            );
        }
    }
}
