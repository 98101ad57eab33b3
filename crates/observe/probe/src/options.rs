//! The launcher's options for the probe: from the environment, or from a text when the probe is attached to
//! a running process.

use events::Lever;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// Condition under which a process takes samples of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SelfSampling {
    Never,
    /// Where the system allows no performance events.
    WithoutEvents,
    Always,
}

/// Options for this process.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a variable of its own")]
pub(crate) struct Options {
    /// Name of the run.
    pub(crate) run: String,
    /// Folder for shared memory.
    pub(crate) shm_dir: PathBuf,
    /// Program that becomes a collector when called with `collector`.
    pub(crate) collector: Option<PathBuf>,
    /// Maximum number of threads that call MPI at the same time.
    pub(crate) n_threads: u32,
    /// Maximum number of regions per thread.
    pub(crate) n_regions: u32,
    /// Records in a thread's ring; 0 if nothing is recorded.
    pub(crate) n_records: u32,
    /// Whether MPI calls are recorded.
    pub(crate) is_traced: bool,
    /// Whether the process executes orders.
    pub(crate) is_tuned: bool,
    /// Whether `MPI_Init` waits for the first orders.
    pub(crate) waits_for_plan: bool,
    /// Whether the process takes samples of itself.
    pub(crate) self_sampling: SelfSampling,
    /// Name of the mode of waiting in MPI from the start on.
    pub(crate) waiting: Option<String>,
    /// Whether levers may be set.
    pub(crate) has_levers: bool,
    /// Value of the lever for algorithms of collective operations from the start on, where it may be set.
    pub(crate) collectives: Option<i64>,
    /// Whether huge pages are asked for, for memory that there is after `MPI_Init`.
    pub(crate) huge_pages: bool,
    /// Whether levers may change the last bits of floating-point sums.
    pub(crate) may_change_sums: bool,
    /// Number common to the ranks of one launcher.
    pub(crate) launch: String,
}

impl Options {
    /// Reads the options from the environment; `None` in a process that is not monitored.
    pub(crate) fn from_environment() -> Option<Self> {
        Self::read(|name| std::env::var_os(name))
    }

    /// Reads the options from lines `NAME=value`.
    pub(crate) fn from_text(text: &[u8]) -> Option<Self> {
        Self::read(|name| {
            let lines = text.split(|byte| *byte == b'\n');
            let mut values = lines.filter_map(|line| {
                line.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="))
            });
            values.next().map(|value| OsString::from_vec(value.to_vec()))
        })
    }

    fn read(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let text = |name: &str| variable(name)?.into_string().ok();
        let number = |name: &str, default: u32| {
            text(name).and_then(|text| text.parse().ok()).unwrap_or(default)
        };
        let run = text("SINTONIA_RUN")?;
        let is_name = !run.is_empty() && run.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_name {
            return None;
        }
        let is_set = |name: &str| text(name).is_some_and(|value| value == "1");
        let (is_traced, is_tuned) = (is_set("SINTONIA_TRACE"), is_set("SINTONIA_TUNE"));
        let levers = text("SINTONIA_LEVERS").unwrap_or_default();
        let n_records = number("SINTONIA_RECORDS", 65_536).clamp(64, 1 << 26).next_power_of_two();
        Some(Self {
            run,
            shm_dir: variable("SINTONIA_SHM_DIR").unwrap_or_else(|| "/dev/shm".into()).into(),
            collector: variable("SINTONIA_COLLECTOR").map(PathBuf::from),
            n_threads: number("SINTONIA_THREADS", 128).clamp(1, 4096),
            n_regions: number("SINTONIA_REGIONS", 1024).clamp(16, 1 << 20)
                + ring::layout::N_RESERVED_REGIONS,
            n_records: if is_traced || is_tuned { n_records } else { 0 },
            is_traced,
            is_tuned,
            waits_for_plan: !is_set("SINTONIA_UNDESCRIBED"),
            self_sampling: match text("SINTONIA_SAMPLE").as_deref() {
                Some("signals") => SelfSampling::Always,
                Some("auto") => SelfSampling::WithoutEvents,
                _ => SelfSampling::Never,
            },
            waiting: text("SINTONIA_WAITING"),
            has_levers: !levers.is_empty(),
            collectives: levers
                .split(',')
                .any(|name| name == Lever::Collectives.name())
                .then(|| number("SINTONIA_COLLECTIVES", 0).into()),
            huge_pages: is_set("SINTONIA_HUGE_PAGES"),
            may_change_sums: is_set("SINTONIA_TUNE_SUMS"),
            launch: text("SINTONIA_LAUNCH").unwrap_or_default(),
        })
    }
}

/// Returns whether this process belongs to a tuned run.
pub(crate) fn is_tuned() -> bool {
    std::env::var_os("SINTONIA_TUNE").is_some_and(|value| value == "1")
}
