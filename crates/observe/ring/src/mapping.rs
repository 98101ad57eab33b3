//! A file in shared memory, mapped, with explicit reservation of its memory.
//!
//! # Invariants
//! - No file stays open: the program may close every descriptor it finds, and then open files of its own
//!   under the same numbers.
//! - Limits of the process (`ulimit -f`, `ulimit -v`) are checked before anything is created:
//!   exceeding the first ends the program with a signal, and the mapping would use up the second.

use crate::layout::{LAYOUT_VERSION, PAGE, SegmentHeader, Shared};
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, Ordering};

/// Failure to create or read a segment; a lone path is that of the segment.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SegmentError {
    /// The file could not be created, opened, sized or mapped.
    #[error(
        "cannot {action} the shared-memory segment `{path}`; check that its folder exists and is writable"
    )]
    System {
        /// Attempted operation.
        action: &'static str,
        /// Path of the segment.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// Shared memory is full.
    #[error(
        "no room for the shared-memory segment `{0}`; enlarge /dev/shm or set SINTONIA_SHM_DIR"
    )]
    Full(PathBuf),
    /// The limits of the process leave no room.
    #[error(
        "the file or memory limits of this process are too low for the segment `{0}`; see `ulimit -f` and `ulimit -v`"
    )]
    Limited(PathBuf),
    /// The file is not a segment, or not yet complete.
    #[error("`{0}` is not a complete Sintonia segment; it may still be under construction")]
    NotASegment(PathBuf),
    /// The segment was written by another version.
    #[error(
        "`{path}` has layout version {found}, this is version {}; use one version of Sintonia on all nodes",
        LAYOUT_VERSION
    )]
    OtherVersion {
        /// Path of the segment.
        path: PathBuf,
        /// Version of the segment.
        found: u32,
    },
}

fn system(action: &'static str, path: &Path, source: std::io::Error) -> SegmentError {
    SegmentError::System { action, path: path.into(), source }
}

/// Shared mapping of a whole file. Writers never unmap it: their threads may outlive everything.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    pub(crate) len: usize,
    pub(crate) path: PathBuf,
}

// SAFETY: the mapping is plain memory; all shared access to it goes through atomics.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    pub(crate) fn create(path: &Path, len: usize) -> Result<Self, SegmentError> {
        let fail = |action| move |source| system(action, path, source);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(fail("create"))?;
        file.set_len(len as u64).map_err(fail("size"))?;
        Self::map(&file, path, len)
    }

    pub(crate) fn open(path: &Path) -> Result<Self, SegmentError> {
        let fail = |action| move |source| system(action, path, source);
        let file = files::private::open_file(path, true).map_err(fail("open"))?;
        let len = file.metadata().map_err(fail("inspect"))?.len();
        let len = usize::try_from(len).unwrap_or(0);
        if len < size_of::<SegmentHeader>() {
            return Err(SegmentError::NotASegment(path.into()));
        }
        Self::map(&file, path, len)
    }

    fn map(file: &File, path: &Path, len: usize) -> Result<Self, SegmentError> {
        // SAFETY: a new mapping of a file we hold open, at an address the kernel chooses.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_NORESERVE,
                file.as_raw_fd(),
                0,
            )
        };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => {
                Ok(Self { start, len, path: path.into() })
            }
            _ => Err(system("map", path, std::io::Error::last_os_error())),
        }
    }

    /// Reserves memory for a part, so that touching it cannot fail. Does not allocate.
    pub(crate) fn reserve(&self, offset: usize, len: usize) -> std::io::Result<()> {
        match self.advise(offset, len, libc::MADV_POPULATE_WRITE) {
            0 => Ok(()),
            libc::EFAULT | libc::ENOMEM | libc::ENOSPC => {
                // Releases the pages reserved before memory ran out.
                self.advise(offset, len, libc::MADV_REMOVE);
                Err(std::io::Error::from_raw_os_error(libc::ENOSPC))
            }
            // Linux before 5.14.
            libc::EINVAL => self.reserve_by_file(offset, len),
            code => Err(std::io::Error::from_raw_os_error(code)),
        }
    }

    fn reserve_by_file(&self, offset: usize, len: usize) -> std::io::Result<()> {
        let file = OpenOptions::new().write(true).open(&self.path)?;
        let (offset, len) = (offset.cast_signed() as i64, len.cast_signed() as i64);
        // SAFETY: a system call on a file we hold open.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), offset, len) } {
            0 => Ok(()),
            code => Err(std::io::Error::from_raw_os_error(code)),
        }
    }

    /// Converts an error of [`Mapping::reserve`].
    pub(crate) fn cannot_reserve(&self, source: std::io::Error) -> SegmentError {
        match source.raw_os_error() {
            Some(libc::ENOSPC | libc::ENOMEM) => SegmentError::Full(self.path.clone()),
            _ => system("reserve memory of", &self.path, source),
        }
    }

    /// Calls `madvise` on whole pages of the mapping; returns 0 or an error number.
    fn advise(&self, offset: usize, len: usize, advice: libc::c_int) -> libc::c_int {
        let start = self.at::<u8>(offset).cast();
        // SAFETY: pages of our own mapping; no advice used here changes what is written in them.
        if unsafe { libc::madvise(start, len, advice) } == 0 {
            return 0;
        }
        std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL)
    }

    pub(crate) fn header(&self) -> &SegmentHeader {
        self.shared(0)
    }

    /// Returns the object at byte `offset`, shared by both sides.
    pub(crate) fn shared<T: Shared>(&self, offset: usize) -> &T {
        &self.shared_slice(offset, 1)[0]
    }

    /// Returns `n` objects in a row from byte `offset` on.
    pub(crate) fn shared_slice<T: Shared>(&self, offset: usize, n: usize) -> &[T] {
        let end = n.checked_mul(size_of::<T>()).and_then(|bytes| bytes.checked_add(offset));
        assert!(end.is_some_and(|end| end <= self.len), "the layout lies inside the segment");
        assert!(offset.is_multiple_of(align_of::<T>()), "the layout is aligned");
        let start = self.at::<T>(offset);
        // SAFETY: inside the mapping and aligned (checked above), and of nothing but atomics (`Shared`), which
        // other processes may write at any time.
        unsafe { std::slice::from_raw_parts(start, n) }
    }

    /// The address of byte `offset`; the caller has checked that what it points to lies inside.
    pub(crate) fn at<T>(&self, offset: usize) -> *mut T {
        debug_assert!(offset + size_of::<T>() <= self.len, "inside the segment");
        // SAFETY: inside the mapping, as the callers' layout arithmetic (checked on opening) makes sure.
        unsafe { self.start.as_ptr().add(offset) }.cast()
    }

    /// Copies bytes that another process may be writing.
    pub(crate) fn copy_bytes(&self, offset: usize, len: usize) -> Vec<u8> {
        let len = len.min(self.len.saturating_sub(offset));
        let bytes = self.shared_slice::<AtomicU8>(offset, len).iter();
        bytes.map(|byte| byte.load(Ordering::Relaxed)).collect()
    }

    /// Writes bytes that readers ignore until a later atomic store publishes them.
    pub(crate) fn put_bytes(&self, offset: usize, bytes: &[u8]) {
        let places = self.shared_slice::<AtomicU8>(offset, bytes.len());
        for (place, byte) in places.iter().zip(bytes) {
            place.store(*byte, Ordering::Relaxed);
        }
    }

    /// Returns whether a part is backed by memory, so that reading it cannot fail: a truncated file, or a hole
    /// in it while shared memory is full, would end the reader with a signal.
    pub(crate) fn is_readable(&self, offset: usize, len: usize) -> bool {
        let start = offset / PAGE * PAGE;
        let end = offset + len;
        // Linux before 5.14 cannot tell.
        end <= self.len
            && matches!(self.advise(start, end - start, libc::MADV_POPULATE_READ), 0 | libc::EINVAL)
    }

    /// Replaces the mapping of the file by private memory, so that late writers do no harm.
    pub(crate) fn replace_by_private(&self) -> std::io::Result<()> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
        let start = self.start.as_ptr().cast();
        // SAFETY: replaces exactly our own mapping, in one step; what points there stays valid.
        let replaced = unsafe { libc::mmap(start, self.len, protection, flags, -1, 0) };
        if replaced == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        self.keep_from_children();
        Ok(())
    }

    /// Excludes the mapping from children of `fork`.
    pub(crate) fn keep_from_children(&self) {
        self.advise(0, self.len, libc::MADV_DONTFORK);
    }
}

/// Unmaps a reader's mapping; writers leak theirs.
impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: our own mapping, and nothing borrowed from it outlives `self`.
        let _ignored = unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// Largest segment in bytes that the limits of this process allow.
pub(crate) fn size_limit_bytes() -> u64 {
    // The address space belongs to the program; a small part of the allowed size is not missed.
    const PART: u64 = 32;
    limit(libc::RLIMIT_FSIZE).min(limit(libc::RLIMIT_AS) / PART)
}

fn limit(resource: libc::__rlimit_resource_t) -> u64 {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: fills a local variable.
    unsafe { libc::getrlimit(resource, &raw mut limit) };
    limit.rlim_cur
}
