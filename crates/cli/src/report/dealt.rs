//! The report of a file that a program of the master/worker library wrote (`--report FILE`).

use crate::arguments::ReportOptions;
use crate::exit::NotWritten;
use crate::terminal::Terminal;
use anyhow::Context;
use dealt::Dealt;
use std::process::ExitCode;

/// Shows the file.
pub(super) fn report(options: &ReportOptions, terminal: Terminal) -> anyhow::Result<ExitCode> {
    let path = &options.run;
    let text = crate::files::read(path, crate::files::MEASURED_BYTES_MAX)
        .with_context(|| format!("cannot read `{}`", path.display()))?;
    let dealt: Dealt = serde_json::from_slice(&text).with_context(|| {
        let path = path.display();
        format!("`{path}` is no report of a program; give that, or the folder of a run record")
    })?;
    let text = if options.json {
        format!("{}\n", serde_json::to_string_pretty(&dealt)?)
    } else {
        dashboard::terminal::dealt(&dealt, terminal.stdout_style())
    };
    if let Some(path) = &options.html {
        let page = dashboard::html::dealt(&dealt, &options.run.display().to_string());
        std::fs::write(path, page)
            .context(NotWritten)
            .with_context(|| format!("`{}`", path.display()))?;
    }
    crate::print::result(&text)?;
    Ok(ExitCode::SUCCESS)
}
