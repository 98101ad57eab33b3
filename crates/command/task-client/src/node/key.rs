//! `sintonia node key`: makes the key of a cluster.

use crate::cluster_key;
use anyhow::Context;
use clap::Args;
use node_daemon::links::{ClusterKey, KeyError};
use std::fs::DirBuilder;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use user_io::exit::NotWritten;

const EXAMPLES: &str = "\
Examples:
  sintonia node key                                  for nodes that share this home: nothing else is to be done
  sintonia node key cluster.key && scp -p cluster.key node2:

Who has the file can run commands as you on all nodes of the cluster. A file that is there is never
replaced. Exit codes: 0 the file is written; 102 it is not.";

/// Make the key by which the nodes of a cluster recognize each other
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct KeyOptions {
    /// File for the key; by default `sintonia/node.key` in `$XDG_CONFIG_HOME` or `~/.config`
    file: Option<PathBuf>,
}

/// Makes the key, and prints its path.
pub(super) fn make(options: &KeyOptions) -> anyhow::Result<ExitCode> {
    let path = cluster_key::path(options.file.as_deref())?;
    create(&path).context(NotWritten)?;
    writeln!(std::io::stdout(), "{}", path.display()).context(NotWritten)?;
    Ok(ExitCode::SUCCESS)
}

/// Reads the key from the named file, or from the default one, which is made if it does not exist.
pub(super) fn read(file: Option<&Path>) -> anyhow::Result<ClusterKey> {
    let path = cluster_key::path(file)?;
    if file.is_none() && !path.exists() {
        // Another node with the same home may have just made one: then that key is read.
        if let Ok(key) = create(&path) {
            return Ok(key);
        }
    }
    cluster_key::read(file)
}

fn create(path: &Path) -> Result<ClusterKey, KeyError> {
    if let Some(folder) = path.parent() {
        // An error shows when the file is made.
        DirBuilder::new().recursive(true).mode(0o700).create(folder).ok();
    }
    ClusterKey::create(path)
}
