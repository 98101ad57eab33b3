//! `sintonia export`: writes a traced run in the formats of other tools.

use anyhow::Context;
use clap::{Args, ValueEnum};
use export::SimgridOptions;
use run_record::RunRecord;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use user_io::exit::NotWritten;
use user_io::result_file;
use user_io::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  sintonia export RUN --format chrome -o run.json      open it in ui.perfetto.dev
  sintonia export RUN --format paraver -o run.prv
  sintonia export RUN --format simgrid -o replay/      a folder, for smpirun -replay";

/// Write a traced run in the format of another tool
///
/// The run has to be recorded with `sintonia run --trace`. Messages name what the format cannot hold.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Folder of the record
    run: PathBuf,
    /// Format of the output
    #[arg(long, value_enum)]
    format: Format,
    /// File to write (`chrome`, `-` for standard output; `paraver`), or folder (`simgrid`)
    #[arg(long, short, value_name = "PATH")]
    output: PathBuf,
    /// Number of the `MPI_COMM_WORLD` to export with `simgrid`, which holds only one; 0 is the first
    #[arg(long, value_name = "N", default_value_t = 0)]
    world: u32,
}

/// Formats of other tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Trace events as JSON: Perfetto, chrome://tracing, Speedscope.
    Chrome,
    /// Paraver: `.prv`, `.pcf` and `.row`.
    Paraver,
    /// SimGrid's time-independent trace.
    Simgrid,
}

/// Writes the record in another tool's format.
pub(crate) fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    let record = RunRecord::open(&options.run)?;
    let sentences = match options.format {
        Format::Chrome => chrome(&record, &options.output)?,
        Format::Paraver => paraver(&record, &options.output)?,
        Format::Simgrid => {
            make_folder(&options.output)?;
            let choice = SimgridOptions { world: options.world, ..SimgridOptions::default() };
            export::simgrid(&record, &options.output, &choice)?
        }
    };
    sentences.iter().for_each(|sentence| eprintln!("sintonia: {sentence}"));
    Ok(ExitCode::SUCCESS)
}

/// Writes a file that appears only when it is complete; `-` is standard output.
fn chrome(record: &RunRecord, path: &Path) -> anyhow::Result<Vec<String>> {
    let place = if path == Path::new("-") { Path::new("/dev/stdout") } else { path };
    result_file::write_with(place, |file| write_chrome(record, file))
        .with_context(|| format!("`{}`", path.display()))
}

fn write_chrome(record: &RunRecord, file: File) -> anyhow::Result<Vec<String>> {
    let mut file = BufWriter::new(file);
    let sentences = export::chrome(record, &mut file)?;
    file.flush().context(NotWritten)?;
    Ok(sentences)
}

/// Writes `DIR/NAME.prv`, with the other two files beside it.
fn paraver(record: &RunRecord, path: &Path) -> anyhow::Result<Vec<String>> {
    let name = path.file_stem().and_then(|name| name.to_str());
    let name = name.context("the name of the `.prv` file has to be text")?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    make_folder(folder)?;
    Ok(export::paraver(record, folder, name)?)
}

fn make_folder(path: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(path).context(NotWritten).with_context(|| format!("`{}`", path.display()))
}
