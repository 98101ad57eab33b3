//! Files and folders of our own: private ones in places where everybody may make some, files that are replaced as a
//! whole, and locks by which other processes know that one of ours is at work.

mod draft;
mod lock;
pub mod private;

pub use draft::{Draft, open_output, replace, replace_durably, sync_folder};
pub use lock::{Lock, LockError};

/// Returns the name of this host.
pub fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}
