//! Orders for a monitored process, and the answers of the process.
//!
//! The analyzer sends orders to the collector of the node, which passes them through shared memory
//! (`ring::control`) to the probe in the process. Names in the program are already resolved: orders
//! refer to addresses in files.
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

pub use events::Lever;

use events::{ProbePoint, Value, ValueType};
use serde::{Deserialize, Serialize};

/// Sites in one [`Order::Install`] at most; more go in several orders.
pub const N_SITES_MAX: usize = 512;

/// Site of actions that set a lever: no function has it, they are carried out at once.
pub const LEVER_SITE: u32 = u32::MAX;

/// File mapped into the process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// File name without its folder; empty for the program itself.
    pub name: String,
    /// Build-id; a process whose file has another one refuses the order. Empty when the file has none.
    pub build_id: Vec<u8>,
}

/// Address in a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Location {
    /// Index in the order's list of modules.
    pub module: u32,
    /// Virtual address in the file; the process adds the load address.
    pub address: u64,
}

/// Source of an attribute's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ValueOrigin {
    /// A global variable, or a member of one.
    Global(Location),
    /// Integer or pointer argument, at an entry: 0 to 5 in rdi, rsi, rdx, rcx, r8, r9; from 6 on, on the stack.
    Integer(u8),
    /// Value that the pointer argument of this number points to, at an entry; 0 if the pointer is null.
    Referred(u8),
    /// Floating-point argument in this register of xmm0 to xmm7, at an entry.
    Float(u8),
    /// Return value in rax or xmm0, at an exit.
    Returned,
    /// Number at the end of a way through pointers; 0 if a pointer on the way is null or leads nowhere.
    Reached(Way),
}

/// Way through pointers to a number, such as `sim->box.cutoff`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum WayStart {
    /// Pointer argument, at an entry, numbered as [`ValueOrigin::Integer`].
    Argument(u8),
    /// A variable at this location.
    Variable(Location),
}

/// Attribute of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribute {
    /// Source of the value.
    pub source: ValueOrigin,
    /// Type of the value.
    pub kind: ValueType,
}

/// Event that a site emits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SitePoint {
    /// Number of the event, repeated in its records.
    pub event: u32,
    /// Attributes in order.
    pub attributes: Vec<Attribute>,
    /// Whether the event is switched on from the start.
    pub is_on: bool,
}

/// Function to instrument.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// Number of the site, chosen by the analyzer, the same in all processes.
    pub id: u32,
    /// First byte of the function.
    pub function: Location,
    /// Bytes from there to the end of the function.
    pub n_bytes: u32,
    /// Bytes from there to the next function: the padding after a short function may be overwritten, too.
    pub n_bytes_to_next: u32,
    /// Event at the function's entry.
    pub entry: Option<SitePoint>,
    /// Event at the function's exit.
    pub exit: Option<SitePoint>,
    /// Whether the site is a sync point: passages of entry and exit are counted, and actions happen there.
    pub is_sync: bool,
}

/// Effect of an action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ActionEffect {
    /// Sets a global variable, or a member of one.
    Set {
        /// Location of the variable.
        at: Location,
        /// Type of the variable.
        kind: ValueType,
        /// New value.
        value: Value,
    },
    /// Calls a function of the program with at most six integer and eight floating-point arguments.
    Call {
        /// The function.
        function: Location,
        /// Arguments with their types.
        arguments: Vec<(ValueType, Value)>,
        /// Return type; `None` for `void`.
        returns: Option<ValueType>,
    },
    /// Loads a library.
    Load {
        /// Path on the node of the process.
        path: String,
    },
    /// Redirects calls of a function to another one with the same signature from now on.
    Replace {
        /// Function to replace, a site of its own.
        site: u32,
        /// Replacement to call.
        by: Replacement,
    },
    /// Sets a lever of the process.
    Lever {
        /// The lever.
        lever: Lever,
        /// New value; 0 as the process was found.
        value: i64,
    },
    /// Sets the number at the end of a way, at the first passage at which it leads to one. The value that was found there
    /// first is only given back to the same object.
    SetReached {
        /// Way to the number.
        way: Way,
        /// Type of the number.
        kind: ValueType,
        /// New value.
        value: Value,
    },
}

/// Function called in place of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Replacement {
    /// Function of the program or of a library that is loaded already.
    Function(Location),
    /// Exported function found by name, such as one of a library loaded by [`ActionEffect::Load`]; `LIBRARY:NAME`
    /// also loads the library.
    Exported(String),
    /// The original function again.
    Original,
}

/// MPI calls that a thread records for the tuner, beside those of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum WatchedCalls {
    /// None.
    #[default]
    None,
    /// The next calls of the operations that are asked for.
    Next {
        /// Number of calls.
        n_calls: u32,
    },
    /// Passages of one call site.
    Site {
        /// Return address in the process.
        address: u64,
        /// 2 to record every second passage, and so on.
        every: u32,
    },
}

/// Command to a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Order {
    /// Installs probes.
    Install {
        /// Files that locations refer to.
        modules: Vec<Module>,
        /// Functions to instrument, at most [`N_SITES_MAX`].
        sites: Vec<Site>,
    },
    /// Removes probes and restores the code.
    Remove {
        /// Numbers of the sites.
        sites: Vec<u32>,
    },
    /// Switches the events of sites on or off.
    Switch {
        /// Site and place of each event.
        points: Vec<(u32, ProbePoint)>,
        /// On or off.
        on: bool,
    },
    /// Checks whether an action can be carried out, and stores the action.
    Prepare {
        /// Number of the action, unique in the run.
        action: u64,
        /// Files that locations refer to.
        modules: Vec<Module>,
        /// Sync point of the action: a site with `is_sync`.
        sync: (u32, ProbePoint),
        /// Effect of the action.
        change: ActionEffect,
        /// Whether the action is carried out at every passage from now on, not once.
        repeats: bool,
    },
    /// Carries out a prepared action at the first passage with this number or a later one.
    Commit {
        /// Number of the action.
        action: u64,
        /// Number of the passage; 0 for the next one.
        at_hit: u32,
    },
    /// Cancels a prepared or repeated action.
    Withdraw {
        /// Number of the action.
        action: u64,
    },
    /// Ends the start phase: all initial orders were sent, and `MPI_Init` may return.
    Go,
    /// Removes all probes and stops listening to orders.
    Detach,
    /// Reads the values of variables.
    Read {
        /// Files that locations refer to.
        modules: Vec<Module>,
        /// Number of the variable, repeated in the answer, with location and type.
        variables: Vec<(u32, Location, ValueType)>,
    },
    /// Records MPI calls of a thread for the tuner; replaces what was asked for before.
    Watch {
        /// Index of the thread in the process's segment.
        thread: u32,
        /// The calls.
        calls: WatchedCalls,
        /// Set of operations that count as calls, a bit for each index in the table of `mpi-abi`.
        operations: Vec<u64>,
    },
    /// Sets all levers back to how the process was found; nobody decides about them any more.
    ReleaseLevers,
}

/// Answer of a process to an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum OrderAnswer {
    /// Answer to [`Order::Install`], [`Order::Remove`] and [`Order::Switch`].
    Installed {
        /// Sites that failed, each with the reason as a sentence.
        refused: Vec<(u32, String)>,
        /// Sites that work with a drawback (such as a slow probe), each with a sentence about it.
        warnings: Vec<(u32, String)>,
        /// Duration of the change in ns.
        took_ns: u64,
    },
    /// Answer to [`Order::Prepare`]: the action can be carried out.
    Ready {
        /// Number of the action.
        action: u64,
        /// Passages of its sync point so far.
        n_hits: u32,
        /// Current value of the variable to be set, as the bits of its type.
        old: u64,
        /// Sentence about what will be done, where the value does not say it; else empty.
        note: String,
    },
    /// Answer to [`Order::Prepare`]: the action cannot be carried out.
    Refused {
        /// Number of the action.
        action: u64,
        /// Reason, as a sentence.
        reason: String,
    },
    /// Answer to [`Order::Withdraw`].
    Withdrawn {
        /// Number of the action.
        action: u64,
        /// Number of times the action was carried out before.
        n_done: u32,
    },
    /// Answer to [`Order::Detach`]: the program is restored.
    Detached {
        /// Sites whose probes could not be removed, each with the reason.
        refused: Vec<(u32, String)>,
    },
    /// Answer to [`Order::Read`].
    Values {
        /// Numbers of the readable variables, and their values as the bits of their types.
        values: Vec<(u32, u64)>,
    },
}
