//! Shows the file that a program of the master/worker library wrote (`--report FILE`).

use crate::options::ReportOptions;
use anyhow::{Context, anyhow, ensure};
use dealing_report::DealingReport;
use std::process::ExitCode;
use user_io::terminal::Terminal;

/// Shows the file.
pub(super) fn report(options: &ReportOptions, terminal: Terminal) -> anyhow::Result<ExitCode> {
    let path = &options.run;
    let text = user_io::bounded_read::read(path, user_io::bounded_read::MEASURED_BYTES_MAX)
        .with_context(|| format!("cannot read `{}`", path.display()))?;
    ensure!(
        checked_json::check(&text).is_ok(),
        "`{}` was changed after it was written; run the program again, or remove its `checksum` to read it as it is",
        path.display()
    );
    // All fields have defaults: any other JSON object would be read as an empty report.
    let is_report = |dealt: &DealingReport| !dealt.policy.is_empty();
    let dealt = serde_json::from_slice(&text).context("it is not JSON of that kind");
    let dealt = dealt.and_then(|dealt: DealingReport| {
        if is_report(&dealt) { Ok(dealt) } else { Err(anyhow!("it names no policy")) }
    });
    let dealt = dealt.with_context(|| {
        let path = path.display();
        format!("`{path}` is not the report of a program; give that, or the folder of a run record")
    })?;
    let text = if options.json {
        format!("{}\n", serde_json::to_string_pretty(&dealt)?)
    } else {
        report::terminal::dealt(&dealt, terminal.stdout_style())
    };
    if let Some(path) = &options.html {
        let page = report::html::dealt(&dealt, &options.run.display().to_string());
        user_io::result_file::write(path, &page)?;
    }
    user_io::print::result(&text)
}
