//! Models: their predictions and warnings, and their files.

use fitting::{
    Cache, FitError, FittedModel, Fitter, KnownChanges, Measurements, ModelError, ModelFile,
    SampleRule, Series, Settings, Warning, fit,
};

/// Returns a model of `value(p, n)` over 5 values of each.
fn model(settings: &Settings, value: impl Fn(f64, f64) -> f64) -> FittedModel {
    let mut measured = Measurements::of(vec!["p".into(), "n".into()]);
    for p in [2.0, 4.0, 8.0, 16.0, 32.0] {
        for n in [100.0, 200.0, 300.0, 400.0, 500.0] {
            let center = value(p, n);
            let noisy = [0.97, 1.0, 1.02, 1.9].map(|factor| factor * center);
            measured.add("solve", "time", &[p, n], &noisy);
        }
    }
    fit(&measured, settings).remove(0).unwrap()
}

fn scaling(p: f64, n: f64) -> f64 {
    1e-9 * n.powi(3) / p + 1e-3 * p.log2()
}

#[test]
fn a_model_is_read_back_as_it_was_written() {
    let written = model(&Settings::default(), scaling);
    let text = ModelFile::of(vec![written.clone()]).write().unwrap();
    let read = ModelFile::read(&text).unwrap().models.remove(0);
    assert_eq!(read, written);
    let at = [("n", 450.0), ("rank", 1.0), ("p", 64.0)];
    assert_eq!(read.value(&at).unwrap(), written.value_at(&[64.0, 450.0]).unwrap());
    assert_eq!(written.text, "9.967e-10 * n^3 / p + 9.967e-4 * log2(p)");
}

#[test]
fn a_model_of_a_later_format_is_refused() {
    let later = FittedModel { format: 3, ..model(&Settings::default(), scaling) };
    let text = ModelFile::of(vec![later]).write().unwrap();
    let said = ModelFile::read(&text).unwrap_err().to_string();
    assert!(said.contains("format 3, and 2 is the newest known"), "{said}");
}

#[test]
fn a_point_without_a_value_is_refused() {
    let model = model(&Settings::default(), scaling);
    assert!(matches!(model.value(&[("n", 1.0)]), Err(ModelError::Missing { .. })));
}

/// A parameter of 0 gave an interval of NaN, and steep formulas an infinite one.
#[test]
fn a_point_outside_of_the_domain_is_refused_and_named() {
    #[track_caller]
    fn check(model: &FittedModel, n: f64, p: f64, expected: &str) {
        let said = model.value(&[("n", n), ("p", p)]).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    }
    let scaling = model(&Settings::default(), scaling);
    check(&scaling, 100.0, 0.0, "`p` = 0 is outside the domain of the model of `");
    check(&scaling, 100.0, -2.0, "`p` = -2 is outside the domain of the model of `");
    check(&scaling, 1e300, 4.0, "overflows at p = 4, n = 1e300");
    let rooted = model(&Settings::default(), |p, n| 1e-3 * n.log2() / p);
    check(&rooted, 0.0, 4.0, "`n` = 0 is outside the domain of the model of `");
}

#[test]
fn disturbed_repetitions_are_dropped_and_counted() {
    let model = model(&Settings::default(), scaling);
    assert_eq!((model.n_samples, model.n_dropped), (100, 25));
    let all = Settings { samples: SampleRule::Median, ..Settings::default() };
    assert_eq!(self::model(&all, scaling).n_dropped, 0);
}

#[test]
fn the_same_seed_gives_the_same_model() {
    let settings = Settings::default();
    assert_eq!(model(&settings, scaling), model(&settings, scaling));
}

#[test]
fn intervals_hold_the_value_and_grow_with_the_rate_and_the_distance() {
    let wiggly = |p: f64, n: f64| scaling(p, n) * (1.0 + 0.05 * (p * n).sin());
    let width = |settings: &Settings, at: [f64; 2]| {
        let prediction = model(settings, wiggly).value_at(&at).unwrap();
        assert!(0.0 < prediction.low && prediction.low < prediction.value);
        assert!(prediction.value < prediction.high);
        prediction.high / prediction.low
    };
    let half = Settings { rate: 0.5, ..Settings::default() };
    let settings = Settings::default();
    assert!(width(&half, [8.0, 300.0]) < width(&settings, [8.0, 300.0]));
    assert!(width(&settings, [8.0, 300.0]) < width(&settings, [4096.0, 300.0]));
}

#[test]
fn few_values_are_trusted_less_the_farther_away() {
    let widths = |processes: &[f64]| {
        let mut measured = Measurements::of(vec!["p".into()]);
        processes.iter().for_each(|p| measured.add("", "time", &[*p], &[2.0 + 8.0 / p]));
        let model = fit(&measured, &Settings::default()).remove(0).unwrap();
        [3.0, 8.0, 16.0].map(|p| {
            let said = model.value_at(&[p]).unwrap();
            said.high / said.value - 1.0
        })
    };
    let [inside, at_twice, at_four_times] = widths(&[1.0, 2.0, 4.0]);
    let grows = 0.05 < inside && 1.2 * inside < at_twice && 1.2 * at_twice < at_four_times;
    assert!(grows, "{inside} {at_twice} {at_four_times}");
    assert!(widths(&[1.0, 2.0, 3.0, 4.0]).iter().all(|width| *width < 0.01));
}

#[test]
fn a_prediction_far_away_is_positive() {
    let falling = model(&Settings::default(), |p, n| 1.0 + 1e-3 * n - 0.03 * p);
    for p in [2.0, 64.0, 1024.0, 1e6] {
        let prediction = falling.value_at(&[p, 50.0]).unwrap();
        assert!(0.0 < prediction.low, "{p} {prediction:?} {}", falling.text);
    }
}

#[test]
fn warnings_tell_what_to_doubt() {
    let cache = Cache {
        name: "L2".into(),
        size_bytes: 8.0 * 600.0 * 600.0,
        parameter: "n".into(),
        bytes_per_unit: 8.0,
        power: 2.0,
    };
    let known = KnownChanges { caches: vec![cache], ..KnownChanges::default() };
    let settings = Settings { known, ..Settings::default() };
    let model = model(&settings, scaling);
    assert_eq!(model.warnings, []);
    assert_eq!(model.warnings_at(&[16.0, 300.0]), []);
    let [Warning::Extrapolated { parameter, .. }] = &model.warnings_at(&[64.0, 300.0])[..] else {
        panic!("{:?}", model.warnings_at(&[64.0, 300.0]))
    };
    assert_eq!(parameter, "p");
    let warnings = model.warnings_at(&[16.0, 700.0]);
    assert!(matches!(warnings[..], [Warning::Extrapolated { .. }, Warning::CrossesCache { .. }]));
}

#[track_caller]
fn check_few(points: &[(f64, f64)], expected: &str, warnings: &[Warning]) {
    let mut measured = Measurements::of(vec!["p".into()]);
    for (p, value) in points {
        measured.add("", "", &[*p], &[*value]);
    }
    let model = fit(&measured, &Settings::default()).remove(0).unwrap();
    assert_eq!(model.text, expected);
    assert_eq!(model.warnings, warnings);
}

#[test]
fn few_points_give_a_model_and_a_warning() {
    let few = |n_points| Warning::TooFewPoints { n_points };
    let values = |n_values| Warning::TooFewValues { parameter: "p".into(), n_values };
    let (constant, single) = (Warning::ConstantData, Warning::NotHeldOut);
    check_few(&[(1.0, 3.0)], "3", &[few(1), values(1), single.clone()]);
    check_few(&[(1.0, 3.0), (2.0, 3.0)], "3", &[few(2), values(2), constant.clone(), single]);
    check_few(&[(1.0, 8.0), (2.0, 4.0), (4.0, 2.0)], "8 / p", &[few(3), values(3)]);
    let zeros: Vec<(f64, f64)> = (1..=5).map(|p| (f64::from(p), 0.0)).collect();
    check_few(&zeros, "0", &[constant]);
}

#[test]
fn what_cannot_be_fitted_is_told() {
    let parameters = ["p".to_owned()];
    let settings = Settings::default();
    let mut fitter = Fitter::new(&parameters, &settings);
    let mut series = Series { region: "a".into(), ..Series::default() };
    assert!(matches!(fitter.fit(&series), Err(FitError::NoPoints(_))));
    series.points.push(fitting::MeasuredPoint { at: vec![1.0, 2.0], values: vec![1.0] });
    assert!(matches!(fitter.fit(&series), Err(FitError::WrongPoint { n_given: 2, .. })));
}

/// A model with a NaN noise was written, and could not be read again.
#[test]
fn numbers_beyond_all_measure_are_refused() {
    let parameters = ["p".to_owned()];
    let settings = Settings::default();
    let point = |p, value| fitting::MeasuredPoint { at: vec![p], values: vec![value] };
    for (p, value) in [(1.0, 1e210), (1e210, 1.0), (1.0, -1e210), (1.0, 1e-320)] {
        let points = vec![point(p, value), point(2.0, 1.5), point(3.0, 2.5)];
        let series = Series { region: "a".into(), points, ..Series::default() };
        match Fitter::new(&parameters, &settings).fit(&series) {
            Err(error) => assert!(matches!(error, FitError::OutOfScale(_)), "{error}"),
            Ok(model) => {
                let written = ModelFile::of(vec![model]).write().expect("it has numbers");
                assert!(ModelFile::read(&written).is_ok(), "{p} {value}: {written}");
            }
        }
    }
}

/// The error named the first parameter not above 0, even where its power has a value.
#[test]
fn the_parameter_is_named_that_has_no_value() {
    let mut measured = Measurements::of(vec!["n".to_owned(), "p".to_owned()]);
    for n in [1.0_f64, 2.0, 3.0, 4.0, 5.0, 6.0] {
        for p in [1.0_f64, 2.0, 4.0, 8.0, 16.0] {
            measured.add("", "time", &[n, p], &[3.0 + 5.0 * n.powi(2) + p.log2()]);
        }
    }
    let settings = Settings::default();
    let model = Fitter::new(&measured.parameters, &settings).fit(&measured.series[0]).unwrap();
    assert_eq!(model.text, "5 * n^2 + 3 + 1 * log2(p)");
    for n in [-1.0, 0.0, 2.0] {
        let error = model.value_at(&[n, 0.0]).unwrap_err().to_string();
        assert!(error.starts_with("`p` = 0 is outside"), "{n}: {error}");
    }
}
