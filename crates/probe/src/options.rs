//! What the launcher tells the probe, through the environment.

use std::env;
use std::path::PathBuf;

/// The launcher's wishes for this process.
#[derive(Debug)]
pub(crate) struct Options {
    /// Number of the run.
    pub(crate) run: String,
    /// Folder for shared memory.
    pub(crate) shm_dir: PathBuf,
    /// Program that is a collector when called with `collector`.
    pub(crate) collector: Option<PathBuf>,
    /// Threads that may call MPI at the same time.
    pub(crate) n_threads: u32,
    /// Regions per thread.
    pub(crate) n_regions: u32,
    /// Records in a thread's ring; 0 without tracing.
    pub(crate) n_records: u32,
}

impl Options {
    /// The launcher's wishes; `None` in a process that nobody watches.
    pub(crate) fn from_environment() -> Option<Self> {
        let run = env::var("SINTONIA_RUN").ok()?;
        let is_name = !run.is_empty() && run.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_name {
            return None;
        }
        let traced = env::var("SINTONIA_TRACE").is_ok_and(|value| value == "1");
        let n_records = number("SINTONIA_RECORDS", 65_536).clamp(64, 1 << 26).next_power_of_two();
        Some(Self {
            run,
            shm_dir: env::var_os("SINTONIA_SHM_DIR").unwrap_or_else(|| "/dev/shm".into()).into(),
            collector: env::var_os("SINTONIA_COLLECTOR").map(PathBuf::from),
            n_threads: number("SINTONIA_THREADS", 128).clamp(1, 4096),
            n_regions: number("SINTONIA_REGIONS", 1024).clamp(16, 1 << 20)
                + ring::layout::N_RESERVED_REGIONS,
            n_records: if traced { n_records } else { 0 },
        })
    }
}

fn number(name: &str, default: u32) -> u32 {
    env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
