//! Texts that are printed: the runs of a plan, and the result.

use super::folder::{Folder, HOLDOUT, MEASURED};
use super::prepared::Prepared;
use experiment::Journal;
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Lists the runs that are left, in their order, and how long they take.
pub(super) fn dry_run(
    prepared: &Prepared,
    journal: &Journal,
    as_json: bool,
) -> anyhow::Result<String> {
    let Prepared { plan, points, runs, .. } = prepared;
    let left = journal.left(points, runs);
    let estimate_s = prepared.pace(&journal.runs).remaining_s(&left);
    if as_json {
        let each = left.iter().map(|run| {
            let point = &points[run.point];
            let words = plan.words(point, Some("SCRIPT"))?;
            let (params, is_holdout) = (&point.parameters, point.is_holdout);
            Ok(json!({ "params": params, "holdout": is_holdout, "repetition": run.repetition, "command": words }))
        });
        let each = each.collect::<anyhow::Result<Vec<_>>>()?;
        let all = json!({ "n_runs": runs.len(), "runs": each, "estimate_s": estimate_s });
        return Ok(format!("{all:#}\n"));
    }
    let mut text = String::new();
    for (idx, run) in left.iter().enumerate() {
        let point = &points[run.point];
        let kept = if point.is_holdout { "  (kept from fitting)" } else { "" };
        let words = plan.words(point, Some("SCRIPT"))?.join(" ");
        writeln!(text, "{:>5}  {words}{kept}", idx + 1)?;
    }
    let time = match estimate_s {
        Some(time_s) => format!("about {}", display::units::seconds(time_s)),
        None => "unknown until runs are done, unless the plan has `expected_s`".to_owned(),
    };
    let n_points = points.len();
    writeln!(
        text,
        "{} of {} runs at {n_points} points are left; time: {time}",
        left.len(),
        runs.len()
    )?;
    Ok(text)
}

/// Says what was done, and how to go on.
pub(super) fn result(
    prepared: &Prepared,
    folder: &Folder,
    as_json: bool,
) -> anyhow::Result<String> {
    let journal = &folder.journal;
    let (n_runs, n_done, n_failed) =
        (prepared.runs.len(), journal.runs.len(), journal.failed.len());
    let n_left = n_runs - n_done.min(n_runs);
    let warning = journal.noise.and_then(|noise| noise.warning());
    let file = |name: &str| Some(folder.dir.join(name)).filter(|path| path.exists());
    if as_json {
        let all = json!({
            "folder": folder.dir,
            "measurements": file(MEASURED),
            "holdout": file(HOLDOUT),
            "n_runs": n_runs,
            "n_done": n_done,
            "n_failed": n_failed,
            "n_left": n_left,
            "failed": journal.failed,
            "environment": journal.environment,
            "noise": journal.noise,
            "warnings": warning.into_iter().collect::<Vec<_>>(),
        });
        return Ok(format!("{all:#}\n"));
    }
    let mut text = format!("{n_done} of {n_runs} runs are done");
    if 0 < n_failed {
        write!(text, ", {n_failed} failed")?;
    }
    let points = |is_holdout: bool| {
        let runs = journal.runs.iter().filter(|done| done.is_holdout == is_holdout);
        let keys = runs.map(|done| format!("{:?}", done.params)).collect::<BTreeSet<_>>();
        keys.len()
    };
    writeln!(text, "; {} points to fit, {} to validate", points(false), points(true))?;
    if let Some(noise) = journal.noise {
        let [median, most] = [noise.median_above, noise.most_above].map(|share| 100.0 * share);
        writeln!(
            text,
            "noise: the same work took {median:.1} % longer than the best time in the median, {most:.1} % at the 90th percentile"
        )?;
    }
    warning.iter().try_for_each(|warning| writeln!(text, "warning: {warning}"))?;
    let dir = folder.dir.display();
    if 0 < n_left {
        writeln!(text, "the same command does the remaining {n_left}")?;
    } else {
        writeln!(text, "next: sintonia fit {dir} -o models.json")?;
    }
    Ok(text)
}
