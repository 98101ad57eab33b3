//! Access to the entries of one file's debug information.

use gimli::{
    AttributeValue, DebuggingInformationEntry, Dwarf, DwarfSections, EndianSlice, LittleEndian,
    Operation, Unit, UnitHeader, UnitType,
};
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection};
use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::path::Path;

pub(crate) type Slice<'a> = EndianSlice<'a, LittleEndian>;
pub(crate) type Entry<'a> = DebuggingInformationEntry<Slice<'a>>;
pub(crate) type Value<'a> = AttributeValue<Slice<'a>>;

/// Sections with debug information, unpacked.
#[derive(Debug)]
pub(crate) struct Sections {
    own: DwarfSections<Vec<u8>>,
    /// Sections of the file with the debug information shared by several files (`dwz`).
    shared: Option<DwarfSections<Vec<u8>>>,
}

/// Debug information, ready for queries.
pub(crate) struct Debug<'a> {
    pub(crate) dwarf: Dwarf<Slice<'a>>,
    headers: Vec<UnitHeader<Slice<'a>>>,
    units: Vec<OnceCell<Option<Unit<Slice<'a>>>>>,
    type_units: HashMap<u64, usize>,
    /// Number of entries read by offset: the cost caused by damaged or unusual information.
    n_read: Cell<u64>,
}

/// Entry with its unit.
pub(crate) struct Die<'d, 'a> {
    pub(crate) debug: &'d Debug<'a>,
    pub(crate) unit: &'d Unit<Slice<'a>>,
    pub(crate) unit_idx: usize,
    pub(crate) entry: Entry<'a>,
}

/// Location of a variable according to debug information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// Virtual address.
    Address(u64),
    /// One copy per thread.
    ThreadLocal,
    /// Registers, stack, or no location.
    Elsewhere,
}

impl Sections {
    /// Reads the sections of a file in memory, if they are valid, and of the file that it shares with others.
    pub(crate) fn of(bytes: &[u8], shared: Option<&Path>) -> Option<Self> {
        let shared = shared.and_then(|path| sections(&crate::regular::read(path).ok()?));
        Some(Self { own: sections(bytes)?, shared })
    }
}

fn sections(bytes: &[u8]) -> Option<DwarfSections<Vec<u8>>> {
    let file: ElfFile64<'_, Endianness> = ElfFile64::parse(bytes).ok()?;
    DwarfSections::load(|id| {
        let data = file.section_by_name(id.name()).and_then(|at| at.uncompressed_data().ok());
        Ok::<_, gimli::Error>(data.unwrap_or_default().into_owned())
    })
    .ok()
}

impl<'a> Debug<'a> {
    pub(crate) fn new(sections: &'a Sections) -> Self {
        let slice = |bytes: &'a Vec<u8>| EndianSlice::new(bytes, LittleEndian);
        let mut dwarf = sections.own.borrow(slice);
        if let Some(shared) = &sections.shared {
            dwarf.set_sup(shared.borrow(slice));
        }
        let mut headers = Vec::new();
        let mut all = dwarf.units();
        while let Ok(Some(header)) = all.next() {
            headers.push(header);
        }
        let type_units = headers.iter().filter_map(|header| match header.type_() {
            UnitType::Type { type_signature, type_offset } => {
                Some((type_signature.0, type_offset.to_debug_info_offset(header)?.0))
            }
            _ => None,
        });
        let type_units = type_units.collect();
        let units = headers.iter().map(|_| OnceCell::new()).collect();
        Self { dwarf, headers, units, type_units, n_read: Cell::new(0) }
    }

    #[cfg(test)]
    pub(crate) fn n_read(&self) -> u64 {
        self.n_read.get()
    }

    pub(crate) fn n_units(&self) -> usize {
        self.headers.len()
    }

    pub(crate) fn unit(&self, idx: usize) -> Option<&Unit<Slice<'a>>> {
        let unit = self.units[idx].get_or_init(|| self.dwarf.unit(self.headers[idx]).ok());
        unit.as_ref()
    }

    /// Offset of a unit in the section.
    pub(crate) fn start(&self, unit_idx: usize) -> usize {
        self.headers[unit_idx].debug_info_offset().map_or(usize::MAX, |offset| offset.0)
    }

    /// Returns the entry at an offset of the section.
    pub(crate) fn die(&self, offset: usize) -> Option<Die<'_, 'a>> {
        self.n_read.set(self.n_read.get() + 1);
        let find = |header: &UnitHeader<_>| {
            header.debug_info_offset().is_some_and(|start| start.0 <= offset)
        };
        let unit_idx = self.headers.partition_point(find).checked_sub(1)?;
        let unit = self.unit(unit_idx)?;
        let entry = unit.entry(gimli::UnitOffset(offset - self.start(unit_idx))).ok()?;
        Some(Die { debug: self, unit, unit_idx, entry })
    }

    /// Returns the offset in the section that an attribute of an entry in a unit refers to.
    pub(crate) fn reference(&self, unit_idx: usize, value: &Value<'a>) -> Option<usize> {
        match value {
            AttributeValue::UnitRef(offset) => self.start(unit_idx).checked_add(offset.0),
            AttributeValue::DebugInfoRef(offset) => Some(offset.0),
            AttributeValue::DebugTypesRef(signature) => self.type_units.get(&signature.0).copied(),
            _ => None,
        }
    }

    pub(crate) fn text(&self, unit: &Unit<Slice<'a>>, value: Value<'a>) -> Option<&'a str> {
        std::str::from_utf8(self.dwarf.attr_string(unit, value).ok()?.slice()).ok()
    }

    /// Evaluates a variable's location.
    pub(crate) fn location(&self, unit: &Unit<Slice<'a>>, value: &Value<'a>) -> Location {
        let AttributeValue::Exprloc(expression) = value else { return Location::Elsewhere };
        let mut address = None;
        let mut operations = expression.operations(unit.encoding());
        while let Ok(Some(operation)) = operations.next() {
            address = match (operation, address) {
                (Operation::Address { address }, None) => Some(address),
                (Operation::AddressIndex { index }, None) => self.dwarf.address(unit, index).ok(),
                (Operation::PlusConstant { value }, Some(at)) => u64::checked_add(at, value),
                (Operation::TLS, _) => return Location::ThreadLocal,
                // The offset of a thread-local variable; the next operation decides about anything else.
                (Operation::UnsignedConstant { .. }, None) => None,
                _ => return Location::Elsewhere,
            };
        }
        address.map_or(Location::Elsewhere, Location::Address)
    }

    /// Returns a source file of a unit, as the compiler recorded it.
    pub(crate) fn file(&self, unit: &Unit<Slice<'a>>, number: u64) -> Option<String> {
        let header = unit.line_program.as_ref()?.header();
        let file = header.file(number)?;
        let name = self.text(unit, file.path_name())?;
        let folder = file.directory(header).and_then(|folder| self.text(unit, folder));
        let is_whole = name.starts_with('/') || file.directory_index() == 0;
        Some(match folder.filter(|folder| !folder.is_empty() && !is_whole) {
            Some(folder) => format!("{}/{name}", folder.trim_end_matches('/')),
            None => name.to_owned(),
        })
    }
}

impl<'d, 'a> Die<'d, 'a> {
    pub(crate) fn tag(&self) -> gimli::DwTag {
        self.entry.tag()
    }

    pub(crate) fn offset(&self) -> usize {
        self.debug.start(self.unit_idx).saturating_add(self.entry.offset().0)
    }

    pub(crate) fn value(&self, name: gimli::DwAt) -> Option<Value<'a>> {
        self.entry.attr_value(name)
    }

    pub(crate) fn number(&self, name: gimli::DwAt) -> Option<u64> {
        self.value(name)?.udata_value()
    }

    pub(crate) fn name(&self) -> Option<&'a str> {
        self.debug.text(self.unit, self.value(gimli::DW_AT_name)?)
    }

    /// Returns the offset that an attribute refers to.
    pub(crate) fn reference(&self, name: gimli::DwAt) -> Option<usize> {
        self.debug.reference(self.unit_idx, &self.value(name)?)
    }

    /// Returns the entry that an attribute refers to.
    pub(crate) fn follow(&self, name: gimli::DwAt) -> Option<Self> {
        self.debug.die(self.reference(name)?)
    }

    /// Calls `visit` with each child until `visit` returns false.
    pub(crate) fn children(&self, mut visit: impl FnMut(Self) -> bool) {
        let Ok(mut cursor) = self.unit.entries_at_offset(self.entry.offset()) else { return };
        let steps = (cursor.next_entry(), cursor.next_entry());
        if !self.entry.has_children() || steps != (Ok(true), Ok(true)) {
            return;
        }
        while let Some(entry) = cursor.current() {
            let child = Self { entry: entry.clone(), ..*self };
            if !visit(child) || !matches!(cursor.next_sibling(), Ok(Some(_))) {
                return;
            }
        }
    }
}
