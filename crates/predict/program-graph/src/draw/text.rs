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

/// Cuts a text to that many characters, the last of which is `…`.
pub(super) fn cut(text: &str, n_max: usize) -> String {
    if text.chars().count() <= n_max {
        return text.to_owned();
    }
    let kept: String = text.chars().take(n_max.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
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
    fn texts_and_quantities_are_short() {
        assert_eq!(cut("rank < n", 20), "rank < n");
        assert_eq!(cut("rank < n_workers", 8), "rank <…");
        assert_eq!((times(4.0), times(0.3)), ("4".into(), "0.30".into()));
    }
}
