//! Points and values of a curve as logarithms, and how the values change.

use crate::vocabulary::ParameterRole;

/// Smallest and largest logarithm.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogRange {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Points and values, as logarithms.
pub(crate) struct Observed {
    pub(crate) logs: Vec<Vec<f64>>,
    pub(crate) values: Vec<f64>,
    pub(crate) log_ranges: Vec<LogRange>,
}

/// How the values change, which says what forms are likely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trend {
    /// They fall with the number of processes, the only parameter that varies.
    Falling,
    /// They grow with a size, the only parameter that varies.
    Growing,
    /// They do otherwise with the only parameter that varies.
    Other,
    /// Several parameters vary.
    Several,
}

impl Trend {
    pub(crate) fn of(observed: &Observed, roles: &[ParameterRole]) -> Self {
        let mut varying = (0..roles.len())
            .filter(|idx| observed.log_ranges[*idx].low < observed.log_ranges[*idx].high);
        let (Some(idx), None) = (varying.next(), varying.next()) else { return Self::Several };
        let points = || observed.logs.iter().map(|at| at[idx]).zip(&observed.values);
        let first = points().min_by(|a, b| a.0.total_cmp(&b.0));
        let last = points().max_by(|a, b| a.0.total_cmp(&b.0));
        let is_falling = first.zip(last).is_some_and(|(first, last)| last.1 < first.1);
        match (roles[idx] == ParameterRole::Processes, is_falling) {
            (true, true) => Self::Falling,
            (false, false) => Self::Growing,
            _ => Self::Other,
        }
    }
}

impl Observed {
    pub(crate) fn of(points: &[Vec<f64>], values: &[f64]) -> Self {
        let logs = points.iter().map(|at| at.iter().map(|x| x.ln()).collect()).collect();
        Self::of_logs(logs, values.iter().map(|value| value.ln()).collect())
    }

    fn of_logs(logs: Vec<Vec<f64>>, values: Vec<f64>) -> Self {
        let log_ranges = log_ranges(&logs);
        Self { logs, values, log_ranges }
    }

    /// Returns the points that are used.
    pub(crate) fn only(&self, is_used: &[bool]) -> Self {
        let used = || (0..self.logs.len()).filter(|idx| is_used[*idx]);
        let logs = used().map(|idx| self.logs[idx].clone()).collect();
        Self::of_logs(logs, used().map(|idx| self.values[idx]).collect())
    }

    /// Returns how far a point lies beyond these along each parameter.
    pub(crate) fn beyond(&self, asked: &[f64]) -> Vec<f64> {
        let far = |(x, range): (&f64, &LogRange)| (x - range.high).max(range.low - x).max(0.0);
        asked.iter().zip(&self.log_ranges).map(far).collect()
    }
}

/// Returns the log_ranges of the points along each parameter, in natural logarithms.
fn log_ranges(logs: &[Vec<f64>]) -> Vec<LogRange> {
    let n_parameters = logs.first().map_or(0, Vec::len);
    let of = |idx: usize| {
        let values = || logs.iter().map(move |at| at[idx]);
        LogRange {
            low: values().fold(f64::INFINITY, f64::min),
            high: values().fold(f64::NEG_INFINITY, f64::max),
        }
    };
    (0..n_parameters).map(of).collect()
}
