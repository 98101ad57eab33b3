//! Options among the arguments of `main`.

use core::ffi::{CStr, c_char, c_int};
use malleable::Options;
use std::ptr;

/// Environment variable with options; arguments override it.
const VARIABLE: &str = "SINTONIA_MALLEABLE";

const HELP: &CStr = c"\
Options of a malleable program:
  --sizes MIN:MAX             smallest and largest number of ranks
  --preferred N               preferred number of ranks
  --schedule ITERATION:SIZE,...  iterations from which the program has another size
  --check-every K|auto        iterations between two resize points that check for requests (default: auto)
  --strategy merge|baseline   ranks that continue: all that can (default), or only new processes
  --spawn tree|one|per-node|sequential|companion  how processes are started (default: tree)
  --foreground                the program waits while they are started
  --redistribution auto|sync|async|p2p|get  how data are moved (default: auto)
  --placement balance|fill|nearest  on which nodes processes are started (default: balance)
  --hosts FILE                nodes for further processes
  --manager none|hosts|slurm|auto  source of further nodes (default: auto)
  --model FILE|learn|explore  model that decides whether another size pays
  --iterations N              total number of iterations
  --record DIR                write the outcome of each resize to DIR/resizes.jsonl
  --control DIR               folder of the status and of resize requests (default: $HOME/.sintonia/jobs)
  --deadline SECONDS          longest time of each phase of a resize (default: 60)
  --checkpoint FILE           write the state to this file, and continue from it if it exists
  --checkpoint-every SECONDS  time between two checkpoints (default: 300)
  --explain                   a line on standard error for each resize
`--option=value` does as well; what stands after `--` is the program's own.
";

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
    let own = if words.is_null() { c"" } else { unsafe { CStr::from_ptr(words) } };
    let variable = std::env::var(VARIABLE).unwrap_or_default();
    let text = format!("{} {variable}", own.to_string_lossy());
    let first: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    let (_, strange) = Options::parse(first.clone()).map_err(|error| error.to_string())?;
    if let Some(word) = strange.first() {
        return Err(format!("`{word}` is not an option; `malleable_help` lists them"));
    }
    // SAFETY: by the condition of this function.
    let places = unsafe { places(argc, argv) };
    // SAFETY: by the condition of this function.
    let given: Vec<String> = places.iter().skip(1).map(|text| unsafe { owned(*text) }).collect();
    let all = first.into_iter().chain(given.clone());
    let (options, others) = Options::parse(all).map_err(|error| error.to_string())?;
    let n_kept = keep(places, &given, &others);
    // SAFETY: by the condition of this function.
    if let Some(argc) = unsafe { argc.as_mut() } {
        *argc = c_int::try_from(n_kept).unwrap_or(*argc);
    }
    Ok(options)
}

/// # Safety
/// As for `options`.
unsafe fn places<'a>(argc: *mut c_int, argv: *mut *mut *mut c_char) -> &'a mut [*mut c_char] {
    if argc.is_null() || argv.is_null() {
        return &mut [];
    }
    // SAFETY: by the condition of this function.
    let n = usize::try_from(unsafe { *argc }).unwrap_or(0);
    // SAFETY: by the condition of this function.
    let texts = unsafe { *argv };
    // SAFETY: by the condition of this function.
    if texts.is_null() { &mut [] } else { unsafe { std::slice::from_raw_parts_mut(texts, n) } }
}

/// # Safety
/// The text ends with a zero byte, or is null.
unsafe fn owned(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: by the condition of this function.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Keeps the program's name and `others`, which are some of `given` in the same order; returns how many stay.
fn keep(places: &mut [*mut c_char], given: &[String], others: &[String]) -> usize {
    let mut others = others.iter().peekable();
    let mut n_kept = places.len().min(1);
    for (place, text) in given.iter().enumerate() {
        // Equal words are interchangeable.
        if others.next_if(|other| *other == text).is_some() {
            places.swap(n_kept, place + 1);
            n_kept += 1;
        }
    }
    if let Some(end) = places.get_mut(n_kept) {
        *end = ptr::null_mut();
    }
    n_kept
}
