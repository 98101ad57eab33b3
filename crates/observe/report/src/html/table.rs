//! Sortable table of a page.

use super::rest;
use display::table::{Align, Cell, Table};
use maud::{Markup, PreEscaped, html};

/// Draws a table; its rows are the ids that links lead to, or empty.
pub(super) fn draw(table: &Table<String>, class: &str) -> Markup {
    html! {
        table class={ "sortable " (class) } {
            thead { tr { @for column in table.columns() { th class=(title_class(column.align)) { (column.title) } } } }
            tbody {
                @for (row, id) in table.rows().iter().enumerate() {
                    tr id=[(!id.is_empty()).then_some(id)] {
                        @for column in table.columns() { (draw_cell(column.align, &column.cells[row])) }
                    }
                }
            }
        }
    }
}

/// Draws a table of some of `n_rows` rows, without links to them.
pub(super) fn draw_some<R>(table: Table<R>, class: &str, n_rows: usize) -> Markup {
    let table = table.with_rows(|_| String::new());
    html! { (draw(&table, class)) (rest(n_rows, table.rows().len())) }
}

fn title_class(align: Align) -> &'static str {
    match align {
        Align::Left | Align::Name => "",
        Align::Right => "number",
        Align::Spark => "fixed",
        Align::Bar => "wide fixed",
    }
}

fn draw_cell(align: Align, cell: &Cell) -> Markup {
    let hint = (!cell.hint.is_empty()).then_some(&cell.hint);
    let grade = cell.tone.grade();
    html! {
        @match align {
            Align::Left => td class=(grade) data-value=[cell.value] title=[hint] { (cell.text) }
            Align::Name => td.name title=(hint.unwrap_or(&cell.text)) { code { (cell.text) } }
            Align::Right => td class={ "number " (grade) } data-value=[cell.value] { (cell.text) }
            Align::Spark => td { (PreEscaped(&cell.text)) }
            Align::Bar => td.wide title=[hint] { (PreEscaped(&cell.text)) }
        }
    }
}
