//! Finds the programs that tests start.
//!
//! Tests are built in the profile for development, but they start what users have, in the profile for releases, since
//! compilers make other mistakes there. `make programs` builds all of it. `SINTONIA_PROFILE=debug` names another
//! folder.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Variable that names the folder of programs within the target folder.
const PROFILE: &str = "SINTONIA_PROFILE";

/// Folder of the programs and libraries that tests start.
pub fn programs() -> PathBuf {
    target().join(std::env::var_os(PROFILE).unwrap_or_else(|| "release".into()))
}

/// Target folder, which also holds what `scripts/setup.sh test` makes.
pub fn target() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    // The test is at TARGET/PROFILE/TEST, or deeper if Cargo built it.
    let folders = test.ancestors().skip(1);
    let inner = |folder: &&Path| !["deps", "examples"].iter().any(|name| folder.ends_with(name));
    let profile = folders.into_iter().find(inner).expect("a program lies in a folder");
    profile.parent().map_or_else(|| profile.to_owned(), Path::to_owned)
}

/// Path of a program or library of this repository that is as new as its sources.
///
/// # Panics
/// If it was not built, or its sources have changed since.
#[track_caller]
pub fn built(name: &str) -> PathBuf {
    checked(programs().join(name))
}

/// Path of the example program of this name, or of the library as `libNAME.so`, as [`built`].
#[track_caller]
pub fn example(name: &str) -> PathBuf {
    checked(programs().join("examples").join(name))
}

/// Checks that a program is not older than its sources, since Cargo does not build it for a test.
#[track_caller]
fn checked(path: PathBuf) -> PathBuf {
    let shown = path.display();
    let Some(built) = changed(&path) else { panic!("there is no `{shown}`; run `make programs`") };
    let newer =
        sources(&path).into_iter().find(|source| changed(source).is_some_and(|at| built < at));
    if let Some(source) = newer {
        panic!("`{shown}` is older than `{}`; run `make programs`", source.display());
    }
    path
}

fn changed(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|about| about.modified()).ok()
}

/// Sources of a program, as Cargo lists them.
fn sources(path: &Path) -> Vec<PathBuf> {
    let rule = std::fs::read_to_string(path.with_extension("d")).unwrap_or_default();
    files_of_rule(&rule)
}

/// Files behind the colon of a rule for `make`, in which a backslash precedes each blank of a name.
fn files_of_rule(rule: &str) -> Vec<PathBuf> {
    let line = rule.lines().next().unwrap_or_default();
    let (_, files) = line.split_once(": ").unwrap_or_default();
    let mut names = vec![String::new()];
    let mut letters = files.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => names.last_mut().expect("there is one").extend(letters.next()),
            ' ' => names.push(String::new()),
            letter => names.last_mut().expect("there is one").push(letter),
        }
    }
    names.into_iter().filter(|name| !name.is_empty()).map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_rule_are_read() {
        let check = |rule: &str, expected: &[&str]| {
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(files_of_rule(rule), expected, "{rule}");
        };
        check("/t/a: /s/a.rs /s/b.rs\n", &["/s/a.rs", "/s/b.rs"]);
        check("/t/a: /s/with\\ blank.rs /s/b.rs\n\n/s/b.rs:\n", &["/s/with blank.rs", "/s/b.rs"]);
        check("", &[]);
    }

    #[test]
    fn what_is_older_than_its_sources_is_refused() {
        let folder = std::env::temp_dir().join(format!("launch-place-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let (source, program) = (file("a.rs", ""), file("a", ""));
        file("a.d", &format!("{}: {}\n", program.display(), source.display()));
        let touch = |path: &Path, seconds: u64| {
            let at = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            std::fs::File::options().append(true).open(path).unwrap().set_modified(at).unwrap();
        };
        touch(&source, 100);
        touch(&program, 100);
        assert_eq!(checked(program.clone()), program);
        touch(&source, 101);
        let refused = std::panic::catch_unwind(|| checked(program.clone()));
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(refused.is_err());
    }
}
