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
}
