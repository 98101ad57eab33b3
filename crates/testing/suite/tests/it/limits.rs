//! Tests of limits (`ulimit`) under which a command runs: the command gets them unchanged, and behaves in the same way
//! with and without `sintonia run`, watched or not.

use suite::library::Library;
use suite::tool::{WatchFolders, sintonia};
use suite::{EndedJob, Job, TestProgram, watch_with};

/// Command that prints its soft and hard limits and the signals it ignores and blocks, and ends with a code of its own.
const COMMAND: &str =
    "ulimit -Sa; ulimit -Ha; grep -E 'Sig(Ign|Blk)' /proc/self/status; echo RAN; exit 3";

/// Options of the shell's `ulimit`, with a value of each kind: no program starts, none is watched, one is watched with
/// little room, or with plenty. Limits in the same entry do not affect each other.
const LIMITS: [(&str, &[&str]); 9] = [
    ("-f", &["0", "64", "2048"]),
    ("-n", &["4", "10", "64"]),
    ("-u", &["0", "1000"]),
    ("-v", &["10000", "400000", "8000000"]),
    ("-s", &["0", "200", "20000"]),
    ("-l", &["0"]),
    ("-t", &["10", "1000"]),
    ("-d", &["1000", "400000", "2000000"]),
    ("-c 0; ulimit -i 0; ulimit -q 0; ulimit -x", &["0"]),
];

/// Job of a shell that sets the limit and becomes the command; a signal that ends the command becomes a code.
fn limited(limit: &str, before: &[String], command: &str) -> Job {
    let script = format!("({limit}; exec \"$@\"); exit $?");
    let words = before.iter().map(String::as_str).chain(["bash", "-c", command]);
    Job::new("bash").args(["-c", &script, "bash"]).args(words)
}

fn watching(folders: &WatchFolders) -> Vec<String> {
    let record = folders.record().display().to_string();
    let program = sintonia().display().to_string();
    [program.as_str(), "run", "--quiet", "--out", &record, "--"].map(str::to_owned).to_vec()
}

/// Returns whether the system and the dynamic linker can load `sintonia` under a limit; if not, the failure is theirs.
/// No code of the program itself runs.
fn is_loaded(limit: &str) -> bool {
    let program = sintonia().display().to_string();
    let script = format!("({limit}; LD_TRACE_LOADED_OBJECTS=1 exec \"$0\"); exit $?");
    Job::new("bash").args(["-c", &script, &program]).run().code == 0
}

#[track_caller]
fn check(limit: &str) {
    let folders = WatchFolders::new();
    let alone = limited(limit, &[], COMMAND).run();
    let watched = limited(limit, &watching(&folders), COMMAND).run();
    let outcome = |ended: &EndedJob| (ended.code, ended.stdout.clone());
    if outcome(&watched) != outcome(&alone) {
        // A shell may be small enough for a limit under which `sintonia` is not.
        assert!(!is_loaded(limit), "`{limit}`: {watched:?}, alone {alone:?}");
    }
    assert!(!folders.has_shared_memory(), "`{limit}`");
}

/// A limit on the size of files ended `sintonia` by SIGXFSZ before the command was started; under other limits, it
/// panicked where a thread could not be started or a message was written to a full file.
#[test]
fn a_command_has_its_limits_and_its_outcome() {
    for (option, values) in LIMITS {
        values.iter().for_each(|value| check(&format!("ulimit {option} {value}")));
    }
    // Cases in which only the soft limit is low.
    for limit in ["-f 64", "-n 64", "-v 400000", "-s 200", "-t 10", "-d 2000000"] {
        check(&format!("ulimit -S {limit}"));
    }
}

/// A limit that ends a command does not end `sintonia`.
#[test]
fn a_command_ends_at_its_limit_as_alone() {
    let writes = "head -c 4000000 /dev/zero > big; echo $?; ls -l big | cut -d' ' -f5; exit 4";
    let computes = "while :; do :; done";
    for (limit, command) in [
        ("ulimit -f 64", writes),
        ("ulimit -f 2048", writes),
        ("trap '' XFSZ; ulimit -f 64", writes),
        ("trap '' HUP INT; ulimit -c 0", "kill -HUP $$; kill -INT $$; echo alive"),
        ("ulimit -t 1", computes),
    ] {
        let (folders, folder) = (WatchFolders::new(), tempfile::tempdir().expect("a folder"));
        let run = |before: &[String]| {
            let ended = limited(limit, before, command).folder(folder.path()).run();
            (ended.code, ended.stdout)
        };
        assert_eq!(run(&watching(&folders)), run(&[]), "{limit}: {command}");
    }
}

/// Standard error is a file that may not grow: messages are lost, and nothing else.
#[test]
fn what_cannot_be_said_costs_nothing() {
    let program = sintonia().display().to_string();
    for output in ["2>/dev/full", "2>&-", "2>said"] {
        let folder = tempfile::tempdir().expect("a folder");
        let script =
            format!("(ulimit -f 0; exec \"$0\" run -- bash -c 'exit 3' {output}); exit $?");
        let ended = Job::new("bash").args(["-c", &script, &program]).folder(folder.path()).run();
        assert_eq!(ended.code, 3, "{output}: {}", ended.stderr);
    }
}

/// Ranks whose limits leave little room for a segment, a thread or a file print what they print alone. A limit on files
/// would raise a signal in them, were it not checked before.
#[test]
fn ranks_run_under_limits() {
    for library in Library::SYSTEM {
        let program = TestProgram::c("sums").built(library);
        for limit in ["-f 20000", "-l 0", "-n 60"] {
            let script = format!("ulimit {limit}; exec \"$0\"");
            let job = library.launch(2, "bash".as_ref()).args(["-c", &script]).arg(&program);
            let (alone, watched) = (job.run(), watch_with(&job, &["--trace"]).ended);
            assert_eq!(watched.code, alone.code, "{library:?} {limit}: {}", watched.stderr);
            assert_eq!(watched.stdout, alone.stdout, "{library:?} {limit}");
        }
    }
}
