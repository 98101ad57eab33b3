//! Folders of our own in places where everybody may make some (`/dev/shm`, `/tmp`).
//!
//! # Invariants
//! - A folder that somebody else made under our name is refused: what we write there could be led elsewhere by links.
//!   In one that is ours and that nobody else may write in, names lead nowhere but where we put them.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Bits of a mode that let others write.
const OTHERS_WRITE: u32 = 0o022;

/// Makes the folder `path`, for us alone, or takes it as it is when it is ours already.
///
/// # Errors
/// When it cannot be made, is no folder, belongs to somebody else, or others may write in it.
pub fn take(path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => check(path),
    }
}

/// Whether the folder `path` is ours alone.
///
/// # Errors
/// As [`take`].
pub fn check(path: &Path) -> io::Result<()> {
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    let folder = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    check_owner(&folder, own_user())
}

/// Opens a file to read that is there, ours, and no link, pipe or device.
///
/// # Errors
/// When it is any of that.
pub fn open_file(path: &Path, is_written: bool) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK;
    let file = OpenOptions::new().read(true).write(is_written).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(ErrorKind::InvalidInput.into());
    }
    check_owner(&file, own_user())?;
    Ok(file)
}

/// Opens a file to write, made for us alone when it is missing; never through a link.
///
/// # Errors
/// When it cannot be made, or is somebody else's.
pub fn make_file(path: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600).custom_flags(flags);
    let file = options.open(path)?;
    check_owner(&file, own_user())?;
    Ok(file)
}

fn check_owner(opened: &File, user: u32) -> io::Result<()> {
    let metadata = opened.metadata()?;
    // Where a person has a group of the same number, as many systems make it, `umask` is 002: nobody else is in it.
    let others =
        if user != 0 && metadata.gid() == user { OTHERS_WRITE & !0o020 } else { OTHERS_WRITE };
    let is_ours = metadata.uid() == user && metadata.mode() & others == 0;
    let why = "it belongs to another user, or others may write in it; remove it";
    if is_ours { Ok(()) } else { Err(io::Error::new(ErrorKind::PermissionDenied, why)) }
}

fn own_user() -> u32 {
    // SAFETY: a system call without arguments.
    unsafe { libc::geteuid() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[track_caller]
    fn check_take(prepare: impl FnOnce(&Path), expected: bool) {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("run");
        prepare(&path);
        assert_eq!(take(&path).is_ok(), expected);
    }

    /// A folder that another user had made under the name of a run was taken over, with the links in it.
    #[test]
    fn only_our_own_folder_is_taken() {
        let open_to = |mode| {
            move |path: &Path| {
                fs::create_dir(path).expect("a folder");
                fs::set_permissions(path, Permissions::from_mode(mode)).expect("our folder");
            }
        };
        check_take(|_| (), true);
        check_take(open_to(0o700), true);
        check_take(open_to(0o755), true);
        check_take(open_to(0o777), false);
        check_take(open_to(0o770), false);
        check_take(|path| fs::write(path, "").expect("a file"), false);
        check_take(|path| symlink("/tmp", path).expect("a link"), false);
        check_take(|path| symlink("nowhere", path).expect("a link"), false);
    }

    #[test]
    fn what_belongs_to_another_user_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = File::open(dir.path()).expect("our folder");
        assert!(check_owner(&folder, own_user()).is_ok());
        let error = check_owner(&folder, own_user() + 1).expect_err("not theirs");
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
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
