//! Ranks that are attached to: entered together, left together.

use super::entrance::enter;
use super::ranks::LocalRanks;
use crate::environment::attach_options;
use crate::live::Watched;
use crate::observation::Observation;
use anyhow::{Context, bail};
use collector::place;
use events::ModuleMap;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use server::wait_until;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use symbols::embedded_variable;
use wire::ProcessReport;

/// Longest time until all ranks have reported.
const ARRIVAL: Duration = Duration::from_secs(10);
/// Time after which the probe's thread has its name, or has ended.
const START: Duration = Duration::from_secs(1);
/// Longest time until probes are taken out of all ranks.
const DEPARTURE: Duration = Duration::from_secs(15);
/// Longest time until the probe's threads have ended and collectors have noticed.
const END: Duration = Duration::from_secs(5);

/// Ranks that are attached to, of one or several jobs.
#[derive(Debug)]
pub(super) struct Attached {
    ranks: Vec<Rank>,
    /// Masters that were asked to write their own numbers into the record.
    report_requests: Vec<ReportRequest>,
    /// Set by `SIGINT`, `SIGTERM` and `SIGHUP`.
    interrupted: Arc<AtomicBool>,
    until: Option<Instant>,
}

#[derive(Debug)]
struct Rank {
    pid: i32,
    name: String,
    /// Readable once the process has ended.
    pidfd: OwnedFd,
    entered: Option<Instant>,
}

impl Attached {
    /// Enters all ranks; on an error, leaves those already entered.
    pub(super) fn to(ranks: LocalRanks, observation: &Observation) -> anyhow::Result<Self> {
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            flag::register(signal, Arc::clone(&interrupted))?;
        }
        let report_requests = Vec::new();
        let mut attached = Self { ranks: Vec::new(), report_requests, interrupted, until: None };
        if let Err(error) = attached.enter_all(&ranks, observation) {
            attached.leave(observation).iter().for_each(|text| user_io::print::warn(text));
            observation.server.finish();
            let is_over = || observation.server.outstanding().nodes.is_empty();
            wait_until(Instant::now() + END, is_over);
            return Err(error);
        }
        let masters = ranks.jobs().flatten().filter(|rank| rank.rank == 0);
        let requests =
            masters.filter_map(|rank| ask_for_report(rank.pid, observation.record.dir()));
        attached.report_requests = requests.collect();
        Ok(attached)
    }

    fn enter_all(&mut self, ranks: &LocalRanks, observation: &Observation) -> anyhow::Result<()> {
        for (number, job) in ranks.jobs().enumerate() {
            let launch = format!("{}={number}\n", place::LAUNCH);
            let options = attach_options(&observation.variables) + &launch;
            for rank in job {
                let name = format!("rank {} (process {})", rank.rank, rank.pid);
                let rank = Rank { pid: rank.pid, pidfd: open(rank.pid)?, entered: None, name };
                self.ranks.push(rank);
                let last = self.ranks.last_mut().context("just added")?;
                last.enter(observation, &options)?;
                if self.interrupted.load(Ordering::Relaxed) {
                    bail!("interrupted");
                }
            }
        }
        self.wait_for_all(observation)
    }

    fn wait_for_all(&self, observation: &Observation) -> anyhow::Result<()> {
        let is_here = |rank: &&Rank| report_of(rank, observation).is_some();
        let all_here = || {
            let is_off = self.interrupted.load(Ordering::Relaxed);
            is_off || self.ranks.iter().all(|rank| is_here(&rank) || rank.cannot_come())
        };
        wait_until(Instant::now() + ARRIVAL, all_here);
        if self.interrupted.load(Ordering::Relaxed) {
            bail!("interrupted");
        }
        match self.ranks.iter().find(|rank| !is_here(rank)) {
            None => Ok(()),
            Some(rank) if rank.has_ended() => bail!("{} ended meanwhile", rank.name),
            Some(rank) => bail!(
                "{} was entered but does not answer; `sintonia doctor` says whether shared memory has room and \
                 its MPI library is known",
                rank.name
            ),
        }
    }

    /// Sets the time after which the watch ends.
    pub(super) fn end_after(&mut self, at_most: Option<Duration>) {
        self.until = at_most.and_then(|at_most| Instant::now().checked_add(at_most));
    }

    /// Returns whether any rank is still alive.
    pub(super) fn is_alive(&self) -> bool {
        !self.ranks.iter().all(Rank::has_ended)
    }

    /// Leaves all ranks as they were; returns sentences about those that did not answer.
    pub(super) fn leave(&self, observation: &Observation) -> Vec<String> {
        self.report_requests.iter().for_each(ReportRequest::withdraw);
        let entered: Vec<&Rank> = self.ranks.iter().filter(|rank| rank.entered.is_some()).collect();
        // A rank that was entered only just now reports first.
        let is_known = |rank: &&&Rank| report_of(rank, observation).is_some() || rank.cannot_come();
        wait_until(Instant::now() + END, || entered.iter().all(|rank| is_known(&rank)));
        observation.server.detach();
        let is_left = |rank: &Rank| {
            let is_over = |report: ProcessReport| report.left || report.finalizing || report.gone;
            report_of(rank, observation).map_or_else(|| rank.cannot_come(), is_over)
                || rank.has_ended()
        };
        wait_until(Instant::now() + DEPARTURE, || entered.iter().all(|rank| is_left(rank)));
        wait_until(Instant::now() + END, || {
            entered.iter().all(|rank| !is_left(rank) || !rank.has_our_thread())
        });
        let not_left = entered.iter().filter(|rank| !is_left(rank)).map(|rank| &rank.name);
        let sentence = |name: &String| {
            format!("{name} did not answer: it may still be watched, and goes on all the same")
        };
        not_left.map(sentence).collect()
    }
}

impl Watched for Attached {
    fn has_ended(&mut self) -> bool {
        let is_over = self.until.is_some_and(|until| until <= Instant::now());
        is_over || self.interrupted.load(Ordering::Relaxed) || !self.is_alive()
    }

    fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed);
    }
}

impl Rank {
    fn enter(&mut self, observation: &Observation, options: &str) -> anyhow::Result<()> {
        let returned =
            enter(self.pid, &observation.library, options).with_context(|| self.name.clone())?;
        if returned == 0 {
            self.entered = Some(Instant::now());
            return Ok(());
        }
        if returned == Errno::ALREADY.raw_os_error() {
            bail!(
                "{} is already watched, or has ended; stop the other `sintonia run` or `sintonia attach` first",
                self.name
            );
        }
        Err(std::io::Error::from_raw_os_error(returned))
            .with_context(|| format!("{} could not start the probe's thread", self.name))
    }

    fn has_ended(&self) -> bool {
        let mut fds = [PollFd::new(&self.pidfd, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|n_ready| n_ready != 0)
    }

    /// Returns whether the rank will not report any more: it has ended, or the probe has given up, as without shared memory.
    fn cannot_come(&self) -> bool {
        let is_settled = self.entered.is_some_and(|entered| START < entered.elapsed());
        self.has_ended() || (is_settled && !self.has_our_thread())
    }

    /// Returns whether the probe's own thread runs in the process.
    fn has_our_thread(&self) -> bool {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.pid));
        tasks.into_iter().flatten().flatten().any(|task| {
            fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.trim() == "sintonia")
        })
    }
}

fn open(pid: i32) -> anyhow::Result<OwnedFd> {
    let pid = Pid::from_raw(pid).context("a process has a number")?;
    pidfd_open(pid, PidfdFlags::empty())
        .with_context(|| format!("there is no process {}", pid.as_raw_nonzero()))
}

/// Latest report of a rank in this run.
fn report_of(rank: &Rank, observation: &Observation) -> Option<ProcessReport> {
    let reports = observation.server.processes();
    reports.into_iter().find(|report| i32::try_from(report.key.pid) == Ok(rank.pid))
}

/// Variable of the program that holds the path of the folder, terminated by a zero byte.
const VARIABLE: &str = "mw_report_folder";

/// Process that was asked, and the address of the path in its memory.
#[derive(Debug)]
struct ReportRequest {
    pid: i32,
    address: u64,
    n_bytes: usize,
}

/// Asks a master to write its own numbers into `folder` (`master-worker/src/report_file.rs`); `None` if its program has no such variable or cannot be written to.
fn ask_for_report(pid: i32, folder: &Path) -> Option<ReportRequest> {
    let folder = folder.canonicalize().ok()?;
    let path = folder.as_os_str().as_bytes();
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let (map, _) = ModuleMap::parse(&maps);
    let mut found = map
        .files()
        .filter_map(|(file, start)| Some((start, embedded_variable(Path::new(file), VARIABLE)?)));
    let (start, variable) = found.next()?;
    let n_bytes = usize::try_from(variable.n_bytes).ok().filter(|n_bytes| path.len() < *n_bytes)?;
    let request =
        ReportRequest { pid, address: start.checked_add(variable.offset_in_memory)?, n_bytes };
    request.write(path).is_ok().then_some(request)
}

impl ReportRequest {
    /// Sets the variable in the process to zeros again.
    fn withdraw(&self) {
        // The process may have ended.
        self.write_at(0, &vec![0; self.n_bytes]).ok();
    }

    /// Writes the path, its first byte last: the process reads nothing before that byte is set.
    fn write(&self, path: &[u8]) -> io::Result<()> {
        let Some((first, rest)) = path.split_first() else { return Ok(()) };
        self.write_at(1, &[rest, &[0]].concat())?;
        self.write_at(0, &[*first])
    }

    fn write_at(&self, place: u64, bytes: &[u8]) -> io::Result<()> {
        let memory = OpenOptions::new().write(true).open(format!("/proc/{}/mem", self.pid))?;
        memory.write_all_at(bytes, self.address + place)
    }
}
