//! What became of the work, as a file: for those who asked for it with `--report`, and for `sintonia run`.

use dealt::Dealt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The folder of the record where `sintonia run` watches; on its own node, or where all nodes see it.
const RECORD: &str = "SINTONIA_OUT";
const FILE: &str = "dealt.json";

/// The report could not be written.
#[derive(Debug, thiserror::Error)]
#[error("the report `{path}` cannot be written; choose another place with `--report FILE`")]
pub struct ReportFileError {
    /// The file.
    path: PathBuf,
    /// Why not.
    source: io::Error,
}

/// Writes it where it was asked for, and into the record of a run that is watched.
pub(crate) fn write(dealt: &Dealt, asked_for: Option<&Path>) -> Result<(), ReportFileError> {
    let record = std::env::var_os(RECORD).map(PathBuf::from).filter(|folder| folder.is_dir());
    if let Some(folder) = record {
        // Whoever watches sees the rest without it.
        let _written = replace(dealt, &folder.join(FILE));
    }
    let Some(path) = asked_for else { return Ok(()) };
    replace(dealt, path).map_err(|source| ReportFileError { path: path.to_owned(), source })
}

/// Writes a whole file or none.
fn replace(dealt: &Dealt, path: &Path) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let mut file = std::fs::File::create(&beside)?;
    file.write_all(serde_json::to_string(dealt)?.as_bytes())?;
    drop(file);
    std::fs::rename(beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        for policy in ["gss", "best"] {
            write(&Dealt::new(policy), Some(&path)).unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            assert_eq!(serde_json::from_str::<Dealt>(&text).unwrap().policy, policy);
        }
        assert_eq!(folder.path().read_dir().unwrap().count(), 1);
    }

    #[test]
    fn a_folder_that_is_not_there_is_told() {
        let error = write(&Dealt::new("best"), Some("/nowhere/at.json".as_ref())).unwrap_err();
        assert!(error.to_string().contains("`/nowhere/at.json`"));
    }
}
