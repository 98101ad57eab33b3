//! Target: measurements in any format that is recognized by its beginning: CSV, Extra-P's JSON and JSON Lines, Talpas.

use fitting::formats::csv::{self, Columns};
use fitting::formats::{Format, Reading, extrap_json};
use fitting::{Measurements, ModelFile, Settings};

/// Most regions that are fitted, and most points of one.
const N_FITTED_MAX: usize = 2;
const N_POINTS_MAX: usize = 30;
/// Most parameters of measurements that are fitted.
const N_PARAMETERS_MAX: usize = 3;

/// Reads the text; what was understood is written, read back, and fitted.
pub(crate) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    check(&Format::of(&text).read(&text));
}

/// Checks what holds for all measurements that were read.
pub(super) fn check(reading: &Reading) {
    for problem in &reading.problems {
        assert!(!problem.to_string().is_empty(), "a problem has words");
    }
    let measured = &reading.measured;
    let n_parameters = measured.parameters.len();
    for point in measured.series.iter().flat_map(|series| &series.points) {
        assert_eq!(point.at.len(), n_parameters, "a point has a value of each parameter");
        assert!(point.at.iter().chain(&point.values).all(|value| value.is_finite()));
    }
    let written = extrap_json::write(measured).expect("its numbers are finite");
    let again = extrap_json::read(&written);
    assert_eq!(n_values(&again.measured), n_values(measured), "{written}");
    csv::read(&csv::write(measured), &Columns::default());
    fit(measured);
}

fn n_values(measured: &Measurements) -> usize {
    let points = measured.series.iter().flat_map(|series| &series.points);
    points.map(|point| point.values.len()).sum()
}

/// Fits models, which are written, read back, and predict the points they were fitted to.
fn fit(measured: &Measurements) {
    if N_PARAMETERS_MAX < measured.parameters.len() {
        return;
    }
    let mut few = Measurements::of(measured.parameters.clone());
    few.series.extend(measured.series.iter().take(N_FITTED_MAX).cloned());
    few.series.iter_mut().for_each(|series| series.points.truncate(N_POINTS_MAX));
    let models = fitting::fit(&few, &Settings::default());
    let models: Vec<_> = models.into_iter().filter_map(Result::ok).collect();
    let file = ModelFile::of(models);
    let written = file.write().expect("what was found can be written");
    let file = ModelFile::read(&written).expect("what was written can be read");
    for model in &file.models {
        super::models::check_interval(model);
    }
}
