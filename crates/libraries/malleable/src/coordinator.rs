//! Coordinator of a malleable program: the part of rank 0 beside computing. It receives resize requests, decides,
//! and orders what all ranks do next.
//!
//! At each check (a resize point at which ranks exchange orders) it examines the progress of the resize, and
//! gives the order for the next check. It never waits.

mod departures;
mod handover;
mod host_requests;
mod resize_points;
mod timer;
mod wanted;

pub(crate) use handover::HandoverState;

use crate::control::{self, JobControl};
use crate::decision::ResizeAdvisor;
use crate::error::Error;
use crate::manager::slots_per_node;
use crate::moving::Method;
use crate::options::Options;
use crate::order::{SentOrder, interval};
use crate::plan::{OrderedResize, ResizePlan};
use crate::present_ranks::PresentRanks;
use crate::protocol::{ActiveResize, PhaseInput, Protocol, ResizeAction};
use crate::record::{self, Record};
use crate::release::{Release, Watch};
use crate::spawn::is_open_mpi;
use departures::Departures;
use host_requests::HostRequests;
use resize_api::{JobStatus, Resize, ResizeAnswer, ResizeOutcome, Sizes};
use resize_points::Stretch;
use std::time::{Duration, Instant};
use timer::IterationTimer;

/// Observations of rank 0 at a check.
#[derive(Debug, Default)]
pub(crate) struct CheckInput {
    /// Number of the next iteration.
    pub(crate) iteration: u64,
    /// Whether the processes being prepared have been started.
    pub(crate) is_spawned: bool,
    /// Result of joining them, once known.
    pub(crate) joined: Option<Result<(), String>>,
    /// Whether joining failed because a process was late.
    pub(crate) is_late: bool,
    /// Whether constant data have arrived everywhere.
    pub(crate) has_constant: bool,
    /// Sleeping ranks, where they are used instead of new processes.
    pub(crate) sleeping: Option<Vec<u32>>,
    /// Reason why no process can be started.
    pub(crate) obstacle: Option<String>,
    /// Ranks that have been asked to end since the last check.
    pub(crate) asked: Vec<u32>,
}

/// State of the coordinator.
#[derive(Debug)]
pub(crate) struct Coordinator {
    options: Options,
    protocol: Protocol,
    record: Record,
    control: Option<JobControl>,
    advisor: ResizeAdvisor,
    host_requests: Option<Result<HostRequests, String>>,
    is_open_mpi: bool,
    /// Largest number of ranks on a node, where a resource manager lends whole nodes.
    slots_per_node: Option<u32>,
    watch: Option<Watch>,
    clock: Instant,
    timer: IterationTimer,
    handover: HandoverState,
    departures: Departures,
    /// Order for the next check.
    pub(crate) next: SentOrder,
    /// Resize that was ordered.
    pub(crate) ordered: OrderedResize,
    /// Tuning point of the size: what tools see and request.
    stretch: Stretch,
}

impl Coordinator {
    /// Creates the coordinator at the start of the program.
    pub(crate) fn new(options: &Options, ranks: &PresentRanks) -> Result<Self, Error> {
        let sizes = options.sizes_with(ranks.size());
        let handover =
            HandoverState { job: control::job_name(), sizes, ..HandoverState::default() };
        let coordinator = Self::inherit(options, ranks, handover)?;
        coordinator.advisor.needs(sizes).into_iter().for_each(record::say);
        Ok(coordinator)
    }

    /// Creates the coordinator on a process that follows another rank 0.
    pub(crate) fn inherit(
        options: &Options,
        ranks: &PresentRanks,
        mut handover: HandoverState,
    ) -> Result<Self, Error> {
        let deadline_s = options.deadline.as_secs_f64();
        let mut protocol = Protocol::new(deadline_s, 10.0 * deadline_s);
        if let Some(attempt) = handover.attempt.take() {
            protocol.go_on(attempt, 0.0);
        }
        let mut record = Record::open(options.record.as_deref(), options.is_explaining)?;
        record.resizes = std::mem::take(&mut handover.resizes);
        let mut advisor = ResizeAdvisor::new(options, control::is_led())?;
        handover.seen.iter().for_each(|(size, seconds, n)| advisor.saw(*size, *seconds, *n));
        if handover.is_led {
            advisor.follow();
        }
        let mut coordinator = Self {
            options: options.clone(),
            protocol,
            record,
            control: None,
            advisor,
            host_requests: None,
            is_open_mpi: is_open_mpi(ranks.comm.mpi()),
            slots_per_node: slots_per_node(|name| std::env::var(name).ok()),
            watch: None,
            clock: Instant::now(),
            timer: IterationTimer::default(),
            handover,
            departures: Departures::default(),
            next: SentOrder::new(ResizeAction::GoOn, 0, options.check_every.unwrap_or(1)),
            ordered: OrderedResize::default(),
            stretch: Stretch::default(),
        };
        coordinator.control = coordinator.open_control(ranks)?;
        Ok(coordinator)
    }

    /// Returns the state for the next rank 0. The control files stay.
    pub(crate) fn hand_over(mut self) -> HandoverState {
        if let Some(control) = self.control.take() {
            control.hand_over();
        }
        self.handover.resizes = self.record.resizes.clone();
        self.handover.attempt = self.protocol.active.clone();
        self.handover
    }

    /// Takes the plan of the resize that was ordered.
    pub(crate) fn take_plan(&mut self) -> Option<ResizePlan> {
        self.ordered.plan.take()
    }

    /// Records of all resizes so far.
    pub(crate) fn resizes(&self) -> &[Resize] {
        &self.record.resizes
    }

    /// Evaluates the observations, and gives the order for the next check.
    pub(crate) fn check(&mut self, input: &CheckInput, ranks: &PresentRanks) -> SentOrder {
        let now_s = self.clock.elapsed().as_secs_f64();
        self.stretch.end();
        let seconds = self.timer.check(input.iteration);
        if let Some((seconds, n_iterations)) = seconds.filter(|_| self.protocol.active.is_none()) {
            self.advisor.saw(ranks.size(), seconds, n_iterations);
            self.note_seconds(ranks.size(), seconds, n_iterations);
        }
        let departure = self.departure(&input.asked, ranks);
        let given_way = departure.as_ref().and_then(|_| self.protocol.give_way(now_s));
        given_way.into_iter().for_each(|end| self.conclude(end, input.iteration, ranks));
        match departure.filter(|_| self.protocol.active.is_none()) {
            Some(departure) => {
                let (resize, origin) = departure.into_resize(ranks.size(), input.iteration);
                self.protocol.begin(resize, origin, now_s);
            }
            None if self.protocol.active.is_none() => self.begin_wanted(input, ranks, now_s),
            None => {}
        }
        if self.options.method.is_foreground {
            await_gone(self.watch.as_ref());
        }
        let phase_input = self.phase_input(input, ranks);
        let (action, ended) = self.protocol.advance(&phase_input, now_s);
        if action == ResizeAction::Start {
            self.ordered.at = input.iteration;
        }
        let is_late =
            ended.as_ref().is_some_and(|end| end.resize.outcome == ResizeOutcome::TimedOut);
        let is_stuck = action == ResizeAction::GiveUp && is_late;
        if let Some(attempt) = ended {
            self.conclude(attempt, input.iteration, ranks);
        }
        let before = self.next.interval;
        let fast = self.timer.seconds.unwrap_or(1.0);
        // While a resize is under way, checks are frequent.
        let is_calm = self.protocol.active.is_none() || self.options.check_every.is_some();
        let free = if is_calm { interval(fast, before) } else { interval(fast, before).min(4) };
        self.next =
            SentOrder::new(action, self.handover.serial, self.options.check_every.unwrap_or(free));
        if is_stuck {
            self.next = self.next.stuck();
        }
        self.tell(input.iteration, ranks);
        if self.protocol.active.is_none() {
            self.stretch.start(input.iteration, self.next.interval, ranks.size());
        }
        self.next
    }

    fn phase_input(&mut self, input: &CheckInput, ranks: &PresentRanks) -> PhaseInput {
        let permission = self.permission(input, ranks);
        let gone = self.watch.as_ref().map(Watch::seen);
        if let (Some(attempt), Some(gone)) = (&mut self.protocol.active, &gone) {
            attempt.resize.pids_gone.clone_from(&gone.pids);
        }
        PhaseInput {
            permission,
            is_spawned: input.is_spawned,
            joined: input.joined.clone(),
            is_late: input.is_late,
            has_constant: input.has_constant,
            are_gone: gone.is_none_or(|gone| gone.is_over),
        }
    }

    /// Records the end of a resize, whatever its outcome.
    fn conclude(&mut self, attempt: ActiveResize, iteration: u64, ranks: &PresentRanks) {
        let ActiveResize { mut resize, wish, leavers, .. } = attempt;
        if let Some(path) =
            self.options.checkpoint.as_ref().filter(|_| resize.outcome != ResizeOutcome::Done)
        {
            let (to, path) = (resize.to, path.display());
            let way =
                format!("; started anew with {to} ranks, it goes on from the checkpoint `{path}`");
            resize.sentence.push_str(&way);
        }
        if resize.outcome == ResizeOutcome::Done {
            let left = std::mem::take(&mut self.handover.hosts_left);
            self.give_back(&left, ranks);
        } else {
            note_total(&mut resize);
            resize.iteration = iteration;
            if let Some(Ok(host_requests)) = &mut self.host_requests {
                host_requests.forget();
            }
            self.ordered.plan = None;
        }
        if let Some(id) = wish {
            let (outcome, sentence) = (resize.outcome, resize.sentence.clone());
            self.handover.answered = Some(ResizeAnswer { id, outcome, sentence });
        }
        self.departures.conclude(&resize, &leavers);
        self.watch = None;
        let decision_input = self.decision_input(iteration, ranks);
        self.advisor.learn(&resize, &decision_input);
        self.record.keep(resize);
    }

    /// Returns the places of ranks that have ended to the manager that lent them.
    fn give_back(&mut self, hosts: &[String], ranks: &PresentRanks) {
        if hosts.is_empty() {
            return;
        }
        match &mut self.host_requests {
            Some(Ok(host_requests)) => host_requests.give_back(hosts),
            Some(Err(_)) => {}
            // An earlier rank 0 borrowed the places: the new manager sees which of them have ranks.
            None => {
                let requests = HostRequests::new(&self.options, &ranks.hosts(), self.is_open_mpi);
                self.host_requests = Some(requests);
            }
        }
    }

    /// Watches for the end of the leaving processes, before the new size begins.
    pub(crate) fn watch_exits(&mut self, release: Option<Release>, n_leaving: usize) {
        let at_most = self.options.deadline;
        self.watch = release.map(|release| release.watch(n_leaving, at_most));
    }

    /// Updates the record of the present resize.
    pub(crate) fn note(&mut self, note: impl FnOnce(&mut Resize)) {
        if let Some(attempt) = &mut self.protocol.active {
            note(&mut attempt.resize);
        }
    }

    /// Records the method that moved the data, so that it is not tried again.
    pub(crate) fn note_method(&mut self, method: Method) {
        self.handover.method = Some(method);
        self.note(|resize| method.name().clone_into(&mut resize.redistribution));
    }

    /// Records the hosts of the ranks that leave.
    pub(crate) fn note_left(&mut self, hosts: Vec<String>) {
        self.handover.hosts_left = hosts;
        if let Some(Ok(host_requests)) = &mut self.host_requests {
            host_requests.keep();
        }
    }

    /// Records that the new size is in force.
    pub(crate) fn switched(&mut self) {
        self.note(note_total);
        self.departures.forget();
        self.protocol.switched(self.clock.elapsed().as_secs_f64());
        self.timer.restart();
        self.next = SentOrder::new(
            ResizeAction::GoOn,
            self.handover.serial,
            self.options.check_every.unwrap_or(1),
        );
    }

    /// Excludes the time until now from the time of the iteration.
    pub(crate) fn interrupt(&mut self) {
        self.timer.interrupt();
    }

    /// Ends the program: waits until processes that left are gone, so that the record is complete.
    pub(crate) fn finish(&mut self, iteration: u64, ranks: &PresentRanks) {
        self.stretch.end();
        await_gone(self.watch.as_ref());
        let now_s = self.clock.elapsed().as_secs_f64();
        let phase_input = self.phase_input(&CheckInput::default(), ranks);
        if let (_, Some(attempt)) = self.protocol.advance(&phase_input, now_s) {
            self.conclude(attempt, iteration, ranks);
        }
        if let Some(attempt) = self.protocol.break_off(now_s) {
            self.conclude(attempt, iteration, ranks);
        }
        let (why_not, is_asked) = (self.advisor.why_not(), self.advisor.is_asked());
        let word = why_not.and_then(|why| self.record.last_word(ranks.size(), why, is_asked));
        word.iter().for_each(|word| record::say(word));
        self.control = None;
    }

    fn note_seconds(&mut self, size: u32, seconds: f64, n_iterations: u32) {
        const N_SEEN_MAX: usize = 200;
        if N_SEEN_MAX <= self.handover.seen.len() {
            self.handover.seen.drain(..N_SEEN_MAX / 2);
        }
        self.handover.seen.push((size, seconds, n_iterations));
    }

    fn open_control(&self, ranks: &PresentRanks) -> Result<Option<JobControl>, Error> {
        let (min, max) = self.handover.sizes;
        let status = JobStatus {
            job: self.handover.job.clone(),
            pid: std::process::id(),
            host: files::host_name(),
            program: control::program_name(),
            size: ranks.size(),
            sizes: Sizes { min, max, preferred: self.options.preferred },
            n_iterations: self.options.n_iterations,
            slurm_job: control::slurm_job(),
            slots_per_node: self.slots_per_node,
            ..JobStatus::default()
        };
        match &self.options.control {
            Some(folder) => Ok(Some(JobControl::open(folder, status)?)),
            // The folder was not requested by the user: a program without a home directory runs as well.
            None if min < max => {
                let folder = control::default_folder();
                Ok(folder.and_then(|folder| JobControl::open(&folder, status).ok()))
            }
            None => Ok(None),
        }
    }

    fn tell(&mut self, iteration: u64, ranks: &PresentRanks) {
        let input = self.decision_input(iteration, ranks);
        let Some(control) = &self.control else { return };
        let judgment = self.advisor.judgment(&input, self.slots_per_node.unwrap_or(1));
        let companions = match &self.host_requests {
            Some(Ok(host_requests)) => host_requests.companions(),
            _ => Vec::new(),
        };
        control.say(|status| {
            status.size = ranks.size();
            status.state = self.protocol.phase();
            status.iteration = iteration;
            status.seconds_per_iteration = self.timer.seconds;
            status.judgment = Some(judgment);
            status.companions = companions;
            status.answered.clone_from(&self.handover.answered);
            status.last = self.record.resizes.last().cloned();
        });
    }
}

/// Waits until processes that left are gone, or their deadline has passed.
fn await_gone(watch: Option<&Watch>) {
    while watch.is_some_and(|watch| !watch.seen().is_over) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Sets the total time by the wall clock, the only one shared with an earlier rank 0 that began the resize.
fn note_total(resize: &mut Resize) {
    resize.seconds.total = (record::now_s() - resize.began_s).max(0.0);
}
