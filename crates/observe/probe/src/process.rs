//! Phases of a monitored process: from the end of `MPI_Init` to the start of `MPI_Finalize`, or from
//! attaching to detaching, after which the process may be attached to again.
#![allow(unsafe_code, reason = "fork handlers and system calls")]

use crate::call::MonitoredCall;
use crate::control::{self, OrderExecutor};
use crate::identity::Identity;
use crate::library::MpiLibrary;
use crate::monitoring::{
    BEFORE, IS_ATTACHED, IS_OF_SESSIONS, OVER, PHASE, PROCESS, Process, RUNNING, WORLD_SIZE,
    is_attached, is_or_was_monitored, is_running, process,
};
use crate::options::Options;
use crate::pause::Mode;
use crate::thread::tls;
use crate::{
    affinity, binding, collectives, collector, communicators, cost, levers, openmp, pmpi, probes,
    sampling, thread, usage, waiting,
};
use events::Lever;
use ring::clock;
use ring::{Capacity, LifeState, SegmentWriter};
use std::path::PathBuf;
use std::ptr::null_mut;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

static HAS_FORK_HANDLER: Once = Once::new();
static N_SESSIONS: AtomicU32 = AtomicU32::new(0);

/// Place and time of the start of a call that is not monitored itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begin {
    address: u64,
    ticks: u64,
}

impl Begin {
    /// Describes the call whose wrapper is being entered.
    pub(crate) fn now() -> Self {
        // SAFETY: the calling thread's own words.
        let address = unsafe { (*tls::words()).return_address };
        Self { address, ticks: clock::ticks() }
    }
}

/// Gets ready for what is late after `MPI_Init`.
#[cold]
pub(crate) fn before_init() {
    let _nothing = std::panic::catch_unwind(|| {
        let options = Options::from_environment();
        let Some(options) = options else { return };
        thread::make_room_for_files();
        if options.has_levers || options.waiting.is_some() {
            waiting::prepare();
        }
        if options.collectives.is_some() {
            collectives::prepare();
        }
    });
}

/// Starts monitoring after `MPI_Init` (the operation with this number) returned.
#[cold]
pub(crate) fn after_init(operation: u16, begin: Begin) {
    let _nothing = std::panic::catch_unwind(|| {
        binding::bind_late();
        IS_OF_SESSIONS.store(false, Ordering::Relaxed);
        // MPICH's Fortran entry point calls the C function, which has then started monitoring.
        if let Some(identity) = Identity::from_mpi()
            && start(&identity)
        {
            count_init(operation, begin);
        }
    });
}

/// Starts monitoring after the first `MPI_Session_init` (the operation with this number) of a program
/// without `MPI_Init` returned.
#[cold]
pub(crate) fn after_session_init(operation: u16, begin: Begin) {
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

/// Starts monitoring; returns false if it is running already, or cannot start.
fn start(identity: &Identity) -> bool {
    let Some(process) = Options::from_environment().and_then(|options| make(identity, options))
    else {
        return false;
    };
    attach_main(process);
    collectives::arm(process, identity);
    if let Some(level) = process.options.collectives.filter(|level| *level != 0) {
        // It has no effect in a process in which it does not apply.
        let _unchanged = levers::set(Lever::Collectives, level);
    }
    if let Some(mode) = process.options.waiting.as_deref().and_then(Mode::named) {
        // A library whose waits are not known waits as before.
        let _unknown = waiting::set_mode(mode);
    }
    if process.options.huge_pages {
        levers::ask_for_huge_pages();
    }
    let control = process.options.is_tuned.then(|| process.listen()).flatten();
    sampling::start(process);
    process.publish();
    if let Some(mut control) = control {
        if process.options.waits_for_plan {
            control.listen_at_start();
        }
        control.go_on_in_thread(&process.segment);
        note_end_of_init(process);
    }
    true
}

/// Starts monitoring a running program, from the control thread, which is to execute orders.
pub(crate) fn join(options: Options) -> Option<OrderExecutor> {
    thread::watch_ends().then_some(())?;
    IS_ATTACHED.store(true, Ordering::Relaxed);
    let process = make(&Identity::from_environment()?, options)?;
    process.segment.header().init_end_ticks.store(clock::ticks(), Ordering::Relaxed);
    process.segment.header().usage_start.store(usage::of_process(process.main_tid()));
    let control = process.listen();
    if control.is_some() {
        binding::bind_attached();
        process.publish();
    } else {
        // Without orders, nothing could end monitoring.
        detach(process);
        let _gone = std::fs::remove_file(process.segment.path());
    }
    control
}

/// Creates the segment; from then on calls are counted.
fn make(identity: &Identity, options: Options) -> Option<&'static Process> {
    let started_ticks = clock::ticks();
    if is_or_was_monitored() {
        return None;
    }
    let library = MpiLibrary::detect()?;
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
    describe(&segment, identity, &node, &options.launch);
    let process: &'static Process =
        Box::leak(Box::new(Process { segment, library, folder, options }));
    PROCESS.store(std::ptr::from_ref(process).cast_mut(), Ordering::Release);
    openmp::prepare(&process.segment);
    thread::watch_ends();
    HAS_FORK_HANDLER.call_once(|| {
        // SAFETY: registers a handler that only stores.
        unsafe { libc::pthread_atfork(None, None, Some(in_forked_child)) };
    });
    if process.options.has_levers {
        affinity::note_start();
    }
    PHASE.store(RUNNING, Ordering::Release);
    let cost_ps = cost::ps_per_call(&process.folder, &process.library, process.options.is_traced);
    process.segment.header().cost_ps_per_call.store(cost_ps, Ordering::Relaxed);
    Some(process)
}

impl Process {
    fn listen(&self) -> Option<OrderExecutor> {
        OrderExecutor::open(&self.segment, self.folder.clone(), complete_detach)
    }

    /// Makes the segment visible to collectors, and makes sure that there is a collector.
    fn publish(&self) {
        self.segment.publish();
        collector::announce_start(&self.folder, self.options.collector.as_deref());
    }

    /// Writes what is known only at the end.
    fn write_last(&self, end_ticks: u64) {
        self.segment.write_modules(modules().as_bytes());
        let header = self.segment.header();
        let (last_ticks, last_ns) = clock::point();
        header.last_ticks.store(last_ticks, Ordering::Relaxed);
        header.last_ns.store(last_ns, Ordering::Relaxed);
        header.finalize_begin_ticks.store(end_ticks, Ordering::Relaxed);
        header.usage_end.store(usage::of_process(self.main_tid()));
    }

    /// Thread that called `MPI_Init`, as far as it is known.
    fn main_tid(&self) -> u32 {
        if is_attached() { std::process::id() } else { thread::tid() }
    }
}

/// Maximum number of peers counted separately.
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

/// Marks the point where the program continues, so that our own work before is not counted as its computation.
fn note_end_of_init(process: &Process) {
    process.segment.header().usage_start.store(usage::of_process(process.main_tid()));
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
    header.first_ticks.store(first_ticks, Ordering::Relaxed);
    header.first_ns.store(first_ns, Ordering::Relaxed);
    header.world.store(identity.world(launch), Ordering::Relaxed);
    header.rank.store(identity.rank, Ordering::Relaxed);
    header.size.store(identity.size, Ordering::Relaxed);
    header.spawned.store(u32::from(identity.is_spawned), Ordering::Relaxed);
    segment.write_text(&header.library, pmpi::library_version().as_bytes());
    segment.write_text(&header.node, node.as_bytes());
    let program = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    segment.write_text(&header.program, program.as_os_str().as_encoded_bytes());
    segment.write_modules(modules().as_bytes());
}

/// Returns the lines of `/proc/self/maps` with code of files.
fn modules() -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let has_code = |line: &&str| line.split(' ').nth(1).is_some_and(|rights| rights.contains('x'));
    let lines = maps.lines().filter(has_code).filter(|line| line.contains('/'));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Returns the folder of this run on this node, created if it is missing, and the node's name.
fn node_folder(options: &Options) -> Option<(PathBuf, String)> {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?.trim().to_owned();
    let network = std::fs::read_link("/proc/self/ns/net").ok()?;
    let inode: String = network.to_str()?.chars().filter(char::is_ascii_digit).collect();
    // SAFETY: a system call without arguments.
    let uid = unsafe { libc::getuid() };
    let run = options.shm_dir.join(format!("sintonia-{uid}-{}", options.run));
    let folder = run.join(format!("{host}-{inode}"));
    files::private::claim(&run).ok()?;
    files::private::claim(&folder).ok()?;
    Some((folder, host))
}

/// Counts the call that started monitoring, before which no thread was monitored.
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

/// Ends monitoring before `MPI_Finalize` (the operation with this number) is called.
#[cold]
pub(crate) fn before_finalize(operation: u16) {
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
        && let Some(call) = MonitoredCall::start(main, operation, begin.address, false)
    {
        call.finish(operation);
    }
    finish(begin.ticks);
}

/// Ends monitoring before the last `MPI_Session_finalize` (the operation with this number) is called.
#[cold]
pub(crate) fn before_session_finalize(operation: u16) {
    let is_last = N_SESSIONS.fetch_sub(1, Ordering::Relaxed) == 1;
    if is_last && IS_OF_SESSIONS.load(Ordering::Relaxed) {
        count_and_finish(operation);
    }
}

/// Completes a detach by the control thread. Monitoring that began by attaching ends here, and the process
/// may be attached to again.
fn complete_detach() {
    let Some(process) = process().filter(|_| is_attached()) else { return };
    binding::restore();
    probes::release();
    detach(process);
    collector::ring_doorbell(&process.folder);
}

/// Stops all writing, and removes the segment's memory from the program.
fn detach(process: &Process) {
    let is_first =
        PHASE.compare_exchange(RUNNING, OVER, Ordering::SeqCst, Ordering::Acquire).is_ok();
    if !is_first {
        // The program is in `MPI_Finalize`.
        return;
    }
    waiting::release();
    thread::forget_all();
    process.write_last(clock::ticks());
    process.segment.detach();
    PROCESS.store(null_mut(), Ordering::Release);
    communicators::forget_all();
    PHASE.store(BEFORE, Ordering::Release);
}

fn finish(end_ticks: u64) {
    control::end();
    let is_first =
        PHASE.compare_exchange(RUNNING, OVER, Ordering::AcqRel, Ordering::Acquire).is_ok();
    let Some(process) = process().filter(|_| is_first) else { return };
    waiting::release();
    collectives::release();
    thread::stop_sampling();
    thread::leave();
    let _nothing = std::panic::catch_unwind(|| {
        process.write_last(end_ticks);
        let header = process.segment.header();
        header.state.store(LifeState::Finalizing as u32, Ordering::Release);
        let program = process.options.collector.as_deref();
        collector::announce_end(&process.folder, program, &header.final_taken);
    });
}

/// Runs in a forked child, which is not the rank: it neither counts nor touches the segment, which it does not have.
unsafe extern "C" fn in_forked_child() {
    PHASE.store(OVER, Ordering::Release);
    collectives::forget();
    thread::leave();
    thread::forget_others();
    instrument::forget_thread();
}
