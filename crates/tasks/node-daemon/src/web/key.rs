//! Key of a node's web pages.

use crate::secrets;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

const FILE: &str = "web-key";
/// Number of random bytes in a key.
const N_BYTES: usize = 24;

/// Secret of letters and digits; it stays the same as long as its file exists.
#[derive(Clone)]
pub struct WebKey(String);

/// Reasons why there is no key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebKeyError {
    /// The file cannot be read or created.
    #[error(
        "the key of the web page in `{path}` cannot be read or made; remove it, a new one is made then"
    )]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// Other users may have read the file.
    #[error(
        "the key of the web page in `{0}` is open to other users; remove it, a new one is made then"
    )]
    Open(PathBuf),
}

impl WebKey {
    /// Reads the key in the node's own folder, and creates it where there is none.
    ///
    /// # Errors
    /// When it can be neither read nor created, or other users can read it.
    pub fn in_folder(folder: &Path) -> Result<Self, WebKeyError> {
        let path = Self::path(folder);
        let failed = |source| WebKeyError::File { path: path.clone(), source };
        let made = secrets::random::<N_BYTES>();
        match made.and_then(|bytes| secrets::write_new(&path, &secrets::digits(&bytes))) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made.map_err(failed)?,
        }
        if fs::metadata(&path).map_err(failed)?.mode() & 0o077 != 0 {
            return Err(WebKeyError::Open(path));
        }
        let text = fs::read_to_string(&path).map_err(failed)?;
        let text = text.trim().to_owned();
        if text.len() < 2 * N_BYTES {
            return Err(failed(io::ErrorKind::InvalidData.into()));
        }
        Ok(Self(text))
    }

    /// Path of the key in a node's folder.
    pub fn path(folder: &Path) -> PathBuf {
        folder.join(FILE)
    }

    /// The secret.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Returns whether a given text is the key, in a time that does not tell where they differ.
    pub(super) fn is(&self, given: &str) -> bool {
        let pairs = self.0.bytes().zip(given.bytes());
        let differences = pairs.fold(0, |all, (own, given)| all | (own ^ given));
        self.0.len() == given.len() && differences == 0
    }
}

impl std::fmt::Debug for WebKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WebKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_made_once_and_for_the_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let key = WebKey::in_folder(folder.path()).unwrap();
        assert_eq!(key.text(), WebKey::in_folder(folder.path()).unwrap().text());
        assert_eq!(fs::metadata(WebKey::path(folder.path())).unwrap().mode() & 0o777, 0o600);
        assert!(key.is(key.text()) && !key.is("") && !key.is(&key.text()[1..]));
        let other = tempfile::tempdir().unwrap();
        assert!(!key.is(WebKey::in_folder(other.path()).unwrap().text()));
    }

    #[test]
    fn a_key_that_others_may_have_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        WebKey::in_folder(folder.path()).unwrap();
        let path = WebKey::path(folder.path());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(WebKey::in_folder(folder.path()), Err(WebKeyError::Open(_))));
        fs::remove_file(&path).unwrap();
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(matches!(WebKey::in_folder(folder.path()), Err(WebKeyError::File { .. })));
    }
}
