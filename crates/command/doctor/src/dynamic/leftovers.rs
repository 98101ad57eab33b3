//! Files that killed launchers of Open MPI left in the temporary folder: a later launcher that gets the process ID of a
//! dead one does not start ("PMIx server's listener thread failed to start").

use crate::check::Check;
use std::path::{Path, PathBuf};

/// Returns a check if anything is left.
pub(crate) fn check() -> Option<Check> {
    let is_alive = |pid: u32| Path::new("/proc").join(pid.to_string()).exists();
    judge(&std::env::temp_dir(), is_alive)
}

fn judge(folder: &Path, is_alive: impl Fn(u32) -> bool) -> Option<Check> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_left = |path: &PathBuf| launcher_of(path).is_some_and(|pid| !is_alive(pid));
    let mut left: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_left).collect();
    left.sort();
    let names: Vec<String> = left.iter().map(|path| path.display().to_string()).collect();
    let found = match &names[..] {
        [] => return None,
        [one] => format!("{one}, of a launcher that is gone"),
        [first, .., last] => {
            format!("{} folders of launchers that are gone, {first} to {last}", names.len())
        }
    };
    let remedy = format!("rm -r {}", names.join(" "));
    let costs = "a launcher of Open MPI 5 that gets the number of a dead one does not start: \"PMIx server's listener thread \
         failed to start\"";
    Some(Check::limited("Open MPI sessions", found, [costs, &remedy]))
}

/// Process ID in the name of a session folder.
fn launcher_of(path: &Path) -> Option<u32> {
    let pid = path.file_name()?.to_str()?.strip_prefix("ompi.")?;
    if path.is_dir() { pid.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_the_dead_are_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let is_alive = |pid| pid == 7;
        let check = |name: &str, expected: Option<(&str, &str)>| {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
            let found = judge(folder.path(), is_alive).map(|check| {
                let own = format!("{}/", folder.path().display());
                (check.found.replace(&own, ""), check.remedy.replace(&own, ""))
            });
            let found = found.as_ref().map(|(found, remedy)| (found.as_str(), remedy.as_str()));
            assert_eq!(found, expected, "{name}");
        };
        check("ompi.7", None);
        check("ompi.host.0", None);
        check("ompi.5", Some(("ompi.5, of a launcher that is gone", "rm -r ompi.5")));
        check(
            "ompi.6",
            Some(("2 folders of launchers that are gone, ompi.5 to ompi.6", "rm -r ompi.5 ompi.6")),
        );
    }
}
