//! Runs a program given by C functions.

use crate::abi::{MW_BUG, MW_OK, MW_PROGRAM};
use crate::callbacks::mw_program;
use crate::failure;
use crate::options::mw_options;
use crate::program::{Foreign, MasterFailure};
use core::ffi::{c_char, c_int};
use master_worker::{Cancel, Error, Options, Outcome, Program};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// True if this process was the master in its last run.
static IS_MASTER: AtomicBool = AtomicBool::new(true);

/// Runs a program: on the ranks of the MPI launcher that started the process, else on threads. Returns on every rank,
/// once the run is over; use the results in `master_final`.
///
/// The options of the run are taken from the arguments of `main`; other arguments are left to the program. `--help`
/// prints the options and runs nothing. Errors are also printed to standard error. Returns `MW_OK` or an error code
/// (`MW_...`), suitable as the result of `main`.
///
/// # Safety
/// `program` and its functions do what the header says; `argv` holds `argc` texts, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_run(
    program: *const mw_program,
    argc: c_int,
    argv: *const *mut c_char,
) -> c_int {
    let n = usize::try_from(argc).unwrap_or(0);
    let places = if argv.is_null() {
        &[]
    } else {
        // SAFETY: by the condition of this function.
        unsafe { std::slice::from_raw_parts(argv, n) }
    };
    // SAFETY: by the condition of this function.
    let mut arguments = places.iter().map(|place| unsafe { c_interface::text(*place) });
    let name = arguments.next().unwrap_or_else(|| "program".to_owned());
    let arguments: Vec<String> = arguments.collect();
    if arguments.iter().take_while(|argument| *argument != "--").any(|word| word == "--help") {
        help();
        return MW_OK;
    }
    // SAFETY: by the condition of this function.
    let code = unsafe { run_with(program, &mw_options::of(arguments)) };
    if code != MW_OK {
        // SAFETY: the sentence ends with a zero byte.
        let text = unsafe { c_interface::text(c_interface::last_error()) };
        // Ignored: a user who closed standard error does not want the text.
        let _written = writeln!(std::io::stderr(), "{name}: {text}");
    }
    code
}

/// Like `mw_run`, with these options, or the defaults when null. Prints nothing: `mw_last_error` returns the error.
///
/// # Safety
/// `program` and its functions do what the header says; `options` is null or was returned by this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_run_with(
    program: *const mw_program,
    options: *const mw_options,
) -> c_int {
    let usual = mw_options::default();
    // SAFETY: by the condition of this function.
    let options = unsafe { options.as_ref() }.unwrap_or(&usual);
    // SAFETY: by the condition of this function.
    unsafe { run_with(program, options) }
}

/// Returns whether this process was the master in its last run or `mw_map`. True on threads; of the ranks of a
/// launcher, one is the master and has the results.
#[unsafe(no_mangle)]
pub extern "C" fn mw_is_master() -> bool {
    IS_MASTER.load(Ordering::Acquire)
}

/// # Safety
/// As for `mw_run_with`.
unsafe fn run_with(program: *const mw_program, options: &mw_options) -> c_int {
    // SAFETY: by the condition of this function.
    let Some(program) = (unsafe { program.as_ref() }) else {
        return failure::misuse("there is no program; `mw_run` got a null pointer");
    };
    if let Some(missing) = missing(program) {
        return failure::misuse(missing);
    }
    outcome(options, |failure, cancel| {
        // SAFETY: by the condition of this function.
        unsafe { Foreign::new(*program, failure, cancel) }
    })
}

/// Returns an error for a required function that the program lacks.
fn missing(program: &mw_program) -> Option<&'static str> {
    if program.master_next.is_none() {
        return Some("the program has no `master_next`, which says what the tasks are");
    }
    if program.worker_work.is_none() {
        return Some("the program has no `worker_work`, which computes tasks");
    }
    if program.master_recover.is_none() {
        return Some("the program has no `master_recover`, which takes results");
    }
    if program.master_save.is_some() != program.master_restore.is_some() {
        return Some(
            "the program has one of `master_save` and `master_restore`; it needs both or none",
        );
    }
    let is_nowhere = program.state.is_null() && program.n_state_bytes != 0;
    is_nowhere.then_some("the program has `n_state_bytes`, but no `state`")
}

/// Runs the program that `program` creates; returns a code for C.
pub(crate) fn outcome<P: Program>(
    options: &mw_options,
    program: impl FnOnce(MasterFailure, Cancel) -> P,
) -> c_int {
    ended(options, |options, failure, cancel| {
        let outcome: Option<Outcome<P>> =
            master_worker::outcome(program(failure, cancel), options)?;
        IS_MASTER.store(outcome.is_some(), Ordering::Release);
        Ok(())
    })
}

/// Runs what returns results on the master alone, and passes them to `take`; returns a code for C.
pub(crate) fn with_results<R>(
    options: &mw_options,
    run: impl FnOnce(Options) -> Result<Option<R>, Error>,
    take: impl FnOnce(R) -> Result<(), String>,
) -> c_int {
    ended(options, |options, failure, _| {
        let results = run(options)?;
        IS_MASTER.store(results.is_some(), Ordering::Release);
        if let Some(Err(text)) = results.map(take) {
            failure.keep(text);
        }
        Ok(())
    })
}

fn ended(
    options: &mw_options,
    run: impl FnOnce(Options, MasterFailure, Cancel) -> Result<(), Error>,
) -> c_int {
    let failure = MasterFailure::default();
    let (options, cancel) = options.options();
    let ended = catch_unwind(AssertUnwindSafe(|| run(options, failure.clone(), cancel)));
    let (code, text) = match (failure.get(), ended) {
        (Some(text), _) => (MW_PROGRAM, text),
        (None, Ok(Ok(()))) => return MW_OK,
        (None, Ok(Err(error))) => (failure::code(&error), c_interface::sentence(&error)),
        (None, Err(_panic)) => (MW_BUG, "the library failed; its message is above".to_owned()),
    };
    c_interface::set_last_error(&text);
    code
}

/// Prints the options once per job, on rank 0.
fn help() {
    let ranks = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"];
    let is_other = ranks.into_iter().any(|rank| std::env::var(rank).is_ok_and(|rank| rank != "0"));
    if !is_other {
        // Ignored: a user who closed standard output does not want the text.
        let _written = std::io::stdout().write_all(Options::HELP.as_bytes());
    }
}
