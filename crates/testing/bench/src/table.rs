//! Formats tables as text.

/// Renders rows under a header; the first two columns are aligned to the left, the others to the right.
pub(crate) fn render(header: &[&str], rows: &[Vec<String>]) -> String {
    let header: Vec<String> = header.iter().map(|&title| title.to_owned()).collect();
    let all = || std::iter::once(&header).chain(rows);
    let width = |column: usize| {
        all().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let line = |row: &[String]| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            if column < 2 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
    };
    let rule = widths.iter().enumerate().map(|(column, width)| {
        let dashes = "-".repeat(width + 1);
        if column < 2 { format!("{dashes}-") } else { format!("{dashes}:") }
    });
    let rule = format!("|{}|\n", rule.collect::<Vec<_>>().join("|"));
    line(&header) + &rule + &rows.iter().map(|row| line(row)).collect::<String>()
}

/// Word for whether a figure meets its bar; empty without a bar.
pub(crate) fn verdict(is_met: Option<bool>) -> &'static str {
    is_met.map_or("", |is_met| if is_met { "met" } else { "missed" })
}

#[cfg(test)]
mod tests {
    use super::render;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let words = |row: &[&str]| row.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let text = render(&["a", "b", "ns"], &[words(&["long", "x", "7"])]);
        assert_eq!(text, "| a    | b | ns |\n|------|---|---:|\n| long | x |  7 |\n");
    }
}
