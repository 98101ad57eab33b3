//! Options among the arguments of `main`.

use core::ffi::{c_char, c_int};
use malleable::Options;
use std::ffi::CString;
use std::ptr;
use std::sync::LazyLock;

static HELP: LazyLock<CString> = LazyLock::new(|| CString::new(Options::HELP).unwrap_or_default());

/// Returns the description of all options, as a program's `--help` may print it.
#[unsafe(no_mangle)]
pub extern "C" fn malleable_help() -> *const c_char {
    HELP.as_ptr()
}

/// Reads options from words of the program, the environment, and the arguments, and removes them from the
/// arguments.
///
/// # Safety
/// The words end with a zero byte, or are null; the addresses are those of the arguments of `main`, or null.
pub(crate) unsafe fn options(
    words: *const c_char,
    argc: *mut c_int,
    argv: *mut *mut *mut c_char,
) -> Result<Options, String> {
    // SAFETY: by the condition of this function.
    let own = unsafe { c_interface::text(words) };
    let mut options = Options::new();
    let mut strange = options.read(own.split_whitespace().map(str::to_owned));
    strange.extend(options.read_variable());
    if let Some(word) = strange.first() {
        return Err(format!("`{word}` is not an option; `malleable_help` lists them"));
    }
    // SAFETY: by the condition of this function.
    let argv = unsafe { argv.as_ref() }.map_or(ptr::null_mut(), |argv| *argv);
    // SAFETY: by the condition of this function.
    unsafe { c_interface::take_arguments(argc, argv, |given| options.read(given)) };
    Ok(options)
}
