//! Makes the record of a run in the folder asked for, or in one nearby.

use anyhow::Context;
use run_record::measured::RunFacts;
use run_record::{FileError, RecordError, RunRecord, RunStart};
use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use user_io::print::warn;

/// Folder of records for which no other one is asked for.
pub(crate) const FOLDER: &str = "sintonia-runs";

/// Most tries for a name that is free.
const N_TRIES: u32 = 100;

/// Makes the record in `out`, else beside it, else in the folder of temporary files, with a sentence about it.
pub(crate) fn create(
    out: Option<&Path>,
    name: &str,
    facts: &RunFacts,
) -> anyhow::Result<RunRecord> {
    let name = format!("{name}-{}", chrono::Local::now().format("%Y%m%d-%H%M%S"));
    let wanted = out.map_or_else(|| Path::new(FOLDER).join(&name), PathBuf::from);
    match create_free(&wanted, facts, RunRecord::create) {
        Ok(record) => {
            if out.is_some() && record.dir() != std::path::absolute(&wanted)? {
                let (wanted, dir) = (wanted.display(), record.dir().display());
                warn(&format!("`{wanted}` holds something already; the record goes to `{dir}`"));
            }
            Ok(record)
        }
        Err(error) => {
            let elsewhere = std::env::temp_dir().join(format!("sintonia-{name}"));
            let record = create_free(&elsewhere, facts, create_private)
                .context("no folder takes the run record")?;
            warn(&format!("{error}; the record goes to `{}`", record.dir().display()));
            Ok(record)
        }
    }
}

/// Makes a record in a folder that all users can write; an existing folder belongs to another user, empty or not.
fn create_private(dir: &Path, start: RunStart) -> Result<RunRecord, RecordError> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => RunRecord::create(dir, start),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            Err(RecordError::NotEmpty(dir.to_owned()))
        }
        Err(error) => Err(FileError::new(dir, error).into()),
    }
}

fn create_free(
    wanted: &Path,
    facts: &RunFacts,
    create: impl Fn(&Path, RunStart) -> Result<RunRecord, RecordError>,
) -> Result<RunRecord, RecordError> {
    let dir = std::path::absolute(wanted).unwrap_or_else(|_| wanted.to_owned());
    let mut created = create(&dir, start(facts));
    for number in 2..=N_TRIES {
        if !matches!(created, Err(RecordError::NotEmpty { .. })) {
            break;
        }
        let mut name = dir.clone().into_os_string();
        name.push(format!("-{number}"));
        created = create(name.as_ref(), start(facts));
    }
    created
}

fn start(facts: &RunFacts) -> RunStart {
    RunStart {
        command: facts.command.clone(),
        started_s: facts.started_s,
        host: files::host_name(),
        pid: std::process::id(),
        run_id: facts.run.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty folder that another user had made in `/tmp` was taken over: links that its owner put there afterwards
    /// redirected writes to files of this user.
    #[test]
    fn a_folder_that_is_there_is_not_taken_where_everybody_makes_some() {
        let dir = tempfile::tempdir().unwrap();
        let wanted = dir.path().join("record");
        std::fs::create_dir(&wanted).unwrap();
        let record = create_free(&wanted, &RunFacts::default(), create_private).unwrap();
        assert_eq!(record.dir(), dir.path().join("record-2"));
        assert_eq!(std::fs::read_dir(&wanted).unwrap().count(), 0);
    }
}
