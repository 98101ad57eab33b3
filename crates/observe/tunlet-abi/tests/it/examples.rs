//! The example tunlets, in this process and in separate ones, with a program that is fastest at one value.

use crate::library::{Library, host_program};
use crate::news::{application, passage, world};
use c_header::{repository, run};
use events::Value;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tunlet_abi::{ForeignTunlet, LoadedTunlet};
use tunlets::{Applied, Decision, News, Tunlet};

/// Position of `sweeps` in the description.
const POINT: usize = 1;
/// Longer than anything here takes.
const DEADLINE: Duration = Duration::from_secs(60);

/// Runs steps of a program that starts with 4 and is fastest with `best`, until it has that value.
#[track_caller]
fn tune(tunlet: &mut dyn Tunlet, best: i64) {
    let application = application(&[("damping", "window", "2")]);
    let requests = tunlet.begin(&application, &world()).expect("it begins");
    assert_eq!(requests.points, [POINT]);
    let (mut sweeps, mut now_s) = (4, 0.0);
    let since = Instant::now();
    while sweeps != best {
        now_s += 0.010 + 0.001 * (sweeps - best).abs() as f64;
        let mut decisions = Vec::new();
        tunlet.hear(&passage(1, 1, now_s), &mut decisions);
        tunlet.look(&mut decisions).expect("it goes on");
        for Decision { point, value: new, reason } in decisions {
            assert!(point == POINT && reason.contains("steps take"), "{reason}");
            let old = Value::Int(sweeps);
            sweeps = i64::try_from(new.as_integer().expect("an integer")).expect("a small one");
            let applied = Applied { point, old, new, time_s: now_s, hit: 1, is_own: true };
            tunlet.hear(&News::Applied(applied), &mut Vec::new());
        }
        assert!(since.elapsed() < DEADLINE, "it is at {sweeps}");
        std::thread::yield_now();
    }
}

#[track_caller]
fn check(library: &Path) {
    tune(&mut LoadedTunlet::open(library).expect("a tunlet"), 7);
    tune(&mut ForeignTunlet::open(library, &host_program()).expect("a tunlet"), 2);
}

#[test]
fn the_example_in_c_finds_the_fastest_value() {
    check(&Library::compile("examples/tunlets/damping-c/damping.c", &[]).path());
}

#[test]
fn the_example_in_rust_finds_the_fastest_value() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--offline", "--target-dir"]).arg(dir.path());
    cargo.arg("--manifest-path");
    // Building writes a lock file beside the manifest, so a copy is built.
    let copy = dir.path().join("copy");
    let source = repository("examples/tunlets/damping-rust");
    run(Command::new("cp").arg("-rL").arg(source).arg(&copy));
    run(cargo.arg(copy.join("Cargo.toml")));
    check(&dir.path().join("debug/libdamping.so"));
}
