//! Private folders in places where every user may make some (`/dev/shm`, `/tmp`), with a check of who may write in
//! them.
//!
//! # Invariants
//! - A folder that another user made under our name is refused: links in it could redirect what we write. In a
//!   folder that is ours and in which nobody else may write, names lead only to what we put there.

#![expect(unsafe_code, reason = "asks the system who we are")]

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Mode bit that lets the group write; below, the bit for all other users.
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;

/// Makes the folder `path` with access for this user alone, or accepts it where it is this user's already.
///
/// # Errors
/// If the folder cannot be made, is no folder, belongs to another user, or others may write in it.
pub fn claim(path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => verify(path),
    }
}

/// Makes the folder `path`, where it is missing, with access for this user alone; unlike [`claim`], follows a link to
/// a folder.
///
/// # Errors
/// If the folder cannot be made, belongs to another user, or others may write in it.
pub fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    check_owner(&std::fs::metadata(path)?)
}

/// Checks that the folder `path` is ours alone.
///
/// # Errors
/// As [`claim`].
pub fn verify(path: &Path) -> io::Result<()> {
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    let folder = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    check_owner(&folder.metadata()?)
}

/// Opens an existing file to read, and to write where `is_written`: one that is ours, and no link, pipe or device.
///
/// # Errors
/// If the file is missing, belongs to another user, others may write in it, or it is a link, pipe or device.
pub fn open_file(path: &Path, is_written: bool) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK;
    let file = OpenOptions::new().read(true).write(is_written).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(ErrorKind::InvalidInput.into());
    }
    check_owner(&metadata)?;
    Ok(file)
}

/// Opens a file to write, and makes it with access for this user alone when it is missing; never follows a link.
///
/// # Errors
/// If the file cannot be made, is another user's, or others may write in it.
pub fn make_file(path: &Path) -> io::Result<File> {
    let file = open_or_make(path)?;
    check_owner(&file.metadata()?)?;
    Ok(file)
}

/// As [`make_file`], whoever owns the file.
pub(crate) fn open_or_make(path: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600).custom_flags(flags).open(path)
}

/// Returns whether a folder or file with this `metadata` belongs to `user`, and nobody else may write in it.
fn is_alone(metadata: &Metadata, user: u32) -> bool {
    // Many systems give each user a group of the same number and `umask` 002: nobody else is in that group.
    let has_own_group = user != 0 && metadata.gid() == user;
    let others = if has_own_group { OTHERS_WRITE } else { GROUP_WRITES | OTHERS_WRITE };
    metadata.uid() == user && metadata.mode() & others == 0
}

fn check_owner(metadata: &Metadata) -> io::Result<()> {
    let why = "it belongs to another user, or others may write in it; remove it or name another";
    match is_alone(metadata, own_user()) {
        true => Ok(()),
        false => Err(io::Error::new(ErrorKind::PermissionDenied, why)),
    }
}

fn own_user() -> u32 {
    // SAFETY: a system call without arguments.
    unsafe { libc::geteuid() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    #[track_caller]
    fn check_claim(prepare: impl FnOnce(&Path), expected: bool) {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("run");
        prepare(&path);
        assert_eq!(claim(&path).is_ok(), expected);
    }

    /// A folder that another user had made under the name of a run was accepted, with the links in it.
    #[test]
    fn only_our_own_folder_is_taken() {
        let open_to = |mode| {
            move |path: &Path| {
                fs::create_dir(path).expect("a folder");
                fs::set_permissions(path, Permissions::from_mode(mode)).expect("our folder");
            }
        };
        check_claim(|_| (), true);
        check_claim(open_to(0o700), true);
        check_claim(open_to(0o755), true);
        check_claim(open_to(0o777), false);
        check_claim(open_to(0o770), false);
        check_claim(|path| fs::write(path, "").expect("a file"), false);
        check_claim(|path| symlink("/tmp", path).expect("a link"), false);
        check_claim(|path| symlink("nowhere", path).expect("a link"), false);
    }

    #[test]
    fn what_belongs_to_another_user_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = fs::metadata(dir.path()).expect("our folder");
        assert!(is_alone(&folder, own_user()));
        assert!(!is_alone(&folder, own_user() + 1));
    }

    /// A user who is not root, with a group of the same number; and a group that has other members.
    const USER: u32 = 54_321;
    const SHARED: u32 = 54_322;
    /// Variable that names the parent of the folders of [`a_group_of_ones_own_is_nobody_else`].
    const ROLE: &str = "OWN_FOLDER_TEST_ROLE";
    /// Owner, group and mode of a folder, and whether `USER` may claim it.
    const FOLDERS: [(u32, u32, u32, bool); 8] = [
        (USER, USER, 0o700, true),
        // As with `umask` 002.
        (USER, USER, 0o775, true),
        (USER, USER, 0o777, false),
        (USER, SHARED, 0o755, true),
        (USER, SHARED, 0o775, false),
        (0, USER, 0o775, false),
        (0, 0, 0o755, false),
        (SHARED, USER, 0o755, false),
    ];

    #[test]
    #[ignore = "a role in another test, started by it"]
    fn role() {
        let Some(dir) = std::env::var_os(ROLE).map(std::path::PathBuf::from) else { return };
        assert_eq!(own_user(), USER);
        for (number, folder) in FOLDERS.iter().enumerate() {
            assert_eq!(verify(&dir.join(number.to_string())).is_ok(), folder.3, "{folder:?}");
        }
    }

    /// Tests usually run as root, who has no such group: the rule for all other users was never tested.
    #[test]
    fn a_group_of_ones_own_is_nobody_else() {
        if own_user() != 0 {
            writeln!(io::stderr(), "not tried: only root can act as another user").ok();
            return;
        }
        let dir = tempfile::tempdir().expect("a folder");
        let open = |path: &Path| fs::set_permissions(path, Permissions::from_mode(0o755));
        open(dir.path()).expect("our folder");
        for (number, (user, group, mode, _)) in FOLDERS.into_iter().enumerate() {
            let path = dir.path().join(number.to_string());
            fs::create_dir(&path).expect("a folder");
            chown(&path, Some(user), Some(group)).expect("root may");
            fs::set_permissions(&path, Permissions::from_mode(mode)).expect("root may");
        }
        // A place from which `USER` can start it.
        let program = dir.path().join("role");
        fs::copy(std::env::current_exe().expect("this test"), &program).expect("room for it");
        open(&program).expect("our file");
        let mut command = Command::new(program);
        command.args(["--exact", "private::tests::role", "--ignored"]).env(ROLE, dir.path());
        let output = command.uid(USER).gid(USER).current_dir("/").output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{output:?}");
    }

    /// `record` and `collector.lock` were written through links.
    #[test]
    fn files_are_not_written_through_links() {
        let dir = tempfile::tempdir().expect("a folder");
        let (theirs, link) = (dir.path().join("theirs"), dir.path().join("link"));
        fs::write(&theirs, "kept").expect("a file");
        symlink(&theirs, &link).expect("a link");
        assert!(make_file(&link).is_err() && open_file(&link, true).is_err());
        assert!(make_file(&theirs).is_ok() && open_file(&theirs, true).is_ok());
        assert_eq!(fs::read(&theirs).expect("a file"), b"kept");
        assert!(open_file(Path::new("/dev/null"), false).is_err());
    }
}
