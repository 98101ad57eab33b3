//! Shows the folder that a malleable program wrote without `sintonia run` (`--record DIR`).

use crate::options::ReportOptions;
use run_record::resize_file::{NAME, ResizeLines};
use std::path::Path;
use std::process::ExitCode;
use user_io::terminal::Terminal;

/// Folder that such a program wrote: `path` if it is no record of a run, or the folder of the file at `path`.
pub(super) fn folder(path: &Path) -> Option<&Path> {
    if path.is_file() {
        return path.parent().filter(|_| path.ends_with(NAME));
    }
    (path.join(NAME).is_file() && !path.join("run.json").exists()).then_some(path)
}

/// Shows the resizes in the folder.
pub(super) fn report(
    options: &ReportOptions,
    folder: &Path,
    terminal: Terminal,
) -> anyhow::Result<ExitCode> {
    let lines = ResizeLines::read(folder)?.unwrap_or_default();
    lines.problems().iter().for_each(|problem| eprintln!("sintonia: {problem}"));
    let text = if options.json {
        format!("{}\n", serde_json::to_string_pretty(&lines.resizes)?)
    } else if lines.resizes.is_empty() {
        "the program did not change its size\n".to_owned()
    } else {
        report::terminal::resizes(&lines.resizes, terminal.stdout_style())
    };
    if let Some(path) = &options.html {
        let page = report::html::resizes(&lines.resizes, &folder.display().to_string());
        user_io::result_file::write(path, &page)?;
    }
    user_io::print::result(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_no_record_of_a_run_is_taken() {
        let outer = tempfile::tempdir().unwrap();
        let file = outer.path().join(NAME);
        assert_eq!([folder(outer.path()), folder(&file)], [None; 2]);
        std::fs::write(&file, "").unwrap();
        assert_eq!([folder(outer.path()), folder(&file)], [Some(outer.path()); 2]);
        std::fs::write(outer.path().join("run.json"), "").unwrap();
        assert_eq!(folder(outer.path()), None);
    }
}
