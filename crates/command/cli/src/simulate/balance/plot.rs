//! Draws policies: the ratio that each reaches against the ideal, and its messages.

use super::table::Row;
use display::chart::{Bars, COLORS, Gantt, bars};

/// Draws the picture as SVG.
pub(super) fn picture(heading: &str, rows: &[Row]) -> String {
    let names: Vec<String> = rows.iter().map(|row| row.policy.to_string()).collect();
    let ratios = rows.iter().map(|row| row.outcome.ratio());
    let ratios = Bars {
        title: "ideal / actual time".to_owned(),
        values: ratios.map(|ratio| (ratio, format!("{ratio:.3}"))).collect(),
        mark: Some((1.0, "ideal = 1".to_owned())),
        color: COLORS[2],
    };
    let messages = rows.iter().map(|row| row.outcome.messages as f64 / row.outcome.n_tasks as f64);
    let messages = Bars {
        title: "messages per task".to_owned(),
        values: messages.map(|n| (n, format!("{n:.2}"))).collect(),
        mark: None,
        color: COLORS[0],
    };
    bars(heading, &names, &[ratios, messages], &Gantt::default())
}
