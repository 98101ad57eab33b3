//! Communication matrix: a picture for each world, with the values shown at the pointer.

use super::packed::{Packed, deflated};
use super::{json, rest, section};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use display::text::harmless;
use display::units::{bytes, count, plural, whole};
use maud::{Markup, html};
use run_record::Summary;
use run_record::summary::Traffic;
use std::collections::BTreeMap;

/// Maximum number of rows and columns of a picture; with more ranks, several share a row and column.
const N_CELLS_MAX: usize = 1024;
const N_WORLDS_MAX: usize = 8;

/// Traffic between groups of ranks of a world.
struct Matrix {
    world: usize,
    n_ranks: usize,
    side: usize,
    ranks_per_cell: usize,
    /// Messages and bytes by row (sender) and column (receiver).
    cells: BTreeMap<(usize, usize), (u64, u64)>,
}

pub(super) fn draw(summary: &Summary) -> Markup {
    let worlds: Vec<usize> = (0..summary.worlds.len().max(1))
        .filter(|world| summary.traffic.iter().any(|traffic| traffic.world == *world))
        .collect();
    if worlds.is_empty() {
        return html! {};
    }
    let content = html! {
        div.matrices {
            @for world in worlds.iter().take(N_WORLDS_MAX) { (draw_world(summary, &Matrix::of(summary, *world))) }
        }
        (rest(worlds.len(), N_WORLDS_MAX))
    };
    let note = "bytes sent between two ranks, on a logarithmic scale";
    section("traffic", "Communication matrix", note, &content)
}

impl Matrix {
    fn of(summary: &Summary, world: usize) -> Self {
        let traffic = || summary.traffic.iter().filter(|traffic| traffic.world == world);
        let seen =
            traffic().map(|traffic| traffic.from.max(traffic.to) as usize + 1).max().unwrap_or(1);
        let n_ranks = summary.worlds.get(world).map_or(seen, |world| world.size.max(seen));
        let ranks_per_cell = n_ranks.div_ceil(N_CELLS_MAX).max(1);
        let mut cells: BTreeMap<(usize, usize), (u64, u64)> = BTreeMap::new();
        for Traffic { from, to, messages, bytes, .. } in traffic() {
            let at = (*from as usize / ranks_per_cell, *to as usize / ranks_per_cell);
            let cell = cells.entry(at).or_default();
            *cell = (cell.0.saturating_add(*messages), cell.1.saturating_add(*bytes));
        }
        Self { world, n_ranks, side: n_ranks.div_ceil(ranks_per_cell), ranks_per_cell, cells }
    }

    /// Returns strengths from 1 to 255 on a logarithmic scale of bytes, and 0 where nothing was sent.
    fn strengths(&self) -> Vec<u8> {
        let logarithm = |n_bytes: u64| (n_bytes.max(1) as f64).ln();
        let logarithms = || self.cells.values().map(|(_, n_bytes)| logarithm(*n_bytes));
        let least = logarithms().fold(f64::INFINITY, f64::min);
        let most = logarithms().fold(0.0, f64::max);
        let mut strengths = vec![0; self.side * self.side];
        for ((from, to), (_, n_bytes)) in &self.cells {
            let share =
                if most > least { (logarithm(*n_bytes) - least) / (most - least) } else { 1.0 };
            strengths[from * self.side + to] =
                u8::try_from(whole(1.0 + 254.0 * share)).unwrap_or(u8::MAX);
        }
        strengths
    }

    fn packed(&self) -> String {
        let mut packed = Packed::default();
        let mut before = 0;
        for ((from, to), (messages, n_bytes)) in &self.cells {
            let position = from * self.side + to;
            packed.push((position - before) as u64);
            packed.push(*messages);
            packed.push(*n_bytes);
            before = position;
        }
        packed.into_text()
    }
}

fn draw_world(summary: &Summary, matrix: &Matrix) -> Markup {
    let (n_messages, n_bytes) = matrix.cells.values().fold((0u64, 0u64), |sum, cell| {
        (sum.0.saturating_add(cell.0), sum.1.saturating_add(cell.1))
    });
    let last = matrix.n_ranks - 1;
    let head = serde_json::json!({
        "side": matrix.side, "ranksPerCell": matrix.ranks_per_cell, "nCells": matrix.cells.len(),
    });
    html! {
        figure.matrix {
            figcaption {
                @if summary.worlds.len() > 1 {
                    "World " (matrix.world)
                    @if let Some(world) = summary.worlds.get(matrix.world) { " · " code { (harmless(&world.program)) } }
                    br;
                }
                (count(n_messages)) " messages, " (bytes(n_bytes))
                @if matrix.ranks_per_cell > 1 { "; a cell is " (plural(matrix.ranks_per_cell, "rank")) " wide" }
            }
            div.frame {
                span.to { "to rank 0 … " (last) " →" }
                span.from { "from rank 0 … " (last) " →" }
                img src=(data_url(&matrix.strengths(), matrix.side)) alt="bytes from each rank (down) to each rank (right)";
            }
            p.readout aria-live="polite" { "\u{a0}" }
            script.head type="application/json" { (json(&head)) }
            script.data type="application/octet-stream" { (matrix.packed()) }
        }
    }
}

const SIGNATURE: [u8; 8] = [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n'];
/// The color of traffic, as in `page.css`.
const COLOR: [u8; 3] = [0x2f, 0x6f, 0xd0];
/// Opacity of the weakest nonempty cell.
const FAINTEST: u8 = 40;

/// Returns a data URL for the picture of `cells`, `side * side` strengths by row; 0 is empty. Each is one pixel of a
/// single color with opacity for the strength, so that it suits light and dark pages.
fn data_url(cells: &[u8], side: usize) -> String {
    let mut png = SIGNATURE.to_vec();
    let side_u32 = u32::try_from(side).unwrap_or(u32::MAX);
    let mut header = [side_u32.to_be_bytes(), side_u32.to_be_bytes()].concat();
    // Eight bits per pixel, which are palette indices; standard compression; not interlaced.
    header.extend([8, 3, 0, 0, 0]);
    chunk(&mut png, *b"IHDR", &header);
    chunk(&mut png, *b"PLTE", &COLOR.repeat(256));
    chunk(&mut png, *b"tRNS", &opacities());
    chunk(&mut png, *b"IDAT", &deflated(&rows(cells, side)));
    chunk(&mut png, *b"IEND", &[]);
    format!("data:image/png;base64,{}", STANDARD.encode(png))
}

fn opacities() -> Vec<u8> {
    let opacity = |cell: u8| {
        let range = u32::from(u8::MAX - FAINTEST);
        let above = u32::from(cell) * range / 255;
        u8::try_from(above).map_or(u8::MAX, |above| above + FAINTEST)
    };
    std::iter::once(0).chain((1..=255).map(opacity)).collect()
}

/// Returns the rows, each after the number of its filter, as PNG requires; 0 is none.
fn rows(cells: &[u8], side: usize) -> Vec<u8> {
    cells.chunks(side.max(1)).flat_map(|row| [&[0], row].concat()).collect()
}

fn chunk(png: &mut Vec<u8>, kind: [u8; 4], content: &[u8]) {
    let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
    let mut crc = flate2::Crc::new();
    crc.update(&kind);
    crc.update(content);
    png.extend(length.to_be_bytes());
    png.extend(kind);
    png.extend(content);
    png.extend(crc.sum().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_is_less_transparent() {
        let opacities = opacities();
        assert_eq!((opacities.len(), opacities[0], opacities[255]), (256, 0, 255));
        assert!(opacities.is_sorted());
    }

    #[test]
    fn a_chunk_has_the_sum_that_the_standard_gives() {
        let mut png = Vec::new();
        chunk(&mut png, *b"IEND", &[]);
        assert_eq!(png, [0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82]);
    }
}
