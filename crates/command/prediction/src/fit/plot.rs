//! Draws measurements and models: for each of the largest regions a panel, and one of what was measured over what the model
//! says; then the shares of the regions.

use crate::text::{axis_name, in_words};
use crate::values::n_different;
use display::chart::{self, ChartLine, Panel};
use fitting::{FittedModel, Measurements, ModelFile, Opinion, SampleRule, TOTAL};

/// Most panels; further regions, of less time, are not drawn.
const N_PANELS_MAX: usize = 12;
/// Most lines in a panel.
const N_LINES_MAX: usize = 6;

/// Most forms beside a line, and the least weight of one.
const N_FORMS_MAX: usize = 4;
const FORM_LEAST: f64 = 0.05;

/// Draws the picture as SVG.
pub(super) fn picture(file: &ModelFile, seen: &Measurements, unseen: &Measurements) -> String {
    let mut models: Vec<&FittedModel> = file.models.iter().collect();
    models.sort_by(|a, b| largest(b, seen).total_cmp(&largest(a, seen)));
    let largest = models.iter().take(N_PANELS_MAX);
    let pair = |model: &&FittedModel| [panel(model, seen, unseen), residuals(model, seen, unseen)];
    let mut panels: Vec<Panel> = largest.flat_map(pair).collect();
    panels.extend(shares(&models, seen));
    chart::panels(&panels, 2)
}

/// Points with their values.
type Levels = Vec<(Vec<f64>, f64)>;

fn levels(model: &FittedModel, measured: &Measurements) -> Levels {
    let is_its =
        |series: &&fitting::Series| series.region == model.region && series.metric == model.metric;
    let series = measured.series.iter().filter(is_its);
    let points = series.flat_map(|series| &series.points);
    let level = |point: &fitting::MeasuredPoint| {
        Some((point.at.clone(), SampleRule::default().point_value(&point.values)?.value))
    };
    points.filter_map(level).collect()
}

fn largest(model: &FittedModel, seen: &Measurements) -> f64 {
    levels(model, seen).iter().map(|(_, value)| *value).fold(0.0, f64::max)
}

fn panel(model: &FittedModel, seen: &Measurements, unseen: &Measurements) -> Panel {
    if model.parameters.is_empty() {
        return Panel { title: model.text.clone(), ..Panel::default() };
    }
    let (seen, unseen) = (levels(model, seen), levels(model, unseen));
    let x_idx = across(model, &seen);
    // One line for each combination of the other parameters.
    let others = |at: &[f64]| {
        let mut others = at.to_vec();
        others.remove(x_idx);
        others
    };
    let mut combinations: Vec<Vec<f64>> = Vec::new();
    for (at, _) in seen.iter().chain(&unseen) {
        if !at.is_empty() && !combinations.contains(&others(at)) {
            combinations.push(others(at));
        }
    }
    combinations.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    // Of too many combinations, only every n-th is drawn.
    let every = combinations.len().div_ceil(N_LINES_MAX).max(1);
    let all = || seen.iter().chain(&unseen).map(|(at, _)| at[x_idx]);
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    // A single line goes on to twice the largest value, as its forms do.
    let end = if combinations.len() == 1 { 2.0 * high } else { high };
    let line = |combination: &Vec<f64>| {
        let of = |levels: &Levels| {
            let its = levels.iter().filter(|(at, _)| others(at) == *combination);
            its.map(|(at, value)| [at[x_idx], *value]).collect::<Vec<_>>()
        };
        let steps = chart::steps(low, end).into_iter().filter_map(|x| {
            let mut at = combination.clone();
            at.insert(x_idx, x);
            Some((x, model.value_at(&at).ok()?))
        });
        let predictions: Vec<_> = steps.collect();
        ChartLine {
            name: name(model, x_idx, combination),
            line: predictions.iter().map(|(x, it)| [*x, it.value]).collect(),
            band: predictions.iter().map(|(x, it)| [*x, it.low, it.high]).collect(),
            points: of(&seen),
            hollow: of(&unseen),
            ..ChartLine::default()
        }
    };
    let mut lines: Vec<ChartLine> = combinations.iter().step_by(every).map(line).collect();
    if let [only] = &combinations[..] {
        lines.extend(forms(model, (x_idx, only), [low, end]));
    }
    Panel {
        title: if model.region.is_empty() { model.metric.clone() } else { model.region.clone() },
        x_name: model.parameters.get(x_idx).cloned().unwrap_or_default(),
        y_name: axis_name(&model.metric),
        lines,
        ..Panel::default()
    }
}

/// Measured values over predicted ones, with the interval over the latter.
fn residuals(model: &FittedModel, seen: &Measurements, unseen: &Measurements) -> Panel {
    let (seen, unseen) = (levels(model, seen), levels(model, unseen));
    let x_idx = across(model, &seen);
    let ratios = |levels: &Levels| {
        let ratio = |(at, value): &(Vec<f64>, f64)| {
            let predicted = model.value_at(at).ok().filter(|it| 0.0 < it.value)?;
            let [low, high] = [predicted.low, predicted.high].map(|end| end / predicted.value);
            Some((*at.get(x_idx)?, value / predicted.value, low, high))
        };
        levels.iter().filter_map(ratio).collect::<Vec<_>>()
    };
    let (used, kept_back) = (ratios(&seen), ratios(&unseen));
    let all = || used.iter().chain(&kept_back);
    let mut intervals: Vec<[f64; 3]> = all().map(|(x, _, low, high)| [*x, *low, *high]).collect();
    intervals.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let points =
        |of: &[(f64, f64, f64, f64)]| of.iter().map(|(x, ratio, ..)| [*x, *ratio]).collect();
    let line = ChartLine {
        name: "interval".to_owned(),
        line: intervals.iter().map(|[x, ..]| [*x, 1.0]).collect(),
        intervals,
        points: points(&used),
        hollow: points(&kept_back),
        ..ChartLine::default()
    };
    Panel {
        title: "residuals".to_owned(),
        x_name: model.parameters.get(x_idx).cloned().unwrap_or_default(),
        y_name: "measured / predicted".to_owned(),
        lines: vec![line],
        ..Panel::default()
    }
}

/// Shares of the largest regions in the time of all, at the largest values of the other parameters.
fn shares(models: &[&FittedModel], seen: &Measurements) -> Option<Panel> {
    let is_part = |model: &&&FittedModel| model.metric == "time" && model.region != TOTAL;
    let parts: Vec<(&str, Levels)> = models
        .iter()
        .filter(is_part)
        .map(|model| (&model.region[..], levels(model, seen)))
        .collect();
    let (first, _) = (models.iter().find(is_part)?, parts.get(1)?);
    let x_idx = across(first, &parts[0].1);
    let others = |at: &[f64]| {
        let mut others = at.to_vec();
        others.remove(x_idx);
        others
    };
    let all = parts.iter().flat_map(|(_, levels)| levels).filter(|(at, _)| x_idx < at.len());
    let last = all
        .map(|(at, _)| others(at))
        .max_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal))?;
    let is_here = |at: &[f64]| x_idx < at.len() && others(at) == last;
    let mut sums: Vec<(f64, f64)> = Vec::new();
    for (at, value) in parts.iter().flat_map(|(_, levels)| levels).filter(|(at, _)| is_here(at)) {
        match sums.iter_mut().find(|(x, _)| x.total_cmp(&at[x_idx]).is_eq()) {
            Some((_, sum)) => *sum += value,
            None => sums.push((at[x_idx], *value)),
        }
    }
    let line = |(region, levels): &(&str, Levels)| {
        let share = |(at, value): &(Vec<f64>, f64)| {
            let sum = sums.iter().find(|(x, _)| x.total_cmp(&at[x_idx]).is_eq());
            sum.filter(|(_, sum)| 0.0 < *sum).map(|(x, sum)| [*x, 100.0 * value / sum])
        };
        let own = levels.iter().filter(|(at, _)| is_here(at));
        let mut points: Vec<[f64; 2]> = own.filter_map(share).collect();
        points.sort_by(|a, b| a[0].total_cmp(&b[0]));
        ChartLine {
            name: (*region).to_owned(),
            line: points.clone(),
            points,
            ..ChartLine::default()
        }
    };
    let at = first.parameters.iter().enumerate().filter(|(idx, _)| *idx != x_idx);
    let at = in_words(at.map(|(_, name)| name).zip(last.iter().copied()));
    Some(Panel {
        title: if at.is_empty() {
            "shares of the regions".to_owned()
        } else {
            format!("shares of the regions at {at}")
        },
        x_name: first.parameters.get(x_idx).cloned().unwrap_or_default(),
        y_name: "percent of the time of all regions".to_owned(),
        lines: parts.iter().take(N_LINES_MAX).map(line).collect(),
        ..Panel::default()
    })
}

/// Lines of the forms that a single line is the average of, to the same end.
fn forms(
    model: &FittedModel,
    (x_idx, others): (usize, &[f64]),
    [low, end]: [f64; 2],
) -> Vec<ChartLine> {
    let at = |x: f64| {
        let mut at = others.to_vec();
        at.insert(x_idx, x);
        at
    };
    let beyond = model.opinions(&at(end));
    let names = beyond.iter().filter(|form| FORM_LEAST <= form.weight).map(|form| form.form);
    let said: Vec<(f64, Vec<Opinion>)> =
        chart::steps(low, end).into_iter().map(|x| (x, model.opinions(&at(x)))).collect();
    let line = |name: &str| {
        let value = |(x, said): &(f64, Vec<Opinion>)| {
            Some([*x, said.iter().find(|form| form.form == name)?.value])
        };
        ChartLine {
            name: name.to_owned(),
            line: said.iter().filter_map(value).collect(),
            is_thin: true,
            ..ChartLine::default()
        }
    };
    names.take(N_FORMS_MAX).map(line).collect()
}

/// Index of the parameter with the most values.
fn across(model: &FittedModel, seen: &Levels) -> usize {
    let n_values = |idx: &usize| n_different(seen.iter().map(|(at, _)| at[*idx]));
    (0..model.parameters.len()).rev().max_by_key(n_values).unwrap_or(0)
}

fn name(model: &FittedModel, x_idx: usize, combination: &[f64]) -> String {
    let names = model.parameters.iter().enumerate().filter(|(idx, _)| *idx != x_idx);
    in_words(names.map(|(_, name)| name).zip(combination.iter().copied()))
}
