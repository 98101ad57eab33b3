//! Unwind tables of files, read once for all processes of a node.

use framehop::ExplicitModuleSectionInfo;
use object::elf::PF_X;
use object::read::ReadCache;
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection, ObjectSegment, SegmentFlags};
use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

/// Length in bytes above which a table is not read.
const TABLE_BYTES_MAX: u64 = 256 << 20;
/// Maximum number of files.
const N_FILES_MAX: usize = 4096;

/// Content of a table.
pub(crate) type Table = Arc<[u8]>;

/// Unwind tables of a file, and its executable segments.
#[derive(Debug)]
pub(crate) struct Sections {
    pub(crate) tables: ExplicitModuleSectionInfo<Table>,
    segments: Vec<Segment>,
}

#[derive(Debug)]
struct Segment {
    file_range: Range<u64>,
    virtual_address: u64,
}

impl Sections {
    /// Reads a file; `None` if it cannot be opened or is no 64-bit ELF file.
    fn read(path: &str) -> Option<Self> {
        let file = File::open(path).ok().filter(|file| {
            // A device or a pipe in place of a file would block.
            file.metadata().is_ok_and(|about| about.is_file())
        })?;
        let cache = ReadCache::new(file);
        let elf = ElfFile64::<Endianness, _>::parse(&cache).ok()?;
        let range = |name: &str| {
            let section = elf.section_by_name(name)?;
            let start = section.address();
            Some(start..start.checked_add(section.size())?)
        };
        let data = |name: &str| {
            let section = elf.section_by_name(name)?;
            let is_short = section.size() <= TABLE_BYTES_MAX;
            let data = is_short.then(|| section.uncompressed_data().ok())??;
            (!data.is_empty()).then(|| Table::from(&*data))
        };
        let has_frames = elf.section_by_name(".eh_frame").is_some();
        Some(Self {
            tables: ExplicitModuleSectionInfo {
                text_svma: range(".text"),
                got_svma: range(".got"),
                eh_frame_svma: range(".eh_frame"),
                eh_frame: data(".eh_frame"),
                eh_frame_hdr_svma: range(".eh_frame_hdr"),
                eh_frame_hdr: data(".eh_frame_hdr"),
                // Compilers write one or the other.
                debug_frame: if has_frames { None } else { data(".debug_frame") },
                ..ExplicitModuleSectionInfo::default()
            },
            segments: elf.segments().filter_map(|segment| executable(&segment)).collect(),
        })
    }

    /// Returns the difference between addresses in memory and in the file, of a mapping at `start` from `file_offset`.
    pub(crate) fn bias(&self, start: u64, file_offset: u64) -> Option<u64> {
        let holds = |segment: &&Segment| {
            let first_page = segment.file_range.start & !0xfff;
            (first_page..segment.file_range.end).contains(&file_offset)
        };
        let segment = self.segments.iter().find(holds)?;
        let at_start = segment.virtual_address.wrapping_sub(segment.file_range.start);
        Some(start.wrapping_sub(at_start.wrapping_add(file_offset)))
    }
}

fn executable<'a>(segment: &impl ObjectSegment<'a>) -> Option<Segment> {
    let is_executable = match segment.flags() {
        SegmentFlags::Elf { p_flags, .. } => p_flags.0 & PF_X.0 != 0,
        _ => false,
    };
    let (start, n_bytes) = segment.file_range();
    let file_range = start..start.checked_add(n_bytes)?;
    is_executable.then(|| Segment { file_range, virtual_address: segment.address() })
}

/// Files that were read so far.
#[derive(Debug, Default)]
pub(crate) struct SectionCache {
    files: HashMap<String, Option<Arc<Sections>>>,
}

impl SectionCache {
    /// Returns the tables of the file at `path`.
    pub(crate) fn sections(&mut self, path: &str) -> Option<Arc<Sections>> {
        if let Some(known) = self.files.get(path) {
            return known.clone();
        }
        if N_FILES_MAX <= self.files.len() {
            return None;
        }
        let read = Sections::read(path).map(Arc::new);
        self.files.insert(path.to_owned(), read.clone());
        read
    }
}
