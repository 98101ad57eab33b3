//! Target: a program's file, damaged or malicious, as `sintonia functions FILE` and `sintonia run --app` read it.

use ::symbols::{Program, Resolver};
use events::CodeAddress;
use std::panic::{catch_unwind, resume_unwind};
use std::path::Path;

/// Reads everything that a command looks up in a program: all functions, some names, the places of some addresses.
pub(crate) fn run(bytes: &[u8]) {
    let path = std::env::temp_dir().join(format!("fuzz-program-{}", std::process::id()));
    std::fs::write(&path, bytes).expect("a folder for temporary files");
    let outcome = catch_unwind(|| read(&path));
    std::fs::remove_file(&path).expect("written above");
    outcome.unwrap_or_else(|panic| resume_unwind(panic));
}

fn read(path: &Path) {
    let module = path.to_string_lossy();
    let mut resolver = Resolver::new();
    for file_offset in [0, 0x1000, 0x1010, u64::MAX] {
        let _place = resolver.place_of_return(&CodeAddress { module: &module, file_offset });
    }
    let Ok(program) = Program::open(path) else { return };
    let _n_functions = program.functions().len();
    let _is_profiled = program.is_profiled();
    let _description = program.description();
    let _n_missing = program.missing_libraries().len();
    // Names in the seeds, and one that is in none; no error may be empty.
    for name in ["step", "half", "fire::Front::advance", "nothing"] {
        let sentence = program.function(name).err().map(|error| error.to_string());
        assert_ne!(sentence.as_deref(), Some(""), "{name}");
    }
    for name in ["total", "grid.rows", "own", "fire::cells", "nothing"] {
        match program.variable(name) {
            Ok(variable) => {
                let _accesses = program.accesses(&variable);
            }
            Err(error) => assert_ne!(error.to_string(), "", "{name}"),
        }
    }
}
