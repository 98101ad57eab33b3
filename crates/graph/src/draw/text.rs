//! Texts in pictures: how wide they are, and what of them is shown.

/// How wide a text is in a font without serifs, a little more rather than less.
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
        _ => 0.59,
    }
}

/// The text, cut where it is longer than that many characters.
pub(super) fn shorten(text: &str, n_max: usize) -> String {
    if text.chars().count() <= n_max {
        return text.to_owned();
    }
    let kept: String = text.chars().take(n_max.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// The text as XML has it.
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

/// Seconds as people say them.
pub(super) fn seconds(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s => (s * 1e6, "µs"),
    };
    format!("{value:.3} {unit}").replacen(".000", "", 1)
}

/// Bytes as people say them.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub(super) fn bytes(n_bytes: u64) -> String {
    match n_bytes {
        n if n >= 10_000_000 => format!("{:.1} MB", n as f64 / 1e6),
        n if n >= 10_000 => format!("{:.1} kB", n as f64 / 1e3),
        n => format!("{n} B"),
    }
}

/// How often something happened.
pub(super) fn times(count: f64) -> String {
    if (count - count.round()).abs() < 0.005 { format!("{count:.0}") } else { format!("{count:.2}") }
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
        assert_eq!(seconds(1.5), "1.500 s");
        assert_eq!(seconds(0.002), "2 ms");
        assert_eq!(seconds(3.25e-6), "3.250 µs");
        assert_eq!((bytes(12), bytes(123_456)), ("12 B".into(), "123.5 kB".into()));
        assert_eq!((times(4.0), times(0.3)), ("4".into(), "0.30".into()));
    }
}
