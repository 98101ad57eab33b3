//! Tests of `sintonia report` on records made by `sintonia run`.
#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking")]

use crate::sintonia::{Sandbox, wait_until};
use run_record::{RunRecord, RunState, Summary};
use std::path::Path;
use std::process::Command;

fn sandbox_with_record() -> Sandbox {
    let sandbox = Sandbox::new();
    let words = ["run", "--out", "record", "--quiet", "--no-html", "--", "sh", "-c", "exit 3"];
    assert_eq!(sandbox.sintonia(&words).code, Some(3));
    sandbox
}

#[test]
fn a_record_is_shown_again() {
    let said = sandbox_with_record().said("report record").silent();
    assert!(said.contains("finished with exit code 3"), "{said}");
}

#[test]
fn a_record_is_shown_as_json_and_as_a_page() {
    let sandbox = sandbox_with_record();
    let summary = sandbox.said("report record --json --html page.html").json();
    assert_eq!(summary["outcome"]["exit_code"], 3);
    assert!(sandbox.read("page.html").contains("<html"));
}

#[track_caller]
fn check_fails(words: &str, expected_code: i32, expected: &str) {
    let said = sandbox_with_record().said(words);
    said.check_errors(expected_code, expected);
    assert!(said.errors.starts_with("sintonia: "), "{}", said.errors);
}

#[test]
fn what_is_no_record_is_named() {
    check_fails("report nowhere", 101, "`nowhere`");
    check_fails("report /proc", 101, "`/proc`");
    check_fails("report record --html /proc/page.html", 102, "`/proc/page.html`");
}

#[test]
fn the_record_of_a_run_that_is_cut_off_is_finished() {
    let sandbox = Sandbox::new();
    let mut child =
        sandbox.start(&["run", "--out", "record", "--", "sh", "-c", "touch ready; cat"]);
    assert!(wait_until(|| sandbox.path("ready").exists()));
    child.kill().unwrap();
    child.wait().unwrap();
    let said = sandbox.said("report record");
    assert_eq!(said.code, Some(0), "{}", said.errors);
    assert!(said.output.contains("touch ready; cat"), "{}", said.output);
    let is_there = |name: &str| sandbox.path("record").join(name).exists();
    assert!(is_there("summary.json") && !is_there("spool"));
}

/// Traced run of two ranks whose launcher was killed, as the first version left it.
const CUT: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../observe/run-record/tests/samples/run-v1/cut");
/// Number of MPI calls in it, and of records of them.
const N_CALLS: u64 = 84;

/// Sandbox with a copy of it.
fn sandbox_with_cut_run() -> Sandbox {
    let sandbox = Sandbox::new();
    copy(Path::new(CUT), &sandbox.path("record"));
    sandbox
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn summary_in(record: &Path) -> Summary {
    serde_json::from_slice(&std::fs::read(record.join("summary.json")).unwrap()).unwrap()
}

#[track_caller]
fn check_whole(record: &Path) {
    let summary = summary_in(record);
    assert_eq!((summary.n_ranks, summary.tool.calls), (2, N_CALLS), "{:?}", summary.tool.warnings);
    let record = RunRecord::open(record).unwrap();
    let n_events = record.events().unwrap().unwrap().n_rows();
    assert_eq!((n_events, summary.tool.records), (summary.tool.records, n_events));
    assert!(N_CALLS <= n_events && !record.read_regions().unwrap().is_empty());
    assert!(record.state() == RunState::Finished && record.spool_files().unwrap().is_empty());
}

#[test]
fn what_the_first_version_left_of_a_killed_run_is_finished() {
    let sandbox = sandbox_with_cut_run();
    sandbox.said("report record").silent();
    check_whole(&sandbox.path("record"));
}

/// A full disk had kept the last reports of the processes out of the spool: what was left contained no rank, but its
/// summary replaced the one of two ranks, and the spool was deleted.
#[test]
fn a_report_does_not_replace_a_summary_that_knows_more() {
    let sandbox = sandbox_with_cut_run();
    let record = sandbox.path("record");
    assert_eq!(sandbox.said("report record").code, Some(0));
    let (kept, regions) = (summary_in(&record), std::fs::read(record.join("regions.parquet")));
    std::fs::remove_file(record.join("run.json")).unwrap();
    std::fs::remove_file(record.join("events.parquet")).unwrap();
    copy(&Path::new(CUT).join("spool"), &record.join("spool"));
    std::fs::copy(Path::new(CUT).join("run.json"), record.join("run.json")).unwrap();
    for file in std::fs::read_dir(record.join("spool")).unwrap().flatten() {
        if file.path().extension().is_some_and(|ending| ending == "reports") {
            std::fs::remove_file(file.path()).unwrap();
        }
    }
    let said = sandbox.said("report record --json");
    said.check_errors(0, "the existing summary is kept");
    let shown: Summary = said.parsed();
    assert_eq!((&shown, &summary_in(&record)), (&kept, &kept));
    assert_eq!(std::fs::read(record.join("regions.parquet")).unwrap(), regions.unwrap());
    assert_ne!(std::fs::read_dir(record.join("spool")).unwrap().count(), 0);
}

/// Tries disks with more and more free pages: whatever cannot be written, nothing is lost, and with room the record is
/// completed.
#[test]
fn a_disk_that_is_full_at_any_step_of_finishing_costs_nothing() {
    const STEPS: &str = r#"
set -e
mount -t tmpfs -o size=2m none "$1"
for free in 0 1 2 3 4 5 6 8 10 14 20 30; do
    cp -r "$2" "$1/record"
    dd if=/dev/zero of="$1/filler" bs=4k 2>/dev/null || true
    truncate -s "$(($(stat -c %s "$1/filler") - free * 4096))" "$1/filler"
    "$0" report "$1/record" --json > "$3/$free.json" 2> "$3/$free.errors"
    rm "$1/filler"
    [ ! -d "$1/record/spool" ] || echo "unfinished" >> "$3/$free.errors"
    "$0" report "$1/record" > /dev/null 2> "$3/$free.again"
    cp -r "$1/record" "$3/$free"
    rm -r "$1/record"
done"#;
    let sandbox = Sandbox::new();
    for name in ["disk", "out"] {
        std::fs::create_dir(sandbox.path(name)).unwrap();
    }
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", STEPS]);
    command.arg(env!("CARGO_BIN_EXE_sintonia")).arg(sandbox.path("disk")).arg(CUT);
    command.arg(sandbox.path("out")).env("SINTONIA_SHM_DIR", sandbox.path("shm"));
    let ended = command.env("TMPDIR", sandbox.path("tmp")).output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let text = |name: String| std::fs::read_to_string(sandbox.path("out").join(name)).unwrap();
    let mut n_full = 0;
    for free in [0, 1, 2, 3, 4, 5, 6, 8, 10, 14, 20, 30] {
        let shown: Summary = serde_json::from_str(&text(format!("{free}.json"))).unwrap();
        assert_eq!((shown.n_ranks, shown.tool.calls), (2, N_CALLS), "{free} pages");
        let errors = text(format!("{free}.errors"));
        let is_unfinished = errors.contains("unfinished");
        n_full += u32::from(is_unfinished);
        assert!(!is_unfinished || errors.contains("sintonia: "), "{free} pages: it says so");
        assert_eq!(text(format!("{free}.again")), "", "{free} pages");
        check_whole(&sandbox.path("out").join(free.to_string()));
    }
    assert!((2..12).contains(&n_full), "{n_full} of 12 disks were full");
}

/// 9 of 36 damaged event files were exported without a message.
#[test]
fn a_damaged_event_file_is_not_exported() {
    let sandbox = sandbox_with_cut_run();
    assert_eq!(sandbox.said("report record").code, Some(0));
    let export = || sandbox.said("export record --format chrome --output trace.json");
    assert_eq!(export().code, Some(0));
    let path = sandbox.path("record/events.parquet");
    let good = std::fs::read(&path).unwrap();
    for at in [10, good.len() / 3, good.len() / 2] {
        let mut bytes = good.clone();
        bytes[at] ^= 4;
        std::fs::write(&path, bytes).unwrap();
        export().check_errors(101, "is damaged");
    }
}
