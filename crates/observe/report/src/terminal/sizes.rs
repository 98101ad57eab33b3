//! Sizes of messages: calls by the power of two below their bytes.

use super::page::Page;
use display::bars;
use display::ink::Tone;
use display::text;
use display::units::{bytes, count};
use run_record::Summary;
use std::collections::BTreeMap;

/// Width of a size label on the axis under the sparkline.
const N_TICK: usize = 8;

/// Returns the number of calls over all operations by smallest size of the bin, without gaps between the ends.
pub(crate) fn sizes_of_all<'a>(sizes: impl Iterator<Item = &'a [(u64, u64)]>) -> Vec<(u64, u64)> {
    let mut by_size: BTreeMap<u64, u64> = BTreeMap::new();
    for (smallest_bytes, n_calls) in sizes.flatten() {
        let bin = by_size.entry(*smallest_bytes).or_default();
        *bin = bin.saturating_add(*n_calls);
    }
    by_size.retain(|_, n_calls| 0 < *n_calls);
    let (Some(first), Some(last)) = (by_size.keys().next(), by_size.keys().next_back()) else {
        return Vec::new();
    };
    let steps = std::iter::successors(Some(*first), |size| {
        Some(if *size == 0 { 1 } else { size.checked_mul(2)? })
    });
    for size in steps.take_while(|size| size < last).collect::<Vec<_>>() {
        by_size.entry(size).or_default();
    }
    by_size.into_iter().collect()
}

pub(super) fn write(page: &mut Page, summary: &Summary) {
    let sizes = sizes_of_all(summary.operations.values().map(|totals| totals.sizes.as_slice()));
    if sizes.is_empty() {
        return;
    }
    page.heading("Message sizes", "calls by bytes of one call");
    let counts: Vec<f64> = sizes.iter().map(|(_, n_calls)| *n_calls as f64).collect();
    // Two columns for each size: there are at most 43 bins, and a terminal usually has 80 columns or more.
    let n_wide = if sizes.len() * 2 <= page.width() - 4 { 2 } else { 1 };
    let line: String =
        bars::sparkline(&counts).chars().flat_map(|c| std::iter::repeat_n(c, n_wide)).collect();
    let line = page.paint(Tone::Mpi, &line);
    page.line(&line);
    let axis = page.paint(Tone::Dim, &axis(&sizes, n_wide));
    page.line(&axis);
    write_extremes(page, &sizes);
}

fn axis(sizes: &[(u64, u64)], n_wide: usize) -> String {
    let every = N_TICK.div_ceil(n_wide);
    let ticks = sizes.iter().step_by(every).map(|(size, _)| format!("╵{}", tick(*size)));
    ticks.map(|tick| text::left(&tick, every * n_wide)).collect()
}

/// Formats a power of two without decimals.
pub(crate) fn tick(size: u64) -> String {
    let exponent = size.checked_ilog2().unwrap_or(0) / 10;
    let unit = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"][exponent as usize];
    format!("{}{unit}", size >> (10 * exponent))
}

fn write_extremes(page: &mut Page, sizes: &[(u64, u64)]) {
    let n_calls = sizes.iter().map(|(_, n)| n).sum::<u64>();
    let Some((most, n_most)) = sizes.iter().max_by_key(|(_, n)| *n) else { return };
    let range = if *most == 0 {
        "0 B".to_owned()
    } else {
        format!("{} to {}", bytes(*most), bytes(most.saturating_mul(2) - 1))
    };
    let text = format!("most often {range}: {} of {} calls", count(*n_most), count(n_calls));
    page.sentence("", &text, Tone::Dim);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sizes: &[&[(u64, u64)]], expected: &[(u64, u64)]) {
        assert_eq!(sizes_of_all(sizes.iter().copied()), expected);
    }

    #[test]
    fn sizes_add_up_and_leave_no_gap() {
        check(&[], &[]);
        check(&[&[(8, 2)], &[(8, 3)]], &[(8, 5)]);
        check(&[&[(0, 1), (4, 2)]], &[(0, 1), (1, 0), (2, 0), (4, 2)]);
        check(&[&[(1 << 41, 1)]], &[(1 << 41, 1)]);
    }

    #[test]
    fn a_tick_is_short() {
        assert_eq!(tick(0), "0");
        assert_eq!(tick(512), "512");
        assert_eq!(tick(1 << 21), "2Mi");
    }
}
