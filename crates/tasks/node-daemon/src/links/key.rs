//! Key of a cluster: 32 random bytes in a file that only its owner can read.

use crate::secrets;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fmt, io};

/// Bytes of a key.
pub(super) const KEY_BYTES: usize = 32;
/// Mode bits that let others read or write.
const OTHERS: u32 = 0o077;

/// Secret that all nodes of a cluster share.
#[derive(Clone)]
pub struct ClusterKey([u8; KEY_BYTES]);

/// Reasons why a key cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The file cannot be read.
    #[error("cannot read the key `{path}`; make one with `sintonia node key {path}`")]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// Other users can read or write the file, so it is no secret.
    #[error(
        "the key `{path}` can be read or written by others (mode {mode:o}); run `chmod 600 {path}`"
    )]
    Open {
        /// Path of the file.
        path: PathBuf,
        /// Mode of the file.
        mode: u32,
    },
    /// The file belongs to another user.
    #[error(
        "the key `{path}` belongs to user {uid}, not to you; make your own with `sintonia node key`"
    )]
    Owner {
        /// Path of the file.
        path: PathBuf,
        /// Its owner.
        uid: u32,
    },
    /// The file holds no key.
    #[error("`{path}` is no key: it must hold {n} hexadecimal digits; make one with `sintonia node key`", path = .0.display(), n = 2 * KEY_BYTES)]
    Form(PathBuf),
    /// A new key cannot be written.
    #[error(
        "cannot write the key `{path}`; a key that is there is never replaced, remove it first"
    )]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

impl ClusterKey {
    /// Key of these bytes.
    pub fn of(bytes: [u8; KEY_BYTES]) -> Self {
        Self(bytes)
    }

    /// Reads the key in this file, if no other user can read it.
    ///
    /// # Errors
    /// When others can read or write the file, it belongs to another user, or it holds no key.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let unreadable = |source| KeyError::Read { path: path.to_owned(), source };
        let mut file = File::open(path).map_err(unreadable)?;
        // Of the opened file: the name may lead to another one by now.
        let metadata = file.metadata().map_err(unreadable)?;
        let mode = metadata.mode() & 0o777;
        if mode & OTHERS != 0 {
            return Err(KeyError::Open { path: path.to_owned(), mode });
        }
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return Err(KeyError::Owner { path: path.to_owned(), uid: metadata.uid() });
        }
        let mut text = String::new();
        let bytes_max = u64::try_from(4 * KEY_BYTES).unwrap_or(u64::MAX);
        let form = || KeyError::Form(path.to_owned());
        (&mut file).take(bytes_max).read_to_string(&mut text).map_err(|_| form())?;
        parse(text.trim()).map(Self).ok_or_else(form)
    }

    /// Writes a new random key into a file that must not exist yet.
    ///
    /// # Errors
    /// When the file exists, or cannot be written.
    pub fn create(path: &Path) -> Result<Self, KeyError> {
        let unwritable = |source| KeyError::Write { path: path.to_owned(), source };
        let bytes = secrets::random().map_err(unwritable)?;
        secrets::write_new(path, &secrets::digits(&bytes)).map_err(unwritable)?;
        Ok(Self(bytes))
    }

    pub(super) fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }
}

/// Leaves out the bytes, since the text may end up in a log.
impl fmt::Debug for ClusterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

fn parse(text: &str) -> Option<[u8; KEY_BYTES]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * KEY_BYTES || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let mut bytes = [0; KEY_BYTES];
    for (byte, two) in bytes.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn a_key_that_was_made_is_read_and_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let made = ClusterKey::create(&path).unwrap();
        assert_eq!(ClusterKey::read(&path).unwrap().bytes(), made.bytes());
        assert!(matches!(ClusterKey::create(&path), Err(KeyError::Write { .. })));
        assert_ne!(ClusterKey::create(&folder.path().join("other")).unwrap().bytes(), made.bytes());
        assert_eq!(format!("{made:?}"), "Key(..)");
    }

    #[track_caller]
    fn check(text: &str, mode: u32, expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let said =
            ClusterKey::read(&path).map_or_else(|error| error.to_string(), |_| String::new());
        let said = said.replace(path.to_str().unwrap(), "KEY");
        assert!(said.starts_with(expected) && said.is_empty() == expected.is_empty(), "{said}");
    }

    #[test]
    fn a_key_that_others_can_read_or_that_is_none_is_refused() {
        let good = "0123456789abcdefABCDEF0123456789".repeat(2);
        check(&good, 0o600, "");
        check(&format!("{good}\n"), 0o400, "");
        check(&good, 0o640, "the key `KEY` can be read or written by others (mode 640)");
        check(&good, 0o602, "the key `KEY` can be read or written by others (mode 602)");
        check("", 0o600, "`KEY` is no key");
        check(&good[1..], 0o600, "`KEY` is no key");
        check(&good.replace('0', "+"), 0o600, "`KEY` is no key");
        check(&good.repeat(9), 0o600, "`KEY` is no key");
        let missing = ClusterKey::read(Path::new("/no/such/key")).unwrap_err().to_string();
        assert!(missing.contains("sintonia node key /no/such/key"), "{missing}");
    }
}
