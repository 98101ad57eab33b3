//! Observation of a program: its record, server, collector and variables.

use super::collector::LocalCollector;
use super::environment::{Environment, Orders, find_library, interface_addresses, reachable};
use super::listening::{self, CommandFacts};
use super::record;
use super::tuning::Tuning;
use crate::levers;
use crate::options::WatchOptions;
use anyhow::Context;
use collector::leftovers::remove_abandoned;
use collector::place;
use run_record::RunRecord;
use run_record::measured::RunFacts;
use server::{Server, ServerOptions, wait_until};
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tuner::TuningOptions;
use wire::Secret;

/// Longest time after its start in which this node's collector is waited for: before ranks of a running job are entered, and
/// before a program that was over within moments is taken for one that nobody collects for.
const COLLECTOR_PATIENCE: Duration = Duration::from_secs(2);
/// Time between snapshots on disk.
const SNAPSHOT_EVERY: Duration = Duration::from_secs(5);

/// Time between two reports when tunlets are given efficiencies every second.
const REPORTS_FOR_TUNLETS: Duration = Duration::from_millis(900);
/// The same when levers are decided by them, several times a second.
const REPORTS_FOR_LEVERS: Duration = Duration::from_millis(180);

/// Records in a ring that holds nothing but the outcomes of actions.
const N_RECORDS_MIN: u32 = 64;
/// Records in one of a rank that is only listened to, for what an iteration is: its memory is made, and cleared, in each rank.
const N_RECORDS_HEARD: u32 = 16_384;

/// Environment variables.
pub(crate) type Variables = Vec<(String, OsString)>;

/// Origin of a watched program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubjectOrigin {
    /// `sintonia` starts it.
    Started,
    /// The program runs already.
    Attached,
}

impl SubjectOrigin {
    /// Name of the starter, for the collector.
    fn starter(self) -> &'static str {
        match self {
            Self::Started => place::STARTED_BY_LAUNCHER,
            Self::Attached => place::STARTED_BY_ATTACHER,
        }
    }
}

/// Program that is watched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    /// Short name for files.
    pub(crate) name: &'a str,
    pub(crate) origin: SubjectOrigin,
}

/// Facts known when the watch begins.
pub(crate) fn facts(command: Vec<String>, traced: bool) -> RunFacts {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    RunFacts {
        sintonia_version: env!("CARGO_PKG_VERSION").to_owned(),
        command,
        started_s: since_1970.as_secs_f64(),
        traced,
        ..RunFacts::default()
    }
}

/// Run under observation.
#[derive(Debug)]
pub(crate) struct Observation {
    pub(crate) server: Server,
    pub(crate) record: RunRecord,
    pub(crate) collector: LocalCollector,
    collector_started: Instant,
    pub(crate) library: PathBuf,
    /// Environment variables for the command.
    pub(crate) variables: Variables,
}

impl Observation {
    /// Makes the record, listens, and starts this node's collector; completes `facts`.
    pub(crate) fn start(
        options: &WatchOptions,
        subject: Subject<'_>,
        tuning: Option<Tuning>,
        facts: &mut RunFacts,
    ) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("this program's own file is not known")?;
        let library = find_library(&program, std::env::var_os("SINTONIA_LIB"))
            .context("`libsintonia.so` is not beside this program; set SINTONIA_LIB to its path")?;
        let run = u64::from_le_bytes(place::random()?);
        let shm_dir = std::env::var_os(place::SHM_DIR).map_or("/dev/shm".into(), PathBuf::from);
        facts.run = format!("{run:016x}");
        facts.shm_dir.clone_from(&shm_dir);
        if let Some(tuning) = &tuning {
            facts.functions.clone_from(&tuning.plan.events);
            facts.probed.clone_from(&tuning.plan.probed);
        }
        remove_abandoned(&shm_dir, SystemTime::now());
        DirBuilder::new().mode(0o700).create(place::run_dir(&shm_dir, run)).with_context(|| {
            format!("`{}` has no room for shared memory; set SINTONIA_SHM_DIR", shm_dir.display())
        })?;
        let started = Self::with_record((library, program, run), (options, subject, tuning), facts);
        if started.is_err() {
            std::fs::remove_dir(place::run_dir(&shm_dir, run)).ok();
        }
        started
    }

    fn with_record(
        parts: (PathBuf, PathBuf, u64),
        (options, subject, tuning): (&WatchOptions, Subject<'_>, Option<Tuning>),
        facts: &RunFacts,
    ) -> anyhow::Result<Self> {
        let record = record::create(options.out.as_deref(), subject.name, facts)?;
        let library = parts.0.clone();
        match Self::beside(&record, parts, (options, subject, tuning), facts) {
            Ok((server, collector, variables)) => {
                let collector_started = Instant::now();
                let started =
                    Self { server, record, collector, collector_started, library, variables };
                // One that comes later finds all that ranks have recorded in shared memory.
                if subject.origin == SubjectOrigin::Attached {
                    started.wait_for_collector();
                }
                Ok(started)
            }
            Err(error) => {
                // The record would be empty.
                remove(&record);
                Err(error)
            }
        }
    }

    /// Starts the server and the collector.
    fn beside(
        record: &RunRecord,
        (library, program, run): (PathBuf, PathBuf, u64),
        (options, subject, tuning): (&WatchOptions, Subject<'_>, Option<Tuning>),
        facts: &RunFacts,
    ) -> anyhow::Result<(Server, LocalCollector, Variables)> {
        let secret = Secret::from_bytes(place::random()?);
        let n_records = n_records(options, tuning.as_ref());
        let orders = match &tuning {
            Some(tuning) if tuning.is_described => Orders::Awaited,
            Some(_) => Orders::Later,
            // Attached ranks must listen, too: otherwise they could not be told to detach.
            None if subject.origin == SubjectOrigin::Attached => Orders::Later,
            None => Orders::None,
        };
        let tuning = tuning.map(|tuning| tuning.into_options(options.trace));
        let server =
            serve((options, tuning), (run, secret.clone()), record, (facts, subject.origin))
                .context("cannot listen for collectors; choose another address with `--listen`")?;
        let environment = Environment {
            library,
            run: facts.run.clone(),
            shm_dir: facts.shm_dir.clone(),
            program,
            analyzers: reachable(server.address(), &interface_addresses()),
            secret: secret.to_hex(),
            out: record.dir().to_owned(),
            trace: options.trace,
            orders,
            sample: options.sample.name(),
            levers: levers::names(&options.tuner.levers),
            tune_sums: options.tuner.levers.tune_sums,
            tune_threads: options.tuner.levers.tune_threads,
            ring_records: n_records.next_power_of_two(),
            regions: options.regions,
            threads: options.threads,
        };
        let variables = environment.variables(|name| std::env::var_os(name));
        let collector = LocalCollector::start(&variables, subject.origin.starter())
            .context("cannot start the collector")?;
        Ok((server, collector, variables))
    }

    /// Waits until this node's collector is connected, or could have been.
    pub(crate) fn wait_for_collector(&self) {
        let node = place::node_name();
        let deadline = self.collector_started + COLLECTOR_PATIENCE;
        wait_until(deadline, || self.server.is_connected(&node));
    }

    /// Ends the observation of a program that was never watched, and leaves nothing behind.
    pub(crate) fn abandon(self) {
        self.wait_for_collector();
        drop(self.server.close());
        self.collector.shut_down();
        remove(&self.record);
    }
}

/// Removes an empty record, and our folder of all records if it was the first one.
fn remove(record: &RunRecord) {
    std::fs::remove_dir_all(record.dir()).ok();
    if let Some(folder) = record.dir().parent().filter(|folder| folder.ends_with(record::FOLDER)) {
        // Fails if the folder is not empty.
        std::fs::remove_dir(folder).ok();
    }
}

/// Records in a thread's ring.
fn n_records(options: &WatchOptions, tuning: Option<&Tuning>) -> u32 {
    let is_probed = |tuning: &Tuning| {
        !tuning.plan.events.is_empty()
            || !tuning.plan.probed.is_empty()
            || options.tuner.app.is_some()
    };
    match tuning {
        _ if options.trace => options.ring_records,
        None => N_RECORDS_MIN,
        Some(tuning) if is_probed(tuning) => options.ring_records,
        Some(_) => options.ring_records.min(N_RECORDS_HEARD),
    }
}

/// Address to listen at; an attached job is watched on this node only.
fn listen_at(asked: Option<SocketAddr>, facts: &RunFacts, origin: SubjectOrigin) -> SocketAddr {
    let command = if origin == SubjectOrigin::Started { facts.command.as_slice() } else { &[] };
    let variables: Vec<_> = std::env::vars_os().map(|(name, _)| name).collect();
    let (home, path) = (std::env::home_dir(), std::env::var_os("PATH"));
    let program = command.first().and_then(|command| listening::program(command, path.as_deref()));
    let start = CommandFacts {
        command,
        variables: &variables,
        root: Path::new("/"),
        home: home.as_deref(),
        program: program.as_deref(),
    };
    listening::address(asked, &start)
}

fn serve(
    (options, tuning): (&WatchOptions, Option<TuningOptions>),
    (run, secret): (u64, Secret),
    record: &RunRecord,
    (facts, origin): (&RunFacts, SubjectOrigin),
) -> std::io::Result<Server> {
    let report_every = match () {
        () if !options.tuner.levers.tune.is_empty() => REPORTS_FOR_LEVERS,
        () if options.live || options.stalled.is_some_and(|after_s| after_s < 4.0) => {
            Duration::from_millis(500)
        }
        () if tuning.is_some() => REPORTS_FOR_TUNLETS,
        () => Duration::from_secs(2),
    };
    Server::start(ServerOptions {
        run,
        secret,
        listen: listen_at(options.listen, facts, origin),
        report_every,
        snapshot_every: SNAPSHOT_EVERY,
        spool_dir: record.spool_path(""),
        facts: facts.clone(),
        tuning,
        tuning_lines: record.tuning_path(),
        tuning_switch: record.switch_path(),
    })
}
