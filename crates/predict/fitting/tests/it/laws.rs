//! Laws that hold for any measurements.

use fitting::{Measurements, ModelFile, Settings, fit};
use proptest::prelude::*;

/// Measurements over up to three parameters: few points or many, smooth or random.
fn any_measurements() -> impl Strategy<Value = Measurements> {
    let value = prop_oneof![8 => 1e-6..1e3, 1 => Just(1.0), 1 => 1e-12..1e12];
    (1_usize..=3)
        .prop_flat_map(move |n_parameters| {
            let coordinate = prop_oneof![(1_u32..9).prop_map(|k| f64::from(1 << k)), 1.0..1e7];
            let at = prop::collection::vec(coordinate, n_parameters);
            let point = (at, prop::collection::vec(value.clone(), 1..5));
            (Just(n_parameters), prop::collection::vec(point, 1..40))
        })
        .prop_map(|(n_parameters, points)| {
            let names = ["p", "n", "x"].map(str::to_owned);
            let mut measured = Measurements::of(names[..n_parameters].to_vec());
            points.iter().for_each(|(at, values)| measured.add("a", "time", at, values));
            measured
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn times_stay_positive_and_within_their_intervals(measured in any_measurements()) {
        let model = fit(&measured, &Settings::default()).remove(0).unwrap();
        for factor in [0.5, 1.0, 3.0, 100.0] {
            for point in &measured.series[0].points {
                let at: Vec<f64> = point.at.iter().map(|x| (factor * x).max(1.0)).collect();
                let said = model.value_at(&at).unwrap();
                prop_assert!(0.0 <= said.low && said.low <= said.value && said.value <= said.high);
                prop_assert!(0.0 < said.value, "{} {said:?}", model.text);
            }
        }
    }

    #[test]
    fn a_model_survives_its_file(measured in any_measurements()) {
        let model = fit(&measured, &Settings::default()).remove(0).unwrap();
        let file = ModelFile::of(vec![model]);
        prop_assert_eq!(ModelFile::read(&file.write().unwrap()).unwrap(), file);
    }

    #[test]
    fn the_unit_of_time_does_not_matter(measured in any_measurements()) {
        let mut in_ms = measured.clone();
        let values = in_ms.series[0].points.iter_mut().flat_map(|point| &mut point.values);
        // Multiplication by a power of two is exact, but not the logarithm of a value.
        values.for_each(|value| *value *= 1024.0);
        let models = [measured, in_ms].map(|it| fit(&it, &Settings::default()).remove(0).unwrap());
        let at = vec![16.0; models[0].parameters.len()];
        let [seconds, milliseconds] = models.map(|model| model.value_at(&at).unwrap().value);
        prop_assert!((1024.0 * seconds / milliseconds - 1.0).abs() < 1e-6);
    }
}
