//! Runs.

use crate::abi::{MW_BUG, MW_OK, MW_PROGRAM, mw_program};
use crate::failure;
use crate::options::{HELP, mw_options, texts};
use crate::program::{Failure, Foreign};
use core::ffi::{c_char, c_int};
use master_worker::{Cancel, Error, Options, Outcome, Program};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this process led its last run.
static IS_MASTER: AtomicBool = AtomicBool::new(true);

/// Runs a program: on the ranks of the MPI launcher that started the process, else on threads. It returns on every
/// rank, once the run is over; `master_final` is the place for results.
///
/// The options of the run are taken from the arguments of `main`; other arguments are left to the program. `--help`
/// prints the options and runs nothing. What goes wrong is said on standard error too. Returns `MW_OK` or what went
/// wrong (`MW_...`), good as the result of `main`.
///
/// # Safety
/// `program` and its functions are as the header says; there are `argc` texts, or `argv` is null.
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
    let mut arguments = unsafe { texts(places) }.into_iter();
    let name = arguments.next().unwrap_or_else(|| "program".to_owned());
    let arguments: Vec<String> = arguments.collect();
    if arguments.iter().take_while(|argument| *argument != "--").any(|word| word == "--help") {
        help();
        return MW_OK;
    }
    // SAFETY: by the condition of this function.
    let code = unsafe { run_with(program, &mw_options::of(arguments)) };
    if code != MW_OK {
        let text = failure::last();
        // Whoever closed standard error does not want to hear it.
        let _written = writeln!(std::io::stderr(), "{name}: {text}");
    }
    code
}

/// As `mw_run`, with these options, or the usual ones when it is null. Nothing is said: `mw_last_error` has it.
///
/// # Safety
/// `program` and its functions are as the header says; `options` is null or comes of this library.
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

/// Whether this process was the master in its last run or `mw_map`. It is on threads; of the ranks of a launcher only
/// one is, and has results.
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

/// What a program lacks.
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

/// Runs what `program` makes; a number for C.
pub(crate) fn outcome<P: Program>(
    options: &mw_options,
    program: impl FnOnce(Failure, Cancel) -> P,
) -> c_int {
    let failure = Failure::default();
    let (options, cancel) = options.options();
    let program = program(failure.clone(), cancel);
    let ended = catch_unwind(AssertUnwindSafe(|| run(program, options)));
    let (code, text) = match (failure.get(), ended) {
        (Some(text), _) => (MW_PROGRAM, text),
        (None, Ok(Ok(()))) => return MW_OK,
        (None, Ok(Err(error))) => (failure::code(&error), failure::sentence(&error)),
        (None, Err(_panic)) => (MW_BUG, "the library failed; its message is above".to_owned()),
    };
    failure::set_last(&text);
    code
}

fn run<P: Program>(program: P, options: Options) -> Result<(), Error> {
    let outcome: Option<Outcome<P>> = master_worker::outcome(program, options)?;
    IS_MASTER.store(outcome.is_some(), Ordering::Release);
    Ok(())
}

/// Prints the options, where a launcher shows it once.
fn help() {
    let ranks = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"];
    let is_other = ranks.into_iter().any(|rank| std::env::var(rank).is_ok_and(|rank| rank != "0"));
    if !is_other {
        // Whoever closed standard output does not want to read it.
        let _written = std::io::stdout().write_all(HELP.to_bytes());
    }
}
