//! Searches for inputs that break a target: libFuzzer, guided by coverage. `make fuzz` builds and runs it.
//!
//! The environment variable `FUZZ_TARGET` names the target; the arguments are those of libFuzzer.
#![no_main]

use std::sync::LazyLock;

static TARGET: LazyLock<fuzz::FuzzTarget> = LazyLock::new(|| {
    // The hook of libFuzzer ends the process at once, even if a panic is about to be turned into an error.
    let end = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !run_record::is_panic_caught() {
            end(panic);
        }
    }));
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    *fuzz::target(&name).expect("FUZZ_TARGET names one of `fuzz::TARGETS`")
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (TARGET.run)(bytes));
