//! A tunlet whose library is loaded into this process.
//!
//! # Invariants
//! - A library stays loaded, so that no pointer into it dangles.

mod callbacks;
mod describe;

use crate::abi;
use app_description::Application;
use callbacks::Host;
use describe::Arena;
use std::ffi::{CStr, CString, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use tunlets::rehearsal::check_needs;
use tunlets::{Decision, News, Requests, Tunlet, TunletError, TunletSpec, World};

/// Name of the function that a library must export.
pub const ENTRY: &CStr = c"sintonia_tunlet_v1";

/// Maximum number of list entries that are read: a list without terminating null is cut.
const N_LISTED_MAX: usize = 256;

/// Reason why a library is not a valid tunlet.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadError {
    /// The path contains a zero byte.
    #[error("no library has a zero byte in its path; name another")]
    Path,
    /// The dynamic linker cannot load it.
    #[error("it cannot be loaded: {0}")]
    Refused(String),
    /// The entry point is missing.
    #[error("it has no function `sintonia_tunlet_v1`; export it, as `sintonia new-tunlet` does")]
    NoEntry,
    /// The entry point returns null, or an incomplete structure.
    #[error("what `sintonia_tunlet_v1` returns has no `{0}`; set it")]
    Incomplete(&'static str),
    /// The library was compiled for another version of the interface.
    #[error(
        "it speaks version {0} of the interface, not {ours}; compile it with this version's header",
        ours = abi::SINTONIA_TUNLET_VERSION
    )]
    Version(u32),
    /// The name contains characters that are not allowed.
    #[error("its name is `{0}`; use letters, digits, `-` and `_`")]
    Name(String),
}

/// A tunlet of a library in this process.
pub struct LoadedTunlet {
    spec: TunletSpec,
    functions: Functions,
    state: *mut c_void,
    host: Option<Box<Host>>,
    lines: Vec<String>,
}

// SAFETY: the interface requires calls from one thread at a time, not always from the same thread.
unsafe impl Send for LoadedTunlet {}

impl LoadedTunlet {
    /// Loads a library and creates its tunlet.
    ///
    /// # Errors
    /// The library cannot be loaded, or is not a valid tunlet.
    pub fn open(library: &Path) -> Result<Self, LoadError> {
        let entry = entry(library)?;
        // SAFETY: a function with this name has this type, since the name ends with the version.
        let tunlet = unsafe { entry() };
        // SAFETY: the pointer is null, or valid forever.
        let tunlet = unsafe { tunlet.as_ref() };
        let tunlet = tunlet.ok_or(LoadError::Incomplete("sintonia_tunlet"))?;
        let (spec, functions) = read(tunlet)?;
        // SAFETY: the function takes no arguments.
        let state = unsafe { (functions.create)() };
        Ok(Self { spec, functions, state, host: None, lines: Vec::new() })
    }
}

type Entry = unsafe extern "C" fn() -> *const abi::sintonia_tunlet;

fn entry(library: &Path) -> Result<Entry, LoadError> {
    // Without a slash, the linker would search the system's library folders.
    let library = std::path::absolute(library).map_err(|_| LoadError::Path)?;
    let path = CString::new(library.as_os_str().as_bytes()).map_err(|_| LoadError::Path)?;
    // SAFETY: `path` is a valid C string; the effects of its constructors are the library's responsibility.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return Err(LoadError::Refused(last_error()));
    }
    // SAFETY: `handle` is valid and `ENTRY` is a C string.
    let symbol = unsafe { libc::dlsym(handle, ENTRY.as_ptr()) };
    if symbol.is_null() {
        return Err(LoadError::NoEntry);
    }
    // SAFETY: a function with this name has this type, since the name ends with the version.
    Ok(unsafe { std::mem::transmute::<*mut c_void, Entry>(symbol) })
}

fn last_error() -> String {
    // SAFETY: the function takes no arguments.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "for no reason that is known".to_owned();
    }
    // SAFETY: the text is valid until the next call of the linker.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The functions of a tunlet.
#[derive(Clone, Copy)]
struct Functions {
    create: unsafe extern "C" fn() -> *mut c_void,
    begin: unsafe extern "C" fn(*mut c_void, *const abi::sintonia_host) -> *const c_char,
    hear: unsafe extern "C" fn(*mut c_void, *const abi::sintonia_host, *const abi::sintonia_news),
    destroy: Option<unsafe extern "C" fn(*mut c_void)>,
}

/// Returns the tunlet's specification and functions.
fn read(tunlet: &abi::sintonia_tunlet) -> Result<(TunletSpec, Functions), LoadError> {
    if tunlet.version != abi::SINTONIA_TUNLET_VERSION {
        return Err(LoadError::Version(tunlet.version));
    }
    let missing = LoadError::Incomplete;
    let functions = Functions {
        create: tunlet.create.ok_or(missing("create"))?,
        begin: tunlet.begin.ok_or(missing("begin"))?,
        hear: tunlet.hear.ok_or(missing("hear"))?,
        destroy: tunlet.destroy,
    };
    // SAFETY: the pointers are null, or texts that stay valid.
    let (name, problem) = unsafe { (text(tunlet.name), text(tunlet.problem)) };
    let name = name.ok_or(missing("name"))?;
    if !is_name(&name) {
        return Err(LoadError::Name(name));
    }
    let spec = TunletSpec {
        name,
        problem: problem.ok_or(missing("problem"))?,
        // SAFETY: the pointer is null, or a list terminated by null.
        needs_events: unsafe { list(tunlet.needs_events) },
        // SAFETY: as above.
        needs_points: unsafe { list(tunlet.needs_points) },
        // SAFETY: the pointer is null, or a list terminated by an entry whose name is null.
        options: unsafe { options(tunlet.options) },
    };
    Ok((spec, functions))
}

/// Returns whether a name is easy to type, also as the name of a table.
fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    !name.is_empty() && name.len() <= 64 && name.bytes().all(is_plain)
}

/// # Safety
/// `text` is null, or ends with a zero byte.
unsafe fn text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: guaranteed by the caller.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// # Safety
/// `first` is null, or a list terminated by null.
unsafe fn list(first: *const *const c_char) -> Vec<String> {
    if first.is_null() {
        return Vec::new();
    }
    // SAFETY: nothing after the terminating null is read.
    let at = |idx| unsafe { text(*first.add(idx)) };
    (0..N_LISTED_MAX).map_while(at).collect()
}

/// # Safety
/// `first` is null, or a list terminated by an entry whose name is null.
unsafe fn options(first: *const abi::sintonia_setting) -> Vec<(String, String)> {
    if first.is_null() {
        return Vec::new();
    }
    let at = |idx| {
        // SAFETY: nothing after the terminating null is read.
        let option = unsafe { &*first.add(idx) };
        // SAFETY: each pointer is null, or a text.
        let (name, meaning) = unsafe { (text(option.name), text(option.text)) };
        Some((name?, meaning.unwrap_or_default()))
    };
    (0..N_LISTED_MAX).map_while(at).collect()
}

impl Tunlet for LoadedTunlet {
    fn spec(&self) -> TunletSpec {
        self.spec.clone()
    }

    fn begin(&mut self, application: &Application, world: &World) -> Result<Requests, TunletError> {
        check_needs(&self.spec, application)?;
        let host = Host::new(&self.spec.name, application, world);
        // SAFETY: `create` returned the state, and the host is valid.
        let refusal = unsafe { (self.functions.begin)(self.state, host.as_ptr()) };
        let requests = {
            let mut results = host.results();
            results.begins = false;
            self.lines.append(&mut results.lines);
            results.requests.clone()
        };
        self.host = Some(host);
        if refusal.is_null() {
            return Ok(requests);
        }
        // SAFETY: the text is valid until `destroy`.
        let reason = unsafe { CStr::from_ptr(refusal) }.to_string_lossy().into_owned();
        Err(TunletError::Unable { tunlet: self.spec.name.clone(), reason })
    }

    fn hear(&mut self, news: &News, decisions: &mut Vec<Decision>) {
        let Some(host) = &self.host else { return };
        let mut arena = Arena::default();
        let news = describe::news(&mut arena, news);
        // SAFETY: `create` returned the state; host and news are valid until the call returns.
        unsafe { (self.functions.hear)(self.state, host.as_ptr(), &raw const news) };
        let mut results = host.results();
        decisions.append(&mut results.decisions);
        self.lines.append(&mut results.lines);
    }

    fn lines(&mut self) -> Vec<String> {
        std::mem::take(&mut self.lines)
    }
}

impl Drop for LoadedTunlet {
    fn drop(&mut self) {
        let Some(destroy) = self.functions.destroy else { return };
        // SAFETY: `create` returned the state, and this is its last use.
        unsafe { destroy(self.state) };
    }
}
