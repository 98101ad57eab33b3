//! What a library says its tunlet is.

use super::LoadError;
use crate::abi;
use std::ffi::{CStr, c_char, c_void};
use tunlets::TunletSpec;

/// Entries of a list that are read: a list without its null at the end is cut.
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

/// What it is and what it does.
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
    // SAFETY: null, or texts that stay valid.
    let (name, problem) = unsafe { (text(tunlet.name), text(tunlet.problem)) };
    let name = name.ok_or(missing("name"))?;
    if !is_name(&name) {
        return Err(LoadError::Name { name });
    }
    let spec = TunletSpec {
        name,
        problem: problem.ok_or(missing("problem"))?,
        // SAFETY: null, or a list that ends with null.
        needs_events: unsafe { list(tunlet.needs_events) },
        // SAFETY: as above.
        needs_points: unsafe { list(tunlet.needs_points) },
        // SAFETY: null, or a list that ends with a name that is null.
        options: unsafe { options(tunlet.options) },
    };
    Ok((spec, functions))
}

/// Whether a person can type it, in a table's name too.
fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    !name.is_empty() && name.len() <= 64 && name.bytes().all(is_plain)
}

/// # Safety
/// Null, or a text.
unsafe fn text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller says so.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// # Safety
/// Null, or a list that ends with null.
unsafe fn list(first: *const *const c_char) -> Vec<String> {
    if first.is_null() {
        return Vec::new();
    }
    // SAFETY: nothing after the null is looked at.
    let at = |idx| unsafe { text(*first.add(idx)) };
    (0..N_LISTED_MAX).map_while(at).collect()
}

/// # Safety
/// Null, or a list that ends with a name that is null.
unsafe fn options(first: *const abi::sintonia_setting) -> Vec<(String, String)> {
    if first.is_null() {
        return Vec::new();
    }
    let at = |idx| {
        // SAFETY: nothing after the null is looked at.
        let option = unsafe { &*first.add(idx) };
        // SAFETY: null, or texts.
        let (name, meaning) = unsafe { (text(option.name), text(option.text)) };
        Some((name?, meaning.unwrap_or_default()))
    };
    (0..N_LISTED_MAX).map_while(at).collect()
}
