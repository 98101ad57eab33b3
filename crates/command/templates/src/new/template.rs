//! Makes the files of a project from `examples/programs/`.

use super::sources::{self, Sources};
use crate::project::File;

/// Name that the examples have.
const EXAMPLE: &str = "integral";

macro_rules! example {
    ($path:literal) => {
        ($path, include_str!(concat!("../../../../../examples/programs/integral-rust/", $path)))
    };
    (c $path:literal) => {
        ($path, include_str!(concat!("../../../../../examples/programs/integral-c/", $path)))
    };
}

const RUST: &[(&str, &str)] = &[
    (".gitignore", "/target\n"),
    example!("Cargo.toml"),
    example!("README.md"),
    example!("src/main.rs"),
];

/// Files of a project in Rust.
pub(super) fn rust(name: &str, sources: &Sources) -> anyhow::Result<Vec<File>> {
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
pub(super) fn c(name: &str, sources: &Sources) -> anyhow::Result<Vec<File>> {
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
