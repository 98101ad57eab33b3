//! Reads the output of `sintonia netbench --json` as a first estimate of the network.

use super::{Network, NetworkSource};
use serde::Deserialize;
use statistics::median;
use std::fs;
use std::path::{Path, PathBuf};

/// Error from reading a network file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkFileError {
    /// The file cannot be read.
    #[error("`{}` cannot be read; write it with `sintonia netbench --json`", .path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The file is not a result of `sintonia netbench --json`.
    #[error("`{}` is not a result of `sintonia netbench --json`", .path.display())]
    Form {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: serde_json::Error,
    },
    /// The file has no pair of ranks with a fitted line.
    #[error("`{}` names no pair of ranks; measure again with `sintonia netbench --json`", .path.display())]
    Empty {
        /// Path of the file.
        path: PathBuf,
    },
}

/// Model of the time of messages between two ranks, as far as it is needed here.
#[derive(Debug, Deserialize)]
struct Pair {
    from: u32,
    model: Model,
}

#[derive(Debug, Deserialize)]
struct Model {
    pieces: Vec<Piece>,
}

#[derive(Debug, Deserialize)]
struct Piece {
    latency_s: f64,
    s_per_byte: f64,
}

/// Returns the latency of short messages and the cost per byte of long ones: medians over all pairs with the
/// master.
pub(crate) fn read(path: &Path) -> Result<Network, NetworkFileError> {
    let name = || path.to_owned();
    let text = fs::read_to_string(path)
        .map_err(|source| NetworkFileError::Read { path: name(), source })?;
    let mut pairs: Vec<Pair> = serde_json::from_str(&text)
        .map_err(|source| NetworkFileError::Form { path: name(), source })?;
    // Other pairs may be within a node, where the master may not be.
    pairs.retain(|pair| pair.from == 0);
    let mut first = pairs.iter().filter_map(|pair| Some(pair.model.pieces.first()?.latency_s));
    let mut last = pairs.iter().filter_map(|pair| Some(pair.model.pieces.last()?.s_per_byte));
    let middle =
        |values: &mut dyn Iterator<Item = f64>| median(values.filter(|value| 0.0 <= *value));
    let network = middle(&mut first).zip(middle(&mut last));
    let (latency_s, s_per_byte) =
        network.ok_or_else(|| NetworkFileError::Empty { path: name() })?;
    Ok(Network { latency_s, s_per_byte, confidence: 0.0, source: NetworkSource::File })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Network, NetworkFileError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("network.json");
        fs::write(&path, text).unwrap();
        read(&path)
    }

    fn pair(latency_s: f64) -> String {
        pair_from(0, latency_s)
    }

    fn pair_from(from: u32, latency_s: f64) -> String {
        format!(
            r#"{{"from":{from},"to":1,"model":{{"samples":[],"pieces":[
            {{"from_bytes":0,"latency_s":{latency_s},"latency_margin_s":0,"s_per_byte":1e-9,"s_per_byte_margin":0}},
            {{"from_bytes":4097,"latency_s":9e-6,"latency_margin_s":0,"s_per_byte":2e-10,"s_per_byte_margin":0}}]}}}}"#
        )
    }

    #[test]
    fn the_middle_pair_is_the_first_guess() {
        let inside = [pair_from(3, 1e-9), pair_from(5, 1e-9)].join(",");
        let text = format!("[{},{},{},{inside}]", pair(3e-6), pair(1e-6), pair(2e-6));
        let source = NetworkSource::File;
        let expected = Network { latency_s: 2e-6, s_per_byte: 2e-10, confidence: 0.0, source };
        assert_eq!(read_text(&text).unwrap(), expected);
    }

    #[track_caller]
    fn check_refused(text: &str, expected: &str) {
        let said = read_text(text).unwrap_err().to_string();
        assert!(said.ends_with(expected), "{said}");
    }

    #[test]
    fn other_files_are_refused() {
        check_refused("", "is not a result of `sintonia netbench --json`");
        check_refused("{}", "is not a result of `sintonia netbench --json`");
        check_refused(
            "[]",
            "names no pair of ranks; measure again with `sintonia netbench --json`",
        );
        let missing = read(Path::new("none.json")).unwrap_err().to_string();
        assert!(missing.starts_with("`none.json` cannot be read"), "{missing}");
    }
}
