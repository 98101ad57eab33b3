//! Options of a run.

use crate::abi::MW_OK;
use crate::failure;
use core::ffi::{c_char, c_int};
use master_worker::{Cancel, Options};
use std::ffi::CString;
use std::ptr;
use std::sync::LazyLock;

/// Options of a run; each has a default.
#[allow(non_camel_case_types, reason = "the name is that of the C header")]
#[derive(Default)]
pub struct mw_options {
    options: Options,
    cancel: Cancel,
}

impl mw_options {
    pub(crate) fn of(arguments: Vec<String>) -> Self {
        Self { options: Options::parse(arguments).0, cancel: Cancel::default() }
    }

    /// Returns the options, and the handle that stops the run.
    pub(crate) fn options(&self) -> (Options, Cancel) {
        (self.options.clone().cancel(&self.cancel), self.cancel.clone())
    }
}

static HELP: LazyLock<CString> = LazyLock::new(|| CString::new(Options::HELP).unwrap_or_default());

/// Returns new options with their defaults. Free them with `mw_options_free`.
#[unsafe(no_mangle)]
pub extern "C" fn mw_options_new() -> *mut mw_options {
    Box::into_raw(Box::default())
}

/// Returns the options among the arguments of `main`, and removes them from `argv`; `mw_options_help` lists them. The
/// other arguments remain for the program, from `argv[1]` on. Null when `argc` or `argv` is.
///
/// # Safety
/// `argv` holds `*argc` texts that end with a zero byte, and has room for a null after them, as `main` gets it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_options_from_args(
    argc: *mut c_int,
    argv: *mut *mut c_char,
) -> *mut mw_options {
    if argc.is_null() || argv.is_null() {
        failure::misuse("`mw_options_from_args` got a null pointer");
        return ptr::null_mut();
    }
    let mut options = mw_options::default();
    // SAFETY: by the condition of this function.
    unsafe { c_interface::take_arguments(argc, argv, |given| options.options.read(given)) };
    Box::into_raw(Box::new(options))
}

/// Sets an option by its argument's name, without dashes: `mw_options_set(options, "policy", "gss")`,
/// `mw_options_set(options, "progress", NULL)`. Returns 0, or `MW_MISUSE` when there is no such option; the run
/// reports a wrong value.
///
/// # Safety
/// `options` was returned by this library; the texts end with a zero byte, `value` may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_options_set(
    options: *mut mw_options,
    name: *const c_char,
    value: *const c_char,
) -> c_int {
    // SAFETY: by the condition of this function.
    let (Some(options), false) = (unsafe { options.as_mut() }, name.is_null()) else {
        return failure::misuse("`mw_options_set` got a null pointer");
    };
    // SAFETY: by the condition of this function.
    let mut argument = format!("--{}", unsafe { c_interface::text(name) });
    if !value.is_null() {
        argument.push('=');
        // SAFETY: by the condition of this function.
        argument.push_str(&unsafe { c_interface::text(value) });
    }
    if let [argument, ..] = options.options.read([argument]).as_slice() {
        let name = argument.split('=').next().unwrap_or(argument);
        return failure::misuse(&format!(
            "there is no option `{name}`; `mw_options_help` lists them"
        ));
    }
    MW_OK
}

/// Returns the description of all options, as `--help` prints it.
#[unsafe(no_mangle)]
pub extern "C" fn mw_options_help() -> *const c_char {
    HELP.as_ptr()
}

/// Stops the run that uses these options, which then returns `MW_CANCELED`. May be called from any thread and any
/// function, including signal handlers.
///
/// # Safety
/// `options` was returned by this library and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_cancel(options: *const mw_options) {
    // SAFETY: by the condition of this function.
    if let Some(options) = unsafe { options.as_ref() } {
        options.cancel.cancel();
    }
}

/// Frees options; not while a run uses them.
///
/// # Safety
/// `options` is null, or was returned by this library and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_options_free(options: *mut mw_options) {
    if !options.is_null() {
        // SAFETY: by the condition of this function.
        drop(unsafe { Box::from_raw(options) });
    }
}
