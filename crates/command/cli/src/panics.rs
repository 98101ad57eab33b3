//! Handles a bug in this program: one sentence and an exit code of its own.
//!
//! A panic otherwise ends a program with 101, which here means "there is no such record".

use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::process::ExitCode;
use user_io::exit::Internal;

/// Does the work; after a panic in this thread the exit code is [`Internal`].
pub(crate) fn catch(work: impl FnOnce() -> ExitCode) -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        if run_record::is_panic_caught() {
            return;
        }
        eprintln!("{}", sentence(panic));
        let trace = Backtrace::capture();
        if trace.status() == BacktraceStatus::Captured {
            eprintln!("{trace}");
        }
    }));
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(Internal.into())
}

fn sentence(panic: &PanicHookInfo<'_>) -> String {
    let what = panic.payload_as_str().unwrap_or("no reason is given");
    let at =
        panic.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
    format!("sintonia: internal error{at}: {what}; please report it with your command")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A panic ended with the exit code for a missing record.
    #[test]
    fn a_mistake_has_its_own_exit_code() {
        let code = catch(|| panic!("on purpose"));
        assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::from(110)));
    }
}
