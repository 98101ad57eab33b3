//! Checks of the probe, and of programs of other projects that work with this one.

use crate::check::{Advice, Check};
use crate::commands;
use watch::environment::find_library;

/// Checks the preloaded library.
pub(crate) fn probe() -> Check {
    let program = std::env::current_exe().unwrap_or_default();
    match find_library(&program, std::env::var_os("SINTONIA_LIB")) {
        Some(path) => Check::ok("probe", path.display().to_string()),
        None => Check::missing(
            "probe",
            "no `libsintonia.so` beside this program",
            ["nothing can be watched", "`make install`, or set SINTONIA_LIB to its path"],
        ),
    }
}

/// Checks programs that open or replay what `sintonia` writes.
pub(crate) fn checks() -> Vec<Check> {
    let browsers = ["chromium", "google-chrome", "firefox"];
    let replay = [
        "an exported time-independent trace cannot be replayed here",
        "`apt install libsimgrid-dev`",
    ];
    let debugger = ["a hanging program cannot be looked into", "`apt install gdb`"];
    let page =
        ["the HTML report cannot be opened here", "copy `report.html` to where a browser is"];
    vec![
        any("browser", &browsers, page),
        any("debugger", &["gdb", "lldb"], debugger),
        any("replay", &["smpirun"], replay),
        debug_files(),
    ]
}

fn any(name: &'static str, programs: &[&str], advice: Advice) -> Check {
    match programs.iter().find_map(|program| commands::find(program)) {
        Some(path) => Check::ok(name, path.display().to_string()),
        None => Check::missing(name, format!("no `{}` in PATH", programs.join("`, `")), advice),
    }
}

/// Checks debug information of packages: separate files, or a server that provides them.
fn debug_files() -> Check {
    let folder = std::path::Path::new("/usr/lib/debug/.build-id");
    if folder.is_dir() {
        return Check::ok("debug files", folder.display().to_string());
    }
    let advice = [
        "call sites in packaged programs are named by function at best; your own, built with `-g`, by file and line",
        "install the package's `-dbgsym` or `-debuginfo`",
    ];
    Check::limited("debug files", "none of packages", advice)
}
