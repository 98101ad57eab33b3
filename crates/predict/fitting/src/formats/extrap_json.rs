//! Extra-P's JSON: the newer form, which is also written, and the older one with references by id.

use super::{Fault, Pairs, Reading, check_names, check_times};
use crate::measurements::{Measurements, MeasurementsBuilder};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

#[derive(Serialize, Deserialize)]
struct Newer {
    parameters: Vec<String>,
    measurements: Pairs<Pairs<Vec<NewerPoint>>>,
}

#[derive(Serialize, Deserialize)]
struct NewerPoint {
    point: Vec<f64>,
    values: Vec<f64>,
}

#[derive(Deserialize)]
struct Older {
    parameters: Vec<Named>,
    callpaths: Vec<Named>,
    metrics: Vec<Named>,
    coordinates: Vec<Coordinate>,
    measurements: Vec<Measurement>,
}

#[derive(Deserialize)]
struct Named {
    id: i64,
    name: String,
}

#[derive(Deserialize)]
struct Coordinate {
    id: i64,
    parameter_value_pairs: Vec<ParameterValue>,
}

#[derive(Deserialize)]
struct ParameterValue {
    parameter_id: i64,
    parameter_value: Number,
}

#[derive(Deserialize)]
struct Measurement {
    callpath_id: i64,
    coordinate_id: i64,
    metric_id: i64,
    value: Number,
}

/// A number, optionally in quotes.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Plain(f64),
    Quoted(String),
}

impl Number {
    fn value(&self) -> Result<f64, Fault> {
        match self {
            Self::Plain(value) => Ok(*value),
            Self::Quoted(text) => super::number(text),
        }
    }
}

/// Tells the two forms apart: only the older one has `callpaths`.
#[derive(Deserialize)]
struct Shape {
    callpaths: Option<serde::de::IgnoredAny>,
}

/// Reads a file of either form.
pub fn read(text: &str) -> Reading {
    let older = serde_json::from_str(text).is_ok_and(|shape: Shape| shape.callpaths.is_some());
    let read = if older {
        serde_json::from_str(text).map(|file| read_older(&file))
    } else {
        serde_json::from_str(text).map(read_newer)
    };
    read.unwrap_or_else(|error| {
        let place = format!("line {}", error.line());
        Fault::Malformed(error.to_string()).at(place).into()
    })
}

fn read_newer(file: Newer) -> Reading {
    let n_parameters = file.parameters.len();
    if let Err(fault) = check_names(&file.parameters) {
        return fault.at("`parameters`").into();
    }
    let (mut builder, mut problems) = (MeasurementsBuilder::of(file.parameters), Vec::new());
    for (region, metrics) in &file.measurements.0 {
        for (metric, points) in &metrics.0 {
            for (idx, point) in points.iter().enumerate() {
                let n_given = point.point.len();
                let sound = if n_given == n_parameters {
                    check_times(metric, &point.values)
                } else {
                    Err(Fault::WrongPoint { n_given, n_parameters })
                };
                match sound {
                    Ok(()) => builder.add(region, metric, &point.point, &point.values),
                    Err(fault) => {
                        let place = format!("`{region}`, `{metric}`, point {}", idx + 1);
                        problems.push(fault.at(place));
                    }
                }
            }
        }
    }
    Reading { measured: builder.measured, problems, ..Reading::default() }
}

/// Definitions of the older form, by id.
struct IdTables<'a> {
    parameters: Vec<&'a Named>,
    coordinates: HashMap<i64, &'a Coordinate>,
    regions: HashMap<i64, &'a str>,
    metrics: HashMap<i64, &'a str>,
}

impl<'a> IdTables<'a> {
    fn of(file: &'a Older) -> Self {
        let mut parameters: Vec<&Named> = file.parameters.iter().collect();
        parameters.sort_by_key(|parameter| parameter.id);
        // Of two definitions with the same id, the first counts.
        let names = |all: &'a [Named]| {
            all.iter().rev().map(|named| (named.id, named.name.as_str())).collect()
        };
        Self {
            parameters,
            coordinates: file.coordinates.iter().rev().map(|one| (one.id, one)).collect(),
            regions: names(&file.callpaths),
            metrics: names(&file.metrics),
        }
    }
}

fn read_older(file: &Older) -> Reading {
    let known = IdTables::of(file);
    let names: Vec<String> = known.parameters.iter().map(|one| one.name.clone()).collect();
    if let Err(fault) = check_names(&names) {
        return fault.at("`parameters`").into();
    }
    let (mut builder, mut problems) = (MeasurementsBuilder::of(names), Vec::new());
    for (idx, measurement) in file.measurements.iter().enumerate() {
        if let Err(fault) = take(&mut builder, &known, measurement) {
            problems.push(fault.at(format!("measurement {}", idx + 1)));
        }
    }
    Reading { measured: builder.measured, problems, ..Reading::default() }
}

fn take(
    builder: &mut MeasurementsBuilder,
    known: &IdTables<'_>,
    measurement: &Measurement,
) -> Result<(), Fault> {
    let id = measurement.coordinate_id;
    let coordinate = known.coordinates.get(&id).ok_or(Fault::UnknownId("coordinates", id))?;
    let value_of = |parameter: &&Named| {
        let mut pairs = coordinate.parameter_value_pairs.iter();
        let pair = pairs.find(|pair| pair.parameter_id == parameter.id);
        pair.ok_or_else(|| Fault::Missing(parameter.name.clone()))?.parameter_value.value()
    };
    let at = known.parameters.iter().map(value_of).collect::<Result<Vec<f64>, Fault>>()?;
    let (region_id, metric_id) = (measurement.callpath_id, measurement.metric_id);
    let region = known.regions.get(&region_id).ok_or(Fault::UnknownId("callpaths", region_id))?;
    let metric = known.metrics.get(&metric_id).ok_or(Fault::UnknownId("metrics", metric_id))?;
    let value = measurement.value.value()?;
    check_times(metric, &[value])?;
    builder.add(region, metric, &at, &[value]);
    Ok(())
}

/// Writes the measurements in the newer form.
///
/// # Errors
/// Never for finite numbers.
pub fn write(measured: &Measurements) -> Result<String, serde_json::Error> {
    let mut regions: Vec<(String, Pairs<Vec<NewerPoint>>)> = Vec::new();
    for series in &measured.series {
        let point = |point: &crate::MeasuredPoint| NewerPoint {
            point: point.at.clone(),
            values: point.values.clone(),
        };
        let metric = (series.metric.clone(), series.points.iter().map(point).collect());
        match regions.iter_mut().find(|(region, _)| *region == series.region) {
            Some((_, metrics)) => metrics.0.push(metric),
            None => regions.push((series.region.clone(), Pairs(vec![metric]))),
        }
    }
    serde_json::to_string_pretty(&Newer {
        parameters: measured.parameters.clone(),
        measurements: Pairs(regions),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured() -> Measurements {
        let mut measured = Measurements::of(vec!["p".into(), "n".into()]);
        measured.add("main->b", "time", &[2.0, 10.0], &[1.5, 2.0]);
        measured.add("main->b", "time", &[4.0, 10.0], &[3.0]);
        measured.add("main->a", "time", &[2.0, 10.0], &[4.0]);
        measured.add("main->b", "bytes", &[2.0, 10.0], &[5.0]);
        measured
    }

    #[test]
    fn what_is_written_is_read_back() {
        let reading = read(&write(&measured()).unwrap());
        let mut expected = measured();
        expected.series.swap(1, 2);
        assert_eq!(reading, Reading { measured: expected, ..Reading::default() });
    }

    #[test]
    fn the_older_form_refers_by_ids() {
        let text = r#"{
            "callpaths": [{"id": 1, "name": "sweep"}],
            "coordinates": [{"id": 7, "parameter_value_pairs": [
                {"parameter_id": 2, "parameter_value": 10}, {"parameter_id": 1, "parameter_value": "4"}]}],
            "metrics": [{"id": 1, "name": "time"}],
            "parameters": [{"id": 2, "name": "n"}, {"id": 1, "name": "p"}],
            "measurements": [
                {"callpath_id": 1, "coordinate_id": 7, "id": 1, "metric_id": 1, "value": 3.5},
                {"callpath_id": 1, "coordinate_id": 7, "id": 2, "metric_id": 1, "value": 4},
                {"callpath_id": 1, "coordinate_id": 8, "id": 3, "metric_id": 1, "value": 5}]}"#;
        let mut expected = Measurements::of(vec!["p".into(), "n".into()]);
        expected.add("sweep", "time", &[4.0, 10.0], &[3.5, 4.0]);
        let fault = Fault::UnknownId("coordinates", 8);
        let problems = vec![fault.at("measurement 3")];
        assert_eq!(read(text), Reading { measured: expected, problems, ..Reading::default() });
    }

    #[test]
    fn what_is_wrong_is_named() {
        let text = r#"{"parameters": ["p"], "measurements": {"a": {"time": [
            {"point": [1, 2], "values": [3]}, {"point": [1], "values": [3]}]}}}"#;
        let reading = read(text);
        assert_eq!(reading.measured.series[0].points.len(), 1);
        assert_eq!(reading.problems[0].place, "`a`, `time`, point 1");
        assert_eq!(read("{\n]").problems[0].place, "line 2");
    }
}
