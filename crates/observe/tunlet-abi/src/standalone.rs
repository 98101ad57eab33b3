//! Rust tunlet behind the C interface: implement [`Tunlet`] and export [`entry`].
//!
//! This file and `abi.rs` need only the standard library: `sintonia new-tunlet --lang rust` copies both into
//! the project that it creates.
//!
//! # Invariants
//! - A panic aborts the process of the tunlet; the run goes on without it.
//! - Text written to standard error is shown to the user who watches the run.

use crate::abi;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;

/// A performance problem: what to measure, a model of it, and what to change.
pub trait Tunlet: Default {
    /// Returns the specification of the tunlet.
    fn spec() -> Spec;

    /// Begins a run: looks up what the tunlet needs and returns what it requests.
    ///
    /// # Errors
    /// The reason, as a sentence, why it cannot begin.
    fn begin(&mut self, description: &Description) -> Result<Requests, String>;

    /// Processes news; requested changes are pushed to `decisions`.
    fn hear(&mut self, news: &News, decisions: &mut Vec<Decision>);
}

/// Specification of a tunlet.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Name of the tunlet: letters, digits, `-` and `_`.
    pub name: &'static str,
    /// Performance problem it addresses, as half a sentence.
    pub problem: &'static str,
    /// Names of the required events.
    pub needs_events: &'static [&'static str],
    /// Names of the tuning points it changes.
    pub needs_points: &'static [&'static str],
    /// Names and meanings of its options.
    pub options: &'static [(&'static str, &'static str)],
}

/// Numeric value in the program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A signed integer, or a Boolean.
    Int(i64),
    /// An unsigned integer above 2^63 - 1.
    Uint(u64),
    /// A floating-point number.
    Float(f64),
}

/// Group of ranks with the same role.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Actor {
    /// Name of the actor.
    pub name: String,
    /// Ranks in ascending order.
    pub ranks: Vec<u32>,
}

/// A measurement point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventPoint {
    /// Name of the event.
    pub name: String,
    /// Position of its actor.
    pub actor: usize,
    /// True if it is at the exit of its function, false if at the entry.
    pub is_exit: bool,
    /// Name of the function that contains it.
    pub function: String,
    /// Names of the attributes, in the order of their values.
    pub attributes: Vec<String>,
}

/// Value or behavior of the program that can be changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// Name of the tuning point.
    pub name: String,
    /// Position of its actor.
    pub actor: usize,
    /// Smallest and largest allowed value.
    pub range: Option<(f64, f64)>,
    /// Distance of allowed values from the smallest one on.
    pub step: Option<f64>,
    /// Relative slowdown of iterations above which a change is undone.
    pub limit: f64,
    /// Value when the tunlet begins.
    pub value: Option<Value>,
}

/// Application description and initial state of the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Description {
    /// File name of the program.
    pub program: String,
    /// Number of ranks of the program.
    pub n_ranks: u32,
    /// Groups of ranks.
    pub actors: Vec<Actor>,
    /// Measurement points.
    pub events: Vec<EventPoint>,
    /// Tuning points.
    pub points: Vec<Point>,
    /// Positions of the events at the start and at the end of an iteration.
    pub iteration: Option<(usize, usize)>,
    /// Position of the start event's attribute with the amount of work.
    pub iteration_work: Option<usize>,
    /// Options given for this tunlet.
    pub options: BTreeMap<String, String>,
}

/// Level of detail in which a tunlet wants an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Not at all.
    #[default]
    None,
    /// Every passage, as [`News::Event`].
    Every,
    /// Sums over passages, as [`News::Summary`].
    Summary,
}

/// News that a tunlet requests, and the tuning points it may change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Requests {
    /// Positions of events, with their level of detail.
    pub events: Vec<(usize, Detail)>,
    /// True if [`News::Performance`] is wanted.
    pub performance: bool,
    /// Positions of the tuning points that the tunlet may change.
    pub points: Vec<usize>,
}

/// Statistics of a set of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
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

/// News for a tunlet. Times are in seconds since the start of the run.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the header explains the fields by the same names")]
pub enum News {
    /// A rank passed a measurement point.
    Event { event: usize, rank: u32, thread: u32, time_s: f64, values: Vec<Value> },
    /// Sums over many passages of a measurement point.
    Summary {
        event: usize,
        n_ranks: u32,
        span_s: (f64, f64),
        attributes: Vec<Moments>,
        duration_s: Moments,
    },
    /// An iteration ended.
    Iteration { number: u64, end_s: f64, duration_s: f64, work: f64 },
    /// Efficiencies of the last few seconds.
    Performance {
        span_s: (f64, f64),
        load_balance: f64,
        communication_efficiency: f64,
        parallel_efficiency: f64,
        useful_s: Vec<f64>,
        culprit: Option<(u32, String, f64)>,
    },
    /// A change was carried out.
    Applied { point: usize, old: Value, new: Value, time_s: f64, hit: u32, is_own: bool },
    /// A decision of this tunlet was not carried out, or was undone.
    Declined { point: usize, reason: String },
}

/// Change that a tunlet requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// Position of the tuning point.
    pub point: usize,
    /// New value.
    pub value: Value,
    /// Reason, in words and numbers that the user can check.
    pub reason: String,
}

impl Description {
    /// Returns the position of an event.
    ///
    /// # Errors
    /// A sentence that the event is missing.
    pub fn event(&self, name: &str) -> Result<usize, String> {
        let found = self.events.iter().position(|event| event.name == name);
        found.ok_or_else(|| format!("the description has no event `{name}`"))
    }

    /// Returns the position of an attribute in an event.
    ///
    /// # Errors
    /// A sentence that the attribute is missing.
    pub fn attribute(&self, event: usize, name: &str) -> Result<usize, String> {
        let attributes = self.events.get(event).map_or(&[][..], |event| &event.attributes);
        let found = attributes.iter().position(|attribute| attribute == name);
        found.ok_or_else(|| format!("the event has no attribute `{name}`"))
    }

    /// Returns the position of a tuning point.
    ///
    /// # Errors
    /// A sentence that the tuning point is missing.
    pub fn point(&self, name: &str) -> Result<usize, String> {
        let found = self.points.iter().position(|point| point.name == name);
        found.ok_or_else(|| format!("the description has no tuning point `{name}`"))
    }

    /// Returns a numeric option, or the default if it is not given.
    ///
    /// # Errors
    /// A sentence that the option is not a number of this type.
    pub fn option<T: std::str::FromStr>(&self, name: &str, default: T) -> Result<T, String> {
        let Some(text) = self.options.get(name) else { return Ok(default) };
        text.parse().map_err(|_| format!("option `{name}` is `{text}`; it must be a number"))
    }
}

impl Value {
    /// Returns the value as a floating-point number, rounded if necessary.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(whole) => whole as f64,
            Self::Uint(whole) => whole as f64,
            Self::Float(number) => number,
        }
    }
}

mod read;

/// State that the host keeps for the tunlet.
#[derive(Default)]
struct State<T> {
    tunlet: T,
    /// Last refusal, kept alive while the host reads it.
    refusal: CString,
}

/// Returns the result for `sintonia_tunlet_v1`; call it once.
pub fn entry<T: Tunlet>() -> *const abi::sintonia_tunlet {
    let spec = T::spec();
    let setting =
        |(name, text): &(&str, &str)| abi::sintonia_setting { name: leak(name), text: leak(text) };
    let mut options: Vec<abi::sintonia_setting> = spec.options.iter().map(setting).collect();
    options.push(abi::sintonia_setting { name: ptr::null(), text: ptr::null() });
    Box::leak(Box::new(abi::sintonia_tunlet {
        version: abi::SINTONIA_TUNLET_VERSION,
        name: leak(spec.name),
        problem: leak(spec.problem),
        needs_events: leak_list(spec.needs_events),
        needs_points: leak_list(spec.needs_points),
        options: options.leak().as_ptr(),
        create: Some(create::<T>),
        begin: Some(begin::<T>),
        hear: Some(hear::<T>),
        destroy: Some(destroy::<T>),
    }))
}

fn leak(text: &str) -> *const c_char {
    c_text(text).into_raw()
}

fn leak_list(texts: &[&str]) -> *const *const c_char {
    let mut list: Vec<*const c_char> = texts.iter().map(|text| leak(text)).collect();
    list.push(ptr::null());
    list.leak().as_ptr()
}

/// Converts a text for C, cut at its first zero byte.
fn c_text(text: &str) -> CString {
    let until_zero: Vec<u8> = text.bytes().take_while(|byte| *byte != 0).collect();
    CString::new(until_zero).unwrap_or_default()
}

unsafe extern "C" fn create<T: Tunlet>() -> *mut c_void {
    let state = State { tunlet: T::default(), refusal: CString::default() };
    Box::into_raw(Box::new(state)).cast()
}

unsafe extern "C" fn begin<T: Tunlet>(
    state: *mut c_void,
    host: *const abi::sintonia_host,
) -> *const c_char {
    // SAFETY: `create` returned the state, and the host calls from one thread.
    let state = unsafe { &mut *state.cast::<State<T>>() };
    // SAFETY: the host is valid until this function returns.
    let host = unsafe { &*host };
    // SAFETY: a host has a description of its own version.
    let description = unsafe { read::description(host.description) };
    match state.tunlet.begin(&description) {
        Ok(requests) => {
            request(host, &requests);
            ptr::null()
        }
        Err(sentence) => {
            state.refusal = c_text(&sentence);
            state.refusal.as_ptr()
        }
    }
}

fn request(host: &abi::sintonia_host, requests: &Requests) {
    for (event, detail) in &requests.events {
        let detail = match detail {
            Detail::None => abi::SINTONIA_DETAIL_NONE,
            Detail::Every => abi::SINTONIA_DETAIL_EVERY,
            Detail::Summary => abi::SINTONIA_DETAIL_SUMMARY,
        };
        // SAFETY: the function belongs to the host that is passed.
        unsafe { (host.want_event)(host, position(*event), detail) };
    }
    if requests.performance {
        // SAFETY: as above.
        unsafe { (host.want_performance)(host) };
    }
    for point in &requests.points {
        // SAFETY: as above.
        unsafe { (host.want_point)(host, position(*point)) };
    }
}

fn position(idx: usize) -> u32 {
    u32::try_from(idx).unwrap_or(abi::SINTONIA_NONE)
}

unsafe extern "C" fn hear<T: Tunlet>(
    state: *mut c_void,
    host: *const abi::sintonia_host,
    news: *const abi::sintonia_news,
) {
    // SAFETY: `create` returned the state, and the host calls from one thread.
    let state = unsafe { &mut *state.cast::<State<T>>() };
    // SAFETY: news are valid until this function returns.
    let Some(news) = (unsafe { read::news(news) }) else { return };
    let mut decisions = Vec::new();
    state.tunlet.hear(&news, &mut decisions);
    for decision in decisions {
        let reason = c_text(&decision.reason);
        let value = read::c_value(decision.value);
        // SAFETY: the host is valid until this function returns.
        let decide = unsafe { (*host).decide };
        // SAFETY: the function belongs to the host that is passed, and the text outlives the call.
        unsafe { decide(host, position(decision.point), value, reason.as_ptr()) };
    }
}

unsafe extern "C" fn destroy<T: Tunlet>(state: *mut c_void) {
    // SAFETY: `create` returned the state, and this is its last use.
    drop(unsafe { Box::from_raw(state.cast::<State<T>>()) });
}

/// Converts a text from C.
///
/// # Safety
/// `text` is null or ends with a zero byte.
unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: guaranteed by the caller.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
