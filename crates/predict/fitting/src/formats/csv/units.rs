//! Units in headings: `time [ms]`, `time (us)`, `elapsed_ms`, `size [MiB]`.
//!
//! Times become seconds and sizes bytes. A heading in seconds or bytes, or without a unit, stays as it is.

/// Units that may follow a name in any way, with their seconds.
const TIMES: [(&str, f64); 11] = [
    ("ms", 1e-3),
    ("msec", 1e-3),
    ("milliseconds", 1e-3),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("μs", 1e-6),
    ("usec", 1e-6),
    ("microseconds", 1e-6),
    ("ns", 1e-9),
    ("nsec", 1e-9),
    ("nanoseconds", 1e-9),
];
/// Units in brackets only: `time_min` is a minimum.
const LONG_TIMES: [(&str, f64); 4] =
    [("min", 60.0), ("minutes", 60.0), ("h", 3600.0), ("hours", 3600.0)];
/// Units of sizes, with their bytes.
const SIZES: [(&str, f64); 8] = [
    ("kb", 1e3),
    ("mb", 1e6),
    ("gb", 1e9),
    ("tb", 1e12),
    ("kib", 1024.0),
    ("mib", 1_048_576.0),
    ("gib", 1_073_741_824.0),
    ("tib", 1_099_511_627_776.0),
];

/// Heading with a unit that is converted.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unit<'a> {
    /// Heading without the unit.
    pub(super) name: &'a str,
    /// Seconds or bytes in one unit.
    pub(super) factor: f64,
    /// True for a time, false for a size.
    pub(super) is_time: bool,
}

impl<'a> Unit<'a> {
    /// Returns the unit of a heading; `None` if its cells stay as they are.
    pub(super) fn of(heading: &'a str) -> Option<Self> {
        let (name, unit, in_brackets) = match heading.split_once(['(', '[']) {
            Some((name, rest)) => (name, rest.strip_suffix([')', ']'])?, true),
            None => {
                let (name, unit) = heading.rsplit_once(['_', ' ', '-', '.'])?;
                (name, unit, false)
            }
        };
        let (name, unit) = (name.trim().trim_end_matches('_'), unit.trim().to_lowercase());
        let among = |units: &[(&str, f64)]| {
            units.iter().find(|(other, _)| *other == unit).map(|(_, factor)| *factor)
        };
        let time = among(&TIMES).or_else(|| among(&LONG_TIMES).filter(|_| in_brackets));
        let factor = time.or_else(|| among(&SIZES)).filter(|_| !name.is_empty())?;
        Some(Self { name, factor, is_time: time.is_some() })
    }

    /// Unit of the converted cells.
    pub(super) const fn base(&self) -> &'static str {
        if self.is_time { "seconds" } else { "bytes" }
    }
}

/// Returns a heading without a unit that is converted.
pub(super) fn without(heading: &str) -> &str {
    Unit::of(heading).map_or(heading, |unit| unit.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(heading: &str, expected: Option<(&str, f64, &str)>) {
        let found = Unit::of(heading);
        assert_eq!(found.map(|unit| (unit.name, unit.factor, unit.base())), expected, "{heading}");
    }

    #[test]
    fn units_follow_names() {
        check("time [ms]", Some(("time", 1e-3, "seconds")));
        check("Time (us)", Some(("Time", 1e-6, "seconds")));
        check("elapsed_ms", Some(("elapsed", 1e-3, "seconds")));
        check("solve time ns", Some(("solve time", 1e-9, "seconds")));
        check("time (min)", Some(("time", 60.0, "seconds")));
        check("size [MiB]", Some(("size", 1_048_576.0, "bytes")));
        check("size_kb", Some(("size", 1e3, "bytes")));
        check("memory (GB)", Some(("memory", 1e9, "bytes")));
        for heading in
            ["time", "ms", "_ms", "time (s)", "measured_s", "time_min", "rate [MB/s]", "size [MiB"]
        {
            check(heading, None);
        }
    }
}
