//! Job whose ranks listen to the test instead of a collector: it sends orders and reads answers and records.

use events::{ActionRecord, CallRecord, EventRecord};
use ring::SegmentReader;
use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use suite::tool::sintonia;
use suite::{EndedJob, Job, StartedJob};
use tempfile::TempDir;
use wire::control::{Location, Module};
use wire::{Order, OrderAnswer};

/// Job that was started, with the segments of its ranks.
pub(super) struct Ranks {
    shared_memory: TempDir,
    running: StartedJob,
    segments: Vec<SegmentReader>,
}

/// Records in the rings of a process.
pub(super) struct Recorded {
    pub(super) events: Vec<EventRecord>,
    pub(super) actions: Vec<ActionRecord>,
    /// Number of rings with events in them.
    pub(super) n_rings: usize,
}

/// Path of the preloaded library.
pub(super) fn library() -> PathBuf {
    sintonia().with_file_name("libsintonia.so")
}

impl Ranks {
    /// Starts `job` with the probe preloaded and told to listen, and waits for its `n_ranks` segments.
    #[track_caller]
    pub(super) fn start(job: &Job, n_ranks: usize) -> Self {
        let shared_memory = shared_memory();
        let job = variables(shared_memory.path())
            .into_iter()
            .fold(job.clone(), |job, (name, value)| job.variable(name, value));
        let running = job.variable("LD_PRELOAD", library()).start();
        Self::find(shared_memory, running, n_ranks)
    }

    /// Waits for the segments of running ranks.
    #[track_caller]
    pub(super) fn find(shared_memory: TempDir, running: StartedJob, n_ranks: usize) -> Self {
        let mut segments = Vec::new();
        running.wait_until("all ranks listen", |_| {
            segments = segments_in(shared_memory.path());
            segments.len() == n_ranks && segments.iter().all(|segment| segment.orders().is_some())
        });
        segments.sort_by_key(|segment| segment.process().rank);
        Self { shared_memory, running, segments }
    }

    /// Sends an order to all ranks.
    #[track_caller]
    pub(super) fn tell(&self, order: &Order) {
        let bytes = wire::to_bytes(order).expect("an order has bytes");
        for segment in &self.segments {
            let mut orders = segment.orders().expect("the rank listens");
            assert!(orders.push(&bytes), "there is room for an order");
        }
    }

    /// Sends an order to all ranks, and waits for the answer of each.
    #[track_caller]
    pub(super) fn ask(&self, order: &Order) -> Vec<OrderAnswer> {
        self.tell(order);
        let waited = format!("all ranks answer to {order:?}");
        let answer = |segment: &SegmentReader| {
            let mut answer = None;
            self.running.wait_until(&waited, |_| {
                answer = segment.answers().expect("the rank listens").pop();
                answer.is_some()
            });
            wire::decode(&answer.expect("just found")).expect("an answer")
        };
        self.segments.iter().map(answer).collect()
    }

    /// Records of a rank so far.
    pub(super) fn recorded(&self, rank: usize) -> Recorded {
        recorded_in(&self.segments[rank])
    }

    pub(super) fn running(&mut self) -> &mut StartedJob {
        &mut self.running
    }

    /// Process ID of a rank.
    pub(super) fn pid(&self, rank: usize) -> u32 {
        self.segments[rank].process().key.pid
    }

    /// Takes the lock that the launcher's collector would hold.
    #[track_caller]
    pub(super) fn hold_collector_lock(&self) -> File {
        let folder = segment_files(self.shared_memory.path());
        let folder = folder[0].parent().expect("it is in one");
        let mut lock = File::create(folder.join("collector.lock")).expect("the folder is ours");
        lock.write_all(b"run").expect("the folder is ours");
        lock.lock().expect("nobody else has it");
        lock
    }

    pub(super) fn segment(&self, rank: usize) -> &SegmentReader {
        &self.segments[rank]
    }

    /// Waits until a condition holds.
    #[track_caller]
    pub(super) fn wait_until(&self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        self.running.wait_until(what, |_| holds(self));
    }

    /// Waits for the end of the job; the records can still be read.
    #[track_caller]
    pub(super) fn finish(self) -> (EndedJob, Vec<Recorded>) {
        let Self { shared_memory, running, segments } = self;
        let ended = running.finish();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let recorded = segments.iter().map(recorded_in).collect();
        drop(shared_memory);
        (ended, recorded)
    }
}

fn recorded_in(segment: &SegmentReader) -> Recorded {
    let rings: Vec<Vec<CallRecord>> = segment
        .threads()
        .map(|thread| thread.records(thread.n_acknowledged(), usize::MAX))
        .collect();
    Recorded {
        n_rings: rings.iter().filter(|ring| ring.iter().any(is_event)).count(),
        events: rings.iter().flatten().filter_map(EventRecord::of).collect(),
        actions: rings.iter().flatten().filter_map(ActionRecord::of).collect(),
    }
}

fn is_event(record: &CallRecord) -> bool {
    EventRecord::of(record).is_some()
}

pub(super) fn shared_memory() -> TempDir {
    let folder = tempfile::Builder::new().prefix("sintonia-suite-").tempdir_in("/dev/shm");
    folder.expect("`/dev/shm` is writable")
}

/// Variables that the launcher would set for the probe.
pub(super) fn variables(shared_memory: &Path) -> [(&'static str, String); 3] {
    [
        ("SINTONIA_RUN", "suite".to_owned()),
        ("SINTONIA_TUNE", "1".to_owned()),
        ("SINTONIA_SHM_DIR", shared_memory.display().to_string()),
    ]
}

/// Writes the variables as the text that a running process is given; the file appears only when it is complete.
pub(super) fn write_options(file: &Path, shared_memory: &Path) {
    let lines = variables(shared_memory);
    let lines: String = lines.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    let making = file.with_extension("making");
    std::fs::write(&making, lines).expect("the folder is ours");
    std::fs::rename(making, file).expect("the folder is ours");
}

fn segments_in(folder: &Path) -> Vec<SegmentReader> {
    let files = segment_files(folder).into_iter();
    files.filter_map(|path| SegmentReader::open(&path).ok()).collect()
}

fn segment_files(folder: &Path) -> Vec<PathBuf> {
    let entries = |folder: &Path| {
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
    };
    let nodes = entries(folder).flat_map(|run| entries(&run).collect::<Vec<_>>());
    let files = nodes.flat_map(|node| entries(&node).collect::<Vec<_>>());
    let is_segment = |path: &PathBuf| path.extension().is_some_and(|end| end == "segment");
    files.filter(is_segment).collect()
}

/// Symbols of a program: address in the file, and size.
pub(super) struct Symbols(HashMap<String, (u64, u32)>);

impl Symbols {
    #[track_caller]
    pub(super) fn of(program: &Path) -> Self {
        let printed = Command::new("nm").arg("-S").arg(program).output().expect("`nm` starts");
        let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
        let symbol = |line: &str| {
            let mut words = line.split(' ');
            let address = u64::from_str_radix(words.next()?, 16).ok()?;
            let size = u32::from_str_radix(words.next()?, 16).ok()?;
            Some((words.nth(1)?.to_owned(), (address, size)))
        };
        Self(printed.lines().filter_map(symbol).collect())
    }

    #[track_caller]
    pub(super) fn at(&self, name: &str) -> Location {
        Location { module: 0, address: self.0[name].0 }
    }

    #[track_caller]
    pub(super) fn n_bytes(&self, name: &str) -> u32 {
        self.0[name].1
    }
}

/// The program itself as a module, whatever its build.
pub(super) fn program() -> Vec<Module> {
    vec![Module { name: String::new(), build_id: Vec::new() }]
}

/// Reads bytes at an address of the program's file, in a running rank.
pub(super) fn memory(pid: u32, address: u64, n_bytes: usize) -> Vec<u8> {
    let parts = parts(pid);
    let base = parts.first().expect("the program is mapped").start;
    read(pid, base + address, n_bytes)
}

fn read(pid: u32, address: u64, n_bytes: usize) -> Vec<u8> {
    let memory = std::fs::File::open(format!("/proc/{pid}/mem")).expect("the rank is ours");
    let mut bytes = vec![0; n_bytes];
    memory.read_exact_at(&mut bytes, address).expect("it is mapped");
    bytes
}

/// Address ranges of the program in a running rank, part by part; only the last one can be written.
fn parts(pid: u32) -> Vec<Range<u64>> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("the rank lives");
    let lines = maps.lines().filter(|line| line.ends_with("/tuned"));
    let bounds = lines.filter_map(|line| line.split(' ').next()?.split_once('-'));
    let hex = |text| u64::from_str_radix(text, 16).expect("an address");
    bounds.map(|(start, end)| hex(start)..hex(end)).collect()
}

/// Memory that is mapped from the program's file and not writable: code, and the tables that bind calls.
pub(super) fn fixed_memory(pid: u32) -> Vec<Vec<u8>> {
    let mut parts = parts(pid);
    parts.pop();
    let len = |part: &Range<u64>| usize::try_from(part.end - part.start).expect("it fits");
    parts.iter().map(|part| read(pid, part.start, len(part))).collect()
}
