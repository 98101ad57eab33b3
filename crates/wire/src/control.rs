//! Orders for a process under observation, and its answers.
//!
//! The analyzer sends them to the collector of the node, which hands them on through shared memory
//! (`ring::control`) to the probe in the process. Names of the program have been looked up before: an
//! order speaks of addresses in files.
//!
//! ```text
//! analyzer                 process
//! Install        ->
//!               <-         Installed         what could not be, and why
//! Read           ->
//!               <-         Values            of variables that may be set
//! Go             ->                          MPI_Init may return
//! Prepare        ->                          one per rank of the actor
//!               <-         Ready or Refused
//! Commit (all Ready) or Withdraw (any Refused)  ->
//!               <-         an ActionRecord in the ring when it was carried out
//! Withdraw       ->                          an action that is repeated, or waits in vain
//!               <-         Withdrawn
//! ```

use events::{Place, Value, ValueType};
use serde::{Deserialize, Serialize};

/// Sites in one [`Order::Install`] at most; more go in several orders.
pub const N_SITES_MAX: usize = 512;

/// A file that is mapped into the process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// Its file name without folder; empty for the program itself.
    pub name: String,
    /// Its build-id; a process that has another one refuses. Empty when the file has none.
    pub build_id: Vec<u8>,
}

/// A place in a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Location {
    /// Position in the order's list of modules.
    pub module: u32,
    /// Virtual address in the file; the process adds where the file is loaded.
    pub address: u64,
}

/// Where the value of an attribute comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// A global variable, or a member of one.
    Global {
        /// Where it lies.
        at: Location,
    },
    /// The integer or pointer argument in register `n` of rdi, rsi, rdx, rcx, r8, r9 (0 to 5), or on the
    /// stack from 6 on; at an entry only.
    Integer {
        /// Which one.
        n: u8,
    },
    /// What the address in such an argument leads to, 0 where the address is null; at an entry only.
    Referred {
        /// Which argument.
        n: u8,
    },
    /// The floating-point argument in register xmm`n` (0 to 7); at an entry only.
    Float {
        /// Which one.
        n: u8,
    },
    /// What the function returns, in rax or xmm0; at an exit only.
    Returned,
}

/// An attribute of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribute {
    /// Where its value comes from.
    pub source: Source,
    /// How it lies there.
    pub kind: ValueType,
}

/// An event that a site emits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// Number of the event; comes back in its records.
    pub event: u32,
    /// Its attributes in order.
    pub attributes: Vec<Attribute>,
    /// Switched on from the start.
    pub is_on: bool,
}

/// A function with probes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// Number of the site, chosen by the analyzer, the same in all processes.
    pub id: u32,
    /// The function's first byte.
    pub function: Location,
    /// Bytes from there to the end of the function.
    pub n_bytes: u32,
    /// Bytes from there to the next function: padding after a short one may be used.
    pub n_bytes_to_next: u32,
    /// Event at its entry.
    pub entry: Option<Point>,
    /// Event at its exit.
    pub exit: Option<Point>,
    /// Passages of entry and exit are counted: actions happen here.
    pub is_sync: bool,
}

/// What an action does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Change {
    /// Sets a global variable, or a member of one.
    Set {
        /// Where it lies.
        at: Location,
        /// Its type.
        kind: ValueType,
        /// Its new value.
        value: Value,
    },
    /// Calls a function of the program with at most six integer and eight floating-point arguments.
    Call {
        /// The function.
        function: Location,
        /// Its arguments.
        arguments: Vec<(ValueType, Value)>,
        /// What it returns; none for `void`.
        returns: Option<ValueType>,
    },
    /// Loads a library, by a path on the process's node.
    Load {
        /// The path.
        path: String,
    },
    /// Lets calls of a function go to another of the same signature from now on.
    Replace {
        /// The function, a site of its own.
        site: u32,
        /// The one that takes its place.
        by: Replacement,
    },
}

/// A function that takes the place of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Replacement {
    /// Of the program or a library it has loaded.
    Function(Location),
    /// An exported function found by name, such as one of a library loaded by [`Change::Load`]; `LIBRARY:NAME`
    /// for one of a library that is loaded for it.
    Exported(String),
    /// None: the original is called again.
    Original,
}

/// What a process is told to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Order {
    /// Put probes in.
    Install {
        /// Files that locations refer to.
        modules: Vec<Module>,
        /// At most [`N_SITES_MAX`].
        sites: Vec<Site>,
    },
    /// Take probes out again; the code is as it was.
    Remove {
        /// Their numbers.
        sites: Vec<u32>,
    },
    /// Switch the events of sites on or off.
    Switch {
        /// Site and place.
        points: Vec<(u32, Place)>,
        /// On or off.
        on: bool,
    },
    /// Check whether an action can be carried out, and keep it.
    Prepare {
        /// Number of the action, unique in the run.
        action: u64,
        /// Files that locations refer to.
        modules: Vec<Module>,
        /// Its sync point: a site with `is_sync`.
        sync: (u32, Place),
        /// What it does.
        change: Change,
        /// Do it at every passage from now on, not once.
        repeats: bool,
    },
    /// Carry it out at the first passage that has this number or a later one.
    Commit {
        /// Number of the action.
        action: u64,
        /// 0 for the next passage.
        at_hit: u32,
    },
    /// Do not carry it out (again).
    Withdraw {
        /// Number of the action.
        action: u64,
    },
    /// Everything for the start is said: `MPI_Init` may return.
    Go,
    /// Take everything out and listen to nobody any more.
    Detach,
    /// Say what variables hold.
    Read {
        /// Files that locations refer to.
        modules: Vec<Module>,
        /// Each with a number that the answer has.
        variables: Vec<(u32, Location, ValueType)>,
    },
}

/// What a process answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// To [`Order::Install`], [`Order::Remove`] and [`Order::Switch`].
    Installed {
        /// Sites that failed, and the sentence why.
        refused: Vec<(u32, String)>,
        /// Sites that work, but with something to know (a slow probe), and the sentence.
        warnings: Vec<(u32, String)>,
        /// How long it took.
        took_ns: u64,
    },
    /// To [`Order::Prepare`].
    Ready {
        /// Number of the action.
        action: u64,
        /// Passages of its sync point so far.
        n_hits: u32,
        /// The value that would change, as the bits of its type.
        old: u64,
    },
    /// To [`Order::Prepare`]: it cannot be done.
    Refused {
        /// Number of the action.
        action: u64,
        /// Why, as a sentence.
        reason: String,
    },
    /// To [`Order::Withdraw`].
    Withdrawn {
        /// Number of the action.
        action: u64,
        /// How often it had been carried out before.
        n_done: u32,
    },
    /// To [`Order::Detach`]: the program is as it was.
    Detached {
        /// Sites that could not be taken out, and why.
        refused: Vec<(u32, String)>,
    },
    /// To [`Order::Read`].
    Values {
        /// Numbers of the variables that can be read, and the bits of their types.
        values: Vec<(u32, u64)>,
    },
}
