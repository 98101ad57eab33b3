//! Charts as SVG: lines, bands and points over one parameter, in one panel or several; bars, and spans over time.

use crate::text::escape_xml;
use crate::units;
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
/// Steps of a line.
const N_STEPS: u32 = 60;
/// Height of a row of bars, width of all bars and of the names before them, and space for a title.
const ROW: f64 = 24.0;
const BARS: f64 = 560.0;
const NAMES: f64 = 200.0;
const TITLE: f64 = 48.0;

/// Colors of lines and bars.
pub const COLORS: [&str; 8] =
    ["#3b6ea8", "#b35a1f", "#2d8a5f", "#7a4fa3", "#a83b4c", "#6e7781", "#8a7a2d", "#2d7f8a"];
const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#24292f}.title{font-weight:600}\
.axis{stroke:#6e7781;fill:none}.grid{stroke:#e3e6e9}.line{fill:none;stroke-width:1.6}.thin{stroke-width:1;stroke-dasharray:5 3}.band{opacity:.16}\
.mark{stroke:#6e7781;stroke-dasharray:4 3}.odd{opacity:.55}";

/// Adds a line to a picture.
macro_rules! add {
    ($drawn:ident, $($words:tt)*) => { writeln!($drawn, $($words)*).expect("a string grows") };
}

/// Unit of the values along an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Plain numbers.
    #[default]
    None,
    /// Times in seconds.
    Seconds,
    /// Lengths in bytes.
    Bytes,
}

impl Unit {
    /// Formats the value at a tick in few characters.
    fn tick(self, value: f64) -> String {
        match self {
            Self::None => number(value),
            Self::Seconds => round(&units::seconds(value)),
            Self::Bytes => round(&units::bytes(units::whole(value))),
        }
    }

    /// Base of the powers at the ticks of a logarithmic axis.
    fn base(self, ratio: f64) -> f64 {
        match self {
            Self::Bytes => 2.0,
            // Process counts are usually powers of two.
            Self::None if ratio < 300.0 => 2.0,
            _ => 10.0,
        }
    }
}

/// One quantity over the parameter.
#[derive(Clone, Debug, Default)]
pub struct ChartLine {
    /// Name in the legend.
    pub name: String,
    /// Points that the line joins.
    pub line: Vec<[f64; 2]>,
    /// Band between two values: position, low, high.
    pub band: Vec<[f64; 3]>,
    /// Intervals of single points: position, low, high.
    pub intervals: Vec<[f64; 3]>,
    /// Single points, filled.
    pub points: Vec<[f64; 2]>,
    /// Single points, hollow: measurements that were kept back.
    pub hollow: Vec<[f64; 2]>,
    /// Whether the line is thin and dashed: one of several that another line stands for.
    pub is_thin: bool,
}

/// Several lines between two axes.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// Title above the axes.
    pub title: String,
    /// Name of the parameter.
    pub x_name: String,
    /// Name of the quantity.
    pub y_name: String,
    /// Unit of the parameter.
    pub x_unit: Unit,
    /// Unit of the quantity.
    pub y_unit: Unit,
    /// Lines, each with its color.
    pub lines: Vec<ChartLine>,
}

/// Draws the panels as SVG, in rows of `n_columns`.
pub fn panels(panels: &[Panel], n_columns: usize) -> String {
    let n_columns = n_columns.clamp(1, panels.len().max(1));
    let n_rows = panels.len().div_ceil(n_columns);
    let mut drawn = String::new();
    for (idx, panel) in panels.iter().enumerate() {
        let (x, y) = (WIDTH * (idx % n_columns) as f64, HEIGHT * (idx / n_columns) as f64);
        add!(drawn, "<g transform='translate({x} {y})'>");
        panel.draw(&mut drawn);
        add!(drawn, "</g>");
    }
    document([WIDTH * n_columns as f64, HEIGHT * n_rows as f64], &drawn)
}

/// Returns positions for a line that may be curved, closer to each other where values are small.
pub fn steps(low: f64, high: f64) -> Vec<f64> {
    let at = |k: u32| {
        let share = f64::from(k) / f64::from(N_STEPS);
        if 0.0 < low { low * (high / low).powf(share) } else { (high - low).mul_add(share, low) }
    };
    (0..=N_STEPS).map(at).collect()
}

fn document([width, height]: [f64; 2], drawn: &str) -> String {
    format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' \
         height='{height}'>\n<style>{STYLE}</style>\n<rect width='{width}' height='{height}' fill='#fff'/>\n\
         {drawn}</svg>\n"
    )
}

/// Text at a position; `anchor` is `start`, `middle` or `end`.
fn label(drawn: &mut String, [x, y]: [f64; 2], anchor: &str, text: &str) {
    let text = escape_xml(text);
    add!(drawn, "<text x='{x:.1}' y='{y:.1}' text-anchor='{anchor}'>{text}</text>");
}

impl Panel {
    fn draw(&self, drawn: &mut String) {
        let places = || self.lines.iter().flat_map(ChartLine::places);
        let x = Axis::over(places().map(|place| place[0]), [LEFT, RIGHT], false, self.x_unit);
        let y = Axis::over(places().map(|place| place[1]), [BOTTOM, TOP], true, self.y_unit);
        let title = escape_xml(&self.title);
        add!(drawn, "<text class='title' x='{LEFT}' y='20'>{title}</text>");
        self.draw_axes(drawn, &x, &y);
        for (idx, (line, color)) in self.lines.iter().zip(COLORS.iter().cycle()).enumerate() {
            line.draw(drawn, color, &x, &y);
            if !line.name.is_empty() {
                let (x, y, name) =
                    (RIGHT + 10.0, TOP + 12.0 + 17.0 * idx as f64, escape_xml(&line.name));
                add!(drawn, "<text x='{x}' y='{y}' style='fill:{color}'>{name}</text>");
            }
        }
    }

    fn draw_axes(&self, drawn: &mut String, x: &Axis, y: &Axis) {
        for tick in y.ticks() {
            let at = y.place(tick);
            add!(drawn, "<path class='grid' d='M{LEFT} {at:.1}H{RIGHT}'/>");
            label(drawn, [LEFT - 8.0, at + 4.0], "end", &y.unit.tick(tick));
        }
        for tick in x.ticks() {
            let at = x.place(tick);
            add!(drawn, "<path class='grid' d='M{at:.1} {TOP}V{BOTTOM}'/>");
            label(drawn, [at, BOTTOM + 18.0], "middle", &x.unit.tick(tick));
        }
        add!(drawn, "<path class='axis' d='M{LEFT} {TOP}V{BOTTOM}H{RIGHT}'/>");
        label(drawn, [LEFT.midpoint(RIGHT), BOTTOM + 38.0], "middle", &self.x_name);
        let (middle, name) = (TOP.midpoint(BOTTOM), escape_xml(&self.y_name));
        add!(
            drawn,
            "<text transform='translate(16 {middle:.1}) rotate(-90)' text-anchor='middle'>{name}</text>"
        );
    }
}

impl ChartLine {
    fn places(&self) -> impl Iterator<Item = [f64; 2]> {
        let ends = self.band.iter().chain(&self.intervals);
        let ends = ends.flat_map(|[x, low, high]| [[*x, *low], [*x, *high]]);
        self.line.iter().chain(&self.points).chain(&self.hollow).copied().chain(ends)
    }

    fn draw(&self, drawn: &mut String, color: &str, x: &Axis, y: &Axis) {
        let path = |places: &mut dyn Iterator<Item = [f64; 2]>| {
            let texts =
                places.map(|[at, value]| format!("{:.1},{:.1}", x.place(at), y.place(value)));
            texts.collect::<Vec<_>>().join(" ")
        };
        let low = self.band.iter().map(|[at, low, _]| [*at, *low]);
        let high = self.band.iter().rev().map(|[at, _, high]| [*at, *high]);
        let band = path(&mut low.chain(high));
        if !band.is_empty() {
            add!(drawn, "<polygon class='band' fill='{color}' points='{band}'/>");
        }
        let line = path(&mut self.line.iter().copied());
        if !line.is_empty() {
            let class = if self.is_thin { "line thin" } else { "line" };
            add!(drawn, "<polyline class='{class}' stroke='{color}' points='{line}'/>");
        }
        for [at, low, high] in &self.intervals {
            let [at, low, high] = [x.place(*at), y.place(*low), y.place(*high)];
            add!(drawn, "<path stroke='{color}' d='M{at:.1} {low:.1}V{high:.1}'/>");
        }
        for (points, fill) in [(&self.points, color), (&self.hollow, "#fff")] {
            for [at, value] in points {
                let (at, value) = (x.place(*at), y.place(*value));
                add!(
                    drawn,
                    "<circle cx='{at:.1}' cy='{value:.1}' r='3' fill='{fill}' stroke='{color}'/>"
                );
            }
        }
    }
}

/// Quantity as one bar for each row.
#[derive(Clone, Debug, Default)]
pub struct Bars {
    /// Title above the bars.
    pub title: String,
    /// Value of each row, and its text.
    pub values: Vec<(f64, String)>,
    /// Value that a dashed line marks, and its name below the line.
    pub mark: Option<(f64, String)>,
    /// Color of all bars.
    pub color: &'static str,
}

/// Lanes of spans over time, from 0 on.
#[derive(Clone, Debug, Default)]
pub struct Gantt {
    /// Spans of each lane in s, in the order of time; those too narrow to be seen are merged with their neighbors.
    pub lanes: Vec<Vec<[f64; 2]>>,
    /// End of the time in s.
    pub end_s: f64,
}

/// Draws rows of bars, one below the name of the other, with several quantities side by side, and lanes below.
pub fn bars(title: &str, names: &[String], bars: &[Bars], gantt: &Gantt) -> String {
    let width = NAMES + BARS;
    let each = BARS / bars.len().max(1) as f64;
    let first = TITLE + ROW;
    let bottom = first + ROW * names.len() as f64;
    let mut drawn = String::new();
    add!(drawn, "<text class='title' x='16' y='26'>{}</text>", escape_xml(title));
    for (idx, name) in names.iter().enumerate() {
        label(&mut drawn, [16.0, first + ROW * idx as f64 + 13.0], "start", name);
    }
    for (idx, bars) in bars.iter().enumerate() {
        // A bar leaves room for its text.
        bars.draw(&mut drawn, [NAMES + each * idx as f64, each - 80.0], [first, bottom]);
    }
    let top = bottom + ROW;
    gantt.draw(&mut drawn, [NAMES, BARS - 80.0], top);
    let n_below = if gantt.lanes.is_empty() { 0 } else { gantt.lanes.len() + 1 };
    document([width, top + ROW * n_below as f64], &drawn)
}

impl Bars {
    fn draw(&self, drawn: &mut String, [left, room]: [f64; 2], [first, bottom]: [f64; 2]) {
        let values =
            self.values.iter().map(|(value, _)| *value).chain(self.mark.iter().map(|mark| mark.0));
        let largest = values.fold(f64::MIN_POSITIVE, f64::max);
        label(drawn, [left, first - 16.0], "start", &self.title);
        for (idx, (value, text)) in self.values.iter().enumerate() {
            let (y, width) = (first + ROW * idx as f64, room * (value / largest).clamp(0.0, 1.0));
            bar(drawn, [left, y, width], self.color, "bar");
            label(drawn, [left + width + 8.0, y + 13.0], "start", text);
        }
        if let Some((value, name)) = &self.mark {
            let x = left + room * value / largest;
            add!(drawn, "<path class='mark' d='M{x:.1} {:.1}V{bottom:.1}'/>", first - 8.0);
            label(drawn, [x, bottom + 12.0], "middle", name);
        }
    }
}

impl Gantt {
    fn draw(&self, drawn: &mut String, [left, room]: [f64; 2], top: f64) {
        let at = |time_s: f64| left + room * time_s / self.end_s.max(f64::MIN_POSITIVE);
        for (lane, spans) in self.lanes.iter().enumerate() {
            let y = top + ROW * lane as f64;
            label(drawn, [16.0, y + 13.0], "start", &lane.to_string());
            let mut from = None;
            let mut is_odd = false;
            for [start_s, end_s] in spans {
                let start = *from.get_or_insert(at(*start_s));
                let width = at(*end_s) - start;
                if 1.0 <= width {
                    let class = if is_odd { "odd" } else { "even" };
                    bar(drawn, [start, y, width], COLORS[0], class);
                    (from, is_odd) = (None, !is_odd);
                }
            }
        }
        if !self.lanes.is_empty() {
            let y = top + ROW * self.lanes.len() as f64 + 12.0;
            label(drawn, [at(self.end_s), y], "end", &units::seconds(self.end_s));
        }
    }
}

fn bar(drawn: &mut String, [x, y, width]: [f64; 3], color: &str, class: &str) {
    add!(
        drawn,
        "<rect class='{class}' fill='{color}' x='{x:.1}' y='{y:.1}' width='{width:.1}' height='16'/>"
    );
}

/// Maps values to positions between two ends of an axis.
struct Axis {
    low: f64,
    high: f64,
    ends: [f64; 2],
    is_logarithmic: bool,
    unit: Unit,
}

impl Axis {
    /// Makes an axis for these values; a linear axis begins at 0 if `from_zero` is set.
    fn over(
        values: impl Iterator<Item = f64>,
        ends: [f64; 2],
        from_zero: bool,
        unit: Unit,
    ) -> Self {
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
        Self { low, high, ends, is_logarithmic, unit }
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
        let base = self.unit.base(self.high / self.low);
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
    units::trimmed(value, 4)
}

/// Returns a number with a unit without decimals that are 0.
fn round(text: &str) -> String {
    text.replace(".00 ", " ").replace(".0 ", " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: &[f64], expected: &[f64]) {
        let axis = Axis::over(values.iter().copied(), [0.0, 100.0], false, Unit::None);
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
        let line = ChartLine {
            name: "a < b".to_owned(),
            line: vec![[1.0, 1.0], [2.0, 3.0]],
            band: vec![[1.0, 0.5, 1.5], [2.0, 2.0, 4.0]],
            points: vec![[1.0, 1.1]],
            hollow: vec![[2.0, 3.1]],
            ..ChartLine::default()
        };
        let panel = Panel { lines: vec![line], ..Panel::default() };
        let drawn = panels(&[panel.clone(), panel.clone(), panel], 2);
        for (part, n) in [("<polyline", 3), ("<polygon", 3), ("<circle", 6), (">a &lt; b<", 3)] {
            assert_eq!(drawn.matches(part).count(), n, "{part}");
        }
        assert!(drawn.contains("width='1120'") && drawn.contains("translate(0 340)"), "{drawn}");
    }

    #[test]
    fn ticks_have_the_unit_of_their_axis() {
        assert_eq!([Unit::Seconds.tick(1e-6), Unit::Seconds.tick(0.25)], ["1 µs", "250 ms"]);
        assert_eq!([Unit::Bytes.tick(1.0), Unit::Bytes.tick(1_048_576.0)], ["1 B", "1 MiB"]);
    }

    #[test]
    fn a_bar_is_as_long_as_its_value() {
        let values = vec![(1.0, "1.0000".to_owned()), (2.0, "2.0000".to_owned())];
        let quantity =
            Bars { values, mark: Some((1.0, "ideal = 1".to_owned())), ..Bars::default() };
        let names = ["best".to_owned(), "static".to_owned()];
        let drawn = bars("two policies", &names, &[quantity], &Gantt::default());
        for part in [">two policies<", ">static<", ">2.0000<", "width='240.0'", "width='480.0'"] {
            assert!(drawn.contains(part), "{part}: {drawn}");
        }
    }

    #[test]
    fn narrow_spans_are_merged() {
        let span = |k: u32| [f64::from(k) * 1e-4, f64::from(k + 1) * 1e-4];
        let gantt = Gantt { lanes: vec![(0..100_000).map(span).collect()], end_s: 10.0 };
        let n_drawn = bars("one worker", &[], &[], &gantt).matches("height='16'").count();
        assert!((400..=561).contains(&n_drawn), "{n_drawn}");
    }
}
