//! Parses values of parameters as users write them: `n=1200`, `p=2,4,8`, `p=2:64:*2`, `n=100:1000:100`.

use std::collections::HashSet;
use std::str::FromStr;
use user_io::ensure_option;

/// Most values of one range, and most points of all ranges.
const N_POINTS_MAX: usize = 1_000_000;

/// Parameter and its values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Values {
    pub(crate) name: String,
    pub(crate) values: Vec<f64>,
}

impl FromStr for Values {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || "write NAME=VALUE, NAME=2,4,8, NAME=2:64:*2 or NAME=100:1000:100".to_owned();
        let (name, list) = text.split_once('=').ok_or_else(form)?;
        let name = name.trim().to_owned();
        let mut values = Vec::new();
        for part in list.split([',', '|']) {
            values.extend(range(part.trim()).ok_or_else(form)?);
            if N_POINTS_MAX < values.len() {
                return Err(format!("these are more than {N_POINTS_MAX} values"));
            }
        }
        if name.is_empty() { Err(form()) } else { Ok(Self { name, values }) }
    }
}

/// Number, or the numbers of `LOW:HIGH`, `LOW:HIGH:STEP` or `LOW:HIGH:*FACTOR`.
fn range(text: &str) -> Option<Vec<f64>> {
    let number = |text: &str| text.trim().parse().ok().filter(|number: &f64| number.is_finite());
    let parts: Vec<&str> = text.split(':').collect();
    let (low, high, step) = match parts[..] {
        [only] => return Some(vec![number(only)?]),
        [low, high] => (number(low)?, number(high)?, "1"),
        [low, high, step] => (number(low)?, number(high)?, step.trim()),
        _ => return None,
    };
    let (factor, step) = match step.strip_prefix('*') {
        Some(factor) => (number(factor)?, 0.0),
        None => (1.0, number(step)?),
    };
    let grows = (1.0 < factor && 0.0 < low) || 0.0 < step;
    if !grows || high < low {
        return None;
    }
    // `HIGH` is included in spite of rounding.
    let end = high + 1e-9 * (high.abs() + step);
    let at = |k: u32| {
        let k = f64::from(k);
        if 1.0 < factor { low * factor.powf(k) } else { step.mul_add(k, low) }
    };
    let values = (0..).map(at).take_while(|value| *value <= end).take(N_POINTS_MAX + 1);
    Some(values.map(|value| (1e9 * value).round() / 1e9).collect())
}

/// Number of different values.
pub(crate) fn n_different(values: impl Iterator<Item = f64>) -> usize {
    values.map(f64::to_bits).collect::<HashSet<_>>().len()
}

/// Point: each parameter with a value.
pub(crate) type ParameterPoint<'a> = Vec<(&'a str, f64)>;

/// All combinations of values; the last parameter changes first.
///
/// # Errors
/// If a parameter is named twice, or there are too many combinations.
pub(crate) fn points(all: &[Values]) -> anyhow::Result<Vec<ParameterPoint<'_>>> {
    points_of(&all.iter().collect::<Vec<_>>())
}

/// As [`points`], for values from several places.
///
/// # Errors
/// As [`points`].
pub(crate) fn points_of<'a>(all: &[&'a Values]) -> anyhow::Result<Vec<ParameterPoint<'a>>> {
    let n_points = all.iter().map(|one| one.values.len()).try_fold(1_usize, usize::checked_mul);
    ensure_option!(
        n_points.is_some_and(|n_points| n_points <= N_POINTS_MAX),
        "these are more than {N_POINTS_MAX} combinations: give fewer values"
    );
    let mut points: Vec<ParameterPoint<'a>> = vec![Vec::new()];
    for (idx, Values { name, values }) in all.iter().copied().enumerate() {
        ensure_option!(
            all[..idx].iter().all(|other| other.name != *name),
            "`{name}` is given twice: separate its values by commas"
        );
        points = points
            .iter()
            .flat_map(|point| {
                values.iter().map(|value| [&point[..], &[(name.as_str(), *value)]].concat())
            })
            .collect();
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&[f64]>) {
        let read: Result<Values, String> = text.parse();
        assert_eq!(read.ok().map(|read| read.values).as_deref(), expected, "{text}");
    }

    #[test]
    fn values_may_be_listed_or_ranged() {
        check("n=1200", Some(&[1200.0]));
        check("p=2,4, 8", Some(&[2.0, 4.0, 8.0]));
        check("p=2:16:*2", Some(&[2.0, 4.0, 8.0, 16.0]));
        check("p=1:4", Some(&[1.0, 2.0, 3.0, 4.0]));
        check("n=0.1:0.5:0.2", Some(&[0.1, 0.3, 0.5]));
        check("n=100:250:100,1e3", Some(&[100.0, 200.0, 1000.0]));
        check("n = 5", Some(&[5.0]));
        let wrong = "n|=2|n=|n=x|n=2:1|n=1:4:0|n=0:4:*2|n=1:4:*1|n=1:2:3:4|n=nan|n=1:1e12";
        for wrong in wrong.split('|') {
            check(wrong, None);
        }
    }

    #[test]
    fn all_combinations_are_points() {
        let all = ["n=1,2", "p=3,4"].map(|text| text.parse::<Values>().unwrap());
        let found = points(&all).unwrap();
        assert_eq!(found.len(), 4);
        assert_eq!(found[1], [("n", 1.0), ("p", 4.0)]);
        assert!(points(&[all[0].clone(), all[0].clone()]).is_err());
        assert_eq!(points(&[]).unwrap(), [vec![]]);
    }
}
