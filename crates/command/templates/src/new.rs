//! `sintonia new`: makes a program of a master and workers that builds, runs and has a test, for the user to fill in.
//!
//! Projects are copies of `examples/programs/` of this repository with another name and the path to the library.
//!
//! # Not here
//! Projects with tunlets: `new_tunlet`.

mod sources;

use crate::project::{self, File, Language};
use clap::Args;
use serde_json::json;
use sources::Sources;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use user_io::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  sintonia new hello --lang rust && cd hello && cargo test
  sintonia new hello --lang c && make -C hello check
  sintonia new hello --lang rust --dir work/hello --sintonia ~/sintonia

What is yours to write is marked `YOURS` in the project. Its README has the commands that build it, try it,
and run it on ranks.

Exit codes: 0 when the project is made; 2 when an option is wrong; 100 when the name will not do, the folder
is there already, or the library is not found; 102 when a file could not be written.";

/// Make a program of a master and workers
///
/// The project builds with one command and runs as it is: on threads, or under the `mpirun` of any MPI library. You
/// replace the bodies of its seven functions by your own computation.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Name of the program: lower-case letters, digits, `-` and `_`
    name: String,
    /// Language of the project
    #[arg(long, value_enum)]
    lang: Language,
    /// Folder to make; by default the name
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Folder of Sintonia: its sources, or the prefix of its installation. By default that of this program
    #[arg(long, value_name = "DIR")]
    sintonia: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Makes the project and says how to go on.
pub fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    project::check_name(&options.name, "program")?;
    let sources = Sources::find(options.sintonia.as_deref())?;
    let files = match options.lang {
        Language::Rust => rust_files(&options.name, &sources)?,
        Language::C => c_files(&options.name, &sources)?,
    };
    let dir = project::folder(&options.name, options.dir.as_deref());
    project::write(&dir, &files)?;
    let text = if options.json { as_json(options, &dir, &files)? } else { in_words(options, &dir) };
    user_io::print::result(&text)
}

/// Commands that build and test the project, run it, and run it on ranks, in its folder.
fn commands(options: &Options) -> [String; 3] {
    let name = &options.name;
    match options.lang {
        Language::Rust => [
            "cargo test".to_owned(),
            "cargo run --release -- --progress".to_owned(),
            format!("mpirun -n 4 target/release/{name} --progress"),
        ],
        Language::C => [
            "make check".to_owned(),
            format!("./{name} --progress"),
            format!("mpirun -n 4 ./{name} --progress"),
        ],
    }
}

fn in_words(options: &Options, dir: &Path) -> String {
    let [test, run, on_ranks] = commands(options);
    let dir = dir.display();
    format!("made `{dir}`; try it: cd {dir} && {test}\nthen: {run}\n      {on_ranks}\n")
}

fn as_json(options: &Options, dir: &Path, files: &[File]) -> anyhow::Result<String> {
    let [test, run, on_ranks] = commands(options);
    let value = json!({
        "name": options.name,
        "lang": match options.lang { Language::Rust => "rust", Language::C => "c" },
        "dir": dir,
        "files": files.iter().map(|(path, _)| path).collect::<Vec<_>>(),
        "test": test,
        "run": run,
        "run_on_ranks": on_ranks,
    });
    Ok(format!("{:#}\n", serde_json::to_value(value)?))
}

/// Name that the examples have.
const EXAMPLE: &str = "integral";

macro_rules! example {
    ($path:literal) => {
        ($path, include_str!(concat!("../../../../examples/programs/integral-rust/", $path)))
    };
    (c $path:literal) => {
        ($path, include_str!(concat!("../../../../examples/programs/integral-c/", $path)))
    };
}

const RUST: &[(&str, &str)] = &[
    (".gitignore", "/target\n"),
    example!("Cargo.toml"),
    example!("README.md"),
    example!("src/main.rs"),
];

/// Files of a project in Rust.
fn rust_files(name: &str, sources: &Sources) -> anyhow::Result<Vec<File>> {
    let crate_folder = sources.library_folder()?;
    let mut files =
        named(RUST, name, &[("../../../crates/libraries/master-worker", &crate_folder)]);
    // Versions with which the library was tested; `cargo` drops the ones that are not needed.
    files.push(("Cargo.lock".to_owned(), sources.lock()?));
    Ok(files)
}

const C: &[(&str, &str)] = &[
    (".gitignore", "/integral\n/test\n/structures_messages.h\n*.o\n"),
    example!(c "Makefile"),
    example!(c "README.md"),
    example!(c "main.c"),
    example!(c "program.c"),
    example!(c "program.h"),
    example!(c "structures.h"),
    example!(c "test.c"),
];

/// Files of a project in C.
fn c_files(name: &str, sources: &Sources) -> anyhow::Result<Vec<File>> {
    let (include, library, root) = (sources.include()?, sources.library()?, sources.root()?);
    let own = sources::this_program()?;
    let paths = [
        ("../../../target/release/sintonia", own.as_str()),
        ("../../../crates/libraries/master-worker-c/include", include.as_str()),
        ("../../../target/release", library.as_str()),
        ("../../..", root.as_str()),
    ];
    Ok(named(C, name, &paths))
}

/// Files for the project `name`, with its paths.
fn named(files: &[(&str, &str)], name: &str, paths: &[(&str, &str)]) -> Vec<File> {
    let filled = |text: &str| {
        let named = text.replace(EXAMPLE, name);
        paths.iter().fold(named, |text, (ours, theirs)| text.replace(ours, theirs))
    };
    files.iter().map(|(path, text)| ((*path).to_owned(), filled(text))).collect()
}
