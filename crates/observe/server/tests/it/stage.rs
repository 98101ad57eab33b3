//! Stage for a run without MPI: a folder for all files, and processes that end with the test.

use crate::roles::{ENDING, N_RECORDS, RANK};
use app_description::{AttributeSource, EventAttribute, EventPoint};
use collector::{place, recover};
use events::{ProbePoint, ValueType};
use run_record::measured::{MeasuredRun, RunFacts, Spool};
use run_record::{RunRecord, RunStart, SpoolReader};
use server::{Server, ServerOptions, wait_until};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tuner::TuningOptions;
use tunlets::TunletSpec;
use wire::{EventFacts, ProcessReport, Records, Secret};

/// Longer than anything takes, even on a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(40);
pub(crate) const RUN: u64 = 0xab;
/// Events of a function that is tuned.
pub(crate) const PLACES: [(&str, ProbePoint); 2] =
    [("start", ProbePoint::Entry), ("end", ProbePoint::Exit)];

/// Behavior of a rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rank {
    pub(crate) rank: u32,
    pub(crate) n_records: u64,
    /// `finalize`, `wait` (until killed), `vanish`, `tuned` (iterates and takes orders until its input ends), or
    /// `summed` (passes a function `n_records` times, then finalizes).
    pub(crate) ending: &'static str,
}

/// A process that ends with the test.
#[derive(Debug)]
pub(crate) struct Actor(Child);

impl Actor {
    pub(crate) fn kill(&mut self) {
        self.0.kill().expect("it may be killed");
        self.0.wait().expect("our child");
    }

    /// Returns its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Closes the input of a role that waits for its end.
    pub(crate) fn close_input(&mut self) {
        self.0.stdin = None;
    }

    /// Returns whether the process ends in time.
    pub(crate) fn ends(&mut self) -> bool {
        eventually(|| self.0.try_wait().expect("our child").is_some())
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

pub(crate) fn eventually(is_so: impl FnMut() -> bool) -> bool {
    wait_until(Instant::now() + DEADLINE, is_so)
}

/// Returns the declaration of a tunlet without needs.
pub(crate) fn tunlet_spec(name: &str) -> TunletSpec {
    TunletSpec {
        name: name.to_owned(),
        problem: "none".to_owned(),
        needs_events: Vec::new(),
        needs_points: Vec::new(),
        options: Vec::new(),
    }
}

/// Returns an event of the first actor at `function`, with the value of the `int` variable `attribute`.
pub(crate) fn event_point(
    (name, place): (&str, ProbePoint),
    function: &str,
    attribute: &str,
) -> EventPoint {
    let attribute = EventAttribute {
        name: attribute.to_owned(),
        source: AttributeSource::Variable(attribute.to_owned()),
        kind: Some(ValueType::I32),
        line: 1,
    };
    EventPoint {
        name: name.to_owned(),
        actor: 0,
        function: function.to_owned(),
        place,
        attributes: vec![attribute],
        line: 1,
    }
}

/// Returns the facts about the event of [`event_point`].
pub(crate) fn event_facts(
    (name, place): (&str, ProbePoint),
    function: &str,
    attribute: &str,
) -> EventFacts {
    let attributes = vec![(attribute.to_owned(), ValueType::I32)];
    EventFacts { name: name.to_owned(), function: function.to_owned(), place, attributes }
}

/// The folders of one run.
#[derive(Debug)]
pub(crate) struct Stage {
    dir: TempDir,
    pub(crate) record: RunRecord,
    pub(crate) address: SocketAddr,
    secret: Secret,
    /// True if collectors have a disk to write to.
    pub(crate) has_disk: bool,
}

impl Stage {
    /// Creates the folders and starts a server.
    pub(crate) fn new() -> (Self, Server) {
        let dir = tempfile::tempdir().expect("a folder");
        let start = RunStart { run_id: format!("{RUN:016x}"), ..RunStart::default() };
        let record = RunRecord::create(&dir.path().join("record"), start).expect("a record");
        std::fs::create_dir(dir.path().join("shm")).expect("a folder");
        std::fs::create_dir(dir.path().join("tmp")).expect("a folder");
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let secret = Secret::from_bytes([7; 32]);
        let mut stage = Self { dir, record, address, secret, has_disk: true };
        let server = stage.serve(Secret::from_bytes([7; 32]), None);
        stage.address = server.address();
        (stage, server)
    }

    /// Creates the folders and starts a server that tunes.
    pub(crate) fn tuned(tuning: TuningOptions) -> (Self, Server) {
        let (mut stage, server) = Self::new();
        drop(server);
        let server = stage.serve(Secret::from_bytes([7; 32]), Some(tuning));
        stage.address = server.address();
        (stage, server)
    }

    /// Starts a server that expects `secret`, at the address of the previous one if there was one.
    pub(crate) fn serve(&self, secret: Secret, tuning: Option<TuningOptions>) -> Server {
        Server::start(ServerOptions {
            run: RUN,
            secret,
            listen: self.address,
            report_every: Duration::from_millis(200),
            snapshot_every: Duration::from_millis(200),
            spool_dir: self.record.spool_path(""),
            facts: self.facts(),
            tuning,
            tuning_lines: self.record.tuning_path(),
            tuning_switch: self.record.switch_path(),
        })
        .expect("an address to listen at")
    }

    pub(crate) fn facts(&self) -> RunFacts {
        RunFacts {
            run: format!("{RUN:016x}"),
            command: vec!["test".to_owned()],
            shm_dir: self.shm_dir(),
            ..RunFacts::default()
        }
    }

    fn shm_dir(&self) -> PathBuf {
        self.dir.path().join("shm")
    }

    /// Returns the run's folder in shared memory, which may not exist.
    pub(crate) fn run_dir(&self) -> PathBuf {
        place::run_dir(&self.shm_dir(), RUN)
    }

    pub(crate) fn collector(&self) -> Actor {
        self.start("collector", &[])
    }

    pub(crate) fn rank(&self, rank: Rank) -> Actor {
        let (number, n_records) = (rank.rank.to_string(), rank.n_records.to_string());
        self.start("rank", &[(RANK, &number), (N_RECORDS, &n_records), (ENDING, rank.ending)])
    }

    fn start(&self, role: &str, variables: &[(&str, &str)]) -> Actor {
        let mut command = Command::new(std::env::current_exe().expect("this test"));
        command.args(["--exact", &format!("roles::{role}"), "--ignored", "--nocapture"]);
        let (nowhere, temporary) = (Path::new("/proc/nowhere"), self.dir.path().join("tmp"));
        let (out, temporary) =
            if self.has_disk { (self.record.dir(), &*temporary) } else { (nowhere, nowhere) };
        command.env(place::RUN, format!("{RUN:016x}")).env(place::SHM_DIR, self.shm_dir());
        command.env(place::ANALYZER, self.address.to_string());
        command.env(place::SECRET, self.secret.to_hex()).env(place::OUT, out);
        command.env(place::STARTED_BY, place::STARTED_BY_LAUNCHER).env("TMPDIR", temporary);
        command.envs(variables.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Actor(command.spawn().expect("this test can be started"))
    }

    /// Ends the run as the launcher does.
    #[track_caller]
    pub(crate) fn end(&self, server: Server, mut collector: Actor) -> MeasuredRun {
        // A short rank may have ended before its collector has come.
        assert!(eventually(|| server.is_connected(&place::node_name())), "no collector came");
        server.finish();
        let is_told = eventually(|| server.outstanding().nodes.is_empty());
        assert!(is_told, "{:?}", server.outstanding());
        let measured = server.close();
        assert!(collector.ends());
        assert!(!self.run_dir().exists(), "nothing stays in shared memory");
        recover::complete(measured, &self.record, &self.facts())
    }
}

/// Returns whether a rank has reported that it wrote this many records.
pub(crate) fn has_written(server: &Server, n_records: u64) -> bool {
    let processes = server.processes();
    processes.iter().flat_map(|report| &report.threads).any(|thread| thread.n_written == n_records)
}

/// Returns the report of a rank.
#[track_caller]
pub(crate) fn report_of(measured: &MeasuredRun, rank: u32) -> &ProcessReport {
    let found = measured.processes.iter().find(|report| report.rank.0 == rank);
    found.expect("every rank is reported")
}

/// Returns the number of records of process `pid` in the spools, read as in `assemble`: each once, in order.
///
/// Roles number their records in `bytes`.
#[track_caller]
pub(crate) fn n_records_of(pid: u32, spools: &[Spool]) -> u64 {
    let mut by_number = BTreeMap::new();
    for spool in spools {
        let mut reader = SpoolReader::open(&spool.path).expect("a spool");
        let mut frame = Vec::new();
        while reader.next_frame(&mut frame).expect("readable") {
            let records: Records = wire::decode(&frame).expect("records");
            let is_asked = records.process.pid == pid;
            let numbered = (records.first..).zip(records.records).filter(|_| is_asked);
            by_number.extend(numbered.map(|(number, record)| (number, record.bytes)));
        }
        assert_eq!(reader.problem(), None);
    }
    for (expected, (number, bytes)) in (0..).zip(&by_number) {
        assert_eq!((*number, *bytes), (expected, expected), "a record is missing or out of order");
    }
    by_number.len() as u64
}
