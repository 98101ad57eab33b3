//! `sintonia export`: writes a traced run in the formats of other tools.

use anyhow::Context;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use export::{ExportError, ExportFormat, ExportWriter, FORMATS};
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
  sintonia export RUN --format simgrid -o replay/      a folder, for smpirun -replay
  sintonia export RUN --format speedscope -o run.json  open it in speedscope.app";

/// Write a run in the format of another tool
///
/// The run has to be recorded with `sintonia run --trace`; `speedscope` takes its samples instead. Messages name what the format cannot hold.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Folder of the record
    run: PathBuf,
    /// Format of the output
    #[arg(long, value_parser = export_format())]
    format: ExportFormat,
    /// File to write (`chrome`, `speedscope`; `-` for standard output, `paraver`), or folder (`simgrid`)
    #[arg(long, short, value_name = "PATH")]
    output: PathBuf,
    /// Number of the `MPI_COMM_WORLD` to export with `simgrid`, which holds only one; 0 is the first
    #[arg(long, value_name = "N", default_value_t = 0)]
    world: u32,
}

/// Parser of the name of a format.
fn export_format() -> impl TypedValueParser<Value = ExportFormat> {
    let value = |format: &ExportFormat| PossibleValue::new(format.name).help(format.sentence);
    let known = |name: String| FORMATS.iter().copied().find(|format| format.name == name);
    PossibleValuesParser::new(FORMATS.iter().map(value))
        .map(move |name| known(name).expect("the parser accepts their names only"))
}

/// Writes the record in another tool's format.
pub(crate) fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    let record = RunRecord::open(&options.run)?;
    let output = &*options.output;
    let sentences = match options.format.writer {
        ExportWriter::File(write) => to_file(output, |file| write(&record, file))?,
        ExportWriter::Files(write) => {
            let (folder, name) = folder_and_name(output)?;
            make_folder(folder)?;
            write(&record, folder, name)?
        }
        ExportWriter::Folder(write) => {
            make_folder(output)?;
            write(&record, output, options.world)?
        }
    };
    sentences.iter().for_each(|sentence| eprintln!("sintonia: {sentence}"));
    Ok(ExitCode::SUCCESS)
}

/// Writes a file that appears only when it is complete; `-` is standard output.
fn to_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<Vec<String>, ExportError>,
) -> anyhow::Result<Vec<String>> {
    let place = if path == Path::new("-") { Path::new("/dev/stdout") } else { path };
    let written = result_file::write_with(place, |file: File| {
        let mut file = BufWriter::new(file);
        let sentences = write(&mut file)?;
        file.flush().context(NotWritten)?;
        Ok(sentences)
    });
    written.with_context(|| format!("`{}`", path.display()))
}

/// Divides `DIR/NAME.prv`.
fn folder_and_name(path: &Path) -> anyhow::Result<(&Path, &str)> {
    let name = path.file_stem().and_then(|name| name.to_str());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let name = name.with_context(|| format!("the name of `{}` has to be text", path.display()))?;
    Ok((folder.unwrap_or(Path::new(".")), name))
}

fn make_folder(path: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(path).context(NotWritten).with_context(|| format!("`{}`", path.display()))
}
