//! A tunlet whose library is loaded into this process.
//!
//! # Invariants
//! - A library stays loaded: nothing of it dangles.
//!
//! # Not here
//! Protection from what it does (`host` and `child`).

mod arena;
mod callbacks;
mod describe;
mod spec;

use crate::abi;
use application::Application;
use arena::Arena;
use callbacks::Host;
use std::ffi::{CStr, CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use tunlets::rehearsal::check_needs;
use tunlets::{Decision, News, Requests, Tunlet, TunletError, TunletSpec, World};

/// Name of the function that a library has to export.
pub const ENTRY: &CStr = c"sintonia_tunlet_v1";

/// Why a library is no tunlet.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadError {
    /// The path has a zero byte.
    #[error("no library has a zero byte in its path; name another")]
    Path,
    /// The dynamic linker refuses it.
    #[error("it cannot be loaded: {reason}")]
    Refused {
        /// What the linker says.
        reason: String,
    },
    /// It has no entry.
    #[error("it has no function `sintonia_tunlet_v1`; export it, as `sintonia new-tunlet` does")]
    NoEntry,
    /// The entry returns nothing, or something incomplete.
    #[error("what `sintonia_tunlet_v1` returns has no `{field}`; set it")]
    Incomplete {
        /// What is missing.
        field: &'static str,
    },
    /// It was made for another version of the interface.
    #[error(
        "it speaks version {found} of the interface, not {}; compile it with this version's header",
        abi::SINTONIA_TUNLET_VERSION
    )]
    Version {
        /// Its version.
        found: u32,
    },
    /// Its name cannot be typed.
    #[error("its name is `{name}`; use letters, digits, `-` and `_`")]
    Name {
        /// The name.
        name: String,
    },
}

/// A tunlet of a library in this process.
pub struct LoadedTunlet {
    spec: TunletSpec,
    functions: spec::Functions,
    state: *mut c_void,
    host: Option<Box<Host>>,
    lines: Vec<String>,
}

// SAFETY: the interface asks for calls from one thread at a time, not from one thread.
unsafe impl Send for LoadedTunlet {}

impl LoadedTunlet {
    /// Loads a library and makes its tunlet.
    ///
    /// # Errors
    /// When it is none.
    pub fn open(library: &Path) -> Result<Self, LoadError> {
        let entry = entry(library)?;
        // SAFETY: a function of this name has this type: the name ends with the version.
        let tunlet = unsafe { entry() };
        // SAFETY: null, or valid for good.
        let tunlet = unsafe { tunlet.as_ref() };
        let tunlet = tunlet.ok_or(LoadError::Incomplete { field: "sintonia_tunlet" })?;
        let (spec, functions) = spec::read(tunlet)?;
        // SAFETY: it takes nothing.
        let state = unsafe { (functions.create)() };
        Ok(Self { spec, functions, state, host: None, lines: Vec::new() })
    }
}

type Entry = unsafe extern "C" fn() -> *const abi::sintonia_tunlet;

fn entry(library: &Path) -> Result<Entry, LoadError> {
    // Without a slash the linker would look for it among the system's libraries.
    let library = std::path::absolute(library).map_err(|_| LoadError::Path)?;
    let path = CString::new(library.as_os_str().as_bytes()).map_err(|_| LoadError::Path)?;
    // SAFETY: a path; what its constructors do is the library's own affair.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return Err(LoadError::Refused { reason: last_error() });
    }
    // SAFETY: a handle and a text.
    let symbol = unsafe { libc::dlsym(handle, ENTRY.as_ptr()) };
    if symbol.is_null() {
        return Err(LoadError::NoEntry);
    }
    // SAFETY: a function of this name has this type: the name ends with the version.
    Ok(unsafe { std::mem::transmute::<*mut c_void, Entry>(symbol) })
}

fn last_error() -> String {
    // SAFETY: it takes nothing.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "for no reason that is known".to_owned();
    }
    // SAFETY: a text that is valid until the next call of the linker.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

impl Tunlet for LoadedTunlet {
    fn spec(&self) -> TunletSpec {
        self.spec.clone()
    }

    fn begin(&mut self, application: &Application, world: &World) -> Result<Requests, TunletError> {
        check_needs(&self.spec, application)?;
        let host = Host::new(&self.spec.name, application, world);
        // SAFETY: `create` made the state, and the host is valid.
        let refusal = unsafe { (self.functions.begin)(self.state, host.as_ptr()) };
        let requests = {
            let mut said = host.said();
            said.begins = false;
            self.lines.append(&mut said.lines);
            said.requests.clone()
        };
        self.host = Some(host);
        if refusal.is_null() {
            return Ok(requests);
        }
        // SAFETY: a text that is valid until `destroy`.
        let reason = unsafe { CStr::from_ptr(refusal) }.to_string_lossy().into_owned();
        Err(TunletError::Unable { tunlet: self.spec.name.clone(), reason })
    }

    fn hear(&mut self, news: &News, decisions: &mut Vec<Decision>) {
        let Some(host) = &self.host else { return };
        let mut arena = Arena::default();
        let news = describe::news(&mut arena, news);
        // SAFETY: `create` made the state; host and news are valid until it returns.
        unsafe { (self.functions.hear)(self.state, host.as_ptr(), &raw const news) };
        let mut said = host.said();
        decisions.append(&mut said.decisions);
        self.lines.append(&mut said.lines);
    }

    fn lines(&mut self) -> Vec<String> {
        std::mem::take(&mut self.lines)
    }
}

impl Drop for LoadedTunlet {
    fn drop(&mut self) {
        let Some(destroy) = self.functions.destroy else { return };
        // SAFETY: `create` made the state, and this is its last use.
        unsafe { destroy(self.state) };
    }
}
