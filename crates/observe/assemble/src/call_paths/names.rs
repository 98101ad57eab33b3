//! Functions at addresses, each looked up once.

use events::{CodeAddress, ModuleMap, SourceLocation};
use std::collections::HashMap;
use std::sync::Arc;
use symbols::Resolver;

/// Longest name of a function, in characters.
const N_LETTERS_MAX: usize = 300;

/// Number of a place in a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct PlaceId(u32);

/// Number of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct FunctionId(pub(super) u32);

/// All functions and places seen so far.
pub(super) struct PlaceNames<'a> {
    resolver: &'a mut Resolver,
    by_address: HashMap<(String, u64), Arc<[PlaceId]>>,
    places: Vec<(SourceLocation, FunctionId)>,
    place_ids: HashMap<SourceLocation, PlaceId>,
    function_ids: HashMap<(String, String), FunctionId>,
}

impl<'a> PlaceNames<'a> {
    pub(super) fn new(resolver: &'a mut Resolver) -> Self {
        Self {
            resolver,
            by_address: HashMap::new(),
            places: Vec::new(),
            place_ids: HashMap::new(),
            function_ids: HashMap::new(),
        }
    }

    /// Returns the functions at the call that returns to `address`, the innermost inlined one last.
    pub(super) fn frames(&mut self, map: &ModuleMap, address: u64) -> Arc<[PlaceId]> {
        let Some(before) = map.locate(address.saturating_sub(1)) else {
            return [self.fixed("[no module]")].into();
        };
        let key = (before.module.to_owned(), before.file_offset);
        if let Some(known) = self.by_address.get(&key) {
            return Arc::clone(known);
        }
        let at = CodeAddress { module: before.module, file_offset: before.file_offset + 1 };
        let found = self.resolver.frames_of_return(&at);
        let frames: Arc<[PlaceId]> = found.into_iter().map(|place| self.id(place)).collect();
        self.by_address.insert(key, Arc::clone(&frames));
        frames
    }

    /// Returns a place that has only a name.
    pub(super) fn fixed(&mut self, name: &str) -> PlaceId {
        self.id(SourceLocation { function: name.to_owned(), ..SourceLocation::default() })
    }

    fn id(&mut self, mut place: SourceLocation) -> PlaceId {
        place.offset = 0;
        if place.function.is_empty() {
            let module = place.module.rsplit('/').next().unwrap_or_default();
            place.function = format!("[{}]", module.trim_matches(['[', ']']));
        }
        if let Some((end, _)) = place.function.char_indices().nth(N_LETTERS_MAX) {
            place.function.truncate(end);
            place.function.push('…');
        }
        // The separator of functions in a path.
        place.function = place.function.replace(run_record::sample_file::SEPARATOR, ",");
        if let Some(known) = self.place_ids.get(&place) {
            return *known;
        }
        let next = FunctionId(u32::try_from(self.function_ids.len()).unwrap_or(u32::MAX));
        let function = (place.function.clone(), place.module.clone());
        let function = *self.function_ids.entry(function).or_insert(next);
        let id = PlaceId(u32::try_from(self.places.len()).unwrap_or(u32::MAX));
        self.places.push((place.clone(), function));
        self.place_ids.insert(place, id);
        id
    }

    pub(super) fn place(&self, id: PlaceId) -> &SourceLocation {
        &self.places[id.0 as usize].0
    }

    pub(super) fn function(&self, id: PlaceId) -> FunctionId {
        self.places[id.0 as usize].1
    }
}
