//! File of a cluster's key: where it is by default, and its contents.

use anyhow::Context;
use node_daemon::links::ClusterKey;
use std::env;
use std::path::{Path, PathBuf};
use user_io::exit::NoDaemon;

/// Reads the key from the named file, or from the default one.
pub(crate) fn read(file: Option<&Path>) -> anyhow::Result<ClusterKey> {
    let path = path(file)?;
    ClusterKey::read(&path).map_err(|error| NoDaemon.because(error.to_string()).into())
}

/// The named file, or the default one.
pub(crate) fn path(file: Option<&Path>) -> anyhow::Result<PathBuf> {
    file.map_or_else(default_path, |path| Ok(path.to_owned()))
}

fn default_path() -> anyhow::Result<PathBuf> {
    let variable = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let of_home = || Some(variable("HOME")?.join(".config"));
    let base = variable("XDG_CONFIG_HOME").or_else(of_home);
    let base = base.context("there is no `HOME`: name the file of the key")?;
    Ok(base.join("sintonia/node.key"))
}
