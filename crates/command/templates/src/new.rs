//! `sintonia new`: makes a program of a master and workers that builds, runs and has a test, for the user to fill in.
//!
//! Projects are copies of `examples/programs/` of this repository with another name and the path to the library.
//!
//! # Not here
//! Projects with tunlets: `new_tunlet`.

use crate::project::{self, File, Language, ProjectOptions};
use anyhow::{Context, bail};
use clap::Args;
use serde_json::json;
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
    #[command(flatten)]
    project: ProjectOptions,
    /// Folder of Sintonia: its sources, or the prefix of its installation. By default that of this program
    #[arg(long, value_name = "DIR")]
    sintonia: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Makes the project and says how to go on.
pub fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    let ProjectOptions { name, lang, .. } = &options.project;
    project::check_name(name, "program")?;
    let sources = Sources::find(options.sintonia.as_deref())?;
    let files = match lang {
        Language::Rust => rust_files(name, &sources)?,
        Language::C => c_files(name, &sources)?,
    };
    let folder = options.project.folder();
    project::write(&folder, &files)?;
    let (dir, [test, run, on_ranks]) = (folder.display(), commands(&options.project));
    let lang = match lang {
        Language::Rust => "rust",
        Language::C => "c",
    };
    user_io::print::result(&if options.json {
        let files = files.iter().map(|(path, _)| path).collect::<Vec<_>>();
        let value = json!({
            "name": name, "lang": lang, "dir": folder, "files": files, "test": test, "run": run,
            "run_on_ranks": on_ranks,
        });
        format!("{value:#}\n")
    } else {
        format!("made `{dir}`; try it: cd {dir} && {test}\nthen: {run}\n      {on_ranks}\n")
    })
}

/// Commands that build and test the project, run it, and run it on ranks, in its folder.
fn commands(ProjectOptions { name, lang, .. }: &ProjectOptions) -> [String; 3] {
    match lang {
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
    let crate_folder = text(&sources.0.join(CRATE))?;
    let mut files =
        named(RUST, name, &[("../../../crates/libraries/master-worker", &crate_folder)]);
    // Versions with which the library was tested; `cargo` drops the ones that are not needed.
    let path = sources.0.join("Cargo.lock");
    let lock = std::fs::read_to_string(&path).with_context(|| format!("`{}`", path.display()))?;
    files.push(("Cargo.lock".to_owned(), lock));
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
    let include = text(&sources.0.join(INCLUDE))?;
    let (library, root) = (sources.library()?, text(&sources.0)?);
    // It generates messages for a project.
    let own = text(&std::env::current_exe().context("the path of this program is unknown")?)?;
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

/// Crate that Rust projects depend on, below the sources.
const CRATE: &str = "crates/libraries/master-worker";
/// Folder of the header, below the sources.
const INCLUDE: &str = "crates/libraries/master-worker-c/include";
/// Library for C.
const LIBRARY: &str = "libmaster_worker.so";

/// File that a working copy has and an installation does not.
const OF_WORKING_COPY: &str = "crates/command/cli/Cargo.toml";

/// Folder with the sources of the library: `crates` and `target` of a working copy, or what `make install` puts below
/// `share/sintonia` of its prefix, with the C library in `lib`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sources(PathBuf);

impl Sources {
    /// Looks below `asked`; otherwise beside this program's installation; otherwise where it was built.
    fn find(asked: Option<&Path>) -> anyhow::Result<Self> {
        let places: Vec<PathBuf> = match asked {
            Some(dir) => vec![dir.to_owned(), dir.join("share/sintonia")],
            None => installed().into_iter().chain([built_from()]).collect(),
        };
        let found = places.iter().find(|place| place.join(CRATE).join("Cargo.toml").is_file());
        let Some(found) = found else {
            let places: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
            bail!(
                "there is no `{CRATE}` in `{}`; say with `--sintonia DIR` where the sources of Sintonia are, or \
                 what it was installed below",
                places.join("`, nor in `")
            );
        };
        let found = found.canonicalize().with_context(|| format!("`{}`", found.display()))?;
        Ok(Self(found))
    }

    /// Folder of the library for C. In a working copy that has not built it, the folder into which a build puts it: the
    /// `Makefile` of a project builds it first.
    fn library(&self) -> anyhow::Result<String> {
        let installed = self.0.to_str().and_then(|path| path.strip_suffix("share/sintonia"));
        let own = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.to_owned()));
        // The build of this program comes first, wherever it is.
        let own = own.filter(|_| built_from().canonicalize().is_ok_and(|from| from == self.0));
        let built = ["target/release", "target/debug"].map(|dir| self.0.join(dir));
        let places = installed.map(|prefix| Path::new(prefix).join("lib"));
        let places: Vec<PathBuf> = places.into_iter().chain(own).chain(built).collect();
        if let Some(found) = places.iter().find(|place| place.join(LIBRARY).is_file()) {
            return text(found);
        }
        if !self.0.join(OF_WORKING_COPY).is_file() {
            bail!(
                "there is no `{LIBRARY}` for `{0}`; build it there with \
                 `cargo build --release --package master-worker-c`, or install Sintonia with `make install`",
                self.0.display()
            );
        }
        eprintln!(
            "sintonia: `{LIBRARY}` is not built yet; `make` in the project does that first, with cargo"
        );
        text(&self.0.join("target/release"))
    }
}

/// Sources installed beside this program.
fn installed() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?.canonicalize().ok()?;
    Some(own.parent()?.parent()?.join("share/sintonia"))
}

/// Working copy that this program was built from.
fn built_from() -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_folder.ancestors().nth(3).unwrap_or(crate_folder).to_owned()
}

/// Path as text that can be written into a file of a project.
fn text(path: &Path) -> anyhow::Result<String> {
    let text = path.to_str().filter(|text| !text.contains(['"', '\'', '\\', '$', '#', '\n']));
    let problem = || {
        let path = path.display();
        format!(
            "`{path}` cannot be written into a file of a project; move Sintonia to a plainer path"
        )
    };
    text.map(str::to_owned).with_context(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    const C_MAKEFILE: &str = include_str!("../../../../examples/programs/integral-c/Makefile");

    #[test]
    fn sources_are_found_where_they_are_said_to_be() {
        let own = Sources(built_from());
        assert_eq!(Sources::find(None).unwrap(), own);
        assert_eq!(Sources::find(Some(&built_from())).unwrap(), own);
        let place = tempfile::tempdir().unwrap();
        let installed = place.path().join("share/sintonia");
        std::fs::create_dir_all(installed.join(CRATE)).unwrap();
        let message = Sources::find(Some(place.path())).unwrap_err().to_string();
        assert!(message.contains("say with `--sintonia DIR`"), "{message}");
        std::fs::write(installed.join(CRATE).join("Cargo.toml"), "").unwrap();
        assert_eq!(Sources::find(Some(place.path())).unwrap(), Sources(installed));
    }

    /// After `make demo`, which does not build the library for C, no project in C could be made.
    #[test]
    fn a_working_copy_may_build_its_library_later() {
        let place = tempfile::tempdir().unwrap();
        let sources = Sources(place.path().to_owned());
        let said = sources.library().unwrap_err().to_string();
        assert!(said.contains("cargo build --release --package master-worker-c"), "{said}");
        std::fs::create_dir_all(place.path().join("crates/command/cli")).unwrap();
        std::fs::write(place.path().join(OF_WORKING_COPY), "").unwrap();
        assert_eq!(Path::new(&sources.library().unwrap()), place.path().join("target/release"));
        assert!(C_MAKEFILE.contains("--package master-worker-c"), "it builds the library");
    }

    #[test]
    fn a_path_is_plain_text() {
        assert_eq!(text(Path::new("/opt/a b/c")).unwrap(), "/opt/a b/c");
        assert!(text(Path::new("/opt/$HOME")).is_err());
    }
}
