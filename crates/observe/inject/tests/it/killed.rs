//! The injector is killed or held, before and after each system call by which it affects the program.

use crate::attach::{Compiled, Running};
use inject::{CallInProcess, inject};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// Stop of a child that a test traces.
#[derive(Debug, PartialEq)]
enum Stop {
    AtSystemCall,
    Signal(i32),
    /// Ended, with the exit code; negative for a signal.
    Ended(i32),
}

/// Calls by which the injector changes the program, resumes it, or waits for it.
const TOUCHING: [i64; 5] = [
    libc::SYS_ptrace,
    libc::SYS_wait4,
    libc::SYS_process_vm_writev,
    libc::SYS_pwrite64,
    libc::SYS_clock_nanosleep,
];

/// Child of the test that injects, run from system call to system call.
struct Injector {
    pid: i32,
}

impl Injector {
    fn start(pid: i32, call: CallInProcess) -> Self {
        // SAFETY: the child has this thread only, and ends without returning from here.
        let child = unsafe { libc::fork() };
        assert!(0 <= child, "{}", io::Error::last_os_error());
        if child == 0 {
            // SAFETY: the parent traces, which waits for the signal.
            unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0_usize, 0_usize) };
            // SAFETY: stops this process.
            unsafe { libc::raise(libc::SIGSTOP) };
            let code = inject(pid, call).map_or(1, |returned| i32::from(returned != 42));
            // SAFETY: ends the child, and nothing of the parent.
            unsafe { libc::_exit(code) };
        }
        let injector = Self { pid: child };
        assert_eq!(injector.wait(), Stop::Signal(libc::SIGSTOP));
        let options = usize::try_from(libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_EXITKILL);
        // SAFETY: a child that is stopped.
        unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, child, 0_usize, options.unwrap_or(0)) };
        injector
    }

    fn wait(&self) -> Stop {
        let mut status = 0;
        // SAFETY: `status` is ours.
        let waited = unsafe { libc::waitpid(self.pid, &raw mut status, libc::__WALL) };
        assert_eq!(waited, self.pid);
        match () {
            () if libc::WIFEXITED(status) => Stop::Ended(libc::WEXITSTATUS(status)),
            () if libc::WIFSIGNALED(status) => Stop::Ended(-libc::WTERMSIG(status)),
            () if libc::WSTOPSIG(status) == libc::SIGTRAP | 0x80 => Stop::AtSystemCall,
            () => Stop::Signal(libc::WSTOPSIG(status)),
        }
    }

    /// Resumes the child until the beginning or end of its next system call; returns false if it ended.
    fn step(&self, signal: &mut i32) -> bool {
        loop {
            let handed_on = usize::try_from(*signal).unwrap_or(0);
            // SAFETY: a child that is stopped.
            unsafe { libc::ptrace(libc::PTRACE_SYSCALL, self.pid, 0_usize, handed_on) };
            match self.wait() {
                Stop::AtSystemCall => *signal = 0,
                Stop::Signal(other) => *signal = other,
                Stop::Ended(_) => return false,
            }
            if *signal == 0 && TOUCHING.contains(&self.number_of_call()) {
                return true;
            }
        }
    }

    /// Number of the system call that the child is in.
    fn number_of_call(&self) -> i64 {
        const PLACE: usize = std::mem::offset_of!(libc::user_regs_struct, orig_rax);
        // SAFETY: a child that is stopped.
        unsafe { libc::ptrace(libc::PTRACE_PEEKUSER, self.pid, PLACE, 0_usize) }
    }

    fn kill(self) {
        // SAFETY: a child of ours.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
        while !matches!(self.wait(), Stop::Ended(_)) {}
    }

    /// Lets the child run to its end; returns its exit code.
    fn finish(self) -> i32 {
        // SAFETY: a child that is stopped.
        unsafe { libc::ptrace(libc::PTRACE_DETACH, self.pid, 0_usize, 0_usize) };
        match self.wait() {
            Stop::Ended(code) => code,
            _ => -1,
        }
    }
}

/// Sends a signal to the thread that is attached to.
fn send(pid: i32, signal: i32) {
    // SAFETY: no memory is involved.
    assert_eq!(unsafe { libc::syscall(libc::SYS_tgkill, pid, pid, signal) }, 0);
}

/// Waits until the thread that is attached to is in a system call.
#[track_caller]
fn wait_until_in(call: i64, pid: i32) {
    let call = format!("{call} ");
    let place = Path::new("/proc").join(pid.to_string()).join("syscall");
    let until = Instant::now() + Duration::from_secs(60);
    while !std::fs::read_to_string(&place).expect("it runs").starts_with(&call) {
        assert!(Instant::now() < until, "it does not call {call}");
        std::thread::yield_now();
    }
}

impl Compiled {
    /// Starts an injector and holds it after the thread has called the function and waits a moment for the injector.
    #[track_caller]
    fn held(&self, running: &Running) -> Injector {
        let folder = self.folder.path();
        let argument = folder.to_string_lossy();
        let call = self.call("held", &argument);
        let injector = Injector::start(running.pid(), call);
        let mut signal = 0;
        while !folder.join("called").exists() {
            assert!(injector.step(&mut signal), "it ended without a call");
        }
        std::fs::write(folder.join("may return"), "").expect("a file");
        wait_until_in(libc::SYS_ppoll, running.pid());
        injector
    }
}

/// Kills injectors, one at each `every`th stop; after each kill the program must reach its own code again.
#[track_caller]
fn check(how: &str, every: usize) {
    let compiled = Compiled::new(&["-lm"]);
    let mut n_kills = 0;
    let mut running = Running::start(&compiled.program, how);
    loop {
        let injector = Injector::start(running.pid(), compiled.call("quiet", ""));
        let mut signal = 0;
        let is_alive = (0..=n_kills * every).all(|_| injector.step(&mut signal));
        if !is_alive {
            break;
        }
        injector.kill();
        n_kills += 1;
        running.check_goes_on(&format!("{how}: killed at stop {n_kills} times {every}"));
    }
    // Fewer would mean that not every stop was reached.
    assert!(40 < n_kills * every, "{n_kills}");
    // The program can still be attached to normally.
    let call = compiled.call("loaded", "in the end");
    assert_eq!(inject(running.pid(), call).expect("loads"), 42);
    assert_eq!(running.line(), "got in the end");
    running.end();
}

/// Regression: the thread returned to address 0 when the injector was killed during a call.
#[test]
fn a_computing_program_survives_each_death_of_its_injector() {
    check("compute", 1);
}

/// All registers, flags, the red zone, `errno`, and a computation in progress in the floating-point unit.
#[test]
fn a_program_keeps_all_registers_at_each_death_of_its_injector() {
    check("registers", 5);
}

#[test]
fn a_sleeping_program_is_not_woken_by_a_death_of_its_injector() {
    check("sleep", 7);
    check("nap", 7);
    check("read", 7);
}

#[test]
fn an_allocating_program_survives_deaths_of_its_injector() {
    check("allocate", 7);
}

/// System calls for memory fail in the program: nothing is loaded, and nothing is lost.
#[test]
fn a_program_without_memory_goes_on() {
    let compiled = Compiled::new(&["-lm"]);
    let mut running = Running::start(&compiled.program, "compute");
    let limit = libc::rlimit { rlim_cur: 4096, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: both are ours; nothing is read back.
    let done = unsafe {
        libc::prlimit(running.pid(), libc::RLIMIT_AS, &raw const limit, std::ptr::null_mut())
    };
    assert_eq!(done, 0);
    let error = inject(running.pid(), compiled.call("quiet", "")).expect_err("there is no memory");
    assert!(matches!(error, inject::InjectError::NoMemory { .. }), "{error}");
    running.check_goes_on("without memory");
    running.end();
}

/// Only the library stays in the process after the call.
#[test]
fn the_memory_of_the_call_is_given_back() {
    let compiled = Compiled::new(&["-lm"]);
    let running = Running::start(&compiled.program, "compute");
    let call = compiled.call("quiet", "");
    assert_eq!(inject(running.pid(), call).expect("loads"), 42);
    let before = code_without_file(running.pid());
    assert_eq!(inject(running.pid(), call).expect("loads"), 42);
    assert_eq!(before, 0);
    assert_eq!(code_without_file(running.pid()), 0);
    running.end();
}

fn code_without_file(pid: i32) -> usize {
    let maps = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("maps"));
    let maps = maps.expect("it runs");
    maps.lines().filter(|line| line.contains("rwxp")).count()
}

/// Regression: an injector that was resumed too late restored registers that the thread had had long before, where
/// no frame could be written on its stack.
#[test]
fn a_program_that_went_on_by_itself_is_not_put_back() {
    let compiled = Compiled::new(&["-lm"]);
    let mut running = Running::start(&compiled.program, "low");
    let injector = compiled.held(&running);
    running.check_goes_on("the one who injects is held");
    assert_eq!(injector.finish(), 0);
    running.end();
}

/// Regression: a handler of a signal that is never blocked lost the stack it was running on.
#[test]
fn a_handler_on_the_stack_of_the_call_keeps_it() {
    let compiled = Compiled::new(&["-lm"]);
    let mut running = Running::start(&compiled.program, "handler");
    let injector = compiled.held(&running);
    send(running.pid(), libc::SIGABRT);
    assert_eq!(injector.finish(), 0);
    assert_eq!(running.line(), "here");
    running.check_goes_on("in its handler");
    running.end();
}

/// Regression: a call interrupted by our stop was repeated after a handler had run, and kept waiting.
#[test]
fn a_signal_meanwhile_ends_the_call_of_a_program() {
    let compiled = Compiled::new(&["-lm"]);
    let mut running = Running::start(&compiled.program, "signal");
    for n_steps in (1..).step_by(7) {
        wait_until_in(libc::SYS_epoll_wait, running.pid());
        let injector = Injector::start(running.pid(), compiled.call("quiet", ""));
        let mut signal = 0;
        if !(0..n_steps).all(|_| injector.step(&mut signal)) {
            assert!(40 < n_steps, "{n_steps}");
            break;
        }
        let when = format!("a signal at stop {n_steps}");
        send(running.pid(), libc::SIGUSR1);
        assert_eq!(injector.finish(), 0, "{when}");
        assert_eq!(running.line(), "handled", "{when}");
    }
    running.end();
}
