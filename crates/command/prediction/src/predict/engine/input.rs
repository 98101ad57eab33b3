//! Input of the engines: the trace of a run as a program, and the time that the run really took.

use crate::predict::options::EngineOptions;
use anyhow::{Context, ensure};
use export::SimgridOptions;
use program_graph::compose::{Program, TraceReader};
use run_record::RunRecord;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use user_io::bounded_read;
use user_io::exit::NotWritten;

/// File that lists the files of a time-independent trace.
const INDEX: &str = "trace.txt";

/// Run to evaluate.
pub(super) struct Input {
    pub(super) program: Program,
    /// Folder of `trace.txt`.
    pub(super) dir: PathBuf,
    /// Folder into which a platform may be written.
    pub(super) scratch: PathBuf,
    /// Rate by which the trace counts computation.
    pub(super) flops_per_s: f64,
    pub(super) n_nodes: usize,
    /// Time that the run took, where that is known.
    pub(super) measured_s: Option<f64>,
    /// Sentences about what the trace does not hold.
    pub(super) notes: Vec<String>,
    /// Folder of the trace; removed with this value.
    _temporary: Option<TempDir>,
}

impl Input {
    /// Reads a record, or a folder with a trace that was exported before.
    pub(super) fn read(run: &Path, options: &EngineOptions) -> anyhow::Result<Self> {
        let SimgridOptions { flops_per_s, .. } = SimgridOptions::default();
        let (scratch, temporary) = match &options.keep {
            Some(dir) => {
                let name = || format!("`{}`", dir.display());
                fs::create_dir_all(dir).context(NotWritten).with_context(name)?;
                (dir.clone(), None)
            }
            None => {
                let temporary = tempfile::tempdir().context(NotWritten)?;
                (temporary.path().to_owned(), Some(temporary))
            }
        };
        if run.join(INDEX).is_file() {
            return Ok(Self {
                program: program(run, flops_per_s)?,
                dir: run.to_owned(),
                scratch,
                flops_per_s,
                n_nodes: 1,
                measured_s: None,
                notes: Vec::new(),
                _temporary: temporary,
            });
        }
        let record = RunRecord::open(run)?;
        let choice = SimgridOptions { world: options.world, flops_per_s };
        let mut notes = export::simgrid(&record, &scratch, &choice)?;
        // The first note says how to replay the trace.
        notes.retain(|note| !note.starts_with("replay it"));
        let summary = record.read_summary()?;
        Ok(Self {
            program: program(&scratch, flops_per_s)?,
            dir: scratch.clone(),
            scratch,
            flops_per_s,
            n_nodes: summary.n_nodes,
            measured_s: (0.0 < summary.elapsed_s).then_some(summary.elapsed_s),
            notes,
            _temporary: temporary,
        })
    }
}

/// Reads the files that the index names.
fn program(dir: &Path, flops_per_s: f64) -> anyhow::Result<Program> {
    let read = |path: &Path| {
        bounded_read::read_text(path, bounded_read::MEASURED_BYTES_MAX)
            .with_context(|| format!("`{}` cannot be read", path.display()))
    };
    let index = read(&dir.join(INDEX))?;
    let names: Vec<&str> = index.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    ensure!(!names.is_empty(), "`{}` names no files", dir.join(INDEX).display());
    let mut reader = TraceReader::new(names.len(), flops_per_s);
    for file in names {
        reader.read(file, &read(&dir.join(file))?)?;
    }
    Ok(reader.finish())
}
