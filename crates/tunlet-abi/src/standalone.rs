//! A tunlet in Rust behind the C interface: implement [`Tunlet`] and export [`entry`].
//!
//! This file and `abi.rs` need nothing but the standard library: `sintonia new-tunlet --lang rust`
//! copies both into the project that it makes.
//!
//! # Invariants
//! - A panic aborts the process of the tunlet; the run goes on without it.
//! - What is written to standard error is shown to the person who watches the run.

use crate::abi;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;

/// One performance problem: what to measure, a model of it, what to change.
pub trait Tunlet: Default {
    /// What it is.
    fn spec() -> Spec;

    /// The run begins: looks up what it needs and says what it wants to hear.
    ///
    /// # Errors
    /// A sentence why it cannot begin.
    fn begin(&mut self, description: &Description) -> Result<Requests, String>;

    /// Something happened; the changes it asks for are put into `decisions`.
    fn hear(&mut self, news: &News, decisions: &mut Vec<Decision>);
}

/// What a tunlet is.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Its name: letters, digits, `-` and `_`.
    pub name: &'static str,
    /// The performance problem it is about, as half a sentence.
    pub problem: &'static str,
    /// Names of the events it has to have.
    pub needs_events: &'static [&'static str],
    /// Names of the tuning points it changes.
    pub needs_points: &'static [&'static str],
    /// Its options and what they mean.
    pub options: &'static [(&'static str, &'static str)],
}

/// A number of the program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A signed integer, or a truth value.
    Int(i64),
    /// An unsigned integer above 2^63 - 1.
    Uint(u64),
    /// A floating-point number.
    Float(f64),
}

/// A kind of ranks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Actor {
    /// Its name.
    pub name: String,
    /// The ranks, ascending.
    pub ranks: Vec<u32>,
}

/// A measurement point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventPoint {
    /// Its name.
    pub name: String,
    /// Position of its actor.
    pub actor: usize,
    /// Whether it is at the exit of its function, not at the entry.
    pub is_exit: bool,
    /// The function it is in.
    pub function: String,
    /// Names of its attributes, in the order of their values.
    pub attributes: Vec<String>,
}

/// Something that may be changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// Its name.
    pub name: String,
    /// Position of its actor.
    pub actor: usize,
    /// Smallest and largest value allowed.
    pub range: Option<(f64, f64)>,
    /// Only the smallest, that plus a step, ...
    pub step: Option<f64>,
    /// A change that makes iterations slower by more than this share is undone.
    pub limit: f64,
    /// Its value when the tunlet begins.
    pub value: Option<Value>,
}

/// What the application description and the run say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Description {
    /// File name of the program.
    pub program: String,
    /// Ranks of the program.
    pub n_ranks: u32,
    /// Kinds of ranks.
    pub actors: Vec<Actor>,
    /// Measurement points.
    pub events: Vec<EventPoint>,
    /// Tuning points.
    pub points: Vec<Point>,
    /// Positions of the events at the start and at the end of an iteration.
    pub iteration: Option<(usize, usize)>,
    /// Position of the attribute of the start event that says how much work an iteration is.
    pub iteration_work: Option<usize>,
    /// Options of this tunlet.
    pub options: BTreeMap<String, String>,
}

/// How an event is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Not at all.
    #[default]
    None,
    /// Every passage, as [`News::Event`].
    Every,
    /// Passages added up on the way, as [`News::Summary`].
    Summary,
}

/// What a tunlet wants to hear and to change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Requests {
    /// Positions of events, and how they are wanted.
    pub events: Vec<(usize, Detail)>,
    /// Whether it wants [`News::Performance`].
    pub performance: bool,
    /// Positions of the tuning points it may change.
    pub points: Vec<usize>,
}

/// Numbers added up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
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

/// Something that happened. Times are seconds since the start of the run.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the header explains the fields by the same names")]
pub enum News {
    /// A rank passed a measurement point.
    Event { event: usize, rank: u32, thread: u32, time_s: f64, values: Vec<Value> },
    /// Many passages of a measurement point, added up.
    Summary {
        event: usize,
        n_ranks: u32,
        span_s: (f64, f64),
        attributes: Vec<Moments>,
        duration_s: Moments,
    },
    /// An iteration ended.
    Iteration { number: u64, end_s: f64, duration_s: f64, work: f64 },
    /// Efficiencies of the last seconds.
    Performance {
        span_s: (f64, f64),
        load_balance: f64,
        communication_efficiency: f64,
        parallel_efficiency: f64,
        useful_s: Vec<f64>,
        culprit: Option<(u32, String, f64)>,
    },
    /// A change was made.
    Applied { point: usize, old: Value, new: Value, time_s: f64, hit: u32, is_own: bool },
    /// A decision of this tunlet was not carried out, or was taken back.
    Declined { point: usize, reason: String },
}

/// A change that a tunlet asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// Position of the tuning point.
    pub point: usize,
    /// Its new value.
    pub value: Value,
    /// Why, in words and numbers that a person can check.
    pub reason: String,
}

impl Description {
    /// Position of an event.
    ///
    /// # Errors
    /// A sentence that says that it is missing.
    pub fn event(&self, name: &str) -> Result<usize, String> {
        let found = self.events.iter().position(|event| event.name == name);
        found.ok_or_else(|| format!("the description has no event `{name}`"))
    }

    /// Position of an attribute among those of an event.
    ///
    /// # Errors
    /// A sentence that says that it is missing.
    pub fn attribute(&self, event: usize, name: &str) -> Result<usize, String> {
        let attributes = self.events.get(event).map_or(&[][..], |event| &event.attributes);
        let found = attributes.iter().position(|attribute| attribute == name);
        found.ok_or_else(|| format!("the event has no attribute `{name}`"))
    }

    /// Position of a tuning point.
    ///
    /// # Errors
    /// A sentence that says that it is missing.
    pub fn point(&self, name: &str) -> Result<usize, String> {
        let found = self.points.iter().position(|point| point.name == name);
        found.ok_or_else(|| format!("the description has no tuning point `{name}`"))
    }

    /// An option as a number, or what it is without being given.
    ///
    /// # Errors
    /// A sentence that says that it is no such number.
    pub fn option<T: std::str::FromStr>(&self, name: &str, default: T) -> Result<T, String> {
        let Some(text) = self.options.get(name) else { return Ok(default) };
        text.parse().map_err(|_| format!("option `{name}` is `{text}`; it must be a number"))
    }
}

impl Value {
    /// As a floating-point number, rounded where it has to be.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(whole) => whole as f64,
            Self::Uint(whole) => whole as f64,
            Self::Float(number) => number,
        }
    }
}

mod read;

/// What the host keeps for us.
#[derive(Default)]
struct State<T> {
    tunlet: T,
    /// Kept for the host that reads it.
    refusal: CString,
}

/// What `sintonia_tunlet_v1` has to return; call it once.
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

/// A text for C: it ends where it has a zero byte.
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
    // SAFETY: `create` made it, and the host calls from one thread.
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
        // SAFETY: the host's own function with the host.
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
    // SAFETY: `create` made it, and the host calls from one thread.
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
        // SAFETY: the host's own function with the host and a text that outlives the call.
        unsafe { decide(host, position(decision.point), value, reason.as_ptr()) };
    }
}

unsafe extern "C" fn destroy<T: Tunlet>(state: *mut c_void) {
    // SAFETY: `create` made it, and this is its last use.
    drop(unsafe { Box::from_raw(state.cast::<State<T>>()) });
}

/// A text of C as ours.
///
/// # Safety
/// `text` is null or ends with a zero byte.
unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller says so.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
