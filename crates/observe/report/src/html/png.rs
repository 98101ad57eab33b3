//! Picture of a square matrix as PNG: one pixel per cell, a single color with opacity for the strength, so that
//! it suits light and dark pages.

use super::packed::deflated;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const SIGNATURE: [u8; 8] = [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n'];
/// The color of traffic, as in `page.css`.
const COLOR: [u8; 3] = [0x2f, 0x6f, 0xd0];
/// Opacity of the weakest nonempty cell.
const FAINTEST: u8 = 40;

/// Returns a data URL for the picture of `cells`, `side * side` strengths by row; 0 is empty.
pub(super) fn data_url(cells: &[u8], side: usize) -> String {
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
