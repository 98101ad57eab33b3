//! Draws the times of messages over their length, with the lines through them; both axes are logarithmic.

use models::network::Pair;
use std::fmt::Write;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
/// Ends of the axes.
const LEFT: f64 = 72.0;
const RIGHT: f64 = 640.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 372.0;
/// Most pairs; further ones are not drawn.
const N_PAIRS_MAX: usize = 12;
/// Steps of a line, which is curved on these axes.
const N_STEPS: u32 = 120;

const COLORS: [&str; 6] = ["#3b6ea8", "#2d8a5f", "#b35a1f", "#7a4fa3", "#a83b4c", "#6e7781"];
const STYLE: &str = "text{font:13px system-ui,sans-serif;fill:#24292f}\
.axis{stroke:#6e7781}.grid{stroke:#e3e6e9}.fit{fill:none;stroke-width:1.5}";

/// Draws the picture as SVG.
pub(super) fn picture(pairs: &[Pair]) -> String {
    let pairs = &pairs[..pairs.len().min(N_PAIRS_MAX)];
    let axes = Axes::of(pairs);
    let mut drawn = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         width=\"{WIDTH}\" height=\"{HEIGHT}\">\n<style>{STYLE}</style>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n"
    );
    axes.draw(&mut drawn);
    for (number, (pair, color)) in pairs.iter().zip(COLORS.iter().cycle()).enumerate() {
        axes.draw_pair(&mut drawn, pair, color);
        let y = TOP + 12.0 + 18.0 * number as f64;
        let (from, to, x) = (pair.from, pair.to, RIGHT + 12.0);
        add(
            &mut drawn,
            &format!("<text x=\"{x}\" y=\"{y}\" style=\"fill:{color}\">{from} and {to}</text>"),
        );
    }
    drawn + "</svg>\n"
}

/// Powers of ten that the axes span.
struct Axes {
    bytes: [f64; 2],
    times: [f64; 2],
}

impl Axes {
    fn of(pairs: &[Pair]) -> Self {
        let samples = || pairs.iter().flat_map(|pair| &pair.model.samples);
        let longest = samples().map(|sample| sample.n_bytes).max().unwrap_or(1).max(1);
        let lowest = samples().map(|sample| sample.low_s).fold(1e-6, f64::min).max(1e-9);
        let highest = samples().map(|sample| sample.high_s).fold(1e-6, f64::max);
        let times = [lowest.log10().floor(), highest.log10().ceil()];
        Self { bytes: [0.0, (longest as f64).log10().max(1.0)], times }
    }

    /// Position for a length; a message of 0 bytes is drawn where one of 1 byte is.
    fn x(&self, n_bytes: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * part(self.bytes, n_bytes.max(1.0).log10())
    }

    fn y(&self, time_s: f64) -> f64 {
        BOTTOM - (BOTTOM - TOP) * part(self.times, time_s.max(1e-12).log10())
    }

    fn draw(&self, drawn: &mut String) {
        let mut power = self.times[0];
        while power <= self.times[1] {
            let (y, name) = (self.y(10_f64.powf(power)), time_name(power));
            add(
                drawn,
                &format!(
                    "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{name}</text>",
                    LEFT - 8.0,
                    y + 4.0
                ),
            );
            power += 1.0;
        }
        for (n_bytes, name) in
            [(1.0, "1 B"), (1024.0, "1 KiB"), (65_536.0, "64 KiB"), (1_048_576.0, "1 MiB")]
        {
            let x = self.x(n_bytes);
            if x <= RIGHT {
                add(
                    drawn,
                    &format!(
                        "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{BOTTOM}\"/>\
                    <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{name}</text>",
                        BOTTOM + 20.0
                    ),
                );
            }
        }
        add(
            drawn,
            &format!(
                "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{BOTTOM}\" y2=\"{BOTTOM}\"/>\
            <line class=\"axis\" x1=\"{LEFT}\" x2=\"{LEFT}\" y1=\"{TOP}\" y2=\"{BOTTOM}\"/>\
            <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">length of a message, and its time one way</text>",
                LEFT.midpoint(RIGHT),
                BOTTOM + 40.0
            ),
        );
    }

    /// Draws medians with their intervals, and the lines.
    fn draw_pair(&self, drawn: &mut String, pair: &Pair, color: &str) {
        for sample in &pair.model.samples {
            let x = self.x(sample.n_bytes as f64);
            let [low, median, high] =
                [sample.low_s, sample.median_s, sample.high_s].map(|time_s| self.y(time_s));
            add(
                drawn,
                &format!(
                    "<line stroke=\"{color}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{low:.1}\" y2=\"{high:.1}\"/>\
                <circle cx=\"{x:.1}\" cy=\"{median:.1}\" r=\"2\" fill=\"{color}\"/>"
                ),
            );
        }
        let mut points = String::new();
        for step in 0..=N_STEPS {
            let n_bytes = 10_f64.powf(self.bytes[1] * f64::from(step) / f64::from(N_STEPS));
            #[expect(
                clippy::cast_possible_truncation,
                reason = "no longer than the longest message"
            )]
            #[expect(clippy::cast_sign_loss, reason = "a power of ten")]
            let time_s = pair.model.one_way_s(n_bytes as u64);
            write!(points, "{:.1},{:.1} ", self.x(n_bytes), self.y(time_s)).ok();
        }
        add(
            drawn,
            &format!(
                "<polyline class=\"fit\" stroke=\"{color}\" points=\"{}\"/>",
                points.trim_end()
            ),
        );
    }
}

fn part([low, high]: [f64; 2], at: f64) -> f64 {
    (at - low) / (high - low).max(1e-9)
}

fn time_name(power: f64) -> String {
    match power {
        _ if power < -6.0 => format!("{} ns", 10_f64.powf(power + 9.0).round()),
        _ if power < -3.0 => format!("{} us", 10_f64.powf(power + 6.0).round()),
        _ if power < 0.0 => format!("{} ms", 10_f64.powf(power + 3.0).round()),
        _ => format!("{} s", 10_f64.powf(power).round()),
    }
}

fn add(drawn: &mut String, line: &str) {
    drawn.push_str(line);
    drawn.push('\n');
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
        assert!(drawn.contains(">100 us<") && drawn.contains(">1 us<"), "{drawn}");
    }

    #[test]
    fn everything_lies_between_the_axes() {
        let (axes, pair) = (Axes::of(&[pair(1)]), pair(1));
        for sample in &pair.model.samples {
            assert!((LEFT..=RIGHT + 1e-9).contains(&axes.x(sample.n_bytes as f64)), "{sample:?}");
            assert!((TOP..=BOTTOM).contains(&axes.y(sample.high_s)), "{sample:?}");
        }
        assert!(axes.x(0.0) <= LEFT);
    }
}
