//! How many standard deviations contain a share of a distribution.

/// Returns the number of standard deviations to each side that contain this share of Student's distribution with four
/// degrees of freedom.
///
/// W. T. Shaw, Sampling Student's T distribution, Journal of Computational Finance 9 (2006): the closed form for four.
pub(super) fn student_deviations(rate: f64) -> f64 {
    let alpha = (1.0 - rate * rate).clamp(1e-12, 1.0);
    let root = alpha.sqrt();
    let q = (root.acos() / 3.0).cos() / root;
    2.0 * (q - 1.0).max(0.0).sqrt()
}

/// Returns the number of standard deviations to each side that contain this share of a normal distribution.
///
/// Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.23; the error is below 4.5e-4.
pub(crate) fn deviations(rate: f64) -> f64 {
    let tail = ((1.0 - rate) / 2.0).clamp(1e-12, 0.5);
    let t = (-2.0 * tail.ln()).sqrt();
    let above = 0.010_328f64.mul_add(t, 0.802_853).mul_add(t, 2.515_517);
    let below = 0.001_308f64.mul_add(t, 0.189_269).mul_add(t, 1.432_788).mul_add(t, 1.0);
    (t - above / below).max(0.0)
}
