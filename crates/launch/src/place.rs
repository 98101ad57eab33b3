//! Where Cargo puts what it builds.

use std::path::{Path, PathBuf};

/// The folder of the profile that this test was built with.
pub fn profile() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let folder = test.parent().expect("a program lies in a folder");
    let is_inner = ["deps", "examples"].iter().any(|name| folder.ends_with(name));
    let folder = if is_inner { folder.parent().unwrap_or(folder) } else { folder };
    folder.to_owned()
}

/// The target folder, which also holds what `scripts/setup.sh test` makes.
pub fn target() -> PathBuf {
    let profile = profile();
    profile.parent().map_or_else(|| profile.clone(), Path::to_owned)
}

/// The example program of this name; Cargo builds those of a crate with its tests.
pub fn example(name: &str) -> PathBuf {
    let path = profile().join("examples").join(name);
    assert!(path.exists(), "there is no `{}`; run `cargo build --examples`", path.display());
    path
}
