//! Draws the predictions for the whole program over the parameter with the most values.

use super::context::{PredictionContext, Row};
use display::chart::{self, Line, Panel};

/// Most lines; further combinations are not drawn.
const N_LINES_MAX: usize = 8;

/// Draws the picture as SVG: a line with its interval for each combination of the other parameters.
pub(super) fn picture(context: &PredictionContext<'_>, rows: &[Row<'_>]) -> String {
    let x_idx = super::table::across(rows);
    let mut lines: Vec<Line> = Vec::new();
    for row in rows {
        let name = others(row, x_idx);
        let line_idx = lines.iter().position(|line| line.name == name).unwrap_or(lines.len());
        if line_idx == lines.len() {
            lines.push(Line { name, ..Line::default() });
        }
        let x = row.at.get(x_idx).map_or(0.0, |(_, value)| *value);
        let (line, prediction) = (&mut lines[line_idx], row.total);
        line.line.push([x, prediction.value]);
        line.points.push([x, prediction.value]);
        line.band.push([x, prediction.low, prediction.high]);
    }
    lines.truncate(N_LINES_MAX);
    for line in &mut lines {
        line.line.sort_by(|a, b| a[0].total_cmp(&b[0]));
        line.band.sort_by(|a, b| a[0].total_cmp(&b[0]));
    }
    let x_name = rows.first().and_then(|row| row.at.get(x_idx)).map_or("", |(name, _)| *name);
    let is_time = crate::text::is_in_seconds(context.metric);
    let program = context.file.program.as_deref().unwrap_or("the program");
    let panel = Panel {
        title: format!("{program}, predicted"),
        x_name: x_name.to_owned(),
        y_name: if is_time { "time in s".to_owned() } else { context.metric.to_owned() },
        lines,
        ..Panel::default()
    };
    chart::panels(&[panel], 1)
}

fn others(row: &Row<'_>, x_idx: usize) -> String {
    let others = row.at.iter().enumerate().filter(|(idx, _)| *idx != x_idx);
    let parts: Vec<String> = others.map(|(_, (name, value))| format!("{name} = {value}")).collect();
    parts.join(", ")
}
