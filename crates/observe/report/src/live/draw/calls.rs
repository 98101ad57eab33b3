//! Operations of the last interval, and call sites since the start.

use super::{dim, strong};
use crate::live::{LiveState, OperationRate, Tab};
use crate::place;
use display::text;
use display::units::{bytes, count, percent, rate, seconds, whole};
use ratatui::layout::Rect;
use ratatui::text::Line;
use run_record::summary::CallSite;

/// Width of three numbers of ten columns each.
const N_NUMBERS: usize = 33;

pub(super) fn lines(state: &LiveState, body: Rect) -> Vec<Line<'static>> {
    let n_name = usize::from(body.width) - N_NUMBERS;
    let snapshot = &state.snapshot;
    let titles = |name: &str, numbers: [&str; 3]| {
        let [a, b, c] = numbers;
        Line::from(vec![strong(text::left(name, n_name)), dim(format!(" {a:>10} {b:>10} {c:>10}"))])
    };
    let mut lines = vec![titles("Operations now", ["calls/s", "bytes/s", "time"])];
    lines.extend(snapshot.operations.iter().map(|operation| operation_line(operation, n_name)));
    lines.push(Line::default());
    lines.push(titles("Call sites so far", ["calls", "bytes", "time"]));
    lines.extend(snapshot.call_sites.iter().map(|site| call_site_line(site, n_name)));
    let n_hidden = lines.len().saturating_sub(usize::from(body.height));
    lines.split_off(state.scrolled[Tab::Calls as usize].min(n_hidden))
}

fn operation_line(operation: &OperationRate, n_name: usize) -> Line<'static> {
    let name = text::shorten(&text::harmless(&operation.name), n_name - 2);
    let numbers = [
        rate(operation.calls_per_s),
        bytes(whole(operation.bytes_per_s)),
        percent(operation.time_share),
    ];
    line(&name, &numbers, n_name)
}

fn call_site_line(site: &CallSite, n_name: usize) -> Line<'static> {
    let name = format!("{}  {}", text::harmless(&site.operation), place::place(&site.place));
    let numbers = [count(site.calls), bytes(site.bytes), seconds(site.time_s)];
    line(&text::shorten(&name, n_name - 2), &numbers, n_name)
}

fn line(name: &str, numbers: &[String; 3], n_name: usize) -> Line<'static> {
    let [a, b, c] = numbers;
    let name = text::left(&format!("  {name}"), n_name);
    Line::from(format!(
        "{name} {} {} {}",
        text::right(a, 10),
        text::right(b, 10),
        text::right(c, 10)
    ))
}
