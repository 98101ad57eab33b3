//! The commands of the guide, as a reader types them.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use suite::{Job, tool};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("this crate lies in it")
}

/// The commands of all blocks marked `sh`.
fn commands(guide: &str) -> Vec<String> {
    let blocks = guide.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.flat_map(str::lines).filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
}

/// A folder like the root of the repository, with the commands that the guide names.
fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("there is a folder for temporary files");
    let bin = place.path().join("bin");
    std::fs::create_dir(&bin).expect("a new folder takes a folder");
    let xfire = root().join("target/xfire-openmpi/xfire");
    assert!(xfire.exists(), "there is no `{}`; run `make test`", xfire.display());
    let links = [
        (tool::sintonia(), bin.join("sintonia")),
        (xfire, bin.join("xfire")),
        (root().join("apps"), place.path().join("apps")),
    ];
    for (to, link) in links {
        symlink(to, link).expect("a new folder takes links");
    }
    place
}

#[test]
fn every_command_of_the_guide_works() {
    let guide = std::fs::read_to_string(root().join("docs/guide.md")).expect("the guide is there");
    let commands = commands(&guide);
    assert!(8 <= commands.len(), "the guide has its commands: {commands:?}");
    let place = place();
    let path = std::env::var("PATH").unwrap_or_default();
    for command in commands {
        let ended = Job::new("bash")
            .args(["-c", &command])
            .folder(place.path())
            .variable("PATH", format!("{}/bin:{path}", place.path().display()))
            .variable("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .variable("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .variable("OMPI_MCA_rmaps_base_oversubscribe", "1")
            .variable("OMPI_MCA_mpi_yield_when_idle", "1")
            .run();
        assert_eq!(ended.code, 0, "`{command}` failed:\n{}{}", ended.stdout, ended.stderr);
    }
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
