//! Tests of programs in C and C++: the description lies in the program, or in the library that it loads.

use super::{N_RANKS, check_applied, drawing, watched};
use launch::place::{built as library_file, programs};
use std::path::{Path, PathBuf};
use std::process::Command;
use suite::Job;
use suite::library::Library;
use suite::tool::WatchFolders;

const FACTORS: [&str; 3] = ["F0", "F1", "F2"];

/// Builds the library's example in C with these further arguments, without symbols.
#[track_caller]
fn built(compiler: &[&str], words: &[&str], folder: &Path) -> PathBuf {
    let crate_for_c = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../libraries/master-worker-c");
    let program = folder.join("drawing");
    let mut command = Command::new(compiler[0]);
    command.args(&compiler[1..]).args(["-O2", "-s", "-I"]).arg(crate_for_c.join("include"));
    command.arg(crate_for_c.join("examples/mandelbrot.c")).args(["-x", "none"]).args(words);
    let output = command.arg("-lm").arg("-o").arg(&program).output().expect("a compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

#[test]
fn the_library_is_in_the_program() {
    let folders = WatchFolders::new();
    let library = library_file("libmaster_worker.a");
    let words = ["-ffunction-sections", "-Wl,--gc-sections", library.to_str().expect("text")];
    let program = built(&["gcc"], &words, folders.folder());
    let job = |picture: &Path| drawing(Library::Mpich4, &program, picture);
    check_applied(&watched(folders, job, &["factoring"], ("master-worker", &program)), &FACTORS);
}

/// Checks a program that finds the library by itself (`rpath`), or where the launcher says.
#[track_caller]
fn check_shared(compiler: &[&str], rpath: bool, job: impl Fn(&Path, &Path) -> Job) {
    let folders = WatchFolders::new();
    let library = library_file("libmaster_worker.so");
    let folder = library.parent().and_then(Path::to_str).expect("text");
    let rpath = if rpath { format!("-Wl,-rpath,{folder}") } else { "-O2".to_owned() };
    let program = built(compiler, &[&rpath, "-L", folder, "-lmaster_worker"], folders.folder());
    let job = |picture: &Path| job(&program, picture);
    check_applied(&watched(folders, job, &["factoring"], ("master-worker", &library)), &FACTORS);
}

#[test]
fn the_library_is_loaded_by_a_program_in_cpp() {
    let compiler = ["g++", "-fpermissive", "-w", "-x", "c++"];
    check_shared(&compiler, true, |program, picture| drawing(Library::OpenMpi4, program, picture));
}

#[test]
fn the_library_is_where_the_launcher_says() {
    check_shared(&["gcc"], false, |program, picture| {
        let folder = library_file("libmaster_worker.so");
        let folder = folder.parent().and_then(Path::to_str).expect("text");
        let option = ["-genv", "LD_LIBRARY_PATH", folder];
        let job = Library::Mpich4.launch_with(&option, N_RANKS, program);
        job.args(["150", "40"]).arg(picture).args(["--policy", "static"])
    });
}

#[test]
fn a_library_that_is_not_found_is_named() {
    let folders = WatchFolders::new();
    let folder = programs();
    let words = ["-L", folder.to_str().expect("text"), "-lmaster_worker"];
    let program = built(&["gcc"], &words, folders.folder());
    let job = Library::Mpich4.launch(2, &program);
    // The test runner's own setting would lead to the library, too.
    let job = folders.job(&job, &["--tunlet", "factoring"]).without("LD_LIBRARY_PATH");
    let ended = job.run();
    let said = "and `libmaster_worker.so` is not found here (set `LD_LIBRARY_PATH`)";
    assert!(ended.code == 103 && ended.stderr.contains(said), "{}", ended.text());
}
