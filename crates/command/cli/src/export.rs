//! `sintonia export`: writes a traced run in the formats of other tools.

use crate::arguments::{ExportOptions, Format};
use crate::exit::NotWritten;
use crate::result_file;
use anyhow::Context;
use export::SimgridOptions;
use run_record::RunRecord;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

/// Writes the record in another tool's format.
pub(crate) fn export(options: &ExportOptions) -> anyhow::Result<ExitCode> {
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
