//! What a tunlet in a shared library and its host share, as C sees it: the header is made from this file.
//!
//! The library exports `const sintonia_tunlet *sintonia_tunlet_v1(void)`. The host calls `create`, then
//! `begin`, then `hear` for whatever happens, then `destroy`, all from one thread.
//!
//! # Invariants
//! - Texts are UTF-8 and end with a zero byte.
//! - What a host passes is valid until the called function returns, `sintonia_description` until
//!   `destroy` returns; what a tunlet returns in `sintonia_tunlet` stays valid for good.
//! - A change of a layout is another version with another entry symbol.
#![allow(non_camel_case_types, reason = "the names are those of the C header")]

use core::ffi::{c_char, c_void};

/// Version of this interface: what both sides have in `version`.
pub const SINTONIA_TUNLET_VERSION: u32 = 1;
/// No position: what is looked up is not described, or an optional position is not given.
pub const SINTONIA_NONE: u32 = u32::MAX;

/// `sintonia_value.kind`: a signed integer, or a truth value.
pub const SINTONIA_INT: u32 = 1;
/// `sintonia_value.kind`: an unsigned integer above 2^63 - 1.
pub const SINTONIA_UINT: u32 = 2;
/// `sintonia_value.kind`: a floating-point number.
pub const SINTONIA_FLOAT: u32 = 3;

/// How an event is wanted: not at all.
pub const SINTONIA_DETAIL_NONE: u32 = 0;
/// How an event is wanted: every passage, as `sintonia_event`.
pub const SINTONIA_DETAIL_EVERY: u32 = 1;
/// How an event is wanted: passages added up on the way, as `sintonia_summary`.
pub const SINTONIA_DETAIL_SUMMARY: u32 = 2;

/// Place in a function: its entry.
pub const SINTONIA_ENTRY: u32 = 0;
/// Place in a function: its exit.
pub const SINTONIA_EXIT: u32 = 1;

/// A number of the program.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sintonia_value {
    /// `SINTONIA_INT`, `SINTONIA_UINT` or `SINTONIA_FLOAT`: which of the others holds it.
    pub kind: u32,
    /// The number.
    pub number: sintonia_number,
}

/// The number in a `sintonia_value`.
#[repr(C)]
#[derive(Clone, Copy)]
pub union sintonia_number {
    /// With `SINTONIA_INT`.
    pub int_value: i64,
    /// With `SINTONIA_UINT`.
    pub uint_value: u64,
    /// With `SINTONIA_FLOAT`.
    pub float_value: f64,
}

/// A name and a text that belongs to it.
#[repr(C)]
pub struct sintonia_setting {
    /// The name.
    pub name: *const c_char,
    /// The text.
    pub text: *const c_char,
}

/// A kind of ranks.
#[repr(C)]
pub struct sintonia_actor {
    /// Its name.
    pub name: *const c_char,
    /// How many ranks.
    pub n_ranks: u32,
    /// The ranks, ascending.
    pub ranks: *const u32,
}

/// A measurement point.
#[repr(C)]
pub struct sintonia_event_point {
    /// Its name.
    pub name: *const c_char,
    /// Position of its actor.
    pub actor: u32,
    /// `SINTONIA_ENTRY` or `SINTONIA_EXIT`.
    pub place: u32,
    /// The function it is in.
    pub function: *const c_char,
    /// How many attributes.
    pub n_attributes: u32,
    /// Their names, in the order of their values.
    pub attributes: *const *const c_char,
}

/// Something that may be changed.
#[repr(C)]
pub struct sintonia_point {
    /// Its name.
    pub name: *const c_char,
    /// Position of its actor.
    pub actor: u32,
    /// Whether `low` and `high` say something.
    pub has_range: bool,
    /// Whether `value` says something.
    pub has_value: bool,
    /// Smallest value allowed.
    pub low: f64,
    /// Largest value allowed.
    pub high: f64,
    /// Only `low`, `low + step`, ...; 0 where every value between is allowed.
    pub step: f64,
    /// A change that makes iterations slower by more than this share is undone.
    pub limit: f64,
    /// Its value when the tunlet begins.
    pub value: sintonia_value,
}

/// What the application description and the run say.
#[repr(C)]
pub struct sintonia_description {
    /// File name of the program.
    pub program: *const c_char,
    /// Ranks of the program.
    pub n_ranks: u32,
    /// How many actors.
    pub n_actors: u32,
    /// Kinds of ranks.
    pub actors: *const sintonia_actor,
    /// How many events.
    pub n_events: u32,
    /// How many tuning points.
    pub n_points: u32,
    /// Measurement points.
    pub events: *const sintonia_event_point,
    /// Tuning points.
    pub points: *const sintonia_point,
    /// Position of the event at the start of an iteration, or `SINTONIA_NONE`.
    pub iteration_start: u32,
    /// Position of the event at the end of an iteration, or `SINTONIA_NONE`.
    pub iteration_end: u32,
    /// Position of the attribute of the start event that says how much work it is, or `SINTONIA_NONE`.
    pub iteration_work: u32,
    /// How many options are given.
    pub n_options: u32,
    /// Options of this tunlet.
    pub options: *const sintonia_setting,
}

/// A passage of a measurement point.
#[repr(C)]
pub struct sintonia_event {
    /// Position of the event in the description.
    pub event: u32,
    /// Who passed it.
    pub rank: u32,
    /// Which of its threads.
    pub thread: u32,
    /// How many values.
    pub n_values: u32,
    /// When, in seconds since the start of the run, on one clock for all ranks.
    pub time_s: f64,
    /// Values of the attributes, in the order of the description.
    pub values: *const sintonia_value,
}

/// Numbers added up.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sintonia_moments {
    /// How many.
    pub n: u64,
    /// Their mean.
    pub mean: f64,
    /// Sum of the squares of their distances from the mean.
    pub squares: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
}

/// Passages of a measurement point on the ranks of a node, added up there.
#[repr(C)]
pub struct sintonia_summary {
    /// Position of the event in the description.
    pub event: u32,
    /// Ranks that passed it.
    pub n_ranks: u32,
    /// First passage, in seconds since the start of the run.
    pub first_s: f64,
    /// Last passage.
    pub last_s: f64,
    /// Time from the entry to the exit of the function, when the event is an exit.
    pub duration_s: sintonia_moments,
    /// How many attributes.
    pub n_attributes: u32,
    /// Each attribute, in the order of the description.
    pub attributes: *const sintonia_moments,
}

/// An iteration of the program ended.
#[repr(C)]
pub struct sintonia_iteration {
    /// Number, from 0.
    pub number: u64,
    /// When it ended, in seconds since the start of the run.
    pub end_s: f64,
    /// How long it took.
    pub duration_s: f64,
    /// Its work as the description defines it; 1 where it does not.
    pub work: f64,
}

/// Where the rank with the longest useful time loses most.
#[repr(C)]
pub struct sintonia_culprit {
    /// The rank.
    pub rank: u32,
    /// Name of the region.
    pub region: *const c_char,
    /// Seconds above the mean of the others.
    pub above_s: f64,
}

/// Efficiencies of the last seconds.
#[repr(C)]
pub struct sintonia_performance {
    /// From when, in seconds since the start of the run.
    pub first_s: f64,
    /// Until when.
    pub last_s: f64,
    /// Average over longest useful time.
    pub load_balance: f64,
    /// Longest useful time over elapsed time.
    pub communication_efficiency: f64,
    /// Average useful time over elapsed time.
    pub parallel_efficiency: f64,
    /// How many ranks.
    pub n_ranks: u32,
    /// Useful seconds by rank.
    pub useful_s: *const f64,
    /// The worst place, or null.
    pub culprit: *const sintonia_culprit,
}

/// A change was made on all ranks of its actor.
#[repr(C)]
pub struct sintonia_applied {
    /// Position of the tuning point.
    pub point: u32,
    /// Passages of its sync point so far.
    pub hit: u32,
    /// Value before.
    pub old_value: sintonia_value,
    /// Value now.
    pub new_value: sintonia_value,
    /// When, in seconds since the start of the run.
    pub time_s: f64,
    /// Whether this tunlet asked for it.
    pub is_own: bool,
}

/// A decision of this tunlet was not carried out, or was taken back.
#[repr(C)]
pub struct sintonia_declined {
    /// Position of the tuning point.
    pub point: u32,
    /// The sentence why.
    pub reason: *const c_char,
}

/// Something that happened: the pointer of its kind is set, the others are null.
#[repr(C)]
pub struct sintonia_news {
    /// A rank passed a measurement point.
    pub event: *const sintonia_event,
    /// Many passages of a measurement point.
    pub summary: *const sintonia_summary,
    /// An iteration ended.
    pub iteration: *const sintonia_iteration,
    /// Efficiencies of the last seconds.
    pub performance: *const sintonia_performance,
    /// A change was made.
    pub applied: *const sintonia_applied,
    /// A decision of this tunlet was not carried out, or was taken back.
    pub declined: *const sintonia_declined,
}

/// What a tunlet may ask of its host; pass the host itself as the first argument.
#[repr(C)]
pub struct sintonia_host {
    /// `SINTONIA_TUNLET_VERSION`.
    pub version: u32,
    /// The host's own.
    pub context: *mut c_void,
    /// All that is described; what follows looks things up in it.
    pub description: *const sintonia_description,
    /// Position of an event, or `SINTONIA_NONE`.
    pub find_event: unsafe extern "C" fn(host: *const sintonia_host, name: *const c_char) -> u32,
    /// Position of an attribute among those of an event, or `SINTONIA_NONE`.
    pub find_attribute:
        unsafe extern "C" fn(host: *const sintonia_host, event: u32, name: *const c_char) -> u32,
    /// Position of a tuning point, or `SINTONIA_NONE`.
    pub find_point: unsafe extern "C" fn(host: *const sintonia_host, name: *const c_char) -> u32,
    /// The actor of this name, or null.
    pub find_actor: unsafe extern "C" fn(
        host: *const sintonia_host,
        name: *const c_char,
    ) -> *const sintonia_actor,
    /// An option of this tunlet, or null where it is not given.
    pub option:
        unsafe extern "C" fn(host: *const sintonia_host, name: *const c_char) -> *const c_char,
    /// In `begin`: how to hear of an event (`SINTONIA_DETAIL_...`). False: there is no such event.
    pub want_event:
        unsafe extern "C" fn(host: *const sintonia_host, event: u32, detail: u32) -> bool,
    /// In `begin`: to hear `sintonia_performance`.
    pub want_performance: unsafe extern "C" fn(host: *const sintonia_host),
    /// In `begin`: to change a tuning point. False: there is no such point.
    pub want_point: unsafe extern "C" fn(host: *const sintonia_host, point: u32) -> bool,
    /// In `hear`: asks for a change, with a reason that a person can check: "steps take 12 ms, not 15".
    /// False: the point was not asked for in `begin`, or too much was decided at once.
    pub decide: unsafe extern "C" fn(
        host: *const sintonia_host,
        point: u32,
        value: sintonia_value,
        reason: *const c_char,
    ) -> bool,
    /// Says something to the person who watches the run.
    pub log: unsafe extern "C" fn(host: *const sintonia_host, line: *const c_char),
}

/// A tunlet, as its library describes it.
#[repr(C)]
pub struct sintonia_tunlet {
    /// `SINTONIA_TUNLET_VERSION`.
    pub version: u32,
    /// Its name: letters, digits, `-` and `_`.
    pub name: *const c_char,
    /// The performance problem it is about, as half a sentence.
    pub problem: *const c_char,
    /// Names of the events it has to have, up to a null; null for none.
    pub needs_events: *const *const c_char,
    /// Names of the tuning points it changes, up to a null; null for none.
    pub needs_points: *const *const c_char,
    /// Its options and what they mean, up to one whose name is null; null for none.
    pub options: *const sintonia_setting,
    /// Makes one; what it returns is passed to the others as `state`.
    pub create: Option<unsafe extern "C" fn() -> *mut c_void>,
    /// The run begins: looks up what it needs and says what it wants. Null when it can begin, else a
    /// sentence why not, which stays valid until `destroy`.
    pub begin: Option<
        unsafe extern "C" fn(state: *mut c_void, host: *const sintonia_host) -> *const c_char,
    >,
    /// Something happened.
    pub hear: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            host: *const sintonia_host,
            news: *const sintonia_news,
        ),
    >,
    /// The run is over; may be null.
    pub destroy: Option<unsafe extern "C" fn(state: *mut c_void)>,
}

// SAFETY: what it points to is constant and its functions are called from one thread.
#[allow(unsafe_code, reason = "raw pointers are not shared between threads by default")]
unsafe impl Sync for sintonia_tunlet {}

// SAFETY: as above.
#[allow(unsafe_code, reason = "raw pointers are not moved between threads by default")]
unsafe impl Send for sintonia_tunlet {}
