//! Formats numbers for people: three digits and a unit.

pub(crate) fn seconds(span_s: f64) -> String {
    match span_s {
        s if s <= 0.0 => "0 s".to_owned(),
        s if s < 0.999_5e-3 => format!("{} µs", three_digits(s * 1e6)),
        s if s < 0.999_5 => format!("{} ms", three_digits(s * 1e3)),
        s if s < 999.5 => format!("{} s", three_digits(s)),
        s => format!("{} h", three_digits(s / 3600.0)),
    }
}

pub(crate) fn bytes(n_bytes: f64) -> String {
    match n_bytes {
        n if n < 999.5 => format!("{n:.0} B"),
        n if n < 1023.5 * 1024.0 => format!("{} KiB", three_digits(n / 1024.0)),
        n => format!("{} MiB", three_digits(n / 1024.0 / 1024.0)),
    }
}

pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

pub(crate) fn three_digits(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// Formats a count: `1 worker`, `12 workers`.
pub(crate) fn plural(n: u64, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}
