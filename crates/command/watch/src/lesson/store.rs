//! Folder of profiles: `sintonia/learnt` in the user's folder for state, one JSON file for each.
//!
//! # Invariants
//! - A file is replaced as a whole, under a lock: two runs that end at once both keep what they taught.
//! - A damaged file is set aside and never deleted; one of a newer version stays as it is.

use anyhow::{Context, bail};
use files::{Lock, LockError, private, replace};
use learning::{FORMAT_VERSION, Key, Profile};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;
use user_io::bounded_read;

/// Largest file that is read, and most profiles.
const N_BYTES_MAX: u64 = 4 << 20;
const N_PROFILES_MAX: usize = 2000;
/// Longest wait for another run that writes.
const LOCK_PATIENCE: Duration = Duration::from_secs(20);
const EXTENSION: &str = "json";

/// Folder of profiles.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    folder: PathBuf,
}

/// Profile with its name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) profile: Profile,
}

/// Profiles, by name, and sentences about those that cannot be read.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) profiles: Vec<Named>,
    pub(crate) problems: Vec<String>,
}

/// Lock of the folder; `None` where the file system has none.
pub(crate) type FolderLock = Option<Lock>;

impl Store {
    /// Folder of this user.
    pub(crate) fn of_user() -> anyhow::Result<Self> {
        let folder = folder(|name| std::env::var_os(name));
        let folder = folder.context("neither XDG_STATE_HOME nor HOME is set; set one of them")?;
        Ok(Self { folder })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes the folder, and locks it until the value is dropped.
    pub(crate) fn lock(&self) -> anyhow::Result<FolderLock> {
        let at = || format!("`{}`", self.folder.display());
        private::make_folder(&self.folder).with_context(at)?;
        match Lock::take(&self.folder.join("lock"), &std::process::id().to_string(), LOCK_PATIENCE)
        {
            Ok(lock) => Ok(Some(lock)),
            Err(LockError::Unsupported(_)) => Ok(None),
            Err(error) => Err(error).with_context(at),
        }
    }

    /// Reads all profiles; damaged files are set aside if that `may_write`.
    pub(crate) fn read_all(&self, may_write: bool) -> Known {
        let mut known = Known::default();
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return known,
            Err(error) => {
                known.problems.push(format!("`{}`: {error}", self.folder.display()));
                return known;
            }
        };
        let paths = entries.flatten().map(|entry| entry.path());
        let is_profile = |path: &PathBuf| path.extension().is_some_and(|it| it == EXTENSION);
        let mut paths: Vec<PathBuf> = paths.filter(is_profile).take(N_PROFILES_MAX).collect();
        paths.sort();
        for path in paths {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            match read(&path) {
                Ok(profile) => known.profiles.push(Named { name, profile }),
                Err(ReadError::Newer) => known.problems.push(format!(
                    "`{}` was written by a newer version of Sintonia and is not used",
                    path.display()
                )),
                Err(ReadError::Damaged(why)) => {
                    known.problems.push(set_aside(&path, &why, may_write));
                }
            }
        }
        known
    }

    /// Writes a profile.
    pub(crate) fn write(&self, name: &str, profile: &Profile) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(profile).context("a profile is not JSON")?;
        let path = self.path(name);
        let at = || format!("`{}`", path.display());
        replace(&path, checked_json::seal(&(text + "\n")).as_bytes()).with_context(at)
    }

    /// Writes a file that a setting names, unless it is there; returns its path.
    pub(crate) fn setting_file(
        &self,
        name: &str,
        content: &str,
        may_write: bool,
    ) -> Option<PathBuf> {
        let path = self.folder.join(format!("{name}.setting"));
        let is_there = std::fs::read_to_string(&path).is_ok_and(|found| found == content);
        if !is_there && may_write {
            replace(&path, content.as_bytes()).ok()?;
        }
        (is_there || may_write).then_some(path)
    }

    /// Removes a profile.
    pub(crate) fn remove(&self, name: &str) -> anyhow::Result<()> {
        if name.contains('/') {
            bail!("there is no profile `{name}`");
        }
        let path = self.path(name);
        std::fs::remove_file(&path).with_context(|| format!("`{}`", path.display()))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.{EXTENSION}"))
    }
}

/// Name of a new profile.
pub(crate) fn name_of(key: &Key) -> String {
    let text = serde_json::to_vec(key).unwrap_or_default();
    let program = crate::programs::plain_name(Some(Path::new(&key.program)));
    let (n_ranks, size) = (key.n_ranks, key.size.name());
    format!("{program}-{n_ranks}-{size}-{:08x}", crc32fast::hash(&text))
}

enum ReadError {
    Newer,
    Damaged(String),
}

fn read(path: &Path) -> Result<Profile, ReadError> {
    let damaged = |why: &dyn std::fmt::Display| ReadError::Damaged(why.to_string());
    let text = bounded_read::read_text(path, N_BYTES_MAX).map_err(|error| damaged(&error))?;
    let version: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| damaged(&error))?;
    let version = version.get("format_version").and_then(serde_json::Value::as_u64);
    if version.is_some_and(|version| u64::from(FORMAT_VERSION) < version) {
        return Err(ReadError::Newer);
    }
    checked_json::check(text.as_bytes())
        .map_err(|_| damaged(&"it was changed after it was written"))?;
    serde_json::from_str(&text).map_err(|error| damaged(&error))
}

fn set_aside(path: &Path, why: &str, may_write: bool) -> String {
    let shown = path.display();
    if !may_write {
        return format!("`{shown}` is damaged and not used: {why}");
    }
    let mut aside = path.as_os_str().to_owned();
    aside.push(".damaged");
    let aside = PathBuf::from(aside);
    match std::fs::rename(path, &aside) {
        Ok(()) => format!("`{shown}` is damaged ({why}); it is kept as `{}`", aside.display()),
        Err(error) => format!("`{shown}` is damaged ({why}) and cannot be set aside: {error}"),
    }
}

/// Folder of profiles, given environment variables.
fn folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    state.map(|state| state.join("sintonia").join("learnt"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store { folder: folder.path().join("learnt") };
        drop(store.lock().unwrap());
        (folder, store)
    }

    #[test]
    fn a_profile_is_kept_and_removed() {
        let (_folder, store) = store();
        let profile = Profile::new(Key { program: "a b".to_owned(), ..Key::default() }, None);
        let name = name_of(&profile.key);
        assert!(name.starts_with("ab-0-whole-"), "{name}");
        store.write(&name, &profile).unwrap();
        let known = store.read_all(false);
        assert_eq!(known.profiles, [Named { name: name.clone(), profile }]);
        store.remove(&name).unwrap();
        assert!(store.remove(&name).is_err() && store.remove("../x").is_err());
        assert!(store.read_all(true).profiles.is_empty());
    }

    #[test]
    fn a_damaged_profile_is_set_aside_and_a_newer_one_stays() {
        let (_folder, store) = store();
        let profile = Profile { n_runs: 5, ..Profile::default() };
        store.write("sound", &profile).unwrap();
        let text = std::fs::read_to_string(store.path("sound")).unwrap();
        std::fs::write(store.path("changed"), text.replace("\"n_runs\": 5", "\"n_runs\": 6"))
            .unwrap();
        std::fs::write(store.path("torn"), &text[..text.len() / 2]).unwrap();
        std::fs::write(store.path("newer"), "{\"format_version\": 99}").unwrap();
        let seen = store.read_all(false);
        assert_eq!((seen.profiles.len(), seen.problems.len()), (1, 3));
        assert!(store.path("torn").exists(), "nothing is written without being asked for");
        assert_eq!(store.read_all(true).problems.len(), 3);
        let again = store.read_all(true);
        assert_eq!(again.problems.len(), 1, "only the newer one: {:?}", again.problems);
        assert!(store.folder.join("torn.json.damaged").exists() && store.path("newer").exists());
    }

    #[track_caller]
    fn check(variables: &[(&str, &str)], expected: Option<&str>) {
        let variable = |asked: &str| {
            variables.iter().find(|(name, _)| *name == asked).map(|(_, value)| value.into())
        };
        assert_eq!(folder(variable), expected.map(PathBuf::from));
    }

    #[test]
    fn profiles_are_in_the_folder_for_state() {
        check(&[("XDG_STATE_HOME", "/s"), ("HOME", "/h")], Some("/s/sintonia/learnt"));
        check(&[("XDG_STATE_HOME", "s"), ("HOME", "/h")], Some("/h/.local/state/sintonia/learnt"));
        check(&[], None);
    }
}
