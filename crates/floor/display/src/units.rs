//! Formatting of numbers with three digits and a unit.

use std::fmt::Display;

const BYTE_UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const COUNT_UNITS: [&str; 7] = ["", " k", " M", " G", " T", " P", " E"];

/// Formats a time span, from nanoseconds to hours.
pub fn seconds(span_s: f64) -> String {
    if !span_s.is_finite() {
        return "-".to_owned();
    }
    match span_s {
        s if s <= 0.0 => "0 s".to_owned(),
        s if s < 0.999_5e-6 => format!("{} ns", three_digits(s * 1e9)),
        s if s < 0.999_5e-3 => format!("{} µs", three_digits(s * 1e6)),
        s if s < 0.999_5 => format!("{} ms", three_digits(s * 1e3)),
        s if s < 119.5 => format!("{} s", three_digits(s)),
        s if s < 3_599.5 => {
            let whole_s = s.round();
            format!("{} min {:02} s", (whole_s / 60.0).floor(), whole_s % 60.0)
        }
        s => {
            let whole_min = (s / 60.0).round();
            format!("{} h {:02} min", (whole_min / 60.0).floor(), whole_min % 60.0)
        }
    }
}

/// Formats an amount of memory or traffic, in powers of 1024.
pub fn bytes(n_bytes: u64) -> String {
    scaled(n_bytes, 1024.0, " B", &BYTE_UNITS)
}

/// Formats a count, in powers of 1000.
pub fn count(n: u64) -> String {
    if n < 10_000 {
        return n.to_string();
    }
    scaled(n, 1000.0, "", &COUNT_UNITS)
}

/// Formats a count per second, or another number that is not an integer.
pub fn rate(per_s: f64) -> String {
    if !per_s.is_finite() || per_s <= 0.0 {
        return "0".to_owned();
    }
    if per_s < 1000.0 {
        return three_digits(per_s);
    }
    scaled(whole(per_s), 1000.0, "", &COUNT_UNITS)
}

/// Formats a share of 0..=1 as percent.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if !percent.is_finite() {
        "-".to_owned()
    } else if percent > 0.0 && percent < 0.05 {
        "<0.1 %".to_owned()
    } else {
        format!("{percent:.1} %")
    }
}

/// Formats a time in seconds since 1970 as date and time in UTC.
pub fn moment(since_1970_s: f64) -> String {
    let [year, month, day, hour, minute, second] = calendar(since_1970_s);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Returns year, month, day, hour, minute and second in UTC of a time in seconds since 1970
/// (Hinnant, "chrono-compatible low-level date algorithms").
pub fn calendar(since_1970_s: f64) -> [u64; 6] {
    let total_s = whole(since_1970_s.floor());
    let (day, in_day_s) = (total_s / 86_400, total_s % 86_400);
    // Days since 0000-03-01, in eras of 400 years, so that the leap day is the last of a year.
    let shifted = day + 719_468;
    let (era, in_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (in_era - in_era / 1_460 + in_era / 36_524 - in_era / 146_096) / 365;
    let in_year = in_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * in_year + 2) / 153;
    let in_month = in_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    [year, month, in_month, in_day_s / 3600, in_day_s / 60 % 60, in_day_s % 60]
}

/// Returns `n` with the singular or plural of `one`: `1 rank`, `12 ranks`.
pub fn plural<N: Display + From<u8> + PartialEq>(n: N, one: &str) -> String {
    if n == N::from(1) { format!("1 {one}") } else { format!("{n} {one}s") }
}

/// Returns `part / total`; 0 if the total is not positive.
pub fn share_of(part: f64, total: f64) -> f64 {
    if total > 0.0 { part / total } else { 0.0 }
}

/// Rounds to the nearest non-negative integer.
pub fn whole(value: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
    let whole = value.round() as u64;
    whole
}

fn scaled(n: u64, base: f64, smallest: &str, units: &[&str]) -> String {
    let mut value = n as f64;
    let mut unit_idx = 0;
    while unit_idx + 1 < units.len() && value >= base * 0.9995 {
        value /= base;
        unit_idx += 1;
    }
    if unit_idx == 0 {
        return format!("{n}{smallest}");
    }
    let unit = units[unit_idx].trim_start();
    format!("{} {unit}", three_digits(value))
}

/// Formats a number with at most `n_decimals`, without zeros at its end.
pub fn trimmed(value: f64, n_decimals: usize) -> String {
    let text = format!("{value:.n_decimals$}");
    let is_whole = !text.contains('.');
    if is_whole { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

/// Formats a number with three digits.
pub fn three_digits(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(shown: String, expected: &str) {
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_span_has_three_digits_and_the_unit_that_fits() {
        check(seconds(0.0), "0 s");
        check(seconds(21e-9), "21.0 ns");
        check(seconds(1.5e-6), "1.50 µs");
        check(seconds(0.25), "250 ms");
        check(seconds(12.345), "12.3 s");
        check(seconds(119.9), "2 min 00 s");
        check(seconds(725.0), "12 min 05 s");
        check(seconds(3_599.0), "59 min 59 s");
        check(seconds(7_260.0), "2 h 01 min");
        check(seconds(f64::NAN), "-");
    }

    #[test]
    fn sizes_count_in_1024_and_calls_in_1000() {
        check(bytes(0), "0 B");
        check(bytes(1023), "1023 B");
        check(bytes(1024), "1.00 KiB");
        check(bytes(8), "8 B");
        check(bytes(3 << 30), "3.00 GiB");
        check(count(9_999), "9999");
        check(count(1_234_567), "1.23 M");
        check(rate(0.5), "0.50");
        check(rate(25_000.0), "25.0 k");
        check(trimmed(0.38, 4) + &trimmed(120.0, 0) + &trimmed(2.0, 3), "0.381202");
    }

    #[test]
    fn a_moment_is_a_date() {
        check(moment(0.0), "1970-01-01 00:00:00 UTC");
        check(moment(951_827_696.0), "2000-02-29 12:34:56 UTC");
        check(moment(951_782_399.9), "2000-02-28 23:59:59 UTC");
        check(moment(1_798_761_599.0), "2026-12-31 23:59:59 UTC");
        check(moment(4_107_542_400.0), "2100-03-01 00:00:00 UTC");
    }

    #[test]
    fn a_small_share_is_not_shown_as_none() {
        check(percent(0.0), "0.0 %");
        check(percent(0.0001), "<0.1 %");
        check(percent(0.742), "74.2 %");
        check(percent(f64::NAN), "-");
    }
}
