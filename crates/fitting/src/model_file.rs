//! The file of models: what `sintonia fit` writes, and `predict`, `validate` and a running tunlet read.
//!
//! ```json
//! {"format_version": 1, "program": "matmul", "roles": {"rank 0": ["rank 0->matmul.c:40 MPI_Send"]}, "models": [...],
//!  "checksum": "8d2e24a3"}
//! ```
//!
//! # Invariants
//! - What was written is read back equal; a file of a later version, or one that was cut off or changed, is refused.
//!
//! # Not here
//! Opening files (`cli`). What the models of all regions come to (`total`).

use crate::model::{FittedModel, ModelError};
use serde::{Deserialize, Serialize, de::IgnoredAny};
use std::collections::BTreeMap;

/// Number of the file format.
pub const FORMAT_VERSION: u32 = 1;
/// What stands between the role and the place of a region.
const ARROW: &str = "->";
/// How the names of roles begin.
const ROLES: [&str; 5] = ["rank ", "ranks ", "master", "workers", "worker "];

/// Models of the regions of a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelFile {
    /// Number of the file format.
    pub format_version: u32,
    /// The program, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Regions of each role, where roles are known: ranks that do the same, one after another, beside those of other
    /// roles.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<String, Vec<String>>,
    /// The models, one for each region and metric.
    pub models: Vec<FittedModel>,
}

/// A text holds no models.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelFileError {
    /// It ends too early.
    #[error(
        "line {line} ends too early: the file was cut off; write it again with `sintonia fit -o`"
    )]
    CutOff {
        /// Its last line.
        line: usize,
    },
    /// It was written by a later version.
    #[error(
        "the models have format {format}, and {FORMAT_VERSION} is the newest known: use a later version of Sintonia"
    )]
    Unknown {
        /// Its number.
        format: u32,
    },
    /// A number or a word in it is not the one that was written.
    #[error(
        "the models were changed after they were written: restore them from a copy, or write them again with \
         `sintonia fit -o`; where you changed them yourself, remove their `checksum`"
    )]
    Changed,
    /// It is something else.
    #[error(
        "these are no models, as line {line} shows ({reason}): write them with `sintonia fit -o`"
    )]
    Malformed {
        /// Where that is seen.
        line: usize,
        /// How.
        reason: String,
    },
    /// The parts of a model do not fit together.
    #[error(transparent)]
    Unsound(#[from] ModelError),
}

impl From<serde_json::Error> for ModelFileError {
    fn from(error: serde_json::Error) -> Self {
        let line = error.line();
        if error.is_eof() {
            Self::CutOff { line }
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
    /// A file of these models; roles are taken from the names of their regions.
    pub fn of(models: Vec<FittedModel>) -> Self {
        let roles = roles(&models);
        Self { format_version: FORMAT_VERSION, program: None, roles, models }
    }

    /// Whether a text is meant to be a file of models, whole or not.
    pub fn is_meant(text: &str) -> bool {
        let beginning: String =
            text.chars().filter(|letter| !letter.is_whitespace()).take(200).collect();
        beginning.starts_with("{\"format_version\"")
            || (beginning.starts_with('{') && beginning.contains("\"models\":["))
            || beginning.starts_with('[')
    }

    /// The models in a file, or in the list that `sintonia fit --json` prints.
    ///
    /// # Errors
    /// When there are none, they were cut off or damaged, or a later version wrote them.
    pub fn read(text: &str) -> Result<Self, ModelFileError> {
        if text.trim_start().starts_with('[') {
            let list: Vec<Listed> = serde_json::from_str(text)?;
            let models = list.into_iter().filter_map(|listed| listed.fitted).collect();
            return Self::of(models).checked();
        }
        let Header { format_version: format, .. } = serde_json::from_str(text)?;
        if FORMAT_VERSION < format {
            return Err(ModelFileError::Unknown { format });
        }
        let file = serde_json::from_str::<Self>(text)?;
        sealed::check(text.as_bytes()).map_err(|_changed| ModelFileError::Changed)?;
        file.checked()
    }

    fn checked(self) -> Result<Self, ModelFileError> {
        self.models.iter().try_for_each(FittedModel::check)?;
        Ok(self)
    }

    /// The file as text.
    ///
    /// # Errors
    /// When a number is not finite.
    pub fn write(&self) -> Result<String, ModelFileError> {
        Ok(sealed::seal(&serde_json::to_string(self)?) + "\n")
    }

    /// Names of the parameters of all models, each once.
    pub fn parameters(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for name in self.models.iter().flat_map(|model| &model.parameters) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// The metrics of all models, each once.
    pub fn metrics(&self) -> Vec<&str> {
        let mut metrics: Vec<&str> = Vec::new();
        for model in &self.models {
            if !metrics.contains(&model.metric.as_str()) {
                metrics.push(&model.metric);
            }
        }
        metrics
    }

    /// The metric that is meant where none is named: `time`, or else the first.
    pub fn usual_metric(&self) -> Option<&str> {
        let metrics = self.metrics();
        let time = metrics.iter().find(|metric| metric.eq_ignore_ascii_case("time"));
        time.or(metrics.first()).copied()
    }
}

/// Regions by role, where the name of each says what its role is; `total` has none.
fn roles(models: &[FittedModel]) -> BTreeMap<String, Vec<String>> {
    let mut roles: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for model in models.iter().filter(|model| model.region != crate::total::TOTAL) {
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
mod tests {
    use super::*;
    use crate::{Measurements, Settings, fit};

    fn file(regions: &[&str]) -> ModelFile {
        let mut measured = Measurements::of(vec!["n".into(), "p".into()]);
        for region in regions {
            for n in [1.0, 2.0, 3.0, 4.0, 5.0] {
                for p in [1.0, 2.0, 4.0] {
                    measured.add(region, "time", &[n, p], &[n / p + 0.1]);
                }
            }
        }
        ModelFile::of(
            fit(&measured, &Settings::default()).into_iter().map(Result::unwrap).collect(),
        )
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
            "these are no models, as line 1 shows (missing field `models`",
        );
        check("{\"format_version\": 1, \"models\": [{}]}", "these are no models");
        check("words", "write them with `sintonia fit -o`");
        assert!(!ModelFile::is_meant("{\"parameters\": [\"p\"], \"measurements\": {}}"));
        assert!(!ModelFile::is_meant("p,n,time\n"));
    }
}
