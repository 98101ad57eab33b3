//! Parts of a picture: drawings around a vertical axis, along which the program runs downwards.

use super::text::width;
use display::text::escape_xml;

/// Font size of most texts, in pixels.
pub(super) const SIZE: f64 = 11.0;
/// Font size of secondary texts, in pixels.
pub(super) const SMALL: f64 = 9.5;

/// A drawing, with its axis at x = 0 and its top at y = 0.
#[derive(Clone, Debug, Default)]
pub(super) struct Fragment {
    pub(super) svg: String,
    /// Extents to the left and right of its axis.
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) height: f64,
    /// True if control flow ends here.
    pub(super) is_end: bool,
}

impl Fragment {
    pub(super) fn of(left: f64, right: f64, height: f64) -> Self {
        Self { left, right, height, ..Self::default() }
    }

    pub(super) fn put(&mut self, svg: &str) {
        self.svg.push_str(svg);
    }

    /// Draws the SVG of another part at an offset.
    pub(super) fn place(&mut self, svg: &str, x: f64, y: f64) {
        if !svg.is_empty() {
            self.put(&format!("<g transform=\"translate({x:.1} {y:.1})\">{svg}</g>"));
        }
    }

    pub(super) fn text(&mut self, x: f64, y: f64, class: &str, text: &str) {
        let text = escape_xml(text);
        self.put(&format!("<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{text}</text>"));
    }

    /// Draws a line of control flow, with an arrow at its end if `has_arrow`.
    pub(super) fn flow_line(&mut self, points: &[(f64, f64)], has_arrow: bool) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let arrow = if has_arrow { " marker-end=\"url(#arrow)\"" } else { "" };
        self.put(&format!("<polyline class=\"way\" points=\"{}\"{arrow}/>", points.join(" ")));
    }

    pub(super) fn rect(&mut self, class: &str, (x, y): (f64, f64), (w, h): (f64, f64)) {
        self.put(&format!("<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" rx=\"5\"/>"));
    }

    /// Adds a tooltip.
    pub(super) fn hint(&mut self, text: &str) {
        if !text.is_empty() {
            self.svg = format!("<g><title>{}</title>{}</g>", escape_xml(text), self.svg);
        }
    }
}

/// Space between two parts of a sequence.
pub(super) const GAP: f64 = 16.0;

/// Draws parts one after the other, with arrows between them.
fn sequence(fragments: &[Fragment]) -> Fragment {
    let mut whole = Fragment::default();
    let mut before: Option<&Fragment> = None;
    for fragment in fragments {
        if let Some(before) = before {
            let top = whole.height;
            whole.height += GAP;
            if !before.is_end {
                whole.flow_line(&[(0.0, top), (0.0, top + GAP)], true);
            }
        }
        let y = whole.height;
        whole.place(&fragment.svg, 0.0, y);
        whole.left = whole.left.max(fragment.left);
        whole.right = whole.right.max(fragment.right);
        whole.height += fragment.height;
        before = Some(fragment);
    }
    whole.is_end = before.is_some_and(|last| last.is_end);
    whole
}

/// Space between two columns, in pixels.
const COLUMN_GAP: f64 = 28.0;

/// Draws parts one after the other, in columns of at most this height where the parts allow it.
pub(super) fn columns(fragments: &[Fragment], height_max: f64) -> Fragment {
    let mut columns: Vec<&[Fragment]> = Vec::new();
    let (mut first, mut height) = (0, 0.0);
    for (at, fragment) in fragments.iter().enumerate() {
        if first < at && height_max < height + fragment.height {
            columns.push(&fragments[first..at]);
            (first, height) = (at, 0.0);
        }
        height += fragment.height + GAP;
    }
    columns.push(&fragments[first..]);
    let columns: Vec<Fragment> = columns.into_iter().map(sequence).collect();
    if let [column] = columns.as_slice() {
        return column.clone();
    }
    side_by_side(&columns)
}

/// Draws columns from left to right, with a line from the end of each to the start of the next.
fn side_by_side(columns: &[Fragment]) -> Fragment {
    let top = GAP;
    let tallest = columns.iter().map(|column| column.height).fold(0.0, f64::max);
    let mut whole = Fragment { height: top + tallest + GAP, ..Fragment::default() };
    whole.flow_line(&[(0.0, 0.0), (0.0, top)], true);
    let mut axis = 0.0;
    for (at, column) in columns.iter().enumerate() {
        whole.place(&column.svg, axis, top);
        whole.left = whole.left.max(column.left - axis);
        whole.right = axis + column.right;
        if let Some(next) = columns.get(at + 1) {
            let between = whole.right + COLUMN_GAP / 2.0;
            let (end, next_axis) = (top + column.height, whole.right + COLUMN_GAP + next.left);
            let turns = [
                (axis, end),
                (axis, end + GAP / 2.0),
                (between, end + GAP / 2.0),
                (between, 2.0),
                (next_axis, 2.0),
                (next_axis, top),
            ];
            if !column.is_end {
                whole.flow_line(&turns, true);
            }
            axis = next_axis;
        }
    }
    if let Some(last) = columns.last().filter(|last| !last.is_end) {
        let bottom = whole.height;
        whole.flow_line(&[(axis, top + last.height), (axis, bottom), (0.0, bottom)], false);
    }
    whole.is_end = columns.last().is_some_and(|last| last.is_end);
    whole
}

/// Draws a box with lines of text around the axis.
pub(super) fn text_box(lines: &[(usize, String)], class: &str) -> Fragment {
    let line_height = 14.0;
    let widest = lines
        .iter()
        .map(|(indent, text)| width(text, SIZE) + indent_px(*indent))
        .fold(60.0_f64, f64::max);
    let half = widest / 2.0 + 9.0;
    let height = lines.len() as f64 * line_height + 8.0;
    let mut fragment = Fragment::of(half, half, height);
    fragment.rect(class, (-half, 0.0), (2.0 * half, height));
    let mut y = line_height + 1.0;
    for (indent, text) in lines {
        fragment.text(-half + 9.0 + indent_px(*indent), y, "t", text);
        y += line_height;
    }
    fragment
}

fn indent_px(indent: usize) -> f64 {
    indent.min(8) as f64 * 12.0
}
