//! Pictures: their contents, and room for their texts.

use crate::said::{graph, main_of};
use program_graph::{View, draw};

const TEXT: &str = "for (int t = 0; t < steps; t++) { MPI_Isend(a, n, MPI_INT, 1, 0, c, &r); MPI_Wait(&r, s);\n\
    if (n < 3 && \"<b>\") { MPI_Bcast(a, n, MPI_INT, 0, c); } }";

#[test]
fn a_picture_has_two_views_and_a_legend() {
    let graph = graph(&main_of(TEXT));
    let picture = draw(&graph, "a & b", View::Full);
    assert!(picture.starts_with("<svg xmlns=") && picture.ends_with("</svg>\n"));
    assert!(picture.contains("<title>a &amp; b</title>"));
    for words in ["Isend", "↻ steps ×", "dashed: non-blocking", "all ranks", "n &lt; 3", ">III<"]
    {
        assert!(picture.contains(words), "{words} in {picture}");
    }
    let is_shown = |id: &str| picture.contains(&format!("id=\"{id}\" style=\"display:inline\""));
    assert!(is_shown("full") && !is_shown("regions"));
    let (full, regions) = (draw(&graph, "a", View::Full), draw(&graph, "a", View::Regions));
    assert_ne!(full, regions);
    assert!(regions.contains("id=\"regions\" style=\"display:inline\""));
}

/// Every element is opened and closed equally often.
#[test]
fn a_picture_is_well_formed() {
    let picture = draw(&graph(&main_of(TEXT)), "<\"'>", View::Full);
    for element in ["g", "svg", "text", "title", "style", "defs", "marker", "script"] {
        let opened = picture.matches(&format!("<{element}>")).count()
            + picture.matches(&format!("<{element} ")).count();
        assert_eq!(opened, picture.matches(&format!("</{element}>")).count(), "{element}");
    }
    // Scripts are text of XML, too.
    let script = picture.split("<script>").nth(1).and_then(|rest| rest.split("</script>").next());
    assert!(!script.expect("there is one").contains(['<', '&']));
}

/// Returns a program of functions with some operations each, the first of which calls all others.
fn tall() -> String {
    let body = "MPI_Barrier(c);".repeat(9);
    let functions: String = (0..9).map(|i| format!("void f{i}(int n) {{ {body} }}\n")).collect();
    let calls: String = (0..9).map(|i| format!("f{i}(1); f{i}(2);")).collect();
    format!("{functions}void all(void) {{ {calls} }}\nint main() {{ all(); }}")
}

#[test]
fn functions_are_folded_where_all_would_be_taller_than_a_screen() {
    let picture = draw(&graph(&tall()), "tall", View::Full);
    let height = picture.split("height=\"").nth(1).and_then(|rest| rest.split('"').next());
    let height: f64 = height.and_then(|it| it.parse().ok()).expect("a height");
    assert!(height < 300.0, "{height}");
    // A page for each function in each of the views, and a box at each call.
    assert_eq!(picture.matches("class=\"page\"").count(), 2 * (1 + 10));
    assert_eq!(picture.matches("onclick=\"show('full-0-1')\"").count(), 2);
    for words in ["▸ all(): I to", "id=\"full-0-10\" style=\"display:none\"", "◂ back"] {
        assert!(picture.contains(words), "{words} in {picture}");
    }
    let small = draw(&graph(&main_of(TEXT)), "small", View::Full);
    assert_eq!(small.matches("class=\"page\"").count(), 2);
}
