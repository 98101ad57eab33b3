//! Draws the times of messages over their length, with the models fitted to them.

use display::chart::{self, Line, Panel, Unit};
use models::network::Pair;

/// Most pairs; further ones are not drawn.
const N_PAIRS_MAX: usize = 12;

/// Draws the picture as SVG.
pub(super) fn picture(pairs: &[Pair]) -> String {
    let panel = Panel {
        x_name: "length of a message".to_owned(),
        y_name: "time one way".to_owned(),
        x_unit: Unit::Bytes,
        y_unit: Unit::Seconds,
        lines: pairs.iter().take(N_PAIRS_MAX).map(line).collect(),
        ..Panel::default()
    };
    chart::panels(&[panel], 1)
}

/// Medians of a pair with their intervals, and the times of its model.
fn line(pair: &Pair) -> Line {
    let samples = &pair.model.samples;
    let longest = samples.iter().map(|sample| sample.n_bytes).max().unwrap_or(1).max(1);
    // A message of 0 bytes is drawn where one of 1 byte is.
    let x = |n_bytes: u64| n_bytes.max(1) as f64;
    Line {
        name: format!("{} and {}", pair.from, pair.to),
        line: chart::steps(1.0, longest as f64)
            .into_iter()
            .map(|at| [at, pair.model.one_way_s(display::units::whole(at))])
            .collect(),
        intervals: samples.iter().map(|it| [x(it.n_bytes), it.low_s, it.high_s]).collect(),
        points: samples.iter().map(|it| [x(it.n_bytes), it.median_s]).collect(),
        ..Line::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use models::network::{NetModel, Sample};

    fn pair(to: u32) -> Pair {
        let sample = |power: u32| {
            let n_bytes = 1_u64 << power;
            let median_s = 1e-6 + 1e-9 * n_bytes as f64;
            Sample { n_bytes, median_s, low_s: 0.9 * median_s, high_s: 1.1 * median_s, n_times: 9 }
        };
        let samples: Vec<Sample> = (0..21).map(sample).collect();
        Pair::new((0, to), ["a"; 2], NetModel::fit(&samples).expect("enough samples"))
    }

    #[test]
    fn every_pair_has_its_times_and_a_line() {
        let drawn = picture(&[pair(1), pair(2)]);
        assert_eq!(drawn.matches("<circle").count(), 42, "{drawn}");
        assert_eq!(drawn.matches("<polyline").count(), 2, "{drawn}");
        assert!(drawn.contains(">0 and 2<") && drawn.contains(">1 MiB<"), "{drawn}");
        assert!(drawn.contains(">100 µs<") && drawn.contains(">1 ms<"), "{drawn}");
    }
}
