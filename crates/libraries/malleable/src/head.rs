//! Head of a malleable program: the part of rank 0 beside computing. It receives resize requests, decides,
//! and orders what all ranks do next.
//!
//! At each check (a resize point at which ranks exchange orders) it examines the progress of the resize, and
//! gives the order for the next check. It never waits.

mod baton;
mod lender;
mod pace;
mod stretch;
mod wanted;

pub(crate) use baton::Baton;

use crate::change::Change;
use crate::decision::Judge;
use crate::error::Error;
use crate::moving::Method;
use crate::options::Options;
use crate::order::{Order, interval};
use crate::protocol::{Attempt, Protocol, Seen, Todo};
use crate::record::{self, Record};
use crate::release::{Release, Watch};
use crate::wish::{self, Control};
use crate::world::World;
use lender::{Answer as Room, Lender};
use pace::Pace;
use resize_api::{Answer, JobStatus, Outcome, Resize, Sizes};
use std::time::{Duration, Instant};
use stretch::Stretch;

/// Observations of rank 0 at a check.
#[derive(Debug, Default)]
pub(crate) struct Look {
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
}

/// State of the head of the program.
#[derive(Debug)]
pub(crate) struct Head {
    options: Options,
    protocol: Protocol,
    record: Record,
    control: Option<Control>,
    judge: Judge,
    lender: Option<Result<Lender, String>>,
    is_open_mpi: bool,
    watch: Option<Watch>,
    clock: Instant,
    pace: Pace,
    baton: Baton,
    /// Order for the next check.
    next: Order,
    /// Plan of the resize that was ordered.
    change: Option<Change>,
    ordered_at: u64,
    /// Tuning point of the size: what tools see and request.
    stretch: Stretch,
}

impl Head {
    /// Creates the head at the start of the program.
    pub(crate) fn new(options: &Options, world: &World, is_open_mpi: bool) -> Result<Self, Error> {
        let sizes = options.sizes_with(world.size());
        let baton = Baton { job: wish::job_name(), sizes, ..Baton::default() };
        let head = Self::inherit(options, world, is_open_mpi, baton)?;
        head.judge.needs(sizes).into_iter().for_each(record::say);
        Ok(head)
    }

    /// Creates the head on a process that follows another rank 0.
    pub(crate) fn inherit(
        options: &Options,
        world: &World,
        is_open_mpi: bool,
        mut baton: Baton,
    ) -> Result<Self, Error> {
        let deadline_s = options.deadline.as_secs_f64();
        let mut protocol = Protocol::new(deadline_s, 10.0 * deadline_s);
        if let Some(attempt) = baton.attempt.take() {
            protocol.go_on(attempt, 0.0);
        }
        let mut record = Record::open(options.record.as_deref(), options.is_explaining)?;
        record.inherit(std::mem::take(&mut baton.resizes));
        let mut judge = Judge::new(options.model.as_deref(), options.n_iterations)?;
        baton.seen.iter().for_each(|(size, seconds)| judge.saw(*size, *seconds));
        let mut head = Self {
            options: options.clone(),
            protocol,
            record,
            control: None,
            judge,
            lender: None,
            is_open_mpi,
            watch: None,
            clock: Instant::now(),
            pace: Pace::default(),
            baton,
            next: Order::new(Todo::GoOn, 0, options.check_every.unwrap_or(1)),
            change: None,
            ordered_at: 0,
            stretch: Stretch::default(),
        };
        head.control = head.open_control(world)?;
        Ok(head)
    }

    /// Returns the state for the next rank 0. The control files stay.
    pub(crate) fn hand_over(mut self) -> Baton {
        if let Some(control) = self.control.take() {
            control.hand_over();
        }
        self.baton.resizes = self.record.resizes().to_vec();
        self.baton.attempt = self.protocol.attempt().cloned();
        self.baton
    }

    /// Order given at the last check.
    pub(crate) fn order(&self) -> Order {
        self.next
    }

    /// Takes the plan of the resize that was ordered.
    pub(crate) fn take_change(&mut self) -> Option<Change> {
        self.change.take()
    }

    /// Records of all resizes so far.
    pub(crate) fn resizes(&self) -> &[Resize] {
        self.record.resizes()
    }

    /// Evaluates the observations, and gives the order for the next check.
    pub(crate) fn look(&mut self, look: &Look, world: &World) -> Order {
        let now_s = self.clock.elapsed().as_secs_f64();
        self.stretch.end();
        let seconds = self.pace.look(look.iteration);
        if let Some(seconds) = seconds.filter(|_| self.protocol.attempt().is_none()) {
            self.judge.saw(world.size(), seconds);
            self.note_pace(world.size(), seconds);
        }
        if self.protocol.attempt().is_none() {
            self.begin_wanted(look, world, now_s);
        }
        if self.options.is_foreground {
            self.await_gone();
        }
        let seen = self.seen(look, world);
        let (todo, ended) = self.protocol.advance(&seen, now_s);
        if todo == Todo::Start {
            self.ordered_at = look.iteration;
        }
        let is_late = ended.as_ref().is_some_and(|end| end.resize.outcome == Outcome::TimedOut);
        let is_stuck = todo == Todo::GiveUp && is_late;
        if let Some(attempt) = ended {
            self.conclude(attempt, look.iteration, world);
        }
        let before = self.next.interval;
        let fast = self.pace.seconds().unwrap_or(1.0);
        // While a resize is under way, checks are frequent.
        let is_calm = self.protocol.attempt().is_none() || self.options.check_every.is_some();
        let free = if is_calm { interval(fast, before) } else { interval(fast, before).min(4) };
        self.next = Order::new(todo, self.baton.serial, self.options.check_every.unwrap_or(free));
        if is_stuck {
            self.next = self.next.stuck();
        }
        self.tell(look.iteration, world);
        if self.protocol.attempt().is_none() {
            self.stretch.start(look.iteration, self.next.interval, world.size());
        }
        self.next
    }

    fn seen(&mut self, look: &Look, world: &World) -> Seen {
        let permission = self.permission(look, world);
        let gone = self.watch.as_ref().map(Watch::seen);
        if let (Some(attempt), Some(gone)) = (self.protocol.attempt_mut(), &gone) {
            attempt.resize.pids_gone.clone_from(&gone.pids);
        }
        Seen {
            permission,
            is_spawned: look.is_spawned,
            joined: look.joined.clone(),
            is_late: look.is_late,
            has_constant: look.has_constant,
            are_gone: gone.is_none_or(|gone| gone.is_over),
        }
    }

    /// Records the end of a resize, whatever its outcome.
    fn conclude(&mut self, attempt: Attempt, iteration: u64, world: &World) {
        let Attempt { mut resize, wish, .. } = attempt;
        if let Some(path) =
            self.options.checkpoint.as_ref().filter(|_| resize.outcome != Outcome::Done)
        {
            let (to, path) = (resize.to, path.display());
            let way =
                format!("; started anew with {to} ranks, it goes on from the checkpoint `{path}`");
            resize.sentence.push_str(&way);
        }
        if resize.outcome == Outcome::Done {
            let left = std::mem::take(&mut self.baton.hosts_left);
            self.give_back(&left, world);
        } else {
            note_total(&mut resize);
            resize.iteration = iteration;
            if let Some(Ok(lender)) = &mut self.lender {
                lender.forget();
            }
            self.change = None;
        }
        if let Some(id) = wish {
            let (outcome, sentence) = (resize.outcome, resize.sentence.clone());
            self.baton.answered = Some(Answer { id, outcome, sentence });
        }
        self.watch = None;
        let standing = self.standing(iteration, world);
        self.judge.learn(&resize, &standing);
        self.record.keep(resize);
    }

    /// Returns the places of ranks that have ended to the manager that lent them.
    fn give_back(&mut self, hosts: &[String], world: &World) {
        if hosts.is_empty() {
            return;
        }
        match &mut self.lender {
            Some(Ok(lender)) => lender.give_back(hosts),
            Some(Err(_)) => {}
            // An earlier rank 0 borrowed the places: the new manager sees which of them have ranks.
            None => {
                let present = world.members.iter().map(crate::world::Member::host);
                let present = present.collect::<Vec<_>>();
                self.lender = Some(Lender::new(&self.options, &present, self.is_open_mpi));
            }
        }
    }

    /// Watches for the end of the leaving processes, before the new size begins.
    pub(crate) fn see_off(&mut self, release: Option<Release>, n_leaving: usize) {
        let at_most = self.options.deadline;
        self.watch = release.map(|release| release.watch(n_leaving, at_most));
    }

    /// Updates the record of the present resize.
    pub(crate) fn note(&mut self, note: impl FnOnce(&mut Resize)) {
        if let Some(attempt) = self.protocol.attempt_mut() {
            note(&mut attempt.resize);
        }
    }

    /// Records the method that moved the data, so that it is not tried again.
    pub(crate) fn note_method(&mut self, method: Method) {
        self.baton.method = Method::ALL.iter().position(|other| *other == method);
        self.note(|resize| method.name().clone_into(&mut resize.redistribution));
    }

    /// Records the hosts of the ranks that leave.
    pub(crate) fn note_left(&mut self, hosts: Vec<String>) {
        self.baton.hosts_left = hosts;
        if let Some(Ok(lender)) = &mut self.lender {
            lender.keep();
        }
    }

    /// Iteration at which the present resize was ordered.
    pub(crate) fn ordered_at(&self) -> u64 {
        self.ordered_at
    }

    /// Records that the new size is in force.
    pub(crate) fn switched(&mut self) {
        self.note(note_total);
        self.protocol.switched(self.clock.elapsed().as_secs_f64());
        self.pace.restart();
        self.next =
            Order::new(Todo::GoOn, self.baton.serial, self.options.check_every.unwrap_or(1));
    }

    /// Excludes the time until now from the time of the iteration.
    pub(crate) fn interrupt(&mut self) {
        self.pace.interrupt();
    }

    /// Ends the program: waits until processes that left are gone, so that the record is complete.
    pub(crate) fn finish(&mut self, iteration: u64, world: &World) {
        self.stretch.end();
        self.await_gone();
        let now_s = self.clock.elapsed().as_secs_f64();
        let seen = self.seen(&Look::default(), world);
        if let (_, Some(attempt)) = self.protocol.advance(&seen, now_s) {
            self.conclude(attempt, iteration, world);
        }
        if let Some(attempt) = self.protocol.break_off(now_s) {
            self.conclude(attempt, iteration, world);
        }
        let word = self.judge.why_not().and_then(|why| self.record.last_word(world.size(), why));
        word.iter().for_each(|word| record::say(word));
        self.control = None;
    }

    /// Waits until processes that left are gone, or their deadline has passed.
    fn await_gone(&self) {
        while self.watch.as_ref().is_some_and(|watch| !watch.seen().is_over) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn note_pace(&mut self, size: u32, seconds: f64) {
        const N_SEEN_MAX: usize = 200;
        if N_SEEN_MAX <= self.baton.seen.len() {
            self.baton.seen.drain(..N_SEEN_MAX / 2);
        }
        self.baton.seen.push((size, seconds));
    }

    fn open_control(&self, world: &World) -> Result<Option<Control>, Error> {
        let (min, max) = self.baton.sizes;
        let status = JobStatus {
            job: self.baton.job.clone(),
            pid: std::process::id(),
            host: wish::host(),
            program: program_name(),
            size: world.size(),
            sizes: Sizes { min, max, preferred: self.options.preferred },
            n_iterations: self.options.n_iterations,
            slurm_job: wish::slurm_job(),
            slots_per_node: crate::manager::slots_per_node(|name| std::env::var(name).ok()),
            ..JobStatus::default()
        };
        match &self.options.control {
            Some(folder) => Ok(Some(Control::open(folder, status)?)),
            // The folder was not requested by the user: a program without a home directory runs as well.
            None if min < max => {
                Ok(wish::default_folder().and_then(|folder| Control::open(&folder, status).ok()))
            }
            None => Ok(None),
        }
    }

    fn tell(&self, iteration: u64, world: &World) {
        let Some(control) = &self.control else { return };
        let companions = match &self.lender {
            Some(Ok(lender)) => lender.companions(),
            _ => Vec::new(),
        };
        control.say(|status| {
            status.size = world.size();
            status.state = self.protocol.phase();
            status.iteration = iteration;
            status.seconds_per_iteration = self.pace.seconds();
            status.companions = companions;
            status.answered.clone_from(&self.baton.answered);
            status.last = self.record.resizes().last().cloned();
        });
    }
}

/// Sets the total time by the wall clock, the only one shared with an earlier rank 0 that began the resize.
fn note_total(resize: &mut Resize) {
    resize.seconds.total = (record::now_s() - resize.began_s).max(0.0);
}

fn program_name() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
