//! Summary of how many times longer runs take than they could.

/// Summary of ratios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratios {
    /// Geometric mean.
    pub mean: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest one.
    pub max: f64,
}

impl Ratios {
    /// Summarizes ratios; of none, all are 1.
    pub fn of(mut ratios: Vec<f64>) -> Self {
        ratios.sort_by(f64::total_cmp);
        let n = ratios.len();
        let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / n.max(1) as f64).exp();
        let at = |percent: usize| {
            let idx = (n * percent).div_ceil(100).saturating_sub(1);
            ratios.get(idx).copied().unwrap_or(1.0)
        };
        Self { mean, p90: at(90), p99: at(99), max: at(100) }
    }
}
