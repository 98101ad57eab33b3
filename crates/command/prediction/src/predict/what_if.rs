//! `--scale REGION=FACTOR`: what if a region took another time?

use crate::text::matches;
use anyhow::Context;
use fitting::{ModelFile, TOTAL};
use program_graph::compose::RankPrograms;
use run_record::sample_file::SEPARATOR;
use run_record::summary::SampledFunction;
use run_record::{RunRecord, Summary};
use std::collections::{BTreeMap, BTreeSet};
use user_io::ensure_option;

/// Names of functions that an error lists.
const N_LISTED: usize = 8;

/// A region and the factor of its time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scale {
    /// Pattern of a region, or of a part of its path.
    region: String,
    /// Factor, 0 or more.
    factor: f64,
}

/// Parses `ljForce=0.5`.
pub(super) fn scale(text: &str) -> Result<Scale, String> {
    let wanted = "write REGION=FACTOR, such as `solve=0.5`";
    let (region, factor) = text.rsplit_once('=').ok_or(wanted)?;
    let factor = factor.trim().parse::<f64>().ok();
    let factor = factor.filter(|factor| factor.is_finite() && 0.0 <= *factor).ok_or(wanted)?;
    Ok(Scale { region: region.trim().to_owned(), factor })
}

impl Scale {
    /// Returns whether the pattern is that of a region: of its whole name, or of a part of its path, so that a function
    /// includes what it calls.
    fn holds(&self, region: &str) -> bool {
        matches(&self.region, region) || region.split("->").any(|part| matches(&self.region, part))
    }
}

/// Returns the product of the factors of a region.
fn factor(scales: &[Scale], region: &str) -> f64 {
    scales.iter().filter(|scale| scale.holds(region)).map(|scale| scale.factor).product()
}

/// Scales the times of regions in a file of models; the whole program is then their sum.
///
/// # Errors
/// If a region is not among those with models of this metric.
pub(super) fn scale_models(
    file: &mut ModelFile,
    metric: &str,
    scales: &[Scale],
) -> anyhow::Result<()> {
    let of_metric = file.models.iter().filter(|model| model.metric == metric);
    let names: BTreeSet<String> = of_metric.map(|model| model.region.clone()).collect();
    for scale in scales {
        ensure_option!(
            names.iter().any(|name| name != TOTAL && scale.holds(name)),
            "`--scale {}`: the models of `{metric}` have no such region; they have {}",
            scale.region,
            listed(names.iter().filter(|name| *name != TOTAL).map(String::as_str))
        );
    }
    if !scales.is_empty() {
        file.models.retain(|model| model.region != TOTAL);
    }
    for model in &mut file.models {
        if model.metric == metric {
            model.known.scale = Some(factor(scales, &model.region));
        }
    }
    Ok(())
}

/// Scales the computing of a run's ranks by the shares that samples found in functions; each rank's computing is scaled
/// evenly, because samples do not tell when a function ran.
///
/// # Errors
/// If the run was not sampled, or no sample is in a function.
pub(super) fn scale_run(
    program: &mut RankPrograms,
    record: &RunRecord,
    (summary, world): (&Summary, u32),
    scales: &[Scale],
) -> anyhow::Result<()> {
    if scales.is_empty() {
        return Ok(());
    }
    let rows = record.read_samples()?;
    let rows = rows.iter().filter(|row| row.world == world && row.call_site.is_none());
    // Samples of each rank: all, and their sum after scaling.
    let mut sums: BTreeMap<u32, [f64; 2]> = BTreeMap::new();
    let mut met = vec![false; scales.len()];
    for row in rows {
        let path = row.call_path.split(SEPARATOR).map(plain).collect::<Vec<_>>().join("->");
        met.iter_mut().zip(scales).for_each(|(met, scale)| *met |= scale.holds(&path));
        let [all, scaled] = sums.entry(row.rank).or_default();
        *all += row.samples as f64;
        *scaled += row.samples as f64 * factor(scales, &path);
    }
    let functions = summary.sampling.as_ref().map(|sampling| &sampling.functions[..]);
    let functions = functions.filter(|functions| !functions.is_empty()).context(
        "`--scale` needs call paths, and the run was not sampled: `sintonia doctor` says what that takes",
    )?;
    for (scale, is_met) in scales.iter().zip(met) {
        ensure_option!(
            is_met,
            "`--scale {}`: no sample of the run is in such a function; the functions with most time are {}",
            scale.region,
            listed(computing(functions).into_iter())
        );
    }
    program.scale_computing(|rank| match sums.get(&rank) {
        Some([all, scaled]) if 0.0 < *all => scaled / all,
        _ => 1.0,
    });
    Ok(())
}

/// Names of functions that computed themselves, each once, those with most time first.
fn computing(functions: &[SampledFunction]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for function in functions.iter().filter(|it| 0.0 < it.self_s) {
        let name = plain(&function.place.function);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Name of a function without the suffix of what the compiler took out of it for OpenMP.
fn plain(function: &str) -> &str {
    let end = ["._omp_fn.", ".omp_outlined"].iter().filter_map(|suffix| function.find(suffix));
    &function[..end.min().unwrap_or(function.len())]
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<&str> = names.collect();
    let n_more = names.len().saturating_sub(N_LISTED);
    names.truncate(N_LISTED);
    let more = if n_more == 0 { String::new() } else { format!(" and {n_more} more") };
    format!("`{}`{more}", names.join("`, `"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_includes_what_it_calls() {
        let scales = ["force=0.5", "main->halo*=2"].map(|text| scale(text).unwrap());
        let percent = |region| format!("{:.0}", 100.0 * factor(&scales, region));
        let found = ["main->force", "main->force->pair", "main->halo->pack", "main"].map(percent);
        assert_eq!(found, ["50", "50", "200", "100"]);
        assert!(scale("force").is_err() && scale("force=-1").is_err() && scale("f=x").is_err());
    }
}
