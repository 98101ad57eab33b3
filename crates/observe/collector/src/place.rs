//! Environment variables and file names by which launcher, ranks and collectors of a run find each other.

use rustix::rand::GetRandomFlags;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use wire::{Secret, SecretError};

/// Library to preload into the command, and previously preloaded libraries.
pub const PRELOAD: &str = "LD_PRELOAD";
/// Number of the run, 16 hexadecimal digits.
pub const RUN: &str = "SINTONIA_RUN";
/// Folder for shared memory.
pub const SHM_DIR: &str = "SINTONIA_SHM_DIR";
/// Program that acts as a collector when called with `collector`.
pub const COLLECTOR: &str = "SINTONIA_COLLECTOR";
/// Addresses of the analyzer, most likely one first, separated by commas.
pub const ANALYZER: &str = "SINTONIA_ANALYZER";
/// Secret that proves that a collector belongs to the run.
pub const SECRET: &str = "SINTONIA_SECRET";
/// Folder of the run record.
pub const OUT: &str = "SINTONIA_OUT";
/// `1` if every call is recorded.
pub const TRACE: &str = "SINTONIA_TRACE";
/// `1` if processes take orders.
pub const TUNE: &str = "SINTONIA_TUNE";
/// `1` if nothing of the program is described, so that nothing has to be ready when `MPI_Init` ends.
pub const UNDESCRIBED: &str = "SINTONIA_UNDESCRIBED";
/// `events` if processes are sampled by performance events, `auto` if else by signals, `signals` if by signals alone.
pub const SAMPLE: &str = "SINTONIA_SAMPLE";
/// Names of the levers that may be set, with commas.
pub const LEVERS: &str = "SINTONIA_LEVERS";
/// `1` if levers may change the last bits of floating-point sums.
pub const TUNE_SUMS: &str = "SINTONIA_TUNE_SUMS";
/// `1` if levers may change the number of OpenMP threads.
pub const TUNE_THREADS: &str = "SINTONIA_TUNE_THREADS";
/// Number of records in a thread's ring.
pub const RECORDS: &str = "SINTONIA_RECORDS";
/// Number of regions distinguished per thread.
pub const REGIONS: &str = "SINTONIA_REGIONS";
/// Number of threads of a rank that may call MPI at the same time.
pub const THREADS: &str = "SINTONIA_THREADS";
/// Starter of a collector: [`STARTED_BY_LAUNCHER`], [`STARTED_BY_ATTACHER`] or, if absent, a rank.
pub const STARTED_BY: &str = "SINTONIA_STARTED_BY";
/// Value of [`STARTED_BY`] for the collector of the launching node.
pub const STARTED_BY_LAUNCHER: &str = "run";
/// Value of [`STARTED_BY`] if the program was there first: processes are detached when the analyzer is lost.
pub const STARTED_BY_ATTACHER: &str = "attach";
/// Number that distinguishes the launchers of a run.
pub const LAUNCH: &str = "SINTONIA_LAUNCH";

/// Extension of a segment's file name.
pub const SEGMENT_SUFFIX: &str = "segment";
/// File on which the node's only collector holds a lock.
pub const LOCK: &str = "collector.lock";
/// File that names the run record, for cleaning up.
pub const RECORD: &str = "record";
/// Socket on which ranks wake the collector.
pub const DOORBELL: &str = "doorbell";

/// Facts about the run that a collector needs.
#[derive(Clone, Debug)]
pub struct RunEnvironment {
    /// Number of the run.
    pub run: u64,
    /// Folder for shared memory.
    pub shm_dir: PathBuf,
    /// Possible addresses of the analyzer.
    pub analyzers: Vec<SocketAddr>,
    /// Secret that proves that both sides belong to the run.
    pub secret: Secret,
    /// Folder of the run record, if this node sees it.
    pub out: Option<PathBuf>,
    /// Content of the lock file: `run`, `attach` or `rank`.
    pub started_by: String,
    /// Whether processes are sampled.
    pub sample: bool,
}

/// Reason why the environment describes no run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnvironmentError {
    /// The variable of this name is missing or not valid text.
    #[error("`{0}` is not set; a collector is started by `sintonia run` or by a rank, not by hand")]
    Missing(&'static str),
    /// The run's number, with this value, is malformed.
    #[error(
        "`SINTONIA_RUN` is `{0}` and not 16 hexadecimal digits; unset it and use `sintonia run`"
    )]
    Run(String),
    /// The secret is malformed.
    #[error(transparent)]
    Secret(#[from] SecretError),
}

impl RunEnvironment {
    /// Reads the variables through `variable`.
    ///
    /// Malformed addresses are left out: without any address, the collector spills to files.
    ///
    /// # Errors
    /// The run or its secret is missing or malformed.
    pub fn from_variables(
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, EnvironmentError> {
        let text = |name: &'static str| {
            variable(name)
                .and_then(|value| value.into_string().ok())
                .ok_or(EnvironmentError::Missing(name))
        };
        let run = text(RUN)?;
        let is_number = run.len() == 16;
        let number = u64::from_str_radix(&run, 16).ok().filter(|_| is_number);
        let addresses = text(ANALYZER).unwrap_or_default();
        Ok(Self {
            run: number.ok_or(EnvironmentError::Run(run))?,
            shm_dir: variable(SHM_DIR).unwrap_or_else(|| "/dev/shm".into()).into(),
            analyzers: addresses.split(',').filter_map(|address| address.parse().ok()).collect(),
            secret: Secret::from_hex(&text(SECRET)?)?,
            out: variable(OUT).map(PathBuf::from),
            started_by: text(STARTED_BY).unwrap_or_else(|_: EnvironmentError| "rank".to_owned()),
            sample: text(SAMPLE).is_ok_and(|sample| sample != "off"),
        })
    }

    /// Returns the folder of the run in shared memory.
    pub fn run_dir(&self) -> PathBuf {
        run_dir(&self.shm_dir, self.run)
    }
}

/// Returns the folder of a run in shared memory.
pub fn run_dir(shm_dir: &Path, run: u64) -> PathBuf {
    shm_dir.join(format!("{}{run:016x}", run_dir_prefix()))
}

/// Returns the common prefix of the names of this user's run folders.
pub fn run_dir_prefix() -> String {
    format!("sintonia-{}-", rustix::process::getuid().as_raw())
}

/// Returns this node's name in the run: host name and network namespace, which differs in virtual clusters.
pub fn node_name() -> String {
    use std::os::unix::fs::MetadataExt;
    let namespace = std::fs::metadata("/proc/self/ns/net").map_or(0, |namespace| namespace.ino());
    format!("{}-{namespace}", files::host_name())
}

/// Returns random bytes from the system.
///
/// # Errors
/// The system provides none.
pub fn random<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut n_filled = 0;
    while n_filled < N {
        n_filled += rustix::rand::getrandom(&mut bytes[n_filled..], GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(name: &str) -> Option<OsString> {
        let value = match name {
            RUN => "00000000000000ff",
            SHM_DIR => "/shm",
            ANALYZER => "127.0.0.1:80,nonsense,10.0.0.1:81",
            SECRET => return Some("ab".repeat(32).into()),
            _ => return None,
        };
        Some(value.into())
    }

    #[test]
    fn a_place_is_read_from_the_environment() {
        let environment = RunEnvironment::from_variables(variables).unwrap();
        assert_eq!(environment.run, 255);
        assert_eq!(environment.analyzers.len(), 2);
        assert_eq!(environment.started_by, "rank");
        assert!(environment.run_dir().ends_with(format!("{}00000000000000ff", run_dir_prefix())));
    }

    #[track_caller]
    fn check(name: &'static str, value: Option<&str>, expected: &str) {
        let changed = |asked: &str| {
            if asked == name { value.map(OsString::from) } else { variables(asked) }
        };
        let error = RunEnvironment::from_variables(changed).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn what_is_missing_is_named() {
        check(RUN, None, "SINTONIA_RUN");
        check(RUN, Some("ff"), "`ff`");
        check(SECRET, None, "SINTONIA_SECRET");
        check(SECRET, Some("ab"), "64");
    }
}
