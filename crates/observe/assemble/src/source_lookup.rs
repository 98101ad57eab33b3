//! Lookup of the places of addresses in sources.

use events::CodeAddress;
use run_record::summary::SourceLocation;
use symbols::Detail;

/// Lookup of source locations; tests have their own.
pub(super) trait SourceLookup {
    fn place(&mut self, address: &CodeAddress<'_>) -> SourceLocation;
    fn has_lines(&mut self, address: &CodeAddress<'_>) -> bool;
}

impl SourceLookup for symbols::Resolver {
    fn place(&mut self, address: &CodeAddress<'_>) -> SourceLocation {
        self.place_of_return(address)
    }

    fn has_lines(&mut self, address: &CodeAddress<'_>) -> bool {
        self.detail(address) == Detail::Lines
    }
}
