//! Where the record of a run goes: where it was asked for, or as near as possible.

use super::warn;
use analyzer::RunFacts;
use anyhow::Context;
use run_record::{RecordError, RunRecord, RunStart};
use std::path::{Path, PathBuf};

/// Tries for a name that is free.
const N_TRIES: u32 = 100;

/// Makes the record in `out`, else beside it, else where temporary files go, with a sentence about it.
pub(crate) fn create(
    out: Option<&Path>,
    name: &str,
    facts: &RunFacts,
) -> anyhow::Result<RunRecord> {
    let name = default_name(name);
    let wanted = out.map_or_else(|| Path::new("sintonia-runs").join(&name), PathBuf::from);
    match create_free(&wanted, facts) {
        Ok(record) => {
            if out.is_some() && record.dir() != std::path::absolute(&wanted)? {
                let (wanted, dir) = (wanted.display(), record.dir().display());
                warn(&format!("`{wanted}` holds something already; the record goes to `{dir}`"));
            }
            Ok(record)
        }
        Err(error) => {
            let elsewhere = std::env::temp_dir().join(format!("sintonia-{name}"));
            let record =
                create_free(&elsewhere, facts).context("no folder takes the run record")?;
            warn(&format!("{error}; the record goes to `{}`", record.dir().display()));
            Ok(record)
        }
    }
}

fn create_free(wanted: &Path, facts: &RunFacts) -> Result<RunRecord, RecordError> {
    let dir = std::path::absolute(wanted).unwrap_or_else(|_| wanted.to_owned());
    let mut tried = dir.clone();
    let mut n_tries = 1;
    loop {
        match RunRecord::create(&tried, start(facts)) {
            Err(RecordError::NotEmpty { .. }) if n_tries < N_TRIES => {
                n_tries += 1;
                let mut name = dir.clone().into_os_string();
                name.push(format!("-{n_tries}"));
                tried = name.into();
            }
            created => return created,
        }
    }
}

fn start(facts: &RunFacts) -> RunStart {
    RunStart {
        command: facts.command.clone(),
        started_s: facts.started_s,
        host: analyzer::place::host_name(),
        pid: std::process::id(),
        run_id: facts.run.clone(),
    }
}

fn default_name(name: &str) -> String {
    let now = chrono::Local::now().format("%Y%m%d-%H%M%S");
    format!("{name}-{now}")
}
