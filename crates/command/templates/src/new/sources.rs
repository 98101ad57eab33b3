//! Finds the library with which a project is built.
//!
//! `make install` puts the sources of the crates below `share/sintonia` of its prefix, and the C library into `lib`. In
//! a working copy they are in `crates` and `target`.

use anyhow::{Context, bail};
use std::path::{Path, PathBuf};

/// Crate that Rust projects depend on, below the sources.
const CRATE: &str = "crates/libraries/master-worker";
/// Folder of the header, below the sources.
const INCLUDE: &str = "crates/libraries/master-worker-c/include";
/// Library for C.
const LIBRARY: &str = "libmaster_worker.so";

/// File that a working copy has and an installation does not.
const OF_WORKING_COPY: &str = "crates/command/cli/Cargo.toml";

/// Folder with the sources of the library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sources(PathBuf);

impl Sources {
    /// Looks below `asked`; otherwise beside this program's installation; otherwise where it was built.
    pub(super) fn find(asked: Option<&Path>) -> anyhow::Result<Self> {
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

    /// Folder of the library's crate.
    pub(super) fn library_folder(&self) -> anyhow::Result<String> {
        text(&self.0.join(CRATE))
    }

    /// Versions of dependencies with which the library was built, as the text of `Cargo.lock`.
    pub(super) fn lock(&self) -> anyhow::Result<String> {
        let path = self.0.join("Cargo.lock");
        std::fs::read_to_string(&path).with_context(|| format!("`{}`", path.display()))
    }

    /// Folder of the header.
    pub(super) fn include(&self) -> anyhow::Result<String> {
        text(&self.0.join(INCLUDE))
    }

    /// Folder of the sources.
    pub(super) fn root(&self) -> anyhow::Result<String> {
        text(&self.0)
    }

    /// Folder of the library for C. In a working copy that has not built it, the folder into which a build puts it: the
    /// `Makefile` of a project builds it first.
    pub(super) fn library(&self) -> anyhow::Result<String> {
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

/// Path of this program, which generates messages for a project.
pub(super) fn this_program() -> anyhow::Result<String> {
    text(&std::env::current_exe().context("the path of this program is unknown")?)
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

    const C_MAKEFILE: &str = include_str!("../../../../../examples/programs/integral-c/Makefile");

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
