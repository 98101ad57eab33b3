//! Where the library is that a project is built with.
//!
//! `make install` puts the sources of the crates below `share/sintonia` of its prefix, and the C library into `lib`. In
//! a working copy they are in `crates` and `target`.

use anyhow::{Context, bail};
use std::path::{Path, PathBuf};

/// The crate that Rust projects depend on, below the sources.
const CRATE: &str = "crates/master-worker";
/// The folder of the header, below the sources.
const INCLUDE: &str = "crates/master-worker-c/include";
/// The library for C.
const LIBRARY: &str = "libmaster_worker.so";

/// What a working copy has and an installation has not.
const OF_WORKING_COPY: &str = "crates/cli/Cargo.toml";

/// The sources of the library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sources(PathBuf);

impl Sources {
    /// Those below `asked`; otherwise those installed with this program; otherwise those that it was built from.
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

    /// The crate of the library.
    pub(super) fn krate(&self) -> anyhow::Result<String> {
        text(&self.0.join(CRATE))
    }

    /// The versions of other people's crates that it was built with.
    pub(super) fn lock(&self) -> anyhow::Result<String> {
        let path = self.0.join("Cargo.lock");
        std::fs::read_to_string(&path).with_context(|| format!("`{}`", path.display()))
    }

    /// The folder of the header.
    pub(super) fn include(&self) -> anyhow::Result<String> {
        text(&self.0.join(INCLUDE))
    }

    /// Their folder.
    pub(super) fn root(&self) -> anyhow::Result<String> {
        text(&self.0)
    }

    /// The folder of the library for C. In a working copy that has not built it, where its build puts it: the `Makefile`
    /// of a project builds it first.
    pub(super) fn library(&self) -> anyhow::Result<String> {
        let installed = self.0.to_str().and_then(|path| path.strip_suffix("share/sintonia"));
        let own = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.to_owned()));
        // The build that this program belongs to comes first, wherever it is.
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

/// Where this program is installed with its library.
fn installed() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?.canonicalize().ok()?;
    Some(own.parent()?.parent()?.join("share/sintonia"))
}

/// The working copy that this program was built from.
fn built_from() -> PathBuf {
    let krate = Path::new(env!("CARGO_MANIFEST_DIR"));
    krate.ancestors().nth(2).unwrap_or(krate).to_owned()
}

/// The program that writes messages for a project.
pub(super) fn this_program() -> anyhow::Result<String> {
    text(&std::env::current_exe().context("the path of this program is unknown")?)
}

/// As it is written into a file of a project.
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

    /// After `make demo`, which builds no library for C, no project in C could be made.
    #[test]
    fn a_working_copy_may_build_its_library_later() {
        let place = tempfile::tempdir().unwrap();
        let sources = Sources(place.path().to_owned());
        let said = sources.library().unwrap_err().to_string();
        assert!(said.contains("cargo build --release --package master-worker-c"), "{said}");
        std::fs::create_dir_all(place.path().join("crates/cli")).unwrap();
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
