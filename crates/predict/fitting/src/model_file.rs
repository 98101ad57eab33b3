//! File of models, written by `sintonia fit` and read by `predict`, `validate` and a running tunlet.
//!
//! ```json
//! {"format_version": 1, "program": "matmul", "roles": {"rank 0": ["rank 0->matmul.c:40 MPI_Send"]}, "models": [...],
//!  "checksum": "8d2e24a3"}
//! ```
//!
//! # Invariants
//! - A written file is read back equal; a file of a later version, or one that was cut off or changed, is rejected.

use crate::model::{FittedModel, ModelError, TOTAL};
use serde::{Deserialize, Serialize, de::IgnoredAny};
use std::collections::{BTreeMap, HashSet};

/// Version of the file format.
pub const FORMAT_VERSION: u32 = 1;
/// Separator between the role and the place in the name of a region.
const ARROW: &str = "->";
/// Prefixes of role names.
const ROLES: [&str; 5] = ["rank ", "ranks ", "master", "workers", "worker "];

/// Models of the regions of a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelFile {
    /// Version of the file format.
    pub format_version: u32,
    /// Name of the program, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Regions of each role, where roles are known. The ranks of a role execute its regions one after another; roles
    /// run concurrently.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<String, Vec<String>>,
    /// Models, one for each region and metric.
    pub models: Vec<FittedModel>,
}

/// Reason why a file of models cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelFileError {
    /// The text ends too early.
    #[error("line {0} ends too early: the file was cut off; write it again with `sintonia fit -o`")]
    CutOff(usize),
    /// A later version wrote the file.
    #[error(
        "the models have format {0}, and {FORMAT_VERSION} is the newest known: use a later version of Sintonia"
    )]
    Unknown(u32),
    /// The contents do not match the checksum.
    #[error(
        "the models were changed after they were written: restore them from a copy, or write them again with \
         `sintonia fit -o`; where you changed them yourself, remove their `checksum`"
    )]
    Changed,
    /// The text is not a file of models.
    #[error(
        "these are not models, as line {line} shows ({reason}): write them with `sintonia fit -o`"
    )]
    Malformed {
        /// Line of the error.
        line: usize,
        /// Message of the JSON reader.
        reason: String,
    },
    /// The parts of a model are inconsistent.
    #[error(transparent)]
    Unsound(#[from] ModelError),
}

impl From<serde_json::Error> for ModelFileError {
    fn from(error: serde_json::Error) -> Self {
        let line = error.line();
        if error.is_eof() {
            Self::CutOff(line)
        } else {
            Self::Malformed { line, reason: error.to_string() }
        }
    }
}

#[derive(Deserialize)]
struct Header {
    format_version: u32,
    #[serde(rename = "models")]
    _models: IgnoredAny,
}

/// A region in the list that `sintonia fit --json` prints.
#[derive(Deserialize)]
struct Listed {
    fitted: Option<FittedModel>,
}

impl ModelFile {
    /// Creates a file of these models; roles are taken from the names of their regions.
    pub fn of(models: Vec<FittedModel>) -> Self {
        let roles = roles(&models);
        Self { format_version: FORMAT_VERSION, program: None, roles, models }
    }

    /// Returns whether a text looks like a file of models, complete or not.
    pub fn is_meant(text: &str) -> bool {
        let beginning: String =
            text.chars().filter(|letter| !letter.is_whitespace()).take(200).collect();
        beginning.starts_with("{\"format_version\"")
            || (beginning.starts_with('{') && beginning.contains("\"models\":["))
            || beginning.starts_with('[')
    }

    /// Reads a file of models, or the list that `sintonia fit --json` prints.
    ///
    /// # Errors
    /// When the text has no models, is cut off or damaged, or a later version wrote it.
    pub fn read(text: &str) -> Result<Self, ModelFileError> {
        if text.trim_start().starts_with('[') {
            let list: Vec<Listed> = serde_json::from_str(text)?;
            let models = list.into_iter().filter_map(|listed| listed.fitted).collect();
            return Self::of(models).checked();
        }
        let Header { format_version: format, .. } = serde_json::from_str(text)?;
        if FORMAT_VERSION < format {
            return Err(ModelFileError::Unknown(format));
        }
        let file = serde_json::from_str::<Self>(text)?;
        checked_json::check(text.as_bytes()).map_err(|_changed| ModelFileError::Changed)?;
        file.checked()
    }

    fn checked(self) -> Result<Self, ModelFileError> {
        self.models.iter().try_for_each(FittedModel::check)?;
        Ok(self)
    }

    /// Writes the file as text.
    ///
    /// # Errors
    /// When a number is not finite.
    pub fn write(&self) -> Result<String, ModelFileError> {
        Ok(checked_json::seal(&serde_json::to_string(self)?) + "\n")
    }

    /// Returns the distinct parameter names of all models.
    pub fn parameters(&self) -> Vec<&str> {
        distinct(self.models.iter().flat_map(|model| &model.parameters))
    }

    /// Returns the distinct metrics of all models.
    pub fn metrics(&self) -> Vec<&str> {
        distinct(self.models.iter().map(|model| &model.metric))
    }

    /// Returns the default metric: `time`, or else the first.
    pub fn usual_metric(&self) -> Option<&str> {
        let metrics = self.metrics();
        let time = metrics.iter().find(|metric| metric.eq_ignore_ascii_case("time"));
        time.or(metrics.first()).copied()
    }
}

fn distinct<'a>(names: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    let mut seen = HashSet::new();
    names.map(String::as_str).filter(|name| seen.insert(*name)).collect()
}

/// Returns the regions by role, where each region's name contains its role; `total` has none.
fn roles(models: &[FittedModel]) -> BTreeMap<String, Vec<String>> {
    let mut roles: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for model in models.iter().filter(|model| model.region != TOTAL) {
        let role = model.region.split_once(ARROW).map(|(role, _)| role);
        let Some(role) = role.filter(|role| ROLES.iter().any(|name| role.starts_with(name))) else {
            return BTreeMap::new();
        };
        let regions = roles.entry(role.to_owned()).or_default();
        if !regions.contains(&model.region) {
            regions.push(model.region.clone());
        }
    }
    roles
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{Measurements, Settings, fit};

    /// Returns the models of these measurements.
    pub(crate) fn fitted(measured: &Measurements) -> ModelFile {
        let models = fit(measured, &Settings::default());
        ModelFile::of(models.into_iter().map(Result::unwrap).collect())
    }

    fn file(regions: &[&str]) -> ModelFile {
        let mut measured = Measurements::of(vec!["n".into(), "p".into()]);
        for region in regions {
            for n in [1.0, 2.0, 3.0, 4.0, 5.0] {
                for p in [1.0, 2.0, 4.0] {
                    measured.add(region, "time", &[n, p], &[n / p + 0.1]);
                }
            }
        }
        fitted(&measured)
    }

    #[test]
    fn what_was_written_is_read_back() {
        let mut file = file(&["rank 0->a", "ranks 1-->b", "total"]);
        file.program = Some("matmul".to_owned());
        let text = file.write().unwrap();
        assert!(ModelFile::is_meant(&text));
        assert_eq!(ModelFile::read(&text).unwrap(), file);
        let listed = serde_json::json!([{"region": "a", "fitted": file.models[0]}, {"region": "b", "fitted": null}]);
        assert_eq!(ModelFile::read(&listed.to_string()).unwrap().models, file.models[..1]);
        assert_eq!((file.parameters(), file.usual_metric()), (vec!["n", "p"], Some("time")));
    }

    #[test]
    fn roles_are_known_where_all_regions_name_them() {
        let of = |regions: &[&str]| file(regions).roles.into_keys().collect::<Vec<_>>();
        assert_eq!(of(&["rank 0->a", "rank 0->c", "ranks 1-->b", "total"]), ["rank 0", "ranks 1-"]);
        assert_eq!(of(&["master->a", "workers->b"]), ["master", "workers"]);
        assert!(of(&["main->a", "main->b"]).is_empty());
        assert!(of(&["rank 0->a", "b"]).is_empty());
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let said = ModelFile::read(text).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    }

    #[test]
    fn what_is_no_model_is_refused() {
        let text = file(&["a"]).write().unwrap();
        check(&text[..text.len() / 2], "line 1 ends too early: the file was cut off");
        check("", "ends too early");
        check(&text.replacen(":1,", ":2,", 1), "format 2, and 1 is the newest known");
        check(
            "{\"format_version\": 1}",
            "these are not models, as line 1 shows (missing field `models`",
        );
        check("{\"format_version\": 1, \"models\": [{}]}", "these are not models");
        check("words", "write them with `sintonia fit -o`");
        assert!(!ModelFile::is_meant("{\"parameters\": [\"p\"], \"measurements\": {}}"));
        assert!(!ModelFile::is_meant("p,n,time\n"));
    }
}
