//! Event loop of the keeper: one thread that waits for orders, output and ends.

use std::collections::HashMap;
use std::io::Read;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use rustix::event::epoll;
use rustix::net::sockopt::socket_peercred;
use rustix::process::{Pid, Signal, geteuid};

use super::connection::{DaemonConnection, watch};
use super::guard::Guard;
use super::held::HeldEnds;
use super::leftovers::{Whose, kill_marked};
use super::memory::MemoryWatch;
use super::pending_starts::PendingStarts;
use super::protocol::{KeeperCommand, KeeperReport, StartAttempt, VERSION};
use super::starting::WhyNot;
use super::tasks::{RunningTask, never_ran, news_of};
use super::{KeeperError, KeeperOptions, boot_now, held, host_list, place, reap, starting};
use node_core::interface::{Attempt, AttemptEnd, Moment};

const LISTENER: u64 = 0;
const DAEMON: u64 = 1;
const CHILDREN: u64 = 2;
/// First token of tasks' streams: twice the process number, plus one for standard error, is added.
const STREAMS: u64 = 16;

/// Most orders that are carried out before ends are handled again.
const N_ORDERS_AT_ONCE: usize = 16;
/// Longest wait: the boot clock goes on while the machine sleeps, and a waiting process does not notice.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// Serves the state folder until there is nothing left to do.
///
/// # Errors
/// When another keeper serves it, or the system refuses what is needed. Tasks that run then are killed by the
/// guard.
pub fn serve(mut options: KeeperOptions) -> Result<(), KeeperError> {
    let folder = |source| KeeperError::Folder { path: options.state.clone(), source };
    options.state = std::fs::canonicalize(&options.state).map_err(folder)?;
    let lock = place::lock(&options.state)?;
    // Neither a signal to the daemon's group nor the end of its terminal may reach the tasks. If this fails, the
    // process already leads a session.
    rustix::process::setsid().ok();
    kill_marked(&options.state, Whose::Anybody);
    host_list::remove_all(&options.state);
    let outcome = Keeper::new(options).and_then(|mut keeper| keeper.run());
    drop(lock);
    outcome
}

struct Keeper {
    options: KeeperOptions,
    /// Mark that tells this keeper from earlier and later ones of the folder.
    run: String,
    epoll: rustix::fd::OwnedFd,
    listener: UnixListener,
    children: UnixStream,
    guard: Guard,
    daemon: Option<DaemonConnection>,
    writing: bool,
    tasks: HashMap<Pid, RunningTask>,
    pids: HashMap<Attempt, Pid>,
    pending_starts: PendingStarts,
    held: HeldEnds,
    idle_since: Instant,
    leaving: bool,
    memory: MemoryWatch,
    buffer: Vec<u8>,
}

impl Keeper {
    fn new(options: KeeperOptions) -> Result<Self, KeeperError> {
        let system = |doing| move |source| KeeperError::System { doing, source };
        let (children, signaled) = UnixStream::pair().map_err(system("make a pair of sockets"))?;
        children.set_nonblocking(true).map_err(system("make a socket wait for nothing"))?;
        signal_hook::low_level::pipe::register(signal_hook::consts::SIGCHLD, signaled)
            .map_err(system("hear of children"))?;
        let listener = place::listen(&options.state)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|errno| system("wait for events")(errno.into()))?;
        let run = format!("{}.{}", std::process::id(), boot_now().0);
        let guard = Guard::start(&options.guard, &run)
            .map_err(|source| KeeperError::Guard { state: options.state.clone(), source })?;
        let held = HeldEnds::load(&options.state, options.held_bytes_max);
        let path = options.state.join(held::FILE);
        let held = held.map_err(|source| KeeperError::Folder { path, source })?;
        watch(&epoll, &listener, LISTENER)
            .and_then(|()| watch(&epoll, &children, CHILDREN))
            .map_err(system("wait for events"))?;
        Ok(Self {
            options,
            run,
            epoll,
            listener,
            children,
            guard,
            daemon: None,
            writing: false,
            tasks: HashMap::new(),
            pids: HashMap::new(),
            pending_starts: PendingStarts::default(),
            held,
            idle_since: Instant::now(),
            leaving: false,
            memory: MemoryWatch::new(),
            buffer: vec![0; 1 << 16],
        })
    }

    fn run(&mut self) -> Result<(), KeeperError> {
        let mut events = Vec::with_capacity(256);
        let mut orders_wait = false;
        while !self.is_over() {
            let wait = if orders_wait { Duration::ZERO } else { self.wait() };
            let wait = wait.try_into().expect("at most a second");
            events.clear();
            let spare = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.epoll, spare, Some(&wait)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => {
                    return Err(KeeperError::System {
                        doing: "wait for events",
                        source: errno.into(),
                    });
                }
            }
            events.iter().for_each(|event| self.on_ready(event.data.u64()));
            orders_wait = self.carry_out();
            self.take_ends();
            self.start_ahead(boot_now());
            self.enforce(boot_now());
            self.tell();
        }
        self.held
            .save(&self.options.state)
            .map_err(|source| KeeperError::Folder { path: self.options.state.clone(), source })
    }

    fn is_over(&self) -> bool {
        let nobody = self.daemon.is_none();
        let idle = nobody && self.options.idle <= self.idle_since.elapsed();
        let finished = self.leaving && (nobody || self.held.len() == 0);
        self.tasks.is_empty() && (idle || finished)
    }

    fn wait(&self) -> Duration {
        let now = boot_now();
        let deadlines = self.tasks.values().filter_map(RunningTask::deadline);
        let memory = self.memory.due(self.tasks.values());
        let next = deadlines.chain(self.pending_starts.deadline()).chain(memory).min();
        let next = next.map_or(WAIT_MAX, |next| {
            // A millisecond more than needed: waiting rounds down, and then the loop would spin.
            Duration::from_nanos(next.0.saturating_sub(now.0)) + Duration::from_millis(1)
        });
        next.min(WAIT_MAX)
    }

    fn on_ready(&mut self, token: u64) {
        match token {
            LISTENER => self.accept(),
            CHILDREN => while matches!(self.children.read(&mut self.buffer), Ok(1..)) {},
            DAEMON => {
                let read = self.daemon.as_mut().map(|daemon| daemon.read(&mut self.buffer));
                if let Some(Err(_)) = read {
                    self.forget_daemon();
                }
            }
            stream => {
                let pid = i32::try_from((stream - STREAMS) / 2).ok().and_then(Pid::from_raw);
                let stream_idx = usize::from(stream % 2 == 1);
                if let Some(task) = pid.and_then(|pid| self.tasks.get_mut(&pid)) {
                    task.read(stream_idx, &mut self.buffer);
                }
            }
        }
    }

    /// Accepts a daemon, which replaces the one before: only one holds the lock of the state folder, so an older
    /// connection belongs to a dead daemon whose end was not noticed yet.
    fn accept(&mut self) {
        let Ok((stream, _)) = self.listener.accept() else { return };
        let ours = socket_peercred(&stream).is_ok_and(|peer| peer.uid == geteuid());
        let Some(Ok(mut daemon)) = ours.then(|| DaemonConnection::new(stream)) else { return };
        // A daemon is told of running and ended tasks only, so those that still wait are given back.
        self.give_back_ahead(Moment(u64::MAX));
        let hello = KeeperReport::Hello {
            version: VERSION,
            pid: std::process::id(),
            running: self.tasks.values().map(|task| task.running.clone()).collect(),
            n_held: self.held.len(),
        };
        if daemon.queue(&hello).is_err() {
            return;
        }
        self.forget_daemon();
        self.held.send_again();
        if watch(&self.epoll, &daemon.stream, DAEMON).is_ok() {
            self.daemon = Some(daemon);
        }
    }

    fn forget_daemon(&mut self) {
        self.daemon = None;
        self.writing = false;
        self.idle_since = Instant::now();
    }

    /// Carries out some orders; returns whether more are waiting.
    fn carry_out(&mut self) -> bool {
        for _ in 0..N_ORDERS_AT_ONCE {
            let Some(daemon) = &mut self.daemon else { return false };
            match daemon.next_order() {
                Ok(Some(order)) => self.on_order(order),
                Ok(None) => return false,
                Err(_) => {
                    self.forget_daemon();
                    return false;
                }
            }
        }
        true
    }

    fn on_order(&mut self, order: KeeperCommand) {
        match order {
            KeeperCommand::Start(start) if start.has_to_wait(self.tasks.len()) => {
                self.pending_starts.push(start, boot_now());
            }
            KeeperCommand::Start(start) => self.start(&start),
            KeeperCommand::Extend { attempts, until } => {
                for attempt in attempts {
                    self.task(&attempt).into_iter().for_each(|task| task.until = Some(until));
                }
            }
            KeeperCommand::Kill { attempt, because } if self.pending_starts.remove(&attempt) => {
                self.held.push(never_ran(attempt, AttemptEnd::Killed(because)));
            }
            KeeperCommand::Kill { attempt, because } => {
                let grace = self.options.grace;
                let task = self.task(&attempt).into_iter();
                task.for_each(|task| task.end(because, boot_now(), grace));
            }
            KeeperCommand::Forget(attempts) => {
                attempts.iter().for_each(|attempt| self.held.forget(attempt));
            }
            KeeperCommand::Leave => self.leaving = true,
            KeeperCommand::Peek { peek, wanted } => self.peek(peek, wanted),
        }
    }

    /// Tells what tasks have written.
    fn peek(&mut self, peek: u64, wanted: Vec<(Attempt, [u64; 2])>) {
        let of = |attempt: &Attempt| self.tasks.get(self.pids.get(attempt)?);
        let report = KeeperReport::Peeked { peek, found: news_of(wanted, of) };
        if self.daemon.as_mut().is_some_and(|daemon| daemon.queue(&report).is_err()) {
            self.forget_daemon();
        }
    }

    fn task(&mut self, attempt: &Attempt) -> Option<&mut RunningTask> {
        self.tasks.get_mut(self.pids.get(attempt)?)
    }

    fn start(&mut self, start: &StartAttempt) {
        let attempt = start.attempt;
        if self.pids.contains_key(&attempt) || self.held.holds(&attempt) {
            return;
        }
        let group = self.memory.group(start);
        let started = if self.options.n_tasks_max <= self.n_known() {
            Err(WhyNot::NoRoom("the keeper holds as many tasks as it may".to_owned()))
        } else {
            starting::start(start, &self.options.state, &self.run, group.as_ref())
        };
        match started {
            Ok(started) => {
                let pid = started.pid;
                let mut task = RunningTask::new(start, started, boot_now());
                task.memory_group = group;
                self.watch_streams(pid, &task);
                self.pids.insert(attempt, pid);
                self.tasks.insert(pid, task);
            }
            Err(WhyNot::Impossible(why)) => {
                self.memory.drop_group(group);
                self.held.push(never_ran(attempt, AttemptEnd::NotStarted(why)));
            }
            Err(WhyNot::NoRoom(why)) => {
                self.memory.drop_group(group);
                self.held.push(never_ran(attempt, AttemptEnd::NoRoom(why)));
            }
        }
    }

    fn n_known(&self) -> usize {
        self.tasks.len() + self.pending_starts.len() + self.held.len()
    }

    /// Starts tasks whose turn has come, and gives back those that have waited too long.
    fn start_ahead(&mut self, now: Moment) {
        while let Some(start) = self.pending_starts.pop(self.tasks.len()) {
            self.start(&start);
        }
        self.give_back_ahead(now);
    }

    fn give_back_ahead(&mut self, now: Moment) {
        while let Some(start) = self.pending_starts.pop_late(now) {
            self.held.push(never_ran(start.attempt, AttemptEnd::NoTurn));
        }
    }

    fn watch_streams(&self, pid: Pid, task: &RunningTask) {
        let pid = u64::try_from(pid.as_raw_nonzero().get()).unwrap_or(0);
        for (idx, reader) in (0..).zip(task.readers()) {
            // Output that is not watched is read when the task ends.
            reader.map(|reader| watch(&self.epoll, reader, STREAMS + 2 * pid + idx).ok());
        }
    }

    fn take_ends(&mut self) {
        while let Some(pid) = reap::next_ended() {
            let task = self.tasks.remove(&pid);
            if let Some(task) = &task {
                // Until the child is reaped, its number names the group and the processes left in it.
                task.signal(Signal::KILL);
            }
            let Some(end) = reap::reap(pid) else { continue };
            let Some(mut task) = task else {
                self.on_other_end(pid);
                continue;
            };
            let attempt = task.running.attempt;
            if task.killed.is_some() {
                let whose = Whose::Task { name: &task.name, instance: attempt.instance };
                kill_marked(&self.options.state, whose);
            }
            self.pids.remove(&attempt);
            host_list::remove(&self.options.state, &task.name, &task.running);
            self.memory.end(&mut task);
            self.held.push(task.finish(end, &mut self.buffer));
            self.idle_since = Instant::now();
        }
    }

    /// Starts another guard when the guard has ended: without one only the keeper could end tasks.
    fn on_other_end(&mut self, pid: Pid) {
        if pid == self.guard.pid()
            && let Ok(guard) = Guard::start(&self.options.guard, &self.run)
        {
            self.guard = guard;
        }
    }

    fn enforce(&mut self, now: Moment) {
        self.memory.look(&mut self.tasks, now, self.options.grace);
        for task in self.tasks.values_mut() {
            if task.deadline().is_some_and(|deadline| deadline <= now) {
                task.enforce(now, self.options.grace);
            }
        }
    }

    fn tell(&mut self) {
        let Some(daemon) = &mut self.daemon else { return };
        while daemon.has_room() {
            let Some(ended) = self.held.next_unsent() else { break };
            if daemon.queue(&KeeperReport::Ended(Box::new(ended.clone()), ended.usage)).is_err() {
                return self.forget_daemon();
            }
        }
        match daemon.write() {
            Ok(more) if more == self.writing => {}
            Ok(more) => self.watch_writing(more),
            Err(_) => self.forget_daemon(),
        }
    }

    /// Waits for the daemon to read, while there is more for it.
    fn watch_writing(&mut self, more: bool) {
        let Some(daemon) = &self.daemon else { return };
        let out = if more { epoll::EventFlags::OUT } else { epoll::EventFlags::empty() };
        let data = epoll::EventData::new_u64(DAEMON);
        self.writing = more;
        if epoll::modify(&self.epoll, &daemon.stream, data, epoll::EventFlags::IN | out).is_err() {
            self.forget_daemon();
        }
    }
}
