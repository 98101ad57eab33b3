//! Parses short descriptions of tasks: the distribution of their times, and blocks of longer ones.

use random::Random;
use std::str::FromStr;

/// Error: a text has not the required form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {form}")]
#[non_exhaustive]
pub struct DescribeError {
    /// The text as written.
    pub text: String,
    /// Required form.
    pub form: &'static str,
}

pub(super) fn wrong(text: &str, form: &'static str) -> DescribeError {
    DescribeError { text: text.to_owned(), form }
}

/// Parses a finite number.
pub(super) fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

/// Distribution of the times of independent tasks, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// All equal.
    Constant {
        /// Time of each task.
        ms: f64,
    },
    /// Evenly between two times.
    Uniform {
        /// Shortest time.
        low_ms: f64,
        /// Longest time.
        high_ms: f64,
    },
    /// Exponential.
    Exponential {
        /// Mean.
        mean_ms: f64,
    },
    /// Normal; negative values become 0.
    Normal(MeanDeviation),
    /// Gamma.
    Gamma(MeanDeviation),
    /// Log-normal; mean and deviation are those of the times, not of their logarithms.
    Lognormal(MeanDeviation),
}

/// Mean and standard deviation, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanDeviation {
    /// Mean.
    pub mean_ms: f64,
    /// Standard deviation.
    pub deviation_ms: f64,
}

impl FromStr for Distribution {
    type Err = DescribeError;

    fn from_str(text: &str) -> Result<Self, DescribeError> {
        const FORM: &str = "uniform:LOW,HIGH, exponential:MEAN, normal:MEAN,DEVIATION, \
             gamma:MEAN,DEVIATION or lognormal:MEAN,DEVIATION, in ms, above 0";
        let wrong = || wrong(text, FORM);
        let (name, numbers) = text.split_once(':').ok_or_else(wrong)?;
        let numbers: Option<Vec<f64>> = numbers.split(',').map(number).collect();
        match (name.trim(), numbers.ok_or_else(wrong)?.as_slice()) {
            ("uniform", &[low_ms, high_ms]) if 0.0 <= low_ms && low_ms < high_ms => {
                Ok(Self::Uniform { low_ms, high_ms })
            }
            ("exponential", &[mean_ms]) if 0.0 < mean_ms => Ok(Self::Exponential { mean_ms }),
            (name, &[mean_ms, deviation_ms]) if 0.0 < mean_ms && 0.0 < deviation_ms => {
                let both = MeanDeviation { mean_ms, deviation_ms };
                match name {
                    "normal" => Ok(Self::Normal(both)),
                    "gamma" => Ok(Self::Gamma(both)),
                    "lognormal" => Ok(Self::Lognormal(both)),
                    _ => Err(wrong()),
                }
            }
            _ => Err(wrong()),
        }
    }
}

impl Distribution {
    /// Draws the time of one task, in milliseconds.
    pub fn draw_ms(&self, random: &mut Random) -> f64 {
        match *self {
            Self::Constant { ms } => ms,
            Self::Uniform { low_ms, high_ms } => low_ms + (high_ms - low_ms) * random.share(),
            Self::Exponential { mean_ms } => mean_ms * random.exponential(),
            Self::Normal(of) => (of.mean_ms + of.deviation_ms * random.normal()).max(0.0),
            Self::Gamma(of) => {
                let relative = of.deviation_ms / of.mean_ms;
                of.mean_ms * relative * relative * random.gamma(1.0 / (relative * relative))
            }
            Self::Lognormal(of) => {
                let relative = of.deviation_ms / of.mean_ms;
                let variance = (relative * relative).ln_1p();
                of.mean_ms * (variance.sqrt() * random.normal() - 0.5 * variance).exp()
            }
        }
    }
}

/// Consecutive tasks that take longer than the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// Begin, as a share of the tasks from 0 to 1.
    pub start: f64,
    /// Number of tasks, as a share of all tasks.
    pub length: f64,
    /// Factor on their times.
    pub factor: f64,
}

impl FromStr for Block {
    type Err = DescribeError;

    fn from_str(text: &str) -> Result<Self, DescribeError> {
        const FORM: &str = "START:LENGTH:FACTOR, such as `0.3:0.4:3`: START and LENGTH are shares of the \
             tasks, together at most 1, and FACTOR is above 0";
        let numbers: Option<Vec<f64>> = text.split(':').map(number).collect();
        let Some(&[start, length, factor]) = numbers.as_deref() else {
            return Err(wrong(text, FORM));
        };
        let is_inside = 0.0 <= start && 0.0 < length && start + length <= 1.0 + 1e-9;
        let is_possible = is_inside && (1e-6..=1e6).contains(&factor);
        is_possible.then_some(Self { start, length, factor }).ok_or_else(|| wrong(text, FORM))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, mean_ms: f64, deviation_ms: f64) {
        let distribution: Distribution = text.parse().unwrap();
        let mut random = Random::new(7);
        let drawn: Vec<f64> = (0..100_000).map(|_| distribution.draw_ms(&mut random)).collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        let squares: f64 = drawn.iter().map(|ms| (ms - mean).powi(2)).sum();
        let deviation = (squares / drawn.len() as f64).sqrt();
        assert!((mean / mean_ms - 1.0).abs() < 0.02, "{text}: mean {mean}");
        assert!((deviation / deviation_ms - 1.0).abs() < 0.03, "{text}: deviation {deviation}");
        assert!(drawn.iter().all(|ms| 0.0 <= *ms));
    }

    #[test]
    fn tasks_are_spread_as_described() {
        check("uniform:1,3", 2.0, (4.0_f64 / 12.0).sqrt());
        check("exponential:5", 5.0, 5.0);
        check("normal:10,2", 10.0, 2.0);
        check("gamma:2,4", 2.0, 4.0);
        check("lognormal:2,1", 2.0, 1.0);
    }

    #[test]
    fn what_describes_no_times_is_refused() {
        let wrong = [
            "",
            "uniform",
            "uniform:3,1",
            "uniform:1",
            "exponential:-1",
            "normal:1,0",
            "cauchy:1,1",
        ];
        for text in wrong {
            let said = text.parse::<Distribution>().unwrap_err().to_string();
            assert!(said.starts_with(&format!("`{text}` is not uniform:LOW,HIGH")), "{said}");
        }
    }

    #[test]
    fn a_block_lies_among_the_tasks() {
        let block = Block { start: 0.3, length: 0.4, factor: 3.0 };
        assert_eq!("0.3:0.4:3".parse(), Ok(block));
        for text in
            ["", "0.3:0.4", "0.7:0.4:3", "-0.1:0.4:3", "0:0:3", "0:0.4:0", "a:b:c", "0:1:2:3"]
        {
            let said = text.parse::<Block>().unwrap_err().to_string();
            assert!(said.starts_with(&format!("`{text}` is not START:LENGTH:FACTOR")), "{said}");
        }
    }
}
