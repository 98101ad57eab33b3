//! Exports of Thicket (`Thicket.to_json()`): runs with a common call graph, a table of values and one of metadata.
//!
//! A row of `dataframe` has the values of a call (`node`) in a run (`profile`); those of several ranks become their mean. A row of
//! `metadata` has what a run records about itself. Metrics keep the names of their columns.

use super::json_objects::objects;
use super::run::{self, Run};
use super::{Fault, FileProblem, number};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};

/// First member of an export.
pub(super) const FIRST: &str = "graph";
/// Columns that are no metrics, beside the index.
const NO_METRICS: [&str; 6] = ["nid", "rank", "name", "type", "node", "profile"];
/// Number of a run in both tables.
const PROFILE: &str = "profile";
/// Bytes of a call path: longer ones are of graphs with circles.
const PATH_BYTES_MAX: usize = 1 << 16;

#[derive(Deserialize)]
struct Export {
    graph: Vec<HashMap<String, Call>>,
    #[serde(default)]
    dataframe: Vec<Map<String, Value>>,
    #[serde(default)]
    metadata: Vec<Map<String, Value>>,
}

#[derive(Deserialize)]
struct Call {
    data: Map<String, Value>,
    #[serde(default)]
    parents: Vec<Value>,
}

/// Reads the runs of a file, and its problems.
pub(super) fn runs(text: &str) -> (Vec<Run>, Vec<FileProblem>) {
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    for (line_idx, export) in objects::<Export>(text) {
        match export.and_then(|export| export.runs()) {
            Ok(runs) => found.extend(runs),
            Err(fault) => problems.push(fault.at_line(line_idx)),
        }
    }
    (found, problems)
}

/// Sum and number of values, by call path and metric.
type Sums = BTreeMap<(String, String), (f64, f64)>;

impl Export {
    fn runs(&self) -> Result<Vec<Run>, Fault> {
        if self.dataframe.is_empty() {
            return Err(Fault::Missing("dataframe".to_owned()));
        }
        let mut paths = HashMap::new();
        let mut sums: BTreeMap<String, Sums> = BTreeMap::new();
        for row in &self.dataframe {
            let member = |name: &str| row.get(name).ok_or_else(|| Fault::Missing(name.to_owned()));
            let (node, profile) = (member("node")?.to_string(), member(PROFILE)?.to_string());
            if !paths.contains_key(&node) {
                paths.insert(node.clone(), self.path(&node)?);
            }
            let path = &paths[&node];
            let of_run = sums.entry(profile).or_default();
            let metrics = row.iter().filter(|(name, _)| !NO_METRICS.contains(&name.as_str()));
            for (name, value) in metrics.filter_map(|(name, value)| Some((name, value.as_f64()?))) {
                let sum = of_run.entry((path.clone(), name.clone())).or_default();
                *sum = (sum.0 + value, sum.1 + 1.0);
            }
        }
        let of_profile = |row| Some((profile_of(row)?, row));
        let metadata: HashMap<String, _> = self.metadata.iter().filter_map(of_profile).collect();
        let one = |(profile, sums): (String, Sums)| {
            run(format!("profile {profile}"), metadata.get(&profile).copied(), sums)
        };
        Ok(sums.into_iter().map(one).collect())
    }

    /// Returns the names of the callers and the function, with arrows in between.
    fn path(&self, node: &str) -> Result<String, Fault> {
        let mut path = String::new();
        let mut next = Some(node.to_owned());
        while let Some(id) = next {
            let call = self.graph.iter().find_map(|graph| graph.get(&id));
            let call = call.ok_or_else(|| Fault::Missing(format!("graph: {id}")))?;
            let name = call.data.get("name").and_then(Value::as_str);
            let name = name.ok_or_else(|| Fault::Missing("name".to_owned()))?;
            path = if path.is_empty() { name.to_owned() } else { format!("{name}->{path}") };
            if PATH_BYTES_MAX < path.len() {
                return Err(Fault::Malformed("a call path is too long or has no end".to_owned()));
            }
            next = call.parents.first().map(Value::to_string);
        }
        Ok(path)
    }
}

fn profile_of(row: &Map<String, Value>) -> Option<String> {
    row.get(PROFILE).map(Value::to_string)
}

/// Returns the run with these metadata and values.
fn run(place: String, metadata: Option<&Map<String, Value>>, sums: Sums) -> Run {
    let (mut settings, mut words) = (Vec::new(), Vec::new());
    let members = metadata.into_iter().flatten();
    for (name, value) in members.filter(|(name, _)| *name != PROFILE && run::is_own(name)) {
        let found = match value {
            Value::String(word) => number(word).ok(),
            value => value.as_f64(),
        };
        match (found, value) {
            (Some(found), _) => settings.push((name.clone(), found)),
            (None, Value::String(word)) if word.len() <= run::WORD_MAX => {
                words.push((name.clone(), word.clone()));
            }
            _ => {}
        }
    }
    run::name_processes(&mut settings);
    let mean =
        |((region, metric), (sum, n)): ((String, String), (f64, f64))| (region, metric, sum / n);
    let values = sums.into_iter().map(mean).collect();
    Run { settings, words, values, place }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPORT: &str = r#"{"graph": [{"0": {"data": {"name": "main", "type": "region"}, "children": [1], "parents": []},
        "1": {"data": {"name": "f"}, "children": [], "parents": [0]}}],
        "dataframe_indices": ["node", "profile"], "dataframe": [
        {"node": 0, "profile": 11, "nid": 1, "time": 2.5, "name": "main"},
        {"node": 1, "profile": 11, "nid": 2, "rank": 0, "time": 1.0, "name": "f"},
        {"node": 1, "profile": 11, "nid": 2, "rank": 1, "time": 2.0, "name": "f"},
        {"node": 0, "profile": 12, "nid": 1, "time": 1.25, "Avg time/rank": null, "name": "main"}],
        "metadata": [{"profile": 11, "jobsize": 2, "size": "30", "variant": "seq", "cali.channel": 1, "list": [1]},
        {"profile": 12, "jobsize": 4, "size": 30, "variant": "seq"}], "profile": [11, 12]}"#;

    #[test]
    fn each_profile_is_a_run() {
        let (runs, problems) = runs(EXPORT);
        assert_eq!(problems, []);
        let value = |region: &str, value| (region.to_owned(), "time".to_owned(), value);
        let settings = |p| vec![("p".to_owned(), p), ("size".to_owned(), 30.0)];
        assert_eq!(runs[0].values, [value("main", 2.5), value("main->f", 1.5)]);
        assert_eq!(runs[1].values, [value("main", 1.25)]);
        assert_eq!((&runs[0].settings, &runs[1].settings), (&settings(2.0), &settings(4.0)));
        assert_eq!(runs[0].words, [("variant".to_owned(), "seq".to_owned())]);
        assert_eq!(runs[1].place, "profile 12");
    }

    #[track_caller]
    fn check_damaged(from: &str, to: &str, expected: &str) {
        let (runs, problems) = runs(&EXPORT.replacen(from, to, 1));
        assert_eq!(runs, []);
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(said, [expected]);
    }

    #[test]
    fn a_bad_export_is_refused() {
        check_damaged("\"dataframe\":", "\"data\":", "line 1: `dataframe` is missing: add it");
        check_damaged(
            "\"parents\": [0]",
            "\"parents\": [7]",
            "line 1: `graph: 7` is missing: add it",
        );
        check_damaged("\"node\": 0", "\"at\": 0", "line 1: `node` is missing: add it");
        let circle = "line 1: unexpected JSON: a call path is too long or has no end";
        check_damaged("\"parents\": []", "\"parents\": [1]", circle);
        let cut = "line 9: unexpected JSON: it ends within an object: write the file again";
        check_damaged(", \"profile\": [11, 12]}", "", cut);
    }
}
