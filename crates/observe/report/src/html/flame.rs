//! Flame graph of all samples: a function's width is its share of the processor time, callers stand above.

use super::section;
use crate::svg::short;
use display::text::harmless;
use display::units::{percent, seconds};
use maud::{Markup, html};
use run_record::SampleRow;
use run_record::sample_file::SEPARATOR;
use std::collections::BTreeMap;

const WIDTH: f64 = 1000.0;
const ROW: f64 = 17.0;
/// Width of a letter.
const LETTER: f64 = 6.0;
/// Smallest share of all samples that is drawn.
const SHARE_MIN: f64 = 0.000_7;
/// Maximum number of functions one above the other.
const N_LEVELS_MAX: usize = 80;
/// Maximum number of boxes.
const N_BOXES_MAX: usize = 6000;

/// Function as called along one path.
#[derive(Default)]
struct Node<'a> {
    time_s: f64,
    is_mpi: bool,
    children: BTreeMap<&'a str, Node<'a>>,
}

impl<'a> Node<'a> {
    fn of(rows: &'a [SampleRow]) -> Self {
        let mut root = Self::default();
        for row in rows {
            let mut at = &mut root;
            at.time_s += row.time_s;
            for function in row.call_path.split(SEPARATOR) {
                at = at.children.entry(function).or_default();
                at.time_s += row.time_s;
            }
            at.is_mpi |= row.call_site.is_some() || row.module.is_empty() && at.children.is_empty();
        }
        root
    }
}

/// Box of a function.
struct Drawn<'a> {
    name: &'a str,
    class: &'static str,
    level: usize,
    x: f64,
    width: f64,
    time_s: f64,
}

fn collect<'a>(node: &Node<'a>, level: usize, x: f64, per_s: f64, boxes: &mut Vec<Drawn<'a>>) {
    let mut x = x;
    for (name, child) in &node.children {
        let width = child.time_s * per_s;
        if N_LEVELS_MAX <= level || N_BOXES_MAX <= boxes.len() {
            return;
        }
        if SHARE_MIN * WIDTH <= width {
            let class = if child.is_mpi { "in-mpi" } else { shade(name) };
            boxes.push(Drawn { name, class, level, x, width, time_s: child.time_s });
            collect(child, level + 1, x, per_s, boxes);
        }
        x += width;
    }
}

/// Returns one of a few shades, always the same for a name.
fn shade(name: &str) -> &'static str {
    const SHADES: [&str; 4] = ["f0", "f1", "f2", "f3"];
    let sum =
        name.bytes().fold(0_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    SHADES[sum % SHADES.len()]
}

pub(super) fn draw(rows: &[SampleRow]) -> Markup {
    let root = Node::of(rows);
    if root.time_s <= 0.0 {
        return html! {};
    }
    let mut boxes = Vec::new();
    collect(&root, 0, 0.0, WIDTH / root.time_s, &mut boxes);
    let n_levels = boxes.iter().map(|it| it.level + 1).max().unwrap_or(0);
    let content = html! {
        svg.flame viewBox={ "0 0 " (WIDTH) " " (short(ROW * n_levels as f64)) } {
            @for it in &boxes { (draw_box(it, root.time_s)) }
        }
        p.note { "Samples of all ranks; a click on a function enlarges it, a click on the outermost one shows all again." }
    };
    section(
        "flame",
        "Call paths",
        "width: share of the processor time; callers above, MPI blue",
        &content,
    )
}

fn draw_box(it: &Drawn<'_>, all_s: f64) -> Markup {
    let name = harmless(it.name);
    let title = format!("{name}: {} ({})", percent(it.time_s / all_s), seconds(it.time_s));
    let y = ROW * it.level as f64;
    html! {
        g data-x=(short(it.x)) data-w=(short(it.width)) data-level=(it.level) data-name=(name) {
            title { (title) }
            rect class=(it.class) x=(short(it.x)) y=(short(y)) width=(short(it.width)) height=(short(ROW - 1.0)) {}
            text x=(short(it.x + 3.0)) y=(short(y + 12.0)) { (label(&name, it.width)) }
        }
    }
}

/// Returns as much of a name as fits.
fn label(name: &str, width: f64) -> String {
    let mut room = width - 6.0;
    let fits = |_: &char| {
        room -= LETTER;
        0.0 <= room
    };
    let text: String = name.chars().take_while(fits).collect();
    if text.chars().count() < 3 { String::new() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(path: &str, time_s: f64, call_site: Option<u32>) -> SampleRow {
        let (module, file) = ("/bin/a".into(), "a.c".into());
        let call_path = path.into();
        SampleRow {
            world: 0,
            rank: 0,
            call_path,
            call_site,
            module,
            file,
            line: 1,
            samples: 1,
            time_s,
        }
    }

    #[test]
    fn paths_with_a_common_beginning_share_boxes() {
        let rows = [row("main;solve", 3.0, None), row("main;MPI_Wait", 1.0, Some(2))];
        let drawn = draw(&rows).into_string();
        assert_eq!(drawn.matches("<g ").count(), 3, "{drawn}");
        assert!(drawn.contains("solve: 75.0 % (3.00 s)"), "{drawn}");
        assert_eq!(drawn.matches("in-mpi").count(), 1, "{drawn}");
    }

    #[test]
    fn names_are_escaped_and_cut() {
        let drawn = draw(&[row("<script>", 1.0, None)]).into_string();
        assert!(!drawn.contains("<script>"), "{drawn}");
        assert_eq!(label("abcdef", 26.0), "abc");
        assert_eq!(label("abcdef", 12.0), "");
        assert!(draw(&[]).into_string().is_empty());
    }
}
