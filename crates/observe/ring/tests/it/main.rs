//! Writing and reading a segment, as probe and collector do.

mod control;
mod openmp;
mod overwritten;
mod ring;
mod statistics;

use ring_crate::{Capacity, SegmentReader, SegmentWriter, ThreadView, ThreadWriter};
use tempfile::TempDir;

/// The crate under test; a module here has the same name.
use ::ring as ring_crate;

/// A published segment with a reader on it.
struct Pair {
    writer: SegmentWriter,
    reader: SegmentReader,
    _folder: TempDir,
}

impl Pair {
    /// Attaches a thread, the first one, and returns both views of its block.
    fn thread(&self) -> (ThreadWriter, ThreadView<'_>) {
        let thread = self.writer.attach_thread(1).expect("room for a thread");
        (thread, self.reader.threads().next().expect("one thread"))
    }
}

fn pair(n_threads: u32, n_regions: u32, n_records: u32) -> Pair {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("1.segment");
    let n_regions = n_regions + ring_crate::layout::N_RESERVED_REGIONS;
    let capacity = Capacity { n_threads, n_regions, n_peers: 4, n_records };
    let writer = SegmentWriter::create(&path, capacity, 77).expect("room for a segment");
    assert!(SegmentReader::open(&path).is_err(), "not before it is published");
    writer.publish();
    let reader = SegmentReader::open(&path).expect("a published segment");
    Pair { writer, reader, _folder: folder }
}
