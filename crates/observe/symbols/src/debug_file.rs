//! Location of a module's debug information: in the module, or in a file of a debug package.

use crate::elf::Elf;
use std::path::{Path, PathBuf};

/// Folder for separate debug information in distributions.
const DEBUG_ROOT: &str = "/usr/lib/debug";

/// Returns the file with the debug information of a module, if there is one, and the file that it shares with others.
pub(crate) fn find(path: &Path, elf: &Elf) -> Option<(PathBuf, Option<PathBuf>)> {
    if elf.has_debug_info {
        return Some((path.to_owned(), shared_file(path, elf)));
    }
    let is_right = |candidate: &PathBuf| {
        let found = Elf::open(candidate)?;
        // A package of another version would give wrong lines.
        (found.has_debug_info && found.build_id == elf.build_id)
            .then(|| shared_file(candidate, &found))
    };
    candidates(path, elf).find_map(|candidate| is_right(&candidate).map(|s| (candidate, s)))
}

/// Returns the places that gdb searches, in its order.
fn candidates(path: &Path, elf: &Elf) -> impl Iterator<Item = PathBuf> {
    let root = Path::new(DEBUG_ROOT);
    let by_id = elf.build_id.as_deref().and_then(|id| {
        let (first, rest) = id.split_first()?;
        let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
        Some(root.join(".build-id").join(format!("{first:02x}")).join(format!("{rest}.debug")))
    });
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = real.parent().map(Path::to_owned).unwrap_or_default();
    let by_link = elf.debug_link.as_ref().map(|link| {
        let below_root = root.join(folder.strip_prefix("/").unwrap_or(&folder));
        [folder.join(link), folder.join(".debug").join(link), below_root.join(link)]
    });
    by_id.into_iter().chain(by_link.into_iter().flatten())
}

fn shared_file(path: &Path, elf: &Elf) -> Option<PathBuf> {
    let link = elf.shared_debug_link.as_ref()?;
    let shared = path.canonicalize().ok()?.parent()?.join(link);
    Elf::open(&shared).is_some_and(|found| found.can_be_unpacked).then_some(shared)
}
