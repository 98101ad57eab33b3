//! Pictures as files.

use crate::exit::NotWritten;
use anyhow::Context;
use std::fs;
use std::path::Path;

/// Writes a picture; the file appears when it is whole.
pub(crate) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let name = || format!("`{}`", path.display());
    let partial = path.with_added_extension("partial");
    let written = fs::write(&partial, text).and_then(|()| fs::rename(&partial, path));
    if written.is_err() {
        fs::remove_file(&partial).ok();
    }
    written.context(NotWritten).with_context(name)
}
