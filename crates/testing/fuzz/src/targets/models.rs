//! Target: a file of models, as `predict` and running tunlets read it: damaged, made by hand, or malicious.

use fitting::{FittedModel, ModelFile};

/// Points that are predicted, as multiples of the middle of each measured range.
const FACTORS: [f64; 6] = [0.0, 0.5, 1.0, 1.7, 100.0, 1e100];

/// Reads the file and predicts points inside and outside of what was measured.
pub(crate) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    ModelFile::is_meant(&text);
    let Ok(file) = ModelFile::read(&text) else { return };
    let again = ModelFile::read(&file.write().expect("what was read can be written"));
    assert_eq!(again.as_ref().ok(), Some(&file), "what was written is read back");
    for model in &file.models {
        check_interval(model);
    }
    let metric = file.usual_metric().unwrap_or_default();
    let parameters = file.parameters();
    for factor in FACTORS {
        let at: Vec<(&str, f64)> = parameters.iter().map(|name| (*name, 7.0 * factor)).collect();
        if let Ok(said) = file.predict(metric, &at) {
            assert!(said.total.is_none_or(|total| total.low.is_finite() && total.high.is_finite()));
        }
        if let Some((name, _)) = at.first() {
            file.speedup(&at, name, 1.0).ok();
        }
    }
}

/// Checks that a prediction is finite and lies in its interval, or is an error that names the reason.
pub(super) fn check_interval(model: &FittedModel) {
    for factor in FACTORS {
        let at: Vec<f64> = model
            .ranges
            .iter()
            .map(|range| factor * f64::midpoint(range.low, range.high))
            .collect();
        model.warnings_at(&at);
        match model.value_at(&at) {
            Ok(said) => {
                let all = [said.low, said.value, said.high];
                assert!(all.into_iter().all(f64::is_finite), "{said:?} at {at:?}");
                assert!(said.low <= said.value && said.value <= said.high, "{said:?} at {at:?}");
            }
            Err(error) => assert!(!error.to_string().is_empty(), "an error has words"),
        }
    }
}
