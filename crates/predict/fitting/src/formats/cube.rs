//! Profiles of Score-P and Scalasca (`profile.cubex`), in version 4 of the CUBE format: one run in each file.
//!
//! A file is a tar archive. `anchor.xml` has the metrics, the tree of calls and the number of locations (threads);
//! `ID.index` and `ID.data` have the values of the metric `ID` for each call path and location. Each of these may be
//! compressed.
//!
//! As in Extra-P, a region is a call path, its value is the mean over all locations, and inclusive metrics become
//! exclusive ones. An inner metric of another one is left out, as is one without values.
//!
//! # Not here
//! The parameters of a run, which its path has (`named_settings`).

mod anchor;
mod archive;
mod values;

use super::run::Run;
use super::{Fault, FileProblem};
use anchor::{Anchor, Metric};
use archive::Archive;
use values::Values;

/// Member with the description of the others.
const ANCHOR: &str = "anchor.xml";
/// Bytes of a file, or a part of it, after unpacking.
const BYTES_MAX: usize = 256 << 20;

/// Reason why a part of a CUBE file could not be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CubeFault {
    /// Bytes that are no archive.
    #[error("it is not a CUBE file: give `profile.cubex` as Score-P wrote it")]
    NotAnArchive,
    /// An archive or a member of it that ends early.
    #[error("it ends early: copy the file again, or repeat the run")]
    CutOff,
    /// Damaged compressed bytes.
    #[error("it cannot be unpacked: copy the file again, or repeat the run")]
    Packed,
    /// Too many bytes.
    #[error("it has more than {} MiB, the most that is read: measure fewer call paths, with a filter of Score-P", BYTES_MAX >> 20)]
    TooLarge,
    /// No such member.
    #[error("it is missing in the archive: copy the file again, or repeat the run")]
    NoMember,
    /// XML of another shape.
    #[error("it is not as Score-P writes it ({0}): open the file with Cube and save it again")]
    Anchor(String),
    /// A member of another version, or with another compression.
    #[error(
        "it does not begin as values of CUBE 4 do, perhaps because it is compressed in an unknown way: open the file with Cube and \
         save it again"
    )]
    UnknownBeginning,
    /// An index that contradicts the call tree or itself.
    #[error(
        "it does not belong to the call tree in `anchor.xml`: copy the file again, or repeat the run"
    )]
    WrongIndex,
    /// More or fewer values than call paths and locations.
    #[error(
        "it has {n_bytes} bytes of values instead of {n_expected}: copy the file again, or repeat the run"
    )]
    WrongLength {
        /// Number of bytes found.
        n_bytes: usize,
        /// Number of bytes of a value for each call path of the index and each location.
        n_expected: usize,
    },
    /// Values that are not numbers.
    #[error("its values have the type `{0}`, which is not read: choose other metrics")]
    UnknownType(String),
}

impl CubeFault {
    fn at(self, place: &str) -> FileProblem {
        Fault::Cube(self).at(format!("`{place}`"))
    }

    fn at_archive(self) -> FileProblem {
        Fault::Cube(self).at("archive")
    }
}

/// Reads the run of a file, with these numbers about itself, and its problems.
pub(super) fn run(bytes: &[u8], settings: Vec<(String, f64)>) -> (Option<Run>, Vec<FileProblem>) {
    match read(bytes) {
        Ok((values, problems)) => {
            (Some(Run { settings, values, place: "archive".into(), ..Run::default() }), problems)
        }
        Err(problem) => (None, vec![problem]),
    }
}

/// Region, metric, and value.
type RunValue = (String, String, f64);

fn read(bytes: &[u8]) -> Result<(Vec<RunValue>, Vec<FileProblem>), FileProblem> {
    let unpacked = archive::unpacked(bytes).map_err(CubeFault::at_archive)?;
    let archive = Archive::of(&unpacked)?;
    let packed = archive.member(ANCHOR).ok_or_else(|| CubeFault::NoMember.at(ANCHOR))?;
    let anchor = archive::unpacked(packed).and_then(|text| Anchor::of(&text));
    let anchor = anchor.map_err(|fault| fault.at(ANCHOR))?;
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    for metric in &anchor.metrics {
        match means(&archive, &anchor, metric) {
            Ok(means) => found.extend(means),
            Err(problem) => problems.push(problem),
        }
    }
    Ok((found, problems))
}

/// Returns the mean of a metric in each call path; nothing, if the file has no values of it.
fn means(
    archive: &Archive<'_>,
    anchor: &Anchor,
    metric: &Metric,
) -> Result<Vec<RunValue>, FileProblem> {
    let (index_name, data_name) = (format!("{}.index", metric.id), format!("{}.data", metric.id));
    let Some(index) = archive.member(&index_name) else { return Ok(Vec::new()) };
    let data = archive.member(&data_name).ok_or_else(|| CubeFault::NoMember.at(&data_name))?;
    let index = values::Index::of(index).map_err(|fault| fault.at(&index_name))?;
    let nodes = anchor.nodes_of(metric, &index.rows).map_err(|fault| fault.at(&index_name))?;
    let values = Values::of(data, &index, metric, anchor.n_locations);
    let means = values.map_err(|fault| fault.at(&data_name))?.exclusive_means(&nodes, anchor);
    // A metric may have no value at all in a call path, such as the least of no times.
    let finite = means.into_iter().filter(|(_, mean)| mean.is_finite());
    let region = |node_idx: usize| anchor.nodes[node_idx].path.clone();
    Ok(finite.map(|(node_idx, mean)| (region(node_idx), metric.name.clone(), mean)).collect())
}

#[cfg(test)]
pub(super) mod tests;
