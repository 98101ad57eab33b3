//! Tests of `sintonia functions` on a program compiled here.

use crate::sintonia::{CommandOutput, Sandbox};
use std::process::Command;

const SOURCE: &str = "\
static inline __attribute__((always_inline)) int tiny(int n) { return n * 3; }
__attribute__((noinline)) int exchange(int rows, double share) { return tiny(rows) + (int)share; }
int easy(int n) { return n + 1; }
int main(int argc, char **argv) { (void)argv; return exchange(argc, 0.5) + easy(argc) == 0; }
";

/// Output about the program, compiled with these flags.
#[track_caller]
fn said(flags: &[&str], words: &[&str]) -> CommandOutput {
    let sandbox = Sandbox::with(&[("fire.c", SOURCE)]);
    let mut gcc = Command::new("gcc");
    gcc.current_dir(sandbox.path("")).args(flags).args(["fire.c", "-o", "fire"]);
    assert!(gcc.status().expect("gcc").success());
    sandbox.sintonia(&[&["functions", "./fire"][..], words].concat())
}

/// Checks the line of the table for a function.
#[track_caller]
fn check(said: &CommandOutput, name: &str, source: &str, probe: &str) {
    let lines = said.output.lines();
    let line = lines.into_iter().find(|line| line.split_whitespace().next() == Some(name));
    let line = line.unwrap_or_else(|| unreachable!("`{name}` is not in {}", said.output));
    assert!(line.contains(source) && line.ends_with(probe), "{line}");
}

#[test]
fn functions_are_listed_with_what_can_be_done() {
    let said = said(&["-g", "-O2"], &[]);
    assert_eq!((said.code, said.errors.as_str()), (Some(0), ""));
    check(&said, "exchange", " fire.c:2 ", "  yes");
    check(&said, "easy", " fire.c:3 ", "  yes, but inlined at 1 place: main");
    check(&said, "_start", " - ", "no: it runs before the process is ready, or after it has ended");
}

#[test]
fn a_filter_leaves_the_others_out() {
    let said = said(&["-g", "-O2"], &["--filter", "change"]);
    assert_eq!(said.output.lines().count(), 2, "{}", said.output);
    check(&said, "exchange", "fire.c:2", "yes");
}

#[test]
fn parameters_are_in_the_json() {
    let json = said(&["-g", "-O2"], &["--json", "--filter", "exchange"]).json();
    let parameters = &json[0]["parameters"];
    assert_eq!(["name", "place"].map(|key| &parameters[0][key]), ["rows", "rdi"]);
    assert_eq!(["kind", "place"].map(|key| &parameters[1][key]), ["double", "xmm0"]);
}

#[test]
fn what_is_not_known_is_said() {
    assert!(said(&["-O2"], &[]).errors.contains("no debug information"));
    assert!(said(&["-s"], &[]).errors.contains("is stripped"));
    assert!(said(&["-static"], &[]).errors.contains("linked statically"));
    assert!(said(&["-g"], &["--filter", "nothing"]).errors.contains("no such function"));
}

#[test]
fn what_is_no_program_is_refused() {
    let sandbox = Sandbox::with(&[("job.sh", "#!/bin/sh\n")]);
    sandbox.said("functions /absent").check_errors(100, "`/absent` cannot be read");
    sandbox.said("functions ./job.sh").check_errors(100, "is not a 64-bit ELF file");
}
