//! Options of a run, stored as command line arguments.

use crate::abi::MW_OK;
use crate::failure;
use core::ffi::{CStr, c_char, c_int};
use master_worker::{Cancel, Options};
use std::ptr;

/// Options of a run; each has a default.
#[allow(non_camel_case_types, reason = "the name is that of the C header")]
#[derive(Default)]
pub struct mw_options {
    arguments: Vec<String>,
    cancel: Cancel,
}

impl mw_options {
    pub(crate) fn of(arguments: Vec<String>) -> Self {
        Self { arguments, cancel: Cancel::default() }
    }

    /// Parses the options, and returns them with the handle that stops the run.
    pub(crate) fn options(&self) -> (Options, Cancel) {
        let (options, _others) = Options::parse(self.arguments.iter().cloned());
        (options.cancel(&self.cancel), self.cancel.clone())
    }
}

/// Text of `--help`.
pub(crate) const HELP: &CStr = match CStr::from_bytes_with_nul(
    concat!(include_str!("../../master-worker/src/help.txt"), "\0").as_bytes(),
) {
    Ok(help) => help,
    Err(_) => c"",
};

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
    // SAFETY: by the condition of this function.
    let Some(n) = (unsafe { argc.as_mut() }).filter(|_| !argv.is_null()) else {
        failure::misuse("`mw_options_from_args` got a null pointer");
        return ptr::null_mut();
    };
    let n_before = usize::try_from(*n).unwrap_or(0);
    // SAFETY: by the condition of this function.
    let places = unsafe { std::slice::from_raw_parts_mut(argv, n_before) };
    // SAFETY: by the condition of this function.
    let texts: Vec<String> = unsafe { texts(places) };
    let ours = ours(&texts);
    let mut n_kept = 0;
    for (place, _) in ours.iter().enumerate().filter(|(_, part)| **part == Part::Other) {
        places.swap(n_kept, place);
        n_kept += 1;
    }
    if let Some(end) = places.get_mut(n_kept) {
        *end = ptr::null_mut();
    }
    *n = c_int::try_from(n_kept).unwrap_or(*n);
    let taken = texts.into_iter().zip(ours).filter(|(_, part)| *part == Part::Ours);
    Box::into_raw(Box::new(mw_options::of(taken.map(|(text, _)| text).collect())))
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
    let mut argument = format!("--{}", unsafe { text(name) });
    if kind(&argument) == Kind::Other {
        return failure::misuse(&format!(
            "there is no option `{argument}`; `mw_options_help` lists them"
        ));
    }
    if !value.is_null() {
        argument.push('=');
        // SAFETY: by the condition of this function.
        argument.push_str(&unsafe { text(value) });
    }
    options.arguments.push(argument);
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

/// # Safety
/// `text` ends with a zero byte.
pub(crate) unsafe fn text(text: *const c_char) -> String {
    // SAFETY: by the condition of this function.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// # Safety
/// Each text is null or ends with a zero byte.
pub(crate) unsafe fn texts(places: &[*mut c_char]) -> Vec<String> {
    let places = places.iter().take_while(|place| !place.is_null());
    // SAFETY: by the condition of this function.
    places.map(|place| unsafe { text(*place) }).collect()
}

/// Owner of an argument.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    Ours,
    /// The mark `--` between the library's arguments and others.
    Mark,
    Other,
}

/// Returns the owner of each argument of a program; the first one is its name.
fn ours(arguments: &[String]) -> Vec<Part> {
    let mut parts = vec![Part::Other; arguments.len()];
    let mut place = 1;
    while let Some(argument) = arguments.get(place) {
        if argument == "--" {
            parts[place] = Part::Mark;
            break;
        }
        let n = match kind(argument) {
            Kind::Other => 0,
            Kind::Whole => 1,
            Kind::WithNext => 2,
        };
        parts.iter_mut().skip(place).take(n).for_each(|part| *part = Part::Ours);
        place += n.max(1);
    }
    parts
}

#[derive(PartialEq)]
enum Kind {
    Other,
    Whole,
    WithNext,
}

/// Returns how the library parses an argument that is followed by another one.
fn kind(argument: &str) -> Kind {
    let (_, others) = Options::parse([argument.to_owned(), String::new()]);
    match others.len() {
        0 => Kind::WithNext,
        1 => Kind::Whole,
        _ => Kind::Other,
    }
}
