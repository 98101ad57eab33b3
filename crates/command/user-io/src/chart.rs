//! Draws lines, bands and points over one parameter as SVG, in one panel or several.

use std::fmt::Write;

/// Size of a panel with its title, labels and legend, in SVG units.
const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 340.0;
/// Ends of the axes within the panel.
const LEFT: f64 = 76.0;
const RIGHT: f64 = 400.0;
const TOP: f64 = 36.0;
const BOTTOM: f64 = 284.0;
/// Ratio of the largest to the smallest value from which an axis is logarithmic.
const LOGARITHMIC_FROM: f64 = 16.0;
/// Approximate number of ticks on an axis.
const N_TICKS: f64 = 5.0;

const COLORS: [&str; 8] =
    ["#3b6ea8", "#b35a1f", "#2d8a5f", "#7a4fa3", "#a83b4c", "#6e7781", "#8a7a2d", "#2d7f8a"];
const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#24292f}.title{font-weight:600}\
.axis{stroke:#6e7781;fill:none}.grid{stroke:#e3e6e9}.line{fill:none;stroke-width:1.6}.band{opacity:.16}";

/// One quantity over the parameter.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// Name in the legend.
    pub name: String,
    /// Points that the line joins.
    pub line: Vec<[f64; 2]>,
    /// Band between two values: position, low, high.
    pub band: Vec<[f64; 3]>,
    /// Single points, filled.
    pub points: Vec<[f64; 2]>,
    /// Single points, hollow: measurements that were kept back.
    pub hollow: Vec<[f64; 2]>,
}

/// Several lines between two axes.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// Title above the panel.
    pub title: String,
    /// Name of the horizontal axis.
    pub x_name: String,
    /// Name of the vertical axis.
    pub y_name: String,
    /// Lines, in the order of the legend.
    pub lines: Vec<Line>,
}

/// Draws the panels as SVG, in rows of `n_columns`.
pub fn picture(panels: &[Panel], n_columns: usize) -> String {
    let n_columns = n_columns.clamp(1, panels.len().max(1));
    let n_rows = panels.len().div_ceil(n_columns);
    let (width, height) = (WIDTH * n_columns as f64, HEIGHT * n_rows as f64);
    let mut drawn = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\">\n<style>{STYLE}</style>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    for (idx, panel) in panels.iter().enumerate() {
        let (x, y) = (WIDTH * (idx % n_columns) as f64, HEIGHT * (idx / n_columns) as f64);
        add(&mut drawn, &format!("<g transform=\"translate({x} {y})\">"));
        panel.draw(&mut drawn);
        add(&mut drawn, "</g>");
    }
    drawn + "</svg>\n"
}

impl Panel {
    fn draw(&self, drawn: &mut String) {
        let places = || self.lines.iter().flat_map(Line::places);
        let x = Axis::over(places().map(|place| place[0]), [LEFT, RIGHT], false);
        let y = Axis::over(places().map(|place| place[1]), [BOTTOM, TOP], true);
        add(
            drawn,
            &format!("<text class=\"title\" x=\"{LEFT}\" y=\"20\">{}</text>", escaped(&self.title)),
        );
        self.draw_axes(drawn, &x, &y);
        for (idx, line) in self.lines.iter().enumerate() {
            line.draw(drawn, COLORS[idx % COLORS.len()], &x, &y);
            if !line.name.is_empty() {
                let (at, color) = (TOP + 12.0 + 17.0 * idx as f64, COLORS[idx % COLORS.len()]);
                let name = escaped(&line.name);
                let x = RIGHT + 10.0;
                add(
                    drawn,
                    &format!("<text x=\"{x}\" y=\"{at}\" style=\"fill:{color}\">{name}</text>"),
                );
            }
        }
    }

    fn draw_axes(&self, drawn: &mut String, x: &Axis, y: &Axis) {
        for tick in y.ticks() {
            let (at, text) = (y.place(tick), number(tick));
            add(
                drawn,
                &format!(
                    "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
                    LEFT - 8.0,
                    at + 4.0
                ),
            );
        }
        for tick in x.ticks() {
            let (at, text) = (x.place(tick), number(tick));
            add(
                drawn,
                &format!(
                    "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{BOTTOM}\"/>\
                 <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
                    BOTTOM + 18.0
                ),
            );
        }
        let (x_name, y_name) = (escaped(&self.x_name), escaped(&self.y_name));
        add(
            drawn,
            &format!(
                "<path class=\"axis\" d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{x_name}</text>\
             <text transform=\"translate(16 {:.1}) rotate(-90)\" text-anchor=\"middle\">{y_name}</text>",
                LEFT.midpoint(RIGHT),
                BOTTOM + 38.0,
                TOP.midpoint(BOTTOM)
            ),
        );
    }
}

impl Line {
    fn places(&self) -> impl Iterator<Item = [f64; 2]> {
        let band = self.band.iter().flat_map(|[x, low, high]| [[*x, *low], [*x, *high]]);
        self.line.iter().chain(&self.points).chain(&self.hollow).copied().chain(band)
    }

    fn draw(&self, drawn: &mut String, color: &str, x: &Axis, y: &Axis) {
        let mut place = String::new();
        let mut take = |at: f64, value: f64| {
            write!(place, "{:.1},{:.1} ", x.place(at), y.place(value)).ok();
        };
        self.band.iter().for_each(|[at, low, _]| take(*at, *low));
        self.band.iter().rev().for_each(|[at, _, high]| take(*at, *high));
        if !place.is_empty() {
            add(
                drawn,
                &format!(
                    "<polygon class=\"band\" fill=\"{color}\" points=\"{}\"/>",
                    place.trim_end()
                ),
            );
        }
        let mut line = String::new();
        for [at, value] in &self.line {
            write!(line, "{:.1},{:.1} ", x.place(*at), y.place(*value)).ok();
        }
        if !line.is_empty() {
            add(
                drawn,
                &format!(
                    "<polyline class=\"line\" stroke=\"{color}\" points=\"{}\"/>",
                    line.trim_end()
                ),
            );
        }
        for (points, fill) in [(&self.points, color), (&self.hollow, "#fff")] {
            for [at, value] in points {
                let (cx, cy) = (x.place(*at), y.place(*value));
                add(
                    drawn,
                    &format!(
                        "<circle cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"3\" fill=\"{fill}\" stroke=\"{color}\"/>"
                    ),
                );
            }
        }
    }
}

/// Maps values to positions between two ends of an axis.
struct Axis {
    low: f64,
    high: f64,
    ends: [f64; 2],
    is_logarithmic: bool,
}

impl Axis {
    /// Makes an axis for these values; a linear axis begins at 0 if `from_zero` is set.
    fn over(values: impl Iterator<Item = f64>, ends: [f64; 2], from_zero: bool) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| value.is_finite()) {
            (low, high) = (low.min(value), high.max(value));
        }
        if high < low {
            (low, high) = (0.0, 1.0);
        }
        let is_logarithmic = 0.0 < low && LOGARITHMIC_FROM * low <= high;
        if from_zero && !is_logarithmic {
            (low, high) = (low.min(0.0), high + 0.04 * high.abs());
        }
        if high <= low {
            high = low + low.abs().max(1.0) * 0.1;
        }
        Self { low, high, ends, is_logarithmic }
    }

    fn place(&self, value: f64) -> f64 {
        let share = if self.is_logarithmic {
            (value.max(1e-300) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.ends[0] + (self.ends[1] - self.ends[0]) * share.clamp(-0.1, 1.1)
    }

    /// Round values within the axis.
    fn ticks(&self) -> Vec<f64> {
        if self.is_logarithmic { self.powers() } else { self.steps() }
    }

    fn steps(&self) -> Vec<f64> {
        let rough = (self.high - self.low) / N_TICKS;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|k| k * power).into_iter().find(|step| rough <= *step);
        let step = step.unwrap_or(rough);
        let first = (self.low / step).ceil();
        let all = (0..32).map(|k| step * (first + f64::from(k)));
        all.take_while(|tick| *tick <= self.high).collect()
    }

    fn powers(&self) -> Vec<f64> {
        // Process counts are usually powers of two.
        let base = if self.high / self.low < 300.0 { 2.0_f64 } else { 10.0 };
        let (first, last) = (self.low.log(base).ceil(), self.high.log(base).floor());
        let every = ((last - first) / N_TICKS).ceil().max(1.0);
        let all = (0..32).map(|k| first + every * f64::from(k));
        all.take_while(|power| *power <= last).map(|power| base.powf(power)).collect()
    }
}

/// Formats the number at a tick in few characters.
fn number(value: f64) -> String {
    let size = value.abs();
    if value != 0.0 && !(1e-3..1e6).contains(&size) {
        return format!("{value:.0e}");
    }
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn add(drawn: &mut String, line: &str) {
    drawn.push_str(line);
    drawn.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: &[f64], expected: &[f64]) {
        let axis = Axis::over(values.iter().copied(), [0.0, 100.0], false);
        let ticks = axis.ticks();
        assert_eq!(
            ticks.iter().map(|tick| number(*tick)).collect::<Vec<_>>(),
            expected.iter().map(|tick| number(*tick)).collect::<Vec<_>>()
        );
        assert!(ticks.iter().all(|tick| (0.0..=100.0).contains(&axis.place(*tick))));
    }

    #[test]
    fn axes_have_round_values() {
        check(&[0.0, 10.0], &[0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        check(&[300.0, 1200.0], &[400.0, 600.0, 800.0, 1000.0, 1200.0]);
        check(&[2.0, 64.0], &[2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
        check(&[1e-5, 1.0], &[1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0]);
        check(&[], &[0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
    }

    #[test]
    fn a_panel_has_its_lines_and_points() {
        let line = Line {
            name: "a < b".to_owned(),
            line: vec![[1.0, 1.0], [2.0, 3.0]],
            band: vec![[1.0, 0.5, 1.5], [2.0, 2.0, 4.0]],
            points: vec![[1.0, 1.1]],
            hollow: vec![[2.0, 3.1]],
        };
        let panel = Panel { lines: vec![line], ..Panel::default() };
        let drawn = picture(&[panel.clone(), panel.clone(), panel], 2);
        for (part, n) in [("<polyline", 3), ("<polygon", 3), ("<circle", 6), (">a &lt; b<", 3)] {
            assert_eq!(drawn.matches(part).count(), n, "{part}");
        }
        assert!(drawn.contains("width=\"1120\"") && drawn.contains("translate(0 340)"), "{drawn}");
    }
}
