//! Texts in pictures: estimated widths, shortening and formatting.

/// Estimates the width of a text in a sans-serif font, slightly too large.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let ems: f64 = text.chars().map(ems).sum();
    ems * size
}

fn ems(character: char) -> f64 {
    match character {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '|' | '!' | '\'' | ' ' | 'I' | '·' => 0.31,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | '-' | '"' | '*' => 0.40,
        'm' | 'M' | 'w' | 'W' | '@' | '%' | '…' | '→' | '←' | '×' | '↻' => 0.95,
        '_' => 0.58,
        c if c.is_uppercase() => 0.73,
        '0'..='9' => 0.64,
        _ => 0.61,
    }
}

/// Shortens a text to that many characters.
pub(super) fn shorten(text: &str, n_max: usize) -> String {
    if text.chars().count() <= n_max {
        return text.to_owned();
    }
    let kept: String = text.chars().take(n_max.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// Escapes a text for XML.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Formats a time with a suitable unit.
pub(super) fn seconds(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{} s", digits(s)),
        s if s >= 1e-3 => format!("{} ms", digits(s * 1e3)),
        s => format!("{} µs", digits(s * 1e6)),
    }
}

/// Formats a number of bytes with a suitable unit.
pub(super) fn bytes(n_bytes: f64) -> String {
    match n_bytes {
        n if n >= 1e9 => format!("{} GB", digits(n / 1e9)),
        n if n >= 1e6 => format!("{} MB", digits(n / 1e6)),
        n if n >= 1e4 => format!("{} kB", digits(n / 1e3)),
        n => format!("{n:.0} B"),
    }
}

/// Formats a value with three significant digits.
fn digits(value: f64) -> String {
    let n_places = match value {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{value:.n_places$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Formats a count, which may be a mean.
pub(super) fn times(count: f64) -> String {
    if (count - count.round()).abs() < 0.005 {
        format!("{count:.0}")
    } else {
        format!("{count:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(shorten("rank < n", 20), "rank < n");
        assert_eq!(shorten("rank < n_workers", 8), "rank <…");
    }

    #[test]
    fn xml_stays_xml() {
        assert_eq!(escape("a < b && \"c\"\u{1}"), "a &lt; b &amp;&amp; &quot;c&quot; ");
    }

    #[test]
    fn quantities_are_short() {
        assert_eq!(seconds(1.5), "1.5 s");
        assert_eq!(seconds(0.002), "2 ms");
        assert_eq!(seconds(0.123_456), "123 ms");
        assert_eq!(seconds(3.25e-6), "3.25 µs");
        assert_eq!((bytes(12.0), bytes(123_456.0)), ("12 B".into(), "123 kB".into()));
        assert_eq!(bytes(3_840_000.0), "3.84 MB");
        assert_eq!((times(4.0), times(0.3)), ("4".into(), "0.30".into()));
    }
}
