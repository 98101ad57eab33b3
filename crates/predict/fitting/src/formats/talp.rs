//! Summaries of TALP, the profiler of the DLB library (`--talp-output-file=FILE.json`): an object for each run.
//!
//! Several runs may follow each other. The parameters are the number of MPI ranks, `p`, and of CPUs in each,
//! `threads`; `elapsedTime` is the metric `time`. Durations in nanoseconds become seconds.

use super::json_objects::objects;
use super::run::{PROCESSES, Run};
use super::{Fault, FileProblem};
use serde_json::{Map, Value};

/// First members of a summary, in its different versions.
pub(super) const FIRST: [&str; 4] = ["dlbVersion", "timestamp", "popMetrics", "Application"];
/// Members with the regions, in different versions.
const REGIONS: [&str; 3] = ["Application", "application", "popMetrics"];
/// Metric of the elapsed time.
const TIME: &str = "time";
/// Members of a region that describe the run.
const SETTINGS: [&str; 7] =
    ["numCpus", "numMpiRanks", "numNodes", "numGpus", "avgCpus", "numMeasurements", "name"];

/// Name and members of a region.
type Region<'a> = (&'a str, &'a Map<String, Value>);

/// Reads the runs of a file, and its problems.
pub(super) fn runs(text: &str) -> (Vec<Run>, Vec<FileProblem>) {
    let (mut runs, mut problems) = (Vec::new(), Vec::new());
    for (line_idx, object) in objects::<Value>(text) {
        match object.and_then(|summary| run(&summary)) {
            Ok(run) => runs.push(Run { place: format!("line {}", line_idx + 1), ..run }),
            Err(fault) => problems.push(fault.at_line(line_idx)),
        }
    }
    (runs, problems)
}

fn run(summary: &Value) -> Result<Run, Fault> {
    let regions = REGIONS.iter().find_map(|name| summary.get(name));
    let regions = regions.ok_or_else(|| Fault::Missing(REGIONS[0].to_owned()))?;
    let regions: Vec<Region<'_>> = match regions {
        Value::Object(regions) => regions.iter().filter_map(of_object).collect(),
        Value::Array(regions) => regions.iter().filter_map(of_list).collect(),
        _ => return Err(Fault::Missing(REGIONS[0].to_owned())),
    };
    let first = regions.first().map(|(_, region)| *region);
    let resource = |name: &str| {
        let recorded = summary.get("resources").and_then(|resources| resources.get(name));
        recorded.or_else(|| first?.get(name))?.as_f64()
    };
    let n_ranks =
        resource("numMpiRanks").ok_or_else(|| Fault::Missing("numMpiRanks".to_owned()))?;
    // A program without MPI has no ranks.
    let n_ranks = n_ranks.max(1.0);
    let mut settings = vec![(PROCESSES.to_owned(), n_ranks)];
    if let Some(n_cpus) = resource("numCpus").filter(|n_cpus| n_ranks <= *n_cpus) {
        settings.push(("threads".to_owned(), n_cpus / n_ranks));
    }
    let values = regions.iter().flat_map(|(name, region)| values(name, region)).collect();
    Ok(Run { settings, values, ..Run::default() })
}

fn of_object<'a>((name, region): (&'a String, &'a Value)) -> Option<Region<'a>> {
    Some((name, region.as_object()?))
}

fn of_list(region: &Value) -> Option<Region<'_>> {
    Some((region.get("name")?.as_str()?, region.as_object()?))
}

/// Returns the metrics of a region that was entered.
fn values<'a>(
    name: &'a str,
    region: &'a Map<String, Value>,
) -> impl Iterator<Item = (String, String, f64)> + 'a {
    let is_entered = region.get("elapsedTime").and_then(Value::as_f64).is_some_and(|ns| 0.0 < ns);
    let members =
        region.iter().filter(move |(member, _)| is_entered && !SETTINGS.contains(&member.as_str()));
    members.filter_map(move |(member, value)| {
        let value = value.as_f64()?;
        let is_time = member.ends_with("Time") || member.contains("Normd");
        let metric = if member == "elapsedTime" { TIME } else { member };
        Some((name.to_owned(), metric.to_owned(), if is_time { value * 1e-9 } else { value }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Summary of a run.
    const SUMMARY: &str = r#"{
  "dlbVersion": "3.5.0",
  "resources": {
    "numCpus": CPUS,
    "numMpiRanks": RANKS
  },
  "Application": {
    "solve": {
      "numCpus": CPUS,
      "elapsedTime": ELAPSED,
      "mpiTime": 500000000,
      "parallelEfficiency": 0.75
    },
    "unused": {
      "elapsedTime": 0
    }
  }
}
"#;

    fn summary(n_ranks: u32, n_cpus: u32, elapsed_ns: u64) -> String {
        let text = SUMMARY.replace("RANKS", &n_ranks.to_string());
        text.replace("CPUS", &n_cpus.to_string()).replace("ELAPSED", &elapsed_ns.to_string())
    }

    fn value(metric: &str, value: f64) -> (String, String, f64) {
        ("solve".to_owned(), metric.to_owned(), value)
    }

    #[test]
    fn each_summary_is_a_run() {
        let text = summary(4, 8, 2_000_000_000) + &summary(0, 8, 3_000_000_000);
        let (runs, problems) = runs(&text);
        assert_eq!(problems, []);
        let settings = |p: f64, threads: f64| vec![("p".into(), p), ("threads".into(), threads)];
        assert_eq!(runs[0].settings, settings(4.0, 2.0));
        assert_eq!(runs[1].settings, settings(1.0, 8.0));
        let metrics = [value("mpiTime", 0.5), value("parallelEfficiency", 0.75)];
        assert_eq!(runs[0].values, [&[value("time", 2.0)][..], &metrics].concat());
        assert_eq!(runs[1].place, "line 19");
    }

    #[test]
    fn older_summaries_have_lists() {
        let text = r#"{"popMetrics": [{"name": "solve", "elapsedTime": 1000000000, "loadBalance": 0.5}],
            "resources": {"numMpiRanks": 2}}"#;
        let (runs, _) = runs(text);
        assert_eq!(runs[0].settings, [("p".to_owned(), 2.0)]);
        assert_eq!(runs[0].values, [value("time", 1.0), value("loadBalance", 0.5)]);
    }

    #[test]
    fn a_bad_summary_costs_itself() {
        let good = summary(4, 4, 1_000_000_000);
        let text =
            good.clone() + "{\"dlbVersion\": \"3.5\"}\n{\"Application\": {}}\n" + &good[..60];
        let (runs, problems) = runs(&text);
        assert_eq!(runs.len(), 1);
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let expected = [
            "line 19: `Application` is missing: add it",
            "line 20: `numMpiRanks` is missing: add it",
            "line 24: unexpected JSON: it ends within an object: write the file again",
        ];
        assert_eq!(said, expected);
    }
}
