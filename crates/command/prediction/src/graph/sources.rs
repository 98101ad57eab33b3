//! Reads the sources of a program: those named, those of a folder, and headers that they include with quotes.

use anyhow::{Context, bail};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Extensions of C and C++ sources.
const ENDINGS: [&str; 8] = ["c", "cc", "cpp", "cxx", "C", "c++", "cu", "hip"];
/// Most files; further headers are left out.
const N_FILES_MAX: usize = 2000;

/// Reads names and texts in the order given, headers last.
pub(super) fn read(inputs: &[PathBuf]) -> anyhow::Result<Vec<(String, String)>> {
    let mut left: Vec<PathBuf> = Vec::new();
    for input in inputs {
        if input.is_dir() {
            left.extend(of_folder(input)?);
        } else {
            left.push(input.clone());
        }
    }
    let n_named = left.len();
    let mut seen = BTreeSet::new();
    let mut files = Vec::new();
    let mut at = 0;
    while let Some(path) = left.get(at).cloned() {
        let is_named = at < n_named;
        at += 1;
        if !seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
            continue;
        }
        let bytes =
            match user_io::bounded_read::read(&path, user_io::bounded_read::WRITTEN_BYTES_MAX) {
                Err(_) if !is_named => continue,
                read => read.with_context(|| format!("`{}` cannot be read", path.display()))?,
            };
        let text = user_io::bounded_read::text(&bytes)
            .unwrap_or_else(|| String::from_utf8_lossy(&bytes).into_owned());
        if left.len() < N_FILES_MAX {
            left.extend(included(&text, &path));
        }
        files.push((path.display().to_string(), text));
    }
    Ok(files)
}

fn of_folder(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let name = || format!("`{}` cannot be read", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(name)? {
        let path = entry.with_context(name)?.path();
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if ENDINGS.contains(&ending) && path.is_file() {
            files.push(path);
        }
    }
    if files.is_empty() {
        bail!(
            "`{}` has neither a source in C or C++ nor a recorded run: give sources, or the folder that \
             `sintonia run` named",
            folder.display()
        );
    }
    files.sort();
    Ok(files)
}

/// Headers beside a source that it includes.
fn included(text: &str, of: &Path) -> Vec<PathBuf> {
    let folder = of.parent().unwrap_or(Path::new(""));
    let names = text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
        rest.trim_start().strip_prefix('"')?.split('"').next()
    });
    names.map(|name| folder.join(name)).filter(|path| path.is_file()).collect()
}
