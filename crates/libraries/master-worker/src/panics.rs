//! Panics in the user's code.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `code` and returns its result, or the message of its panic.
pub(crate) fn caught<R>(code: impl FnOnce() -> R) -> Result<R, String> {
    // `work` only reads the program, and what a panic leaves half done is in its results, which are
    // dropped.
    catch_unwind(AssertUnwindSafe(code)).map_err(|panic| said(panic.as_ref()))
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without a message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_what_it_says() {
        assert_eq!(caught(|| 3), Ok(3));
        assert_eq!(caught(|| panic!("at once")), Err::<(), _>("at once".to_owned()));
        assert_eq!(caught(|| panic!("after {}", 2)), Err::<(), _>("after 2".to_owned()));
        let other = caught(|| std::panic::panic_any(7));
        assert_eq!(other, Err::<(), _>("a panic without a message".to_owned()));
    }
}
