//! Draws policies: the ratio that each reaches against the ideal, and its messages.

use super::table::Row;
use std::fmt::Write;

const WIDTH: f64 = 760.0;
const ROW: f64 = 24.0;
const TOP: f64 = 72.0;
/// Positions of the bars for ratios and messages, and the length of the longest bar.
const RATIO: f64 = 220.0;
const MESSAGES: f64 = 500.0;
const BAR: f64 = 180.0;

const STYLE: &str = "\
text{font:13px system-ui,sans-serif;fill:#24292f}.head{font-weight:600}\
.ratio{fill:#2d8a5f}.messages{fill:#3b6ea8}";

/// Draws the picture as SVG.
pub(super) fn picture(heading: &str, rows: &[Row]) -> String {
    let height = TOP + ROW * rows.len() as f64 + 16.0;
    let most = rows.iter().map(per_task).fold(1e-9, f64::max);
    let mut drawn = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\">\n<style>{STYLE}</style>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"16\" y=\"26\">{heading}</text>\n\
         <text class=\"head\" x=\"{RATIO}\" y=\"56\">ideal / actual time</text>\
         <text class=\"head\" x=\"{MESSAGES}\" y=\"56\">messages per task</text>\n"
    );
    for (k, row) in rows.iter().enumerate() {
        let (y, ratio) = (TOP + ROW * k as f64, row.outcome.ratio());
        let text_y = y + 13.0;
        writeln!(drawn, "<text x=\"16\" y=\"{text_y:.1}\">{}</text>", row.policy).ok();
        bar(&mut drawn, "ratio", [RATIO, y, BAR * ratio], &format!("{ratio:.3}"));
        let share = per_task(row) / most;
        bar(&mut drawn, "messages", [MESSAGES, y, BAR * share], &format!("{:.2}", per_task(row)));
    }
    drawn + "</svg>\n"
}

fn per_task(row: &Row) -> f64 {
    row.outcome.messages as f64 / row.outcome.n_tasks as f64
}

fn bar(drawn: &mut String, class: &str, [x, y, width]: [f64; 3], text: &str) {
    let (end, text_y) = (x + width + 8.0, y + 13.0);
    writeln!(
        drawn,
        "<rect class=\"{class}\" x=\"{x}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"16\"/>\
         <text x=\"{end:.1}\" y=\"{text_y:.1}\">{text}</text>"
    )
    .ok();
}
