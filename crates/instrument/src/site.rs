//! What is asked for, and the interface to it.

use events::ValueType;
use ring::RingCursor;
use thiserror::Error;

/// A function to put probes in; addresses are those of this process.
///
/// It has to be a function that is called: the `.cold` parts that compilers split off are jumped to, and have no
/// return address where a function has it.
#[derive(Clone, Debug)]
pub struct Site {
    /// Number by which it is known from now on.
    pub id: u32,
    /// First byte of the function.
    pub function: usize,
    /// Bytes of it.
    pub n_bytes: usize,
    /// Bytes to the next function.
    pub n_bytes_to_next: usize,
    /// Event at its entry.
    pub entry: Option<Point>,
    /// Event at its exit.
    pub exit: Option<Point>,
    /// Passages are counted, and actions can be armed.
    pub is_sync: bool,
}

/// An event of a site.
#[derive(Clone, Debug)]
pub struct Point {
    /// Number of the event in records.
    pub event: u32,
    /// What is read.
    pub attributes: Vec<Attribute>,
    /// Records from the start; else when switched on.
    pub is_on: bool,
}

/// A value that is read at a passage.
#[derive(Clone, Copy, Debug)]
pub struct Attribute {
    /// Where from.
    pub source: Source,
    /// How it lies there.
    pub kind: ValueType,
}

/// Where a value is read.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// In memory, at an address that stays valid.
    Global(usize),
    /// Integer or pointer argument: 0 to 5 in registers, from 6 on on the stack.
    Integer(u8),
    /// What the address in such an argument leads to; 0 where it is null.
    Referred(u8),
    /// Floating-point argument in xmm0 to xmm7.
    Float(u8),
    /// The value returned.
    Returned,
}

/// How threads get their rings.
#[derive(Clone, Copy, Debug)]
pub struct ThreadHooks {
    /// Called by a thread at its first recorded passage: its ring, or null to be asked again at the next passage.
    /// Must not allocate with the program's allocator.
    pub attach: extern "C" fn() -> *mut RingCursor,
}

/// Why a site cannot have probes (or has had to be changed back).
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The address is not in the code of this process.
    #[error(
        "`{address:#x}` is not in executable memory: was the program built anew since its names were read?"
    )]
    NotCode {
        /// Address in this process.
        address: usize,
    },
    /// There is no instruction.
    #[error("the function at `{address:#x}` has an empty body: probe its caller instead")]
    Empty {
        /// Address in this process.
        address: usize,
    },
    /// It begins with `ud2`.
    #[error("the function at `{address:#x}` begins with `ud2`: it is never called, leave it out")]
    NeverRuns {
        /// Address in this process.
        address: usize,
    },
    /// Nobody called it, so it does not return.
    #[error("the function at `{address:#x}` is where the program starts: probe `main` instead")]
    Start {
        /// Address in this process.
        address: usize,
    },
    /// Bytes that are no instruction.
    #[error(
        "the bytes at `{at:#x}` in the function at `{address:#x}` are no known instruction: probe its caller instead"
    )]
    Undecodable {
        /// Address in this process.
        address: usize,
        /// Where the bytes are.
        at: usize,
    },
    /// The first instructions cannot be moved.
    #[error(
        "the first instructions of the function at `{address:#x}` cannot be moved ({reason}): probe its caller instead"
    )]
    Immovable {
        /// Address in this process.
        address: usize,
        /// What the encoder says.
        reason: String,
    },
    /// No memory within reach of a 5-byte jump.
    #[error(
        "no free memory within 2 GiB of the function at `{address:#x}` (`{call}`: error {errno}): raise `ulimit -v`, or probe a function of another library"
    )]
    NoNearMemory {
        /// Address in this process.
        address: usize,
        /// The system call that failed, or what was looked for.
        call: &'static str,
        /// Its error number.
        errno: i32,
    },
    /// The site's number is in use.
    #[error("site {site} has its probes already: remove it first")]
    Taken {
        /// Number of the site.
        site: u32,
    },
    /// Another site has the same function.
    #[error(
        "the function at `{address:#x}` has the probes of site {site}: put both events into one site"
    )]
    SameFunction {
        /// Address in this process.
        address: usize,
        /// The other site.
        site: u32,
    },
    /// There is no such site.
    #[error("site {site} has no probes to take out")]
    Unknown {
        /// Number of the site.
        site: u32,
    },
    /// The shadow stack of the processor would not allow the exit.
    #[error(
        "the exit of the function at `{address:#x}` cannot be seen while the processor guards return addresses: probe its entry, or set GLIBC_TUNABLES=glibc.cpu.x86_shstk=off"
    )]
    GuardedReturn {
        /// Address in this process.
        address: usize,
    },
    /// An argument at an exit, or a returned value at an entry.
    #[error(
        "the {what} of the function at `{address:#x}` does not exist at its {place}: read it at the other end of the function"
    )]
    NotThere {
        /// Address in this process.
        address: usize,
        /// What is asked for.
        what: &'static str,
        /// Where.
        place: &'static str,
    },
    /// The code is not what it was when its names were read or the plan was made.
    #[error(
        "the code at `{address:#x}` has changed meanwhile: another tool changes this program too, run only one of them"
    )]
    Changed {
        /// Address in this process.
        address: usize,
    },
    /// Code could not be written.
    #[error(
        "the code at `{address:#x}` cannot be written (error {errno}): does a security policy forbid `/proc/self/mem`?"
    )]
    Write {
        /// Address in this process.
        address: usize,
        /// Error number of the system.
        errno: i32,
    },
    /// A thread that the trap would kill which stands in the code while it changes.
    #[error(
        "thread {tid} (`{name}`) blocks or ignores signal {signal}: no probe can be put in or out while it runs; name the function at the start instead"
    )]
    SignalBlocked {
        /// The thread.
        tid: u32,
        /// The name the system knows.
        name: String,
        /// The signal's number.
        signal: i32,
    },
    /// A thread that may be in the middle of the bytes.
    #[error(
        "thread {tid} (`{name}`) does not take signal {signal} in time, the code stays as it was: try again, or name the function at the start"
    )]
    Deaf {
        /// The thread.
        tid: u32,
        /// The name the system knows.
        name: String,
        /// The signal's number.
        signal: i32,
    },
    /// No list of threads.
    #[error("the threads of this process cannot be listed (error {errno}): mount `/proc`")]
    NoThreads {
        /// Error number of the system.
        errno: i32,
    },
    /// Signals are not ours yet.
    #[error("code cannot be changed before `live::start` has succeeded")]
    NotStarted,
    /// No `membarrier`.
    #[error(
        "`membarrier` failed with error {errno}: probes can only be put in at the start, name the function there"
    )]
    NoBarrier {
        /// Error number of the system.
        errno: i32,
    },
}

/// Why no probes can be put into this process at all.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum StartError {
    /// A system call failed.
    #[error("`{call}` failed with error {errno}: no probes can be put into this process")]
    System {
        /// Which one.
        call: &'static str,
        /// Its error number.
        errno: i32,
    },
    /// The processor cannot save its registers as a whole.
    #[error("this processor has no `xsave`: no probes can be put into this process")]
    NoXsave,
    /// The program uses every real-time signal itself.
    #[error("the program uses every real-time signal: no probes can be put into this process")]
    NoSignal,
    /// Probes were started already.
    #[error("probes were started in this process already: only one tool can do that")]
    Twice,
}

/// An action, carried out by the thread that passes a site, with all registers saved: it may call functions
/// of the program. Gets the number of the passage; true when it is to be called again.
pub type Action = Box<dyn FnMut(u32) -> bool + Send>;

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
        let name = || "solver".to_owned();
        check(&Refusal::Deaf { tid: 7, name: name(), signal: 40 }, "thread 7 (`solver`) does not");
        check(&Refusal::Deaf { tid: 7, name: name(), signal: 40 }, "in time, the code stays as it");
        check(
            &Refusal::SignalBlocked { tid: 7, name: name(), signal: 5 },
            "name the function at the",
        );
        check(&Refusal::NoThreads { errno: 2 }, "mount `/proc`");
        check(&Refusal::Write { address: 1, errno: 13 }, "does a security policy forbid");
        check(&Refusal::NotCode { address: 1 }, "was the program built anew");
        check(&Refusal::SameFunction { address: 1, site: 2 }, "put both events into one site");
    }
}
