//! The life of a watched process: from the end of `MPI_Init` to the start of `MPI_Finalize`, or from one who
//! attaches to where that one leaves; others may come after.
#![allow(unsafe_code, reason = "fork handlers and system calls")]

use crate::call::Call;
use crate::control::{self, Control};
use crate::identity::Identity;
use crate::library::Facts;
use crate::options::Options;
use crate::{binding, collector, communicators, cost, pmpi, probes, thread, tls};
use ring::clock;
use ring::{Capacity, LifeState, SegmentWriter, ThreadWriter};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, Ordering};

const BEFORE: u8 = 0;
const RUNNING: u8 = 1;
const OVER: u8 = 2;

static PHASE: AtomicU8 = AtomicU8::new(BEFORE);
/// The watch; null before and after. One that is over is never freed: a thread may still look at it.
static PROCESS: AtomicPtr<Process> = AtomicPtr::new(null_mut());
static WORLD_SIZE: AtomicU32 = AtomicU32::new(0);
/// The watch began with a session, and no `MPI_Init` came after it.
static IS_OF_SESSIONS: AtomicBool = AtomicBool::new(false);
/// The watch began in the midst of the program.
static IS_ATTACHED: AtomicBool = AtomicBool::new(false);
static HAS_FORK_HANDLER: Once = Once::new();
static N_SESSIONS: AtomicU32 = AtomicU32::new(0);

struct Process {
    segment: SegmentWriter,
    facts: Facts,
    folder: PathBuf,
    options: Options,
}

/// Whether calls are counted now.
pub(crate) fn is_running() -> bool {
    PHASE.load(Ordering::Acquire) == RUNNING
}

/// Whether this process is or was watched.
pub(crate) fn is_known() -> bool {
    PHASE.load(Ordering::Acquire) != BEFORE || process().is_some()
}

/// Whether the watch began by attaching.
pub(crate) fn is_attached() -> bool {
    IS_ATTACHED.load(Ordering::Relaxed)
}

fn process() -> Option<&'static Process> {
    // SAFETY: null, or what `make` has leaked.
    unsafe { PROCESS.load(Ordering::Acquire).as_ref() }
}

/// Ranks in this process' world.
pub(crate) fn world_size() -> u32 {
    WORLD_SIZE.load(Ordering::Relaxed)
}

/// A block for the calling thread, and whether it records MPI calls; `None` when there is no room (which is
/// counted).
pub(crate) fn attach_thread(tid: u32) -> Option<(ThreadWriter, Facts, bool)> {
    let process = process()?;
    let writer = process.segment.attach_thread(tid)?;
    if is_attached() && tid == std::process::id() {
        process.segment.header().main_thread.store(writer.idx(), Ordering::Relaxed);
    }
    Some((writer, process.facts, process.options.is_traced))
}

/// Whether there is an `MPI_COMM_WORLD`; in a program of sessions, MPI must not be asked about it.
pub(crate) fn has_world() -> bool {
    !IS_OF_SESSIONS.load(Ordering::Relaxed)
}

/// The library's facts while calls are counted.
pub(crate) fn facts() -> Option<&'static Facts> {
    process().filter(|_| is_running()).map(|process| &process.facts)
}

/// Makes a communicator known to readers; what is outside the world is `u32::MAX`.
pub(crate) fn define_communicator(id: u32, world_ranks: &[u32]) {
    if let (Some(process), true) = (process(), id != 0) {
        process.segment.define_communicator(id, world_ranks);
    }
}

/// Where and when a call began that is not watched itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begin {
    address: u64,
    ticks: u64,
}

impl Begin {
    /// The call whose wrapper is being entered.
    pub(crate) fn now() -> Self {
        // SAFETY: the calling thread's own words.
        let address = unsafe { (*tls::words()).return_address };
        Self { address, ticks: clock::ticks() }
    }
}

/// `MPI_Init` (the operation with this number) has returned.
#[cold]
pub(crate) fn started(operation: u16, begin: Begin) {
    let _nothing = std::panic::catch_unwind(|| {
        binding::bind_late();
        IS_OF_SESSIONS.store(false, Ordering::Relaxed);
        // MPICH's Fortran entry point calls the C function, which has started the watch then.
        if let Some(identity) = Identity::from_mpi()
            && start(&identity)
        {
            count_init(operation, begin);
        }
    });
}

/// `MPI_Session_init` (the operation with this number) has returned: the first one of a program without
/// `MPI_Init` starts the watch.
#[cold]
pub(crate) fn session_started(operation: u16, begin: Begin) {
    N_SESSIONS.fetch_add(1, Ordering::Relaxed);
    let _nothing = std::panic::catch_unwind(|| {
        if PHASE.load(Ordering::Acquire) == BEFORE
            && let Some(identity) = Identity::of_session()
        {
            IS_OF_SESSIONS.store(true, Ordering::Relaxed);
            if start(&identity) {
                count_init(operation, begin);
            }
        }
    });
}

/// Starts the watch; false when it runs already, or cannot.
fn start(identity: &Identity) -> bool {
    let Some(process) = Options::from_environment().and_then(|options| make(identity, options))
    else {
        return false;
    };
    attach_main(process);
    let control = process.options.is_tuned.then(|| process.listen()).flatten();
    process.show();
    if let Some(mut control) = control {
        control.listen_at_start();
        control.go_on_in_thread(&process.segment);
        note_end_of_init(process);
    }
    true
}

/// Starts the watch of a program that runs already, from a thread of ours that is to listen.
pub(crate) fn join(options: Options) -> Option<Control> {
    thread::watch_ends().then_some(())?;
    IS_ATTACHED.store(true, Ordering::Relaxed);
    let process = make(&Identity::from_environment()?, options)?;
    process.segment.header().init_end_ticks.store(clock::ticks(), Ordering::Relaxed);
    let control = process.listen();
    if control.is_some() {
        binding::bind_attached();
        process.show();
    } else {
        // Nobody could tell it to end.
        leave(process);
        let _gone = std::fs::remove_file(process.segment.path());
    }
    control
}

/// Makes the segment; from then on calls are counted.
fn make(identity: &Identity, options: Options) -> Option<&'static Process> {
    let started_ticks = clock::ticks();
    if is_known() {
        return None;
    }
    let facts = Facts::detect()?;
    let (folder, node) = node_folder(&options)?;
    WORLD_SIZE.store(identity.size, Ordering::Relaxed);
    let capacity = Capacity {
        n_threads: options.n_threads,
        n_regions: options.n_regions,
        n_peers: identity.size.min(N_PEERS_MAX),
        n_records: options.n_records,
    };
    let name = format!("{}-{started_ticks:x}.segment", std::process::id());
    let segment = SegmentWriter::create(&folder.join(name), capacity, started_ticks).ok()?;
    describe(&segment, identity, &node, &options.launch());
    let process: &'static Process =
        Box::leak(Box::new(Process { segment, facts, folder, options }));
    PROCESS.store(std::ptr::from_ref(process).cast_mut(), Ordering::Release);
    thread::watch_ends();
    HAS_FORK_HANDLER.call_once(|| {
        // SAFETY: registers a handler that only stores.
        unsafe { libc::pthread_atfork(None, None, Some(in_forked_child)) };
    });
    PHASE.store(RUNNING, Ordering::Release);
    let cost_ps = cost::ps_per_call(&process.folder, &process.facts, process.options.is_traced);
    process.segment.header().cost_ps_per_call.store(cost_ps, Ordering::Relaxed);
    Some(process)
}

impl Process {
    fn listen(&self) -> Option<Control> {
        Control::open(&self.segment, self.folder.clone())
    }

    /// Lets collectors see the segment, and sees to it that there is one.
    fn show(&self) {
        self.segment.publish();
        collector::greet(&self.folder, self.options.collector.as_deref());
    }

    /// What is known only at the end.
    fn write_last(&self, end_ticks: u64) {
        self.segment.write_modules(modules().as_bytes());
        let header = self.segment.header();
        let (last_ticks, last_ns) = clock::point();
        header.last_ticks.store(last_ticks, Ordering::Relaxed);
        header.last_ns.store(last_ns, Ordering::Relaxed);
        header.finalize_begin_ticks.store(end_ticks, Ordering::Relaxed);
    }
}

/// Peers beyond are not told apart.
const N_PEERS_MAX: u32 = 16_384;

fn attach_main(process: &Process) {
    let main = thread::attach();
    if thread::is_watched(main) {
        // SAFETY: the calling thread's own state.
        let idx = unsafe { &*main }.writer.idx();
        process.segment.header().main_thread.store(idx, Ordering::Relaxed);
    }
    note_end_of_init(process);
}

/// The program goes on from here: what we did before is not its computation.
fn note_end_of_init(process: &Process) {
    let now = clock::ticks();
    let main = thread::attached();
    if thread::is_watched(main) {
        // SAFETY: the calling thread's own state.
        unsafe { (*main).last_exit = now };
    }
    process.segment.header().init_end_ticks.store(now, Ordering::Relaxed);
}

fn describe(segment: &SegmentWriter, identity: &Identity, node: &str, launch: &str) {
    let header = segment.header();
    let (first_ticks, first_ns) = clock::point();
    for (field, value) in [
        (&header.first_ticks, first_ticks),
        (&header.first_ns, first_ns),
        (&header.world, identity.world(launch)),
    ] {
        field.store(value, Ordering::Relaxed);
    }
    header.rank.store(identity.rank, Ordering::Relaxed);
    header.size.store(identity.size, Ordering::Relaxed);
    header.spawned.store(u32::from(identity.is_spawned), Ordering::Relaxed);
    segment.write_text(&header.library, pmpi::library_version().as_bytes());
    segment.write_text(&header.node, node.as_bytes());
    let program = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    segment.write_text(&header.program, program.as_os_str().as_encoded_bytes());
    segment.write_modules(modules().as_bytes());
}

/// The lines of `/proc/self/maps` that hold code of files.
fn modules() -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let has_code = |line: &&str| line.split(' ').nth(1).is_some_and(|rights| rights.contains('x'));
    let lines = maps.lines().filter(has_code).filter(|line| line.contains('/'));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// The folder of this run on this node, made when it is missing, and the node's name.
fn node_folder(options: &Options) -> Option<(PathBuf, String)> {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?.trim().to_owned();
    let network = std::fs::read_link("/proc/self/ns/net").ok()?;
    let inode: String = network.to_str()?.chars().filter(char::is_ascii_digit).collect();
    // SAFETY: a system call without arguments.
    let uid = unsafe { libc::getuid() };
    let run = options.shm_dir.join(format!("sintonia-{uid}-{}", options.run));
    let folder = run.join(format!("{host}-{inode}"));
    own_folder::take(&run).ok()?;
    own_folder::take(&folder).ok()?;
    Some((folder, host))
}

/// Counts the call that started the watch, in which no watched thread could yet be.
fn count_init(operation: u16, begin: Begin) {
    let Some(process) = process() else { return };
    if !is_running() {
        return;
    }
    let main = thread::attached();
    if thread::is_watched(main) {
        // SAFETY: the calling thread's own state.
        let main = unsafe { &mut *main };
        let started = process.segment.header().started_ticks.load(Ordering::Relaxed);
        let region = main.writer.region(begin.address, 0, operation);
        region.count(started.wrapping_sub(begin.ticks), 0, 0);
    }
}

/// `MPI_Finalize` (the operation with this number) is about to be called.
#[cold]
pub(crate) fn finishing(operation: u16) {
    if !IS_OF_SESSIONS.load(Ordering::Relaxed) {
        count_and_finish(operation);
    }
}

fn count_and_finish(operation: u16) {
    if !is_running() {
        return;
    }
    let begin = Begin::now();
    let main = thread::attached();
    if thread::is_watched(main)
        && let Some(call) = Call::start(main, operation, begin.address)
    {
        call.finish(operation);
    }
    finish(begin.ticks);
}

/// `MPI_Session_finalize` (the operation with this number) is about to be called; the last of several
/// sessions ends the watch.
#[cold]
pub(crate) fn session_finishing(operation: u16) {
    let is_last = N_SESSIONS.fetch_sub(1, Ordering::Relaxed) == 1;
    if is_last && IS_OF_SESSIONS.load(Ordering::Relaxed) {
        count_and_finish(operation);
    }
}

/// The control thread has taken everything out. A watch that began by attaching ends with that, and another
/// one may come.
pub(crate) fn detached() {
    let Some(process) = process().filter(|_| is_attached()) else { return };
    binding::restore();
    probes::release();
    leave(process);
    collector::ring_doorbell(&process.folder);
}

/// Whether nobody listens to a process that was attached to.
pub(crate) fn is_alone(folder: &Path) -> bool {
    is_attached() && !collector::is_collected(folder)
}

/// Nothing is written any more, and nothing of the segment stays in the program.
fn leave(process: &Process) {
    let is_first =
        PHASE.compare_exchange(RUNNING, OVER, Ordering::SeqCst, Ordering::Acquire).is_ok();
    if !is_first {
        // The program is in `MPI_Finalize`.
        return;
    }
    thread::forget_all();
    process.write_last(clock::ticks());
    process.segment.leave();
    PROCESS.store(null_mut(), Ordering::Release);
    communicators::forget_all();
    PHASE.store(BEFORE, Ordering::Release);
}

fn finish(end_ticks: u64) {
    control::end();
    let is_first =
        PHASE.compare_exchange(RUNNING, OVER, Ordering::AcqRel, Ordering::Acquire).is_ok();
    let Some(process) = process().filter(|_| is_first) else { return };
    thread::leave();
    let _nothing = std::panic::catch_unwind(|| {
        process.write_last(end_ticks);
        let header = process.segment.header();
        header.state.store(LifeState::Finalizing as u32, Ordering::Release);
        let program = process.options.collector.as_deref();
        collector::part(&process.folder, program, &header.final_taken);
    });
}

/// A forked child is not the rank: it neither counts nor touches the segment, which it does not have.
unsafe extern "C" fn in_forked_child() {
    PHASE.store(OVER, Ordering::Release);
    thread::leave();
    thread::forget_others();
    probes::forget_thread();
}
