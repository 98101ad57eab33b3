//! Formatting of numbers in sentences.

/// Formats a share as `12 %`, `3.4 %`.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// Formats a time as `12.3 s`, `4.5 ms`, `3.2 us`.
pub(super) fn time(seconds: f64) -> String {
    match seconds {
        s if 100.0 <= s => format!("{s:.0} s"),
        s if 1.0 <= s => format!("{s:.1} s"),
        s if 1e-3 <= s => format!("{:.1} ms", s * 1e3),
        s => format!("{:.1} us", s * 1e6),
    }
}

/// Formats a size as `96 bytes`, `1.2 kB`, `3.4 MB`.
pub(super) fn size(bytes: f64) -> String {
    match bytes {
        b if 1e9 <= b => format!("{:.1} GB", b / 1e9),
        b if 1e6 <= b => format!("{:.1} MB", b / 1e6),
        b if 1e3 <= b => format!("{:.1} kB", b / 1e3),
        b => format!("{b:.0} bytes"),
    }
}

/// Formats a count as `950`, `12 thousand`, `1.2 million`.
pub(super) fn count(n: u64) -> String {
    match n {
        1_000_000_000.. => format!("{:.1} billion", n as f64 / 1e9),
        1_000_000.. => format!("{:.1} million", n as f64 / 1e6),
        10_000.. => format!("{:.0} thousand", n as f64 / 1e3),
        _ => n.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([percent(0.034), percent(0.5), percent(0.0999)], ["3.4 %", "50 %", "10 %"]);
        assert_eq!([time(123.4), time(2.0), time(0.0045)], ["123 s", "2.0 s", "4.5 ms"]);
        assert_eq!(time(3.2e-6), "3.2 us");
        assert_eq!([size(96.0), size(1200.0)], ["96 bytes", "1.2 kB"]);
        assert_eq!(
            [count(950), count(12_000), count(1_200_000)],
            ["950", "12 thousand", "1.2 million"]
        );
    }
}
