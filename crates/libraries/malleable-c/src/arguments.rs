//! Options among the arguments of `main`.

use core::ffi::{CStr, c_char, c_int};
use malleable::Options;
use std::ptr;

/// Environment variable with options; arguments override it.
const VARIABLE: &str = "SINTONIA_MALLEABLE";

const HELP: &CStr = c"\
Options of a malleable program:
  --sizes MIN:MAX             how few and how many ranks it may have
  --preferred N               where it runs best
  --schedule ITERATION:SIZE,...  from which iteration on it wants which size
  --check-every K|auto        iterations between two resize points that look for news (usual: auto)
  --strategy merge|baseline   who goes on: as many as can (usual), or only new processes
  --spawn tree|one|per-node|sequential|companion  how processes are started (usual: tree)
  --foreground                the program waits while they are started
  --redistribution auto|sync|async|p2p|get  how data travel (usual: auto)
  --placement balance|fill|nearest  on which nodes processes are started (usual: balance)
  --hosts FILE                nodes for further processes
  --manager none|hosts|slurm|auto  who has such nodes (usual: auto)
  --model FILE|learn|explore  by what it is judged whether another size pays
  --iterations N              how many iterations there will be in all
  --record DIR                write what became of each change of the size to DIR/resizes.jsonl
  --control DIR               the folder of status and wishes (usual: $HOME/.sintonia/jobs)
  --deadline SECONDS          how long each phase of a change may take (usual: 60)
  --checkpoint FILE           write the state to this file, and go on from it when it is there
  --checkpoint-every SECONDS  from one time to the next one (usual: 300)
  --explain                   a line on standard error for each change
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
        return Err(format!("`{word}` is no option; `malleable_help` lists them"));
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
