//! Specification of a library's tunlet.

use super::LoadError;
use crate::abi;
use std::ffi::{CStr, c_char, c_void};
use tunlets::TunletSpec;

/// Maximum number of list entries that are read: a list without terminating null is cut.
const N_LISTED_MAX: usize = 256;

/// The functions of a tunlet.
#[derive(Clone, Copy)]
pub(super) struct Functions {
    pub(super) create: unsafe extern "C" fn() -> *mut c_void,
    pub(super) begin: unsafe extern "C" fn(*mut c_void, *const abi::sintonia_host) -> *const c_char,
    pub(super) hear:
        unsafe extern "C" fn(*mut c_void, *const abi::sintonia_host, *const abi::sintonia_news),
    pub(super) destroy: Option<unsafe extern "C" fn(*mut c_void)>,
}

/// Returns the tunlet's specification and functions.
pub(super) fn read(tunlet: &abi::sintonia_tunlet) -> Result<(TunletSpec, Functions), LoadError> {
    if tunlet.version != abi::SINTONIA_TUNLET_VERSION {
        return Err(LoadError::Version { found: tunlet.version });
    }
    let missing = |field| LoadError::Incomplete { field };
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
        return Err(LoadError::Name { name });
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
