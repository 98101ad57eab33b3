//! C interface between a tunlet in a shared library and its host: the header is generated from this file.
//!
//! The library exports `const sintonia_tunlet *sintonia_tunlet_v1(void)`. The host calls `create`, then
//! `begin`, then `hear` for all news, then `destroy`, all from one thread.
//!
//! # Invariants
//! - Texts are UTF-8 and end with a zero byte.
//! - Data passed by a host are valid until the called function returns, `sintonia_description` until
//!   `destroy` returns; data that a tunlet returns in `sintonia_tunlet` stay valid forever.
//! - A change of a layout is another version with another entry symbol.
#![allow(non_camel_case_types, reason = "the names are those of the C header")]

use core::ffi::{c_char, c_void};

/// Version of this interface, in the `version` field of both sides.
pub const SINTONIA_TUNLET_VERSION: u32 = 1;
/// No position: the name is not described, or an optional position is not given.
pub const SINTONIA_NONE: u32 = u32::MAX;

/// `sintonia_value.kind`: a signed integer, or a Boolean.
pub const SINTONIA_INT: u32 = 1;
/// `sintonia_value.kind`: an unsigned integer above 2^63 - 1.
pub const SINTONIA_UINT: u32 = 2;
/// `sintonia_value.kind`: a floating-point number.
pub const SINTONIA_FLOAT: u32 = 3;

/// Level of detail of an event: not wanted.
pub const SINTONIA_DETAIL_NONE: u32 = 0;
/// Level of detail of an event: every passage, as `sintonia_event`.
pub const SINTONIA_DETAIL_EVERY: u32 = 1;
/// Level of detail of an event: sums over passages, as `sintonia_summary`.
pub const SINTONIA_DETAIL_SUMMARY: u32 = 2;

/// Place in a function: its entry.
pub const SINTONIA_ENTRY: u32 = 0;
/// Place in a function: its exit.
pub const SINTONIA_EXIT: u32 = 1;

/// Numeric value in the program.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sintonia_value {
    /// Member of `number` in use: `SINTONIA_INT`, `SINTONIA_UINT` or `SINTONIA_FLOAT`.
    pub kind: u32,
    /// The number.
    pub number: sintonia_number,
}

/// The number in a `sintonia_value`.
#[repr(C)]
#[derive(Clone, Copy)]
pub union sintonia_number {
    /// Used with `SINTONIA_INT`.
    pub int_value: i64,
    /// Used with `SINTONIA_UINT`.
    pub uint_value: u64,
    /// Used with `SINTONIA_FLOAT`.
    pub float_value: f64,
}

/// Name with an associated text.
#[repr(C)]
pub struct sintonia_setting {
    /// The name.
    pub name: *const c_char,
    /// The text.
    pub text: *const c_char,
}

/// Group of ranks with the same role.
#[repr(C)]
pub struct sintonia_actor {
    /// Name of the actor.
    pub name: *const c_char,
    /// Number of ranks.
    pub n_ranks: u32,
    /// Ranks in ascending order.
    pub ranks: *const u32,
}

/// A measurement point.
#[repr(C)]
pub struct sintonia_event_point {
    /// Name of the event.
    pub name: *const c_char,
    /// Position of its actor.
    pub actor: u32,
    /// `SINTONIA_ENTRY` or `SINTONIA_EXIT`.
    pub place: u32,
    /// Name of the function that contains it.
    pub function: *const c_char,
    /// Number of attributes.
    pub n_attributes: u32,
    /// Names of the attributes, in the order of their values.
    pub attributes: *const *const c_char,
}

/// Value or behavior of the program that can be changed.
#[repr(C)]
pub struct sintonia_point {
    /// Name of the tuning point.
    pub name: *const c_char,
    /// Position of its actor.
    pub actor: u32,
    /// True if `low` and `high` are set.
    pub has_range: bool,
    /// True if `value` is set.
    pub has_value: bool,
    /// Smallest allowed value.
    pub low: f64,
    /// Largest allowed value.
    pub high: f64,
    /// Distance of allowed values from `low` on; 0 if every value in the range is allowed.
    pub step: f64,
    /// Relative slowdown of iterations above which a change is undone.
    pub limit: f64,
    /// Value when the tunlet begins.
    pub value: sintonia_value,
}

/// Application description and initial state of the run.
#[repr(C)]
pub struct sintonia_description {
    /// File name of the program.
    pub program: *const c_char,
    /// Number of ranks of the program.
    pub n_ranks: u32,
    /// Number of actors.
    pub n_actors: u32,
    /// Groups of ranks.
    pub actors: *const sintonia_actor,
    /// Number of events.
    pub n_events: u32,
    /// Number of tuning points.
    pub n_points: u32,
    /// Measurement points.
    pub events: *const sintonia_event_point,
    /// Tuning points.
    pub points: *const sintonia_point,
    /// Position of the event at the start of an iteration, or `SINTONIA_NONE`.
    pub iteration_start: u32,
    /// Position of the event at the end of an iteration, or `SINTONIA_NONE`.
    pub iteration_end: u32,
    /// Position of the start event's attribute with the amount of work, or `SINTONIA_NONE`.
    pub iteration_work: u32,
    /// Number of options.
    pub n_options: u32,
    /// Options given for this tunlet.
    pub options: *const sintonia_setting,
}

/// A passage of a measurement point.
#[repr(C)]
pub struct sintonia_event {
    /// Position of the event in the description.
    pub event: u32,
    /// Rank that passed it.
    pub rank: u32,
    /// Thread of the rank.
    pub thread: u32,
    /// Number of values.
    pub n_values: u32,
    /// Time in seconds since the start of the run, on a common clock of all ranks.
    pub time_s: f64,
    /// Values of the attributes, in the order of the description.
    pub values: *const sintonia_value,
}

/// Statistics of a set of numbers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sintonia_moments {
    /// Count.
    pub n: u64,
    /// Mean.
    pub mean: f64,
    /// Sum of the squared deviations from the mean.
    pub squares: f64,
    /// Smallest number.
    pub min: f64,
    /// Largest number.
    pub max: f64,
}

/// Passages of a measurement point on the ranks of a node, summed there.
#[repr(C)]
pub struct sintonia_summary {
    /// Position of the event in the description.
    pub event: u32,
    /// Number of ranks that passed it.
    pub n_ranks: u32,
    /// Time of the first passage, in seconds since the start of the run.
    pub first_s: f64,
    /// Time of the last passage, in seconds since the start of the run.
    pub last_s: f64,
    /// Time in seconds from the entry to the exit of the function, if the event is an exit.
    pub duration_s: sintonia_moments,
    /// Number of attributes.
    pub n_attributes: u32,
    /// Statistics of each attribute, in the order of the description.
    pub attributes: *const sintonia_moments,
}

/// End of an iteration of the program.
#[repr(C)]
pub struct sintonia_iteration {
    /// Number of the iteration, from 0.
    pub number: u64,
    /// Time of its end, in seconds since the start of the run.
    pub end_s: f64,
    /// Duration in seconds.
    pub duration_s: f64,
    /// Work as defined in the description; 1 if not defined.
    pub work: f64,
}

/// Region in which the rank with the longest useful time exceeds the others most.
#[repr(C)]
pub struct sintonia_culprit {
    /// Rank with the longest useful time.
    pub rank: u32,
    /// Name of the region.
    pub region: *const c_char,
    /// Seconds above the mean of the others.
    pub above_s: f64,
}

/// Efficiencies of the last few seconds.
#[repr(C)]
pub struct sintonia_performance {
    /// Start of the time span, in seconds since the start of the run.
    pub first_s: f64,
    /// End of the time span, in seconds since the start of the run.
    pub last_s: f64,
    /// Average divided by longest useful time.
    pub load_balance: f64,
    /// Longest useful time divided by elapsed time.
    pub communication_efficiency: f64,
    /// Average useful time divided by elapsed time.
    pub parallel_efficiency: f64,
    /// Number of ranks.
    pub n_ranks: u32,
    /// Useful seconds by rank.
    pub useful_s: *const f64,
    /// Main cause of imbalance, or null.
    pub culprit: *const sintonia_culprit,
}

/// Change that was carried out on all ranks of its actor.
#[repr(C)]
pub struct sintonia_applied {
    /// Position of the tuning point.
    pub point: u32,
    /// Number of passages of its sync point so far.
    pub hit: u32,
    /// Old value.
    pub old_value: sintonia_value,
    /// New value.
    pub new_value: sintonia_value,
    /// Time in seconds since the start of the run.
    pub time_s: f64,
    /// True if this tunlet requested the change.
    pub is_own: bool,
}

/// Decision of this tunlet that was not carried out, or was undone.
#[repr(C)]
pub struct sintonia_declined {
    /// Position of the tuning point.
    pub point: u32,
    /// Reason, as a sentence.
    pub reason: *const c_char,
}

/// News: the pointer of its kind is set, the others are null.
#[repr(C)]
pub struct sintonia_news {
    /// A rank passed a measurement point.
    pub event: *const sintonia_event,
    /// Sums over many passages of a measurement point.
    pub summary: *const sintonia_summary,
    /// An iteration ended.
    pub iteration: *const sintonia_iteration,
    /// Efficiencies of the last few seconds.
    pub performance: *const sintonia_performance,
    /// A change was carried out.
    pub applied: *const sintonia_applied,
    /// A decision of this tunlet was not carried out, or was undone.
    pub declined: *const sintonia_declined,
}

/// Functions and data that a host offers to a tunlet; pass the host itself as the first argument.
#[repr(C)]
pub struct sintonia_host {
    /// `SINTONIA_TUNLET_VERSION`.
    pub version: u32,
    /// Private data of the host.
    pub context: *mut c_void,
    /// Application description, in which the functions below look things up.
    pub description: *const sintonia_description,
    /// Returns the position of an event, or `SINTONIA_NONE`.
    pub find_event: unsafe extern "C" fn(host: *const sintonia_host, name: *const c_char) -> u32,
    /// Returns the position of an attribute in an event, or `SINTONIA_NONE`.
    pub find_attribute:
        unsafe extern "C" fn(host: *const sintonia_host, event: u32, name: *const c_char) -> u32,
    /// Returns the position of a tuning point, or `SINTONIA_NONE`.
    pub find_point: unsafe extern "C" fn(host: *const sintonia_host, name: *const c_char) -> u32,
    /// Returns the actor with this name, or null.
    pub find_actor: unsafe extern "C" fn(
        host: *const sintonia_host,
        name: *const c_char,
    ) -> *const sintonia_actor,
    /// Returns an option of this tunlet, or null if it is not given.
    pub option:
        unsafe extern "C" fn(host: *const sintonia_host, name: *const c_char) -> *const c_char,
    /// In `begin`: sets the level of detail of an event (`SINTONIA_DETAIL_...`). Returns
    /// false if there is no such event.
    pub want_event:
        unsafe extern "C" fn(host: *const sintonia_host, event: u32, detail: u32) -> bool,
    /// In `begin`: requests `sintonia_performance`.
    pub want_performance: unsafe extern "C" fn(host: *const sintonia_host),
    /// In `begin`: requests to change a tuning point. Returns false if there is no such point.
    pub want_point: unsafe extern "C" fn(host: *const sintonia_host, point: u32) -> bool,
    /// In `hear`: requests a change, with a reason that the user can check: "steps take 12 ms, not 15".
    /// Returns false if the point was not requested in `begin`, or too many changes were requested at once.
    pub decide: unsafe extern "C" fn(
        host: *const sintonia_host,
        point: u32,
        value: sintonia_value,
        reason: *const c_char,
    ) -> bool,
    /// Shows a line to the user who watches the run.
    pub log: unsafe extern "C" fn(host: *const sintonia_host, line: *const c_char),
}

/// Description and functions of a tunlet, as defined by its library.
#[repr(C)]
pub struct sintonia_tunlet {
    /// `SINTONIA_TUNLET_VERSION`.
    pub version: u32,
    /// Name of the tunlet: letters, digits, `-` and `_`.
    pub name: *const c_char,
    /// Performance problem it addresses, as half a sentence.
    pub problem: *const c_char,
    /// Names of the required events, terminated by null; null for none.
    pub needs_events: *const *const c_char,
    /// Names of the tuning points it changes, terminated by null; null for none.
    pub needs_points: *const *const c_char,
    /// Names and meanings of its options, terminated by an entry whose name is null; null for none.
    pub options: *const sintonia_setting,
    /// Creates a tunlet; its result is passed to the other functions as `state`.
    pub create: Option<unsafe extern "C" fn() -> *mut c_void>,
    /// Begins a run: looks up what the tunlet needs and requests what it wants. Returns null if it can begin,
    /// otherwise the reason as a sentence, which stays valid until `destroy`.
    pub begin: Option<
        unsafe extern "C" fn(state: *mut c_void, host: *const sintonia_host) -> *const c_char,
    >,
    /// Processes news.
    pub hear: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            host: *const sintonia_host,
            news: *const sintonia_news,
        ),
    >,
    /// Destroys the tunlet at the end of the run; may be null.
    pub destroy: Option<unsafe extern "C" fn(state: *mut c_void)>,
}

// SAFETY: its pointers refer to constant data, and its functions are called from one thread.
#[allow(unsafe_code, reason = "raw pointers are not shared between threads by default")]
unsafe impl Sync for sintonia_tunlet {}

// SAFETY: as above.
#[allow(unsafe_code, reason = "raw pointers are not moved between threads by default")]
unsafe impl Send for sintonia_tunlet {}
