//! Callbacks of the host for a loaded tunlet, as C functions.
//!
//! # Invariants
//! - Arguments from a tunlet are not trusted: positions are checked, texts are shortened, and calls at the
//!   wrong time are refused.

use super::describe::{self, Arena};
use crate::abi;
use app_description::Application;
use events::Value;
use std::cell::RefCell;
use std::ffi::{CStr, c_char};
use std::ptr;
use tunlets::{Decision, Detail, Requests, World};

/// Maximum number of decisions per piece of news.
const N_DECISIONS_MAX: usize = 64;
/// Maximum number of lines per piece of news.
const N_LINES_MAX: usize = 64;
/// Maximum length of a reason or line, in bytes; the rest is cut.
const TEXT_BYTES_MAX: usize = 1000;

/// The host of one tunlet during its run.
pub(super) struct Host {
    host: abi::sintonia_host,
    _description: Box<abi::sintonia_description>,
    context: Box<Context>,
    _arena: Arena,
}

/// Data used and collected by the callbacks.
struct Context {
    application: Application,
    name: String,
    results: RefCell<CallResults>,
}

/// Data from a tunlet during one call.
#[derive(Default)]
pub(super) struct CallResults {
    /// True while the tunlet is in `begin` and may make requests.
    pub(super) begins: bool,
    /// Requests so far.
    pub(super) requests: Requests,
    /// Decisions of this call.
    pub(super) decisions: Vec<Decision>,
    /// Lines for the user.
    pub(super) lines: Vec<String>,
}

impl Host {
    /// Creates the host of the tunlet `name`, which is about to begin.
    pub(super) fn new(name: &str, application: &Application, world: &World) -> Box<Self> {
        let mut arena = Arena::default();
        let description = describe::description(&mut arena, name, application, world);
        let description = Box::new(description);
        let events = vec![Detail::None; application.events.len()];
        let requests = Requests { events, ..Requests::default() };
        let results = CallResults { begins: true, requests, ..CallResults::default() };
        let context = Box::new(Context {
            application: application.clone(),
            name: name.to_owned(),
            results: RefCell::new(results),
        });
        let host = abi::sintonia_host {
            version: abi::SINTONIA_TUNLET_VERSION,
            context: ptr::from_ref(&*context).cast_mut().cast(),
            description: &raw const *description,
            find_event,
            find_attribute,
            find_point,
            find_actor,
            option,
            want_event,
            want_performance,
            want_point,
            decide,
            log,
        };
        Box::new(Self { host, _description: description, context, _arena: arena })
    }

    pub(super) fn as_ptr(&self) -> *const abi::sintonia_host {
        &raw const self.host
    }

    /// Returns the data from the tunlet, for modification.
    pub(super) fn results(&self) -> std::cell::RefMut<'_, CallResults> {
        self.context.results.borrow_mut()
    }
}

/// # Safety
/// `host` is the pointer that was passed to the tunlet.
unsafe fn context<'a>(host: *const abi::sintonia_host) -> &'a Context {
    // SAFETY: guaranteed by the caller.
    let context = unsafe { (*host).context };
    // SAFETY: a `Host` keeps its context as long as itself.
    unsafe { &*context.cast::<Context>() }
}

/// Returns a text from the tunlet, shortened.
///
/// # Safety
/// `text` is null or ends with a zero byte.
unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: guaranteed by the caller.
    let bytes = unsafe { CStr::from_ptr(text) }.to_bytes();
    String::from_utf8_lossy(&bytes[..bytes.len().min(TEXT_BYTES_MAX)]).into_owned()
}

fn position(found: Option<usize>) -> u32 {
    found.and_then(|idx| u32::try_from(idx).ok()).unwrap_or(abi::SINTONIA_NONE)
}

unsafe extern "C" fn find_event(host: *const abi::sintonia_host, name: *const c_char) -> u32 {
    // SAFETY: the tunlet passes the host and a text.
    let (context, name) = unsafe { (context(host), text(name)) };
    position(context.application.events.iter().position(|event| event.name == name))
}

unsafe extern "C" fn find_attribute(
    host: *const abi::sintonia_host,
    event: u32,
    name: *const c_char,
) -> u32 {
    // SAFETY: the tunlet passes the host and a text.
    let (context, name) = unsafe { (context(host), text(name)) };
    let event = context.application.events.get(event as usize);
    let named = |event: &app_description::EventPoint| {
        event.attributes.iter().position(|attribute| attribute.name == name)
    };
    position(event.and_then(named))
}

unsafe extern "C" fn find_point(host: *const abi::sintonia_host, name: *const c_char) -> u32 {
    // SAFETY: the tunlet passes the host and a text.
    let (context, name) = unsafe { (context(host), text(name)) };
    position(context.application.tuning_points.iter().position(|point| point.name == name))
}

unsafe extern "C" fn find_actor(
    host: *const abi::sintonia_host,
    name: *const c_char,
) -> *const abi::sintonia_actor {
    // SAFETY: the tunlet passes the host and a text.
    let (context, name) = unsafe { (context(host), text(name)) };
    let Some(idx) = context.application.actors.iter().position(|actor| actor.name == name) else {
        return ptr::null();
    };
    // SAFETY: a host has a description.
    let actors = unsafe { (*(*host).description).actors };
    // SAFETY: the description has all actors of the application.
    unsafe { actors.add(idx) }
}

unsafe extern "C" fn option(host: *const abi::sintonia_host, name: *const c_char) -> *const c_char {
    // SAFETY: the tunlet passes the host and a text.
    let (context, name) = unsafe { (context(host), text(name)) };
    let options = context.application.tunlet_options.get(&context.name);
    let Some(idx) = options.and_then(|all| all.keys().position(|option| *option == name)) else {
        return ptr::null();
    };
    // SAFETY: a host has a description.
    let options = unsafe { (*(*host).description).options };
    // SAFETY: the description has all options of the tunlet, in their order.
    unsafe { (*options.add(idx)).text }
}

unsafe extern "C" fn want_event(host: *const abi::sintonia_host, event: u32, detail: u32) -> bool {
    // SAFETY: the tunlet passes the host.
    let mut results = unsafe { context(host) }.results.borrow_mut();
    let detail = match detail {
        abi::SINTONIA_DETAIL_NONE => Detail::None,
        abi::SINTONIA_DETAIL_EVERY => Detail::Every,
        abi::SINTONIA_DETAIL_SUMMARY => Detail::Summary,
        _ => return false,
    };
    let is_time = results.begins;
    let Some(wanted) = results.requests.events.get_mut(event as usize).filter(|_| is_time) else {
        return false;
    };
    *wanted = detail;
    true
}

unsafe extern "C" fn want_performance(host: *const abi::sintonia_host) {
    // SAFETY: the tunlet passes the host.
    let mut results = unsafe { context(host) }.results.borrow_mut();
    if results.begins {
        results.requests.performance = true;
    }
}

unsafe extern "C" fn want_point(host: *const abi::sintonia_host, point: u32) -> bool {
    // SAFETY: the tunlet passes the host.
    let context = unsafe { context(host) };
    let mut results = context.results.borrow_mut();
    let point = point as usize;
    if !results.begins || context.application.tuning_points.len() <= point {
        return false;
    }
    if !results.requests.points.contains(&point) {
        results.requests.points.push(point);
    }
    true
}

unsafe extern "C" fn decide(
    host: *const abi::sintonia_host,
    point: u32,
    value: abi::sintonia_value,
    reason: *const c_char,
) -> bool {
    // SAFETY: the tunlet passes the host and a text.
    let (context, reason) = unsafe { (context(host), text(reason)) };
    let value = match value.kind {
        // SAFETY: `kind` tells which member is set.
        abi::SINTONIA_INT => Value::Int(unsafe { value.number.int_value }),
        // SAFETY: `kind` tells which member is set.
        abi::SINTONIA_UINT => Value::from(unsafe { value.number.uint_value }),
        // SAFETY: `kind` tells which member is set.
        abi::SINTONIA_FLOAT => Value::Float(unsafe { value.number.float_value }),
        _ => return false,
    };
    let mut results = context.results.borrow_mut();
    let point = point as usize;
    let may = !results.begins && results.requests.points.contains(&point);
    if !may || N_DECISIONS_MAX <= results.decisions.len() {
        return false;
    }
    results.decisions.push(Decision { point, value, reason });
    true
}

unsafe extern "C" fn log(host: *const abi::sintonia_host, line: *const c_char) {
    // SAFETY: the tunlet passes the host and a text.
    let (context, line) = unsafe { (context(host), text(line)) };
    let mut results = context.results.borrow_mut();
    if results.lines.len() < N_LINES_MAX {
        results.lines.push(line);
    }
}
