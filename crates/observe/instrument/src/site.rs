//! Interface of this crate: sites with their events and attributes, refusals, actions.

use crate::frame::Passage;
use events::ValueType;
use ring::RingCursor;
use thiserror::Error;

/// Function to instrument; addresses are those of this process.
///
/// The function must be called: the `.cold` parts that compilers split off are jumped to, and do not have a
/// return address where a function has it.
#[derive(Clone, Debug)]
pub struct Site {
    /// Number that identifies the site from now on.
    pub id: u32,
    /// First byte of the function.
    pub function: usize,
    /// Size of the function in bytes.
    pub n_bytes: usize,
    /// Bytes from the function's start to the next function.
    pub n_bytes_to_next: usize,
    /// Event at the function's entry.
    pub entry: Option<SiteEvent>,
    /// Event at the function's exit.
    pub exit: Option<SiteEvent>,
    /// Whether the site is a sync point: passages are counted, and actions can be armed.
    pub is_sync: bool,
}

/// Event of a site.
#[derive(Clone, Debug)]
pub struct SiteEvent {
    /// Number of the event in records.
    pub event: u32,
    /// Attributes to read.
    pub attributes: Vec<Attribute>,
    /// Whether the event is recorded from the start, or only after it is switched on.
    pub is_on: bool,
}

/// Value that is read at a passage.
#[derive(Clone, Copy, Debug)]
pub struct Attribute {
    /// Source of the value.
    pub source: ValueSource,
    /// Type of the value.
    pub kind: ValueType,
}

/// Source of a value.
#[derive(Clone, Copy, Debug)]
pub enum ValueSource {
    /// Memory at an address that stays valid.
    Global(usize),
    /// Integer or pointer argument: 0 to 5 in registers, from 6 on on the stack.
    Integer(u8),
    /// Value that such a pointer argument points to; 0 if the pointer is null.
    Referred(u8),
    /// Floating-point argument in xmm0 to xmm7.
    Float(u8),
    /// Return value.
    Returned,
    /// Number at the end of a way through pointers; 0 if one of them is null or leads nowhere.
    Reached(Way),
}

/// Way through pointers to a number.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// Source of the first address.
    pub start: WayStart,
    /// Number of offsets that are used.
    pub n_steps: u8,
    /// Bytes to add to the first address, and to each address that lies where the offset before led.
    pub offsets: [i32; N_WAY_STEPS_MAX],
}

/// Largest number of steps of a [`Way`].
pub const N_WAY_STEPS_MAX: usize = 4;

/// Source of the first address of a way.
#[derive(Clone, Copy, Debug)]
pub enum WayStart {
    /// Pointer argument, at an entry, numbered as [`ValueSource::Integer`].
    Argument(u8),
    /// This address.
    Address(usize),
}

impl Way {
    /// Offsets in use.
    pub fn offsets(&self) -> &[i32] {
        self.offsets.get(..self.n_steps.into()).unwrap_or(&self.offsets)
    }
}

/// Callbacks that give threads their rings.
#[derive(Clone, Copy, Debug)]
pub struct ThreadHooks {
    /// Called by a thread at its first recorded passage: returns the thread's ring, or null to be called again at
    /// the next passage. Must not allocate with the program's allocator.
    pub attach: extern "C" fn() -> *mut RingCursor,
}

/// Reason why a site cannot have probes (or why its change was reverted).
///
/// A lone number is the address of the code in this process, the number of the site, or a system error number.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The address is not in executable memory.
    #[error(
        "`{0:#x}` is not in executable memory: was the program rebuilt after its names were read?"
    )]
    NotCode(usize),
    /// The function has no instruction.
    #[error("the function at `{0:#x}` has an empty body: probe its caller instead")]
    Empty(usize),
    /// The function begins with `ud2`.
    #[error("the function at `{0:#x}` begins with `ud2`: it is never called, leave it out")]
    NeverRuns(usize),
    /// The function is the program's start, which is not called and does not return.
    #[error("the function at `{0:#x}` is where the program starts: probe `main` instead")]
    Start(usize),
    /// The function contains bytes that are not an instruction.
    #[error(
        "the bytes at `{at:#x}` in the function at `{address:#x}` are not a known instruction: probe its caller instead"
    )]
    Undecodable {
        /// Address in this process.
        address: usize,
        /// Address of the bytes.
        at: usize,
    },
    /// The first instructions cannot be moved.
    #[error(
        "the first instructions of the function at `{address:#x}` cannot be moved ({reason}): probe its caller instead"
    )]
    Immovable {
        /// Address in this process.
        address: usize,
        /// Error of the encoder.
        reason: String,
    },
    /// There is no memory within reach of a 5-byte jump.
    #[error(
        "no free memory within 2 GiB of the function at `{address:#x}` (`{call}`: error {errno}): raise `ulimit -v`, or probe a function of another library"
    )]
    NoNearMemory {
        /// Address in this process.
        address: usize,
        /// System call that failed.
        call: &'static str,
        /// Error number of the call.
        errno: i32,
    },
    /// The number of the site is in use.
    #[error("site {0} already has probes: remove it first")]
    Taken(u32),
    /// Another site has the same function.
    #[error(
        "the function at `{address:#x}` has the probes of site {site}: put both events into one site"
    )]
    SameFunction {
        /// Address in this process.
        address: usize,
        /// Number of the other site.
        site: u32,
    },
    /// The site does not exist.
    #[error("site {0} has no probes to remove")]
    Unknown(u32),
    /// The processor's shadow stack does not allow intercepting the exit.
    #[error(
        "the exit of the function at `{0:#x}` cannot be probed while the shadow stack of the processor is active: probe its entry, or set GLIBC_TUNABLES=glibc.cpu.x86_shstk=off"
    )]
    GuardedReturn(usize),
    /// An argument was requested at an exit, or a return value at an entry.
    #[error(
        "the {what} of the function at `{address:#x}` does not exist at its {place}: read it at the other end of the function"
    )]
    NotThere {
        /// Address in this process.
        address: usize,
        /// Value that was requested.
        what: &'static str,
        /// Place at which it was requested.
        place: &'static str,
    },
    /// The code has changed since its names were read or the plan was made.
    #[error(
        "the code at `{0:#x}` was changed by another tool: run only one tool that changes the program"
    )]
    Changed(usize),
    /// The code could not be written.
    #[error(
        "the code at `{address:#x}` cannot be written (error {errno}): does a security policy forbid `/proc/self/mem`?"
    )]
    Write {
        /// Address in this process.
        address: usize,
        /// System error number.
        errno: i32,
    },
    /// A thread blocks a signal, so that a trap in the changing code would kill it.
    #[error(
        "thread {tid} (`{name}`) blocks or ignores signal {signal}: probes can be neither installed nor removed while it runs; request the probe at the start of the run"
    )]
    SignalBlocked {
        /// Id of the thread.
        tid: u32,
        /// Name of the thread.
        name: String,
        /// Number of the signal.
        signal: i32,
    },
    /// A thread may be in the middle of the bytes, and did not answer.
    #[error(
        "thread {tid} (`{name}`) did not handle signal {signal} in time; the code is unchanged: try again, or request the probe at the start of the run"
    )]
    Unresponsive {
        /// Id of the thread.
        tid: u32,
        /// Name of the thread.
        name: String,
        /// Number of the signal.
        signal: i32,
    },
    /// The threads cannot be listed.
    #[error("the threads of this process cannot be listed (error {0}): mount `/proc`")]
    NoThreads(i32),
    /// Our signals are not set up yet.
    #[error("code cannot be changed before `live::start` has succeeded")]
    NotStarted,
    /// The system has no `membarrier`, or refuses it.
    #[error(
        "`membarrier` failed with error {0}: probes can be installed only at the start of the run, request them there"
    )]
    NoBarrier(i32),
}

/// Reason why probes are impossible in this process.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum StartError {
    /// A system call failed.
    #[error("`{call}` failed with error {errno}: probes are not available in this process")]
    System {
        /// Name of the call.
        call: &'static str,
        /// Error number of the call.
        errno: i32,
    },
    /// The processor cannot save its whole register state.
    #[error("this processor has no `xsave`: probes are not available in this process")]
    NoXsave,
    /// The program uses every real-time signal itself.
    #[error("the program uses every real-time signal: probes are not available in this process")]
    NoSignal,
    /// Probes were started already.
    #[error("probes were started in this process already: only one tool can do that")]
    Twice,
}

/// Callback of an action, called by the thread that passes a site, with all registers saved: it may call functions of
/// the program. Returns whether to stay armed.
pub type Callback = Box<dyn FnMut(&Passage<'_>) -> bool + Send>;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(refusal: &Refusal, expected: &str) {
        let sentence = refusal.to_string();
        assert!(sentence.contains(expected), "{sentence}");
    }

    #[test]
    fn every_refusal_can_be_acted_on() {
        let (tid, name, signal) = (7, "solver".to_owned(), 40);
        let blocked = Refusal::SignalBlocked { tid, name: name.clone(), signal: 5 };
        check(&blocked, "request the probe at the start");
        let unresponsive = Refusal::Unresponsive { tid, name, signal };
        check(&unresponsive, "thread 7 (`solver`) did not");
        check(&unresponsive, "in time; the code is unchanged");
        check(&Refusal::NoThreads(2), "mount `/proc`");
        check(&Refusal::Write { address: 1, errno: 13 }, "does a security policy forbid");
        check(&Refusal::NotCode(1), "was the program rebuilt after");
        check(&Refusal::SameFunction { address: 1, site: 2 }, "put both events into one site");
    }
}
