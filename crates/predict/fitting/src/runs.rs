//! Leaves disturbed runs out of all regions, where a region `total` shows which runs those are.
//!
//! Each region by itself would keep its own fastest repetitions. But noise moves between regions that wait for each
//! other, and their sum would be less than any run took. So a run counts for all of its regions or for none, and the
//! mean of the sums equals the sum of the means.

use crate::measurements::Measurements;
use crate::model::TOTAL;
use crate::samples::SampleRule;

/// Replaces values of disturbed runs by NaN; returns the rule to apply to the remaining ones.
///
/// The k-th repetition of a region is matched with the k-th of the whole program at points with equally many of both;
/// elsewhere a region is judged by its own values. Without a region `total`, or with another rule than
/// [`SampleRule::NearMinimum`], nothing changes.
pub fn leave_out(measured: &mut Measurements, rule: SampleRule) -> SampleRule {
    let total = measured.series.iter().find(|series| series.region == TOTAL);
    let (Some(total), SampleRule::NearMinimum(_), 2..) = (total, rule, measured.series.len())
    else {
        return rule;
    };
    let points = total.points.clone();
    let of_total = rule.widened(&points);
    for series in &mut measured.series {
        let own = rule.widened(&series.points);
        for point in &mut series.points {
            let runs = points
                .iter()
                .find(|run| run.at == point.at && run.values.len() == point.values.len());
            let is_kept = match runs {
                Some(runs) => kept(&runs.values, of_total),
                None => kept(&point.values, own),
            };
            let left_out = point.values.iter_mut().zip(is_kept).filter(|(_, is_kept)| !is_kept);
            left_out.for_each(|(value, _)| *value = f64::NAN);
        }
    }
    SampleRule::Mean
}

/// Returns which values are close enough to the smallest to be kept.
fn kept(values: &[f64], rule: SampleRule) -> Vec<bool> {
    let SampleRule::NearMinimum(share) = rule else { return vec![true; values.len()] };
    let smallest =
        values.iter().copied().filter(|value| value.is_finite()).fold(f64::INFINITY, f64::min);
    values.iter().map(|value| *value <= smallest + share * smallest.abs()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(series: &[(&str, &[f64])]) -> Measurements {
        let mut measured = Measurements::of(vec!["p".into()]);
        for (region, values) in series {
            measured.add(region, "time", &[1.0], values);
        }
        measured
    }

    /// Checks the remaining values of each region.
    #[track_caller]
    fn check(series: &[(&str, &[f64])], expected: &[&[f64]]) {
        let mut measured = measured(series);
        leave_out(&mut measured, SampleRule::NearMinimum(0.3));
        let left = measured.series.iter().map(|series| {
            let values = series.points[0].values.iter().copied();
            values.filter(|value| value.is_finite()).collect::<Vec<f64>>()
        });
        assert_eq!(left.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_run_counts_for_all_of_its_regions_or_for_none() {
        let total: &[f64] = &[10.0, 20.0, 11.0];
        // Both regions together take as long as the program; each has a different fastest run.
        check(
            &[("a", &[4.0, 10.0, 7.0]), ("b", &[6.0, 10.0, 4.0]), ("total", total)],
            &[&[4.0, 7.0], &[6.0, 4.0], &[10.0, 11.0]],
        );
        check(&[("a", &[4.0, 10.0]), ("total", total)], &[&[4.0], &[10.0, 11.0]]);
        check(&[("a", &[4.0, 10.0, 7.0])], &[&[4.0, 10.0, 7.0]]);
        check(&[("total", total)], &[total]);
    }

    #[test]
    fn the_rest_goes_by_its_mean() {
        let both: [(&str, &[f64]); 2] = [("a", &[1.0]), ("total", &[1.0])];
        assert_eq!(leave_out(&mut measured(&both), SampleRule::NearMinimum(0.3)), SampleRule::Mean);
        assert_eq!(leave_out(&mut measured(&both), SampleRule::Median), SampleRule::Median);
        let alone = leave_out(&mut measured(&both[..1]), SampleRule::NearMinimum(0.3));
        assert_eq!(alone, SampleRule::NearMinimum(0.3));
    }
}
