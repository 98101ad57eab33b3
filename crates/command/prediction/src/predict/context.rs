//! Prediction of the whole program and its regions from models, at one point.

use super::options::Options;
use crate::text::{is_in_seconds, is_wanted, short};
use crate::values::ParameterPoint;
use anyhow::Context;
use fitting::{ModelFile, Opinion, ParameterRole, Prediction, TOTAL, Warning};
use user_io::ensure_option;
use user_io::exit::bad_option;

/// Prediction for one point.
pub(super) struct PredictedPoint<'a> {
    pub(super) at: ParameterPoint<'a>,
    pub(super) total: Prediction,
    /// Role that takes longest.
    pub(super) role: Option<String>,
    /// Regions that were asked for.
    pub(super) regions: Vec<Region>,
    pub(super) warnings: Vec<Warning>,
    pub(super) core_hours: Option<f64>,
}

/// Prediction for one region.
pub(super) struct Region {
    pub(super) name: String,
    pub(super) prediction: Prediction,
    /// Share of the whole program; `None` for a region that is the whole program itself.
    pub(super) share: Option<f64>,
    pub(super) warnings: Vec<String>,
    /// What each form says, the weightiest first; nothing where the formula stands alone.
    pub(super) forms: Vec<Opinion>,
}

/// Models, and the options for a prediction with them.
pub(super) struct PredictionContext<'a> {
    pub(super) options: &'a Options,
    pub(super) file: &'a ModelFile,
    pub(super) metric: &'a str,
    pub(super) processes: Option<String>,
}

impl<'a> PredictionContext<'a> {
    pub(super) fn new(options: &'a Options, file: &'a ModelFile) -> anyhow::Result<Self> {
        let metric = match &options.metric {
            None => file.usual_metric(),
            Some(name) => file.metrics().into_iter().find(|metric| metric == name),
        };
        let metric = metric.ok_or_else(|| {
            let name = options.metric.as_deref().unwrap_or_default();
            bad_option(format!(
                "there is no metric `{name}`; there are {}",
                file.metrics().join(", ")
            ))
        })?;
        let of_processes = |name: &&&str| ParameterRole::of_name(name) == ParameterRole::Processes;
        let processes = match &options.output.processes {
            None => file.parameters().iter().find(of_processes).map(|name| (*name).to_owned()),
            named => named.clone(),
        };
        let is_known = |name: &String| file.parameters().contains(&name.as_str());
        ensure_option!(
            processes.as_ref().is_none_or(is_known),
            "the models have no parameter `{}`",
            processes.unwrap_or_default()
        );
        ensure_option!(
            !options.output.cost || processes.is_some(),
            "`--cost` needs to know which parameter counts processes: add `--processes NAME`"
        );
        Ok(Self { options, file, metric, processes })
    }

    /// Prediction for the whole program at a point.
    pub(super) fn total(&self, point: &[(&str, f64)]) -> anyhow::Result<Prediction> {
        let predicted = self.file.predict(self.metric, point)?;
        predicted.total.context("no region of this metric has a model")
    }

    pub(super) fn row<'b>(&self, point: &ParameterPoint<'b>) -> anyhow::Result<PredictedPoint<'b>> {
        let predicted = self.file.predict(self.metric, point)?;
        let total = predicted.total.context("no region of this metric has a model")?;
        let (mut regions, mut warnings) = (Vec::new(), Vec::new());
        for (idx, prediction) in predicted.regions {
            let model = &self.file.models[idx];
            let at = model.point(point)?;
            let its = model.warnings_at(&at);
            if is_wanted(&self.options.region, &model.region) {
                let share = Some(prediction.value / total.value);
                let share = share.filter(|share| share.is_finite() && model.region != TOTAL);
                let (name, warnings) = (model.region.clone(), its.iter().map(ToString::to_string));
                let (warnings, forms) = (warnings.collect(), model.opinions(&at));
                regions.push(Region { name, prediction, share, warnings, forms });
            }
            for warning in its {
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
        }
        let core_hours = self.core_hours(point, total.value);
        let (at, role) = (point.clone(), predicted.role);
        Ok(PredictedPoint { at, total, role, regions, warnings, core_hours })
    }

    /// Cost in core-hours, if it was asked for.
    pub(super) fn core_hours(&self, point: &[(&str, f64)], time_s: f64) -> Option<f64> {
        let processes = self.processes.as_deref().filter(|_| self.options.output.cost)?;
        let (_, n_processes) = point.iter().find(|(name, _)| *name == processes)?;
        Some(n_processes * time_s / 3600.0)
    }

    /// Value with its unit, if that is known.
    pub(super) fn with_unit(&self, value: f64) -> String {
        let number = short(value);
        if is_in_seconds(self.metric) { format!("{number} s") } else { number }
    }
}
