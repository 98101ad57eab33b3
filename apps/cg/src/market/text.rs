//! Lines of a file, a few megabytes at a time, distributed to the ranks.

use super::header::{Header, LINE_BYTES_MAX, read_header};
use crate::error::MarketError;
use crate::{CgError, Group};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Take};
use std::path::Path;

/// Largest size of a piece, in bytes.
const PIECE_BYTES: usize = 4 << 20;

/// Piece of whole lines.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) text: Vec<u8>,
    place: Position,
}

/// Position of a piece in the file.
#[derive(Clone, Copy, Debug)]
enum Position {
    /// Number of bytes before it.
    Byte(u64),
    /// Number of lines before it.
    Line(u64),
}

impl Piece {
    /// Number of one of its lines in the file. In a plain file lines are counted only for an error message.
    pub(super) fn line(&self, n_lines_before: u64, path: &Path) -> Result<u64, MarketError> {
        let before = match self.place {
            Position::Line(n_lines) => n_lines,
            Position::Byte(n_bytes) => {
                count_lines(path, n_bytes).map_err(MarketError::read(path))?
            }
        };
        Ok(before + n_lines_before + 1)
    }
}

fn count_lines(path: &Path, n_bytes: u64) -> io::Result<u64> {
    let mut text = BufReader::with_capacity(PIECE_BYTES, File::open(path)?).take(n_bytes);
    let mut n_lines = 0;
    loop {
        let some = text.fill_buf()?;
        if some.is_empty() {
            return Ok(n_lines);
        }
        n_lines += lines_in(some);
        let n_bytes = some.len();
        text.consume(n_bytes);
    }
}

fn lines_in(text: &[u8]) -> u64 {
    text.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// Decompressed text of a file.
type Inflated = Box<BufReader<MultiGzDecoder<File>>>;

/// File opened by the first rank, behind its head.
pub(super) enum Opened {
    Plain,
    Zipped(Inflated),
}

/// Opens a file, whatever its name: a compressed one is recognized by its first bytes.
pub(super) fn open(path: &Path) -> Result<(Header, Opened), MarketError> {
    let read = MarketError::read(path);
    let mut file = File::open(path).map_err(&read)?;
    let mut first = [0; 2];
    let n_first = file.read(&mut first).map_err(&read)?;
    file.rewind().map_err(&read)?;
    if n_first == 2 && first == [0x1f, 0x8b] {
        let text = BufReader::with_capacity(PIECE_BYTES, MultiGzDecoder::new(file));
        let mut text = Box::new(text);
        return Ok((read_header(&mut text, path)?, Opened::Zipped(text)));
    }
    Ok((read_header(&mut BufReader::new(file), path)?, Opened::Plain))
}

/// Pieces of the text that a rank gets.
pub(super) enum Text {
    /// Pieces of its own part of the file.
    Plain { pieces: Pieces<Take<File>>, n_bytes: u64 },
    /// Pieces that the first rank distributes; it alone has the file.
    Zipped { pieces: Option<Pieces<Inflated>>, n_lines: u64 },
}

impl Text {
    /// Opens a rank's part of a plain file.
    pub(super) fn plain(
        path: &Path,
        header: &Header,
        group: &impl Group,
    ) -> Result<Self, MarketError> {
        let read = MarketError::read(path);
        let mut file = File::open(path).map_err(&read)?;
        let n_bytes = file.metadata().map_err(&read)?.len().saturating_sub(header.n_bytes);
        let mut bound = |rank: usize| {
            let even = u128::from(n_bytes) * rank as u128 / group.n_ranks() as u128;
            let even = u64::try_from(even).expect("it is a part of a file");
            line_start(&mut file, header.n_bytes + even)
        };
        let begin = bound(group.rank()).map_err(&read)?;
        let end = bound(group.rank() + 1).map_err(&read)?;
        file.seek(SeekFrom::Start(begin)).map_err(&read)?;
        Ok(Self::Plain { pieces: Pieces::new(file.take(end - begin)), n_bytes: begin })
    }

    /// Prepares to distribute a compressed file from the first rank.
    pub(super) fn zipped(opened: Option<Opened>, header: &Header) -> Self {
        let pieces = match opened {
            Some(Opened::Zipped(text)) => Some(Pieces::new(text)),
            _ => None,
        };
        Self::Zipped { pieces, n_lines: header.n_lines }
    }

    /// Returns the next piece; `None` after the last. All ranks call it equally often, until all get `None`.
    pub(super) fn next(
        &mut self,
        path: &Path,
        group: &impl Group,
    ) -> Result<Option<Piece>, CgError> {
        match self {
            Self::Plain { pieces, n_bytes } => {
                let text = pieces.next().map_err(MarketError::read(path))?;
                let place = Position::Byte(*n_bytes);
                *n_bytes += text.as_ref().map_or(0, |text| text.len() as u64);
                Ok(text.map(|text| Piece { text, place }))
            }
            Self::Zipped { pieces, n_lines } => {
                let dealt = match pieces {
                    Some(pieces) => deal(pieces, n_lines, group.n_ranks()),
                    None => Ok(Vec::new()),
                };
                let (parts, trouble) = match dealt {
                    Ok(parts) => (parts, None),
                    Err(error) => (Vec::new(), Some(MarketError::read(path)(error))),
                };
                let got = group.exchange(&parts)?;
                trouble.map_or(Ok(received(&got)), |trouble| Err(trouble.into()))
            }
        }
    }
}

/// Makes a message for each rank: the number of lines before its piece, in eight bytes, and the piece.
fn deal<R: Read>(
    pieces: &mut Pieces<R>,
    n_lines: &mut u64,
    n_ranks: usize,
) -> io::Result<Vec<Vec<u8>>> {
    let mut parts = vec![Vec::new(); n_ranks];
    for part in &mut parts {
        let Some(text) = pieces.next()? else { break };
        part.extend(n_lines.to_le_bytes());
        part.extend(&text);
        *n_lines += lines_in(&text);
    }
    Ok(parts)
}

fn received(message: &[u8]) -> Option<Piece> {
    let (n_lines, text) = message.split_first_chunk()?;
    let place = Position::Line(u64::from_le_bytes(*n_lines));
    Some(Piece { text: text.to_vec(), place })
}

/// Iterator over pieces of a text.
pub(super) struct Pieces<R> {
    source: R,
    /// Start of the line that the last piece ended in.
    rest: Vec<u8>,
}

impl<R: Read> Pieces<R> {
    fn new(source: R) -> Self {
        Self { source, rest: Vec::new() }
    }

    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut text = std::mem::take(&mut self.rest);
        let wanted = PIECE_BYTES.saturating_sub(text.len());
        text.reserve(wanted);
        let n_read = self.source.by_ref().take(wanted as u64).read_to_end(&mut text)?;
        // A line longer than a piece is not valid, and is reported as such.
        let cut = text.iter().rposition(|byte| *byte == b'\n').map_or(text.len(), |at| at + 1);
        if n_read == wanted {
            self.rest = text.split_off(cut);
        }
        Ok((!text.is_empty()).then_some(text))
    }
}

/// Position of the first line that begins at a byte or after it.
fn line_start(file: &mut File, byte: u64) -> io::Result<u64> {
    let Some(before) = byte.checked_sub(1) else { return Ok(0) };
    file.seek(SeekFrom::Start(before))?;
    let mut line = Vec::new();
    BufReader::new(&mut *file).take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
    Ok(before + line.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, byte: u64, expected: u64) {
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        assert_eq!(line_start(&mut file, byte).unwrap(), expected);
    }

    #[test]
    fn parts_begin_with_a_line() {
        check("12\n45\n7", 0, 0);
        check("12\n45\n7", 1, 3);
        check("12\n45\n7", 3, 3);
        check("12\n45\n7", 4, 6);
        check("12\n45\n7", 7, 7);
    }

    #[test]
    fn pieces_end_with_a_line() {
        let line = "0123456789\n";
        let text = line.repeat(PIECE_BYTES / line.len() + 3) + "last";
        let mut pieces = Pieces::new(text.as_bytes());
        let first = pieces.next().unwrap().unwrap();
        assert_eq!((first.len() % line.len(), first.last()), (0, Some(&b'\n')));
        assert!(pieces.next().unwrap().unwrap().ends_with(b"\nlast"));
        assert_eq!(pieces.next().unwrap(), None);
    }
}
