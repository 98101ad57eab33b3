//! Sites of functions that get probes, and sources of their events' attributes.

use super::ResolveError;
use app_description::{AttributeSource, EventAttribute, EventPoint};
use events::ProbePoint;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use symbols::{Function, LookupError, Passing, Program, ReachedBase, Variable};
use wire::control::{
    Attribute, Location, Module, N_WAY_STEPS_MAX, Site, SitePoint, ValueOrigin, Way, WayStart,
};

/// Number of registers for integer arguments; stack slots are numbered after them.
const N_INTEGER_REGISTERS: u8 = 6;

/// Sites of a program's functions in the order in which they were named, and the files that locations refer to.
#[derive(Debug)]
pub(super) struct Sites<'a> {
    pub(super) program: &'a Program,
    pub(super) list: Vec<Site>,
    numbers: HashMap<Location, u32>,
    pub(super) modules: Vec<Module>,
    module_numbers: HashMap<Arc<Path>, u32>,
}

impl<'a> Sites<'a> {
    /// Starts without sites, and with the program as the first module.
    pub(super) fn of(program: &'a Program) -> Self {
        let module = Module { name: String::new(), build_id: program.build_id().to_vec() };
        let module_numbers = HashMap::from([(program.path().into(), 0)]);
        let (list, numbers) = (Vec::new(), HashMap::new());
        Self { program, list, numbers, modules: vec![module], module_numbers }
    }

    fn location(&mut self, path: &Arc<Path>, build_id: &[u8], address: u64) -> Location {
        let module = *self.module_numbers.entry(Arc::clone(path)).or_insert_with(|| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            self.modules.push(Module { name, build_id: build_id.to_vec() });
            u32::try_from(self.modules.len() - 1).unwrap_or(u32::MAX)
        });
        Location { module, address }
    }

    pub(super) fn function(&mut self, function: &Function) -> Location {
        self.location(&function.module, &function.build_id, function.address)
    }

    pub(super) fn variable(&mut self, variable: &Variable) -> Location {
        self.location(&variable.module, &variable.build_id, variable.address)
    }

    /// Returns the way to a number that a name means at a function; `None` if it follows no pointer. A variable that can be
    /// named without is preferred.
    pub(super) fn way(
        &mut self,
        name: &str,
        function: &Function,
    ) -> Result<Option<Way>, LookupError> {
        if !name.contains("->") && self.program.readable_variable(name).is_ok() {
            return Ok(None);
        }
        let Some(reached) = self.program.reached(function, name)? else { return Ok(None) };
        let too_far = || LookupError::TooFar(name.to_owned(), N_WAY_STEPS_MAX);
        let start = match &reached.base {
            ReachedBase::Argument(passing) => {
                WayStart::Argument(in_integers(*passing).ok_or_else(too_far)?)
            }
            ReachedBase::Variable(variable) => WayStart::Variable(self.variable(variable)),
        };
        let mut offsets = [0; N_WAY_STEPS_MAX];
        for (at, offset) in reached.offsets.iter().enumerate() {
            let place = offsets.get_mut(at).ok_or_else(too_far)?;
            *place = i32::try_from(*offset).map_err(|_| too_far())?;
        }
        let n_steps = u8::try_from(reached.offsets.len()).map_err(|_| too_far())?;
        Ok(Some(Way { start, n_steps, offsets }))
    }

    /// Returns the number of a function's site, creating the site if needed.
    pub(super) fn add(&mut self, function: &Function) -> u32 {
        let location = self.function(function);
        *self.numbers.entry(location).or_insert_with(|| {
            let id = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
            self.list.push(Site {
                id,
                function: location,
                n_bytes: u32::try_from(function.n_bytes).unwrap_or(u32::MAX),
                n_bytes_to_next: u32::try_from(function.n_bytes_to_next).unwrap_or(u32::MAX),
                entry: None,
                exit: None,
                is_sync: false,
            });
            id
        })
    }

    /// Returns the site with this number, as returned by [`Sites::add`].
    pub(super) fn site(&mut self, id: u32) -> &mut Site {
        &mut self.list[id as usize]
    }

    /// Adds an event of the description; returns its attributes.
    pub(super) fn add_event(
        &mut self,
        number: usize,
        event: &EventPoint,
    ) -> Result<Vec<Attribute>, ResolveError> {
        let part = || format!("event `{}`", event.name);
        let function = look_up(part, self.program.function(&event.function))?;
        let attributes = event.attributes.iter();
        let attributes: Vec<Attribute> = attributes
            .map(|attribute| self.attribute(event, attribute, function))
            .collect::<Result<_, _>>()?;
        let id = self.add(function);
        if !self.add_point(id, number, event.place, attributes.clone()) {
            return Err(ResolveError::Taken(event.name.clone(), event.function.clone()));
        }
        Ok(attributes)
    }

    /// Adds an event to a site; returns false if the place is taken.
    pub(super) fn add_point(
        &mut self,
        id: u32,
        number: usize,
        place: ProbePoint,
        attributes: Vec<Attribute>,
    ) -> bool {
        let site = self.site(id);
        let point = match place {
            ProbePoint::Entry => &mut site.entry,
            ProbePoint::Exit => &mut site.exit,
        };
        let is_free = point.is_none();
        if is_free {
            let event = u32::try_from(number).unwrap_or(u32::MAX);
            *point = Some(SitePoint { event, attributes, is_on: true });
        }
        is_free
    }

    fn attribute(
        &mut self,
        event: &EventPoint,
        attribute: &EventAttribute,
        function: &Function,
    ) -> Result<Attribute, ResolveError> {
        let part = || format!("attribute `{}`", attribute.name);
        let unreadable = |reason| {
            let (attribute, event) = (attribute.name.clone(), event.name.clone());
            ResolveError::Unreadable { attribute, event, reason }
        };
        let unknown = || unreadable("its type is unknown; add `type` to it, or compile with `-g`");
        let kind = attribute.kind.ok_or_else(unknown)?;
        let source = match &attribute.source {
            AttributeSource::Variable(name) => match look_up(part, self.way(name, function))? {
                Some(way) => ValueOrigin::Reached(way),
                None => {
                    let variable = look_up(part, self.program.readable_variable(name))?;
                    ValueOrigin::Global(self.variable(&variable))
                }
            },
            AttributeSource::Argument(place) => argument(function, *place).ok_or_else(|| {
                unreadable("it is not one number in one place; measure something else")
            })?,
            AttributeSource::Returned => ValueOrigin::Returned,
        };
        Ok(Attribute { source, kind })
    }
}

/// Adds the part that named it to a lookup error.
pub(super) fn look_up<T>(
    part: impl Fn() -> String,
    found: Result<T, LookupError>,
) -> Result<T, ResolveError> {
    found.map_err(|source| ResolveError::Name(part(), source))
}

fn argument(function: &Function, place: usize) -> Option<ValueOrigin> {
    let parameter = function.parameters.as_ref()?.get(place.checked_sub(1)?)?;
    if let Passing::Float(n) = parameter.passing {
        return Some(ValueOrigin::Float(n));
    }
    let n = in_integers(parameter.passing)?;
    Some(if parameter.is_by_reference { ValueOrigin::Referred(n) } else { ValueOrigin::Integer(n) })
}

/// Returns the number of an integer argument: registers first, then slots of the stack.
fn in_integers(passing: Passing) -> Option<u8> {
    match passing {
        Passing::Integer(n) => Some(n),
        Passing::Stack(n) => n.checked_add(N_INTEGER_REGISTERS),
        Passing::Float(_) | Passing::Parts => None,
    }
}
