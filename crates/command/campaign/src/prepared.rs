//! Experiment before its first run.

use anyhow::Context;
use experiment::journal::CompletedRun;
use experiment::schedule::{self, Run, TimeEstimator};
use experiment::{Plan, Point};
use std::path::{Path, PathBuf};
use user_io::bounded_read;

/// An experiment before its first run.
pub(super) struct Prepared {
    pub(super) plan: Plan,
    pub(super) points: Vec<Point>,
    pub(super) runs: Vec<Run>,
    /// Folder of the plan, in which commands run.
    pub(super) home: PathBuf,
}

impl Prepared {
    /// Reads the plan in this file.
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let text = bounded_read::read_text(path, bounded_read::WRITTEN_BYTES_MAX)
            .context("the plan cannot be read")?;
        let plan = Plan::read(&text)?;
        let points = plan.points()?;
        let runs = schedule::runs(points.len(), plan.repetitions, plan.seed);
        let path = std::path::absolute(path).context("the folder of the plan is not known")?;
        let home = path.parent().map(Path::to_owned).unwrap_or_default();
        Ok(Self { plan, points, runs, home })
    }

    /// Pace of the runs so far, by point.
    pub(super) fn pace(&self, runs: &[CompletedRun]) -> TimeEstimator {
        let mut pace = TimeEstimator::new(&self.plan, &self.points);
        for done in runs {
            let is_at = |point: &Point| point.parameters == done.params;
            if let Some(at) = self.points.iter().position(is_at) {
                pace.add(at, done.wall_s);
            }
        }
        pace
    }
}
