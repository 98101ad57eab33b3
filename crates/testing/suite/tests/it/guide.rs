//! Tests of the commands in the guide, as a reader types them: those of a section one after the other, in one shell.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;
use suite::{Job, tool};

/// Section whose commands compile.
const OWN_PROGRAM: &str = "Write a program that tunes itself";
/// Long enough for the first command of a kind, which compiles the library as well.
const DEADLINE: Duration = Duration::from_secs(300);

/// Root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../..")
        .canonicalize()
        .expect("this crate lies in it")
}

/// Title and commands of each section: those of all its blocks marked `sh`.
fn sections() -> Vec<(String, Vec<String>)> {
    let guide = std::fs::read_to_string(root().join("docs/guide.md")).expect("the guide is there");
    let sections = guide.split("\n## ").skip(1).map(|section| {
        let title = section.lines().next().unwrap_or_default().to_owned();
        let blocks = section.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
        let lines = blocks.flat_map(str::lines).filter(|line| !line.trim().is_empty());
        (title, lines.map(str::to_owned).collect())
    });
    sections.filter(|(_, commands): &(String, Vec<String>)| !commands.is_empty()).collect()
}

/// What projects below a folder are built with: the library without optimization, since they compute little here; another
/// test builds such a project for release.
const CARGO_CONFIG: &str = "[profile.dev.package.\"*\"]\nopt-level = 0\n";

/// Folder like the root of the repository, with the commands that the guide names.
fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("there is a folder for temporary files");
    let bin = place.path().join("bin");
    std::fs::create_dir(&bin).expect("a new folder takes a folder");
    let cargo = place.path().join(".cargo");
    std::fs::create_dir(&cargo).expect("a new folder takes a folder");
    std::fs::write(cargo.join("config.toml"), CARGO_CONFIG).expect("a new folder takes a file");
    let xfire = root().join("target/xfire-openmpi/xfire");
    assert!(xfire.exists(), "there is no `{}`; run `make test`", xfire.display());
    let links = [
        (tool::sintonia(), bin.join("sintonia")),
        (xfire, bin.join("xfire")),
        (launch::place::built("nbody"), bin.join("nbody")),
        (launch::place::built("cg"), bin.join("cg")),
        (root().join("target/matmul-openmpi/matmul2"), bin.join("matmul2")),
        (root().join("apps"), place.path().join("apps")),
        (root().join("crates"), place.path().join("crates")),
        (root().join("python"), place.path().join("python")),
        (root().join("examples"), place.path().join("examples")),
        (launch::place::target(), place.path().join("target")),
    ];
    for (to, link) in links {
        symlink(to, link).expect("a new folder takes links");
    }
    place
}

/// Runs the commands of the selected sections; returns the number of sections.
#[track_caller]
fn check(place: &Path, is_wanted: impl Fn(&str) -> bool) -> usize {
    let wanted: Vec<_> =
        sections().into_iter().filter(|(title, _)| is_wanted(title.as_str())).collect();
    for (title, commands) in &wanted {
        let ended = session(place, commands).run();
        assert_eq!(ended.code, 0, "\"{title}\" failed:\n{}{}", ended.stdout, ended.stderr);
    }
    wanted.len()
}

/// Shell that prints what it runs and ends at the first command that fails. A project is built where the library was
/// built for the tests, so that little is compiled again.
fn session(place: &Path, commands: &[String]) -> Job {
    let built = launch::place::target();
    let enter =
        r#"cd() { builtin cd "$@"; [ ! -e Cargo.toml ] || ln -sfn "$CARGO_TARGET_DIR" target; }"#;
    let script = format!("set -eo pipefail\n{enter}\nset -x\n{}\n", commands.join("\n"));
    let path = std::env::var("PATH").unwrap_or_default();
    Job::new("bash")
        .args(["-c", &script])
        .folder(place)
        .within(DEADLINE)
        .variable("PATH", format!("{}/bin:{path}", place.display()))
        .variable("CARGO_TARGET_DIR", built)
        .variable("CARGO_NET_OFFLINE", "true")
        .variable("XDG_STATE_HOME", place.join("state").display().to_string())
        .variable("XDG_CONFIG_HOME", place.join("config").display().to_string())
        .variable("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .variable("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .variable("OMPI_MCA_rmaps_base_oversubscribe", "1")
        .variable("OMPI_MCA_mpi_yield_when_idle", "1")
}

#[test]
fn commands_for_programs_as_they_are_work() {
    let place = place();
    let n_sections = check(place.path(), |title| !title.starts_with(OWN_PROGRAM));
    assert!(6 <= n_sections, "the guide has its commands: {n_sections}");
    for file in [
        "runs/first/summary.json",
        "first.html",
        "first.json",
        "traced.json",
        "traced.prv",
        "traced-ti",
    ] {
        assert!(place.path().join(file).exists(), "`{file}` is not there");
    }
}

#[test]
fn commands_for_a_program_of_ones_own_work() {
    let place = place();
    assert_eq!(check(place.path(), |title| title.starts_with(OWN_PROGRAM)), 1);
}
