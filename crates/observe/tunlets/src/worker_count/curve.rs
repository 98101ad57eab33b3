//! Time as a function of the number of workers, fitted before the run (option `model`).
//!
//! The models are of the program's total time; the time of an iteration is assumed to vary with the number of
//! workers in the same way. The parameter whose name denotes workers or processes is set to that number; one
//! further parameter, a size, is set to the work of the iteration.

use super::WorkerCount;
use crate::lookup::Lookup;
use crate::tunlet::{Decision, TunletError};
use display::units::trimmed;
use fitting::{ModelFile, ParameterRole, Prediction};
use models::master_worker::Objective;

const OPTION: &str = "model";
/// Names of parameters that do not count the master.
const WITHOUT_MASTER: [&str; 4] = ["workers", "nw", "n_workers", "nworkers"];

/// Fitted models, with the roles of their parameters.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    file: ModelFile,
    metric: String,
    workers: String,
    /// Number of processes besides the workers.
    n_others: f64,
    size: Option<String>,
}

/// Minimum of the objective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lowest {
    pub(super) n_workers: f64,
    /// Factor by which an iteration becomes faster.
    pub(super) speedup: Prediction,
}

impl Curve {
    /// Reads the models from the option, if it is given.
    ///
    /// # Errors
    /// The text is not a model file, or its models have other parameters.
    pub(super) fn of(look: &Lookup<'_>) -> Result<Option<Self>, TunletError> {
        let Some(text) = look.text(OPTION) else { return Ok(None) };
        let wrong = |expected: String| TunletError::Option {
            tunlet: look.tunlet.to_owned(),
            option: OPTION.to_owned(),
            value: text.chars().take(32).collect(),
            expected,
        };
        let file = ModelFile::read(text)
            .map_err(|error| wrong(format!("a file that `sintonia fit -o` wrote ({error})")))?;
        let metric = file.usual_metric().unwrap_or_default().to_owned();
        let (workers, sizes): (Vec<&str>, Vec<&str>) = file
            .parameters()
            .into_iter()
            .partition(|name| ParameterRole::of_name(name) == ParameterRole::Processes);
        let (&[workers], [] | [_]) = (&workers[..], &sizes[..]) else {
            let names = file.parameters().join(", ");
            return Err(wrong(format!(
                "models over the number of workers, and at most a size; these are over {names}"
            )));
        };
        let is_without = WITHOUT_MASTER.contains(&workers.to_lowercase().as_str());
        let n_others = if is_without { 0.0 } else { 1.0 };
        let (workers, size) = (workers.to_owned(), sizes.first().map(|name| (*name).to_owned()));
        Ok(Some(Self { file, metric, workers, n_others, size }))
    }

    /// Returns the model parameters for a number of workers and an amount of work.
    fn at(&self, n_workers: f64, work: f64) -> Vec<(&str, f64)> {
        let size = self.size.as_deref().map(|name| (name, work));
        std::iter::once((self.workers.as_str(), n_workers + self.n_others)).chain(size).collect()
    }

    /// Returns the objective, which is minimized.
    fn cost(&self, objective: Objective, n_workers: f64, work: f64) -> Option<f64> {
        let time_s = self.file.predict(&self.metric, &self.at(n_workers, work)).ok()?.total?.value;
        Some(match objective {
            Objective::Time => time_s,
            Objective::Index => n_workers * time_s * time_s,
        })
    }

    /// Returns the best number of workers up to `n_workers_max` if it gains at least the share `gain` and, when
    /// the objective is time, if the confidence interval of the speed-up lies above 1.
    pub(super) fn lowest(
        &self,
        objective: Objective,
        [now, n_workers_max, work]: [f64; 3],
        gain: f64,
    ) -> Option<Lowest> {
        let cost = |n_workers| self.cost(objective, n_workers, work);
        let tried =
            std::iter::successors(Some(1.0), |n| Some(n + 1.0)).take_while(|n| *n <= n_workers_max);
        let costs = tried.filter_map(|n_workers| Some((n_workers, cost(n_workers)?)));
        let (n_workers, lowest) = costs.min_by(|a, b| a.1.total_cmp(&b.1))?;
        let before = cost(now)?;
        let speedup =
            self.file.speedup(&self.at(now, work), &self.workers, n_workers - now).ok()??;
        let is_certain = objective == Objective::Index || 1.0 < speedup.low;
        (is_certain && gain * before < before - lowest).then_some(Lowest { n_workers, speedup })
    }
}

impl Lowest {
    /// Describes the reason as it follows "because".
    pub(super) fn in_words(&self, objective: Objective) -> String {
        let Self { n_workers, speedup } = self;
        let what = match objective {
            Objective::Time => "are fastest by the fitted models",
            Objective::Index => "have the lowest performance index by the fitted models",
        };
        let [value, low, high] =
            [speedup.value, speedup.low, speedup.high].map(|number| trimmed(number, 3));
        format!("{n_workers} workers {what}: {value} times as fast as now ({low} to {high})")
    }
}

impl WorkerCount {
    /// Decides by the models fitted before the run.
    pub(super) fn decide_by(&mut self, curve: &Curve, decisions: &mut Vec<Decision>) {
        let work = self.work.map_or(1.0, |(work, _)| work);
        let Some(point) = &mut self.point else { return };
        let Some(now) = point.value else { return };
        if self.n_held < self.options.window || point.is_waiting || self.rest.is_resting() {
            return;
        }
        let numbers = [now, self.n_workers_max.max(1).into(), work];
        let objective = self.options.objective;
        let Some(lowest) = curve.lowest(objective, numbers, self.options.gain) else { return };
        let allowed = point.nearest(lowest.n_workers);
        if 0.5 < (allowed - now).abs() {
            decisions.push(point.ask(allowed, &lowest.in_words(objective)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tunlet::World;
    use app_description::Application;
    use fitting::{Measurements, Settings, fit};
    use std::collections::BTreeMap;

    /// Returns models of `100 / workers + workers`, multiplied by the size if there is one.
    fn models(names: &[&str]) -> String {
        let mut measured = Measurements::of(names.iter().map(|name| (*name).to_owned()).collect());
        for workers in [1.0_f64, 2.0, 4.0, 8.0, 16.0, 32.0] {
            let size = [1.0, 2.0, 3.0, 4.0, 5.0];
            for size in &size[..if names.len() == 1 { 1 } else { 5 }] {
                let at = [workers, *size, 1.0];
                measured.add(
                    "all",
                    "time",
                    &at[..names.len()],
                    &[size * (100.0 / workers + workers)],
                );
            }
        }
        let models = fit(&measured, &Settings::default());
        ModelFile::of(models.into_iter().map(Result::unwrap).collect()).write().unwrap()
    }

    fn curve(model: Option<String>) -> Result<Option<Curve>, TunletError> {
        let options: BTreeMap<String, String> =
            model.into_iter().map(|text| (OPTION.to_owned(), text)).collect();
        let application = Application {
            tunlet_options: [("worker-count".to_owned(), options)].into(),
            ..Application::default()
        };
        let world = World { n_ranks: 0, actors: Vec::new(), values: Vec::new() };
        Curve::of(&Lookup { tunlet: "worker-count", application: &application, world: &world })
    }

    #[track_caller]
    fn check(names: &[&str], [now, most, work]: [f64; 3], expected: Option<(f64, f64)>) {
        let curve = curve(Some(models(names))).unwrap().unwrap();
        let lowest = curve.lowest(Objective::Time, [now, most, work], 0.02);
        let found = lowest.map(|it| (it.n_workers, (100.0 * it.speedup.value).round() / 100.0));
        assert_eq!(found, expected, "{lowest:?}");
    }

    #[test]
    fn the_best_number_is_where_the_curve_is_lowest() {
        check(&["workers"], [2.0, 24.0, 1.0], Some((10.0, 2.6)));
        check(&["workers"], [2.0, 5.0, 1.0], Some((5.0, 2.08)));
        check(&["workers"], [10.0, 24.0, 1.0], None);
        check(&["workers"], [24.0, 24.0, 1.0], Some((10.0, 1.41)));
        check(&["workers", "n"], [2.0, 24.0, 7.0], Some((10.0, 2.6)));
        // The number of processes includes the master.
        check(&["p"], [2.0, 24.0, 1.0], Some((9.0, 1.82)));
    }

    #[test]
    fn what_is_no_curve_is_told() {
        let said = |text: String| curve(Some(text)).unwrap_err().to_string();
        assert!(curve(None).unwrap().is_none());
        assert!(
            said("words".to_owned()).contains("a file that `sintonia fit -o` wrote"),
            "{}",
            said("words".to_owned())
        );
        assert!(
            said(models(&["n"])).contains("models over the number of workers"),
            "{}",
            said(models(&["n"]))
        );
        assert!(said(models(&["p", "n", "m"])).contains("these are over p, n, m"));
    }
}
