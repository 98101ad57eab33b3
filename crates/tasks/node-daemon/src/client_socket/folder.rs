//! State folder of a node: its default path, and the check that only its owner can enter it.

use std::{
    ffi::OsString,
    fs::{self, DirBuilder},
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

use super::ClientSocketError;

/// Mode bits that give access to others.
const OTHERS: u32 = 0o077;

/// Default state folder of a node on this host: `sintonia/HOST` in `XDG_STATE_HOME`, or in `.local/state` of
/// `HOME`. Homes are often shared between hosts, so each host has its own; and a folder that disappears when its
/// user logs out is no place for a journal. `variable` reads an environment variable.
///
/// # Errors
/// When neither variable is set.
pub fn default_state(
    host: &str,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<PathBuf, ClientSocketError> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
        .map(|state| state.join("sintonia").join(host))
        .ok_or(ClientSocketError::Nowhere)
}

/// Creates the folder where it is missing, closed to others; returns its path without links.
///
/// # Errors
/// When it cannot be created, belongs to another user, or others can enter it.
pub fn open_state(state: &Path) -> Result<PathBuf, ClientSocketError> {
    let unusable = |source| ClientSocketError::Folder { path: state.to_owned(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(state).map_err(unusable)?;
    let path = fs::canonicalize(state).map_err(unusable)?;
    let metadata = fs::metadata(&path).map_err(unusable)?;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(ClientSocketError::Owner { path, uid: metadata.uid() });
    }
    let mode = metadata.mode() & 0o777;
    if mode & OTHERS != 0 {
        return Err(ClientSocketError::Open { path, mode });
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[track_caller]
    fn check(variables: &[(&str, &str)], expected: Option<&str>) {
        let variable = |name: &str| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
        };
        let state = default_state("n1", variable).ok();
        assert_eq!(state, expected.map(PathBuf::from), "{variables:?}");
    }

    #[test]
    fn the_state_is_where_the_user_keeps_such_things() {
        check(&[("XDG_STATE_HOME", "/s"), ("HOME", "/h")], Some("/s/sintonia/n1"));
        check(&[("HOME", "/h")], Some("/h/.local/state/sintonia/n1"));
        check(
            &[("XDG_STATE_HOME", "relative"), ("HOME", "/h")],
            Some("/h/.local/state/sintonia/n1"),
        );
        check(&[("XDG_STATE_HOME", "")], None);
    }

    #[test]
    fn a_folder_that_others_can_enter_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("a/b");
        let opened = open_state(&state).unwrap();
        assert_eq!(fs::metadata(&opened).unwrap().mode() & 0o777, 0o700);
        open_state(&state).unwrap();
        for mode in [0o750, 0o701, 0o777] {
            fs::set_permissions(&state, fs::Permissions::from_mode(mode)).unwrap();
            let error = open_state(&state).unwrap_err().to_string();
            assert!(error.contains("run `chmod 700 "), "{error}");
        }
    }
}
