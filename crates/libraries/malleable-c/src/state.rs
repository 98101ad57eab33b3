//! Registered objects of a C program, as a state in Rust.

use crate::abi::malleable_share;
use crate::arrays::{ProgramArray, ProgramValue};
use crate::packed::PackedRows;
use ::malleable::places::Slot;
use ::malleable::{Class, Comm, Cut, Data, MpiError, State};
use std::cell::Cell;
use std::rc::Rc;

/// All registered objects, in the order of registration.
pub(crate) struct Registered {
    values: Vec<(&'static str, Class, ProgramValue)>,
    spaces: Vec<Space>,
    hooks: Vec<SizeHooks>,
    /// Communicator of the present ranks, as the program asks for it.
    comm: Rc<Cell<usize>>,
    /// Whether a size has begun that has not ended.
    is_begun: bool,
    /// Whether the data of a new size have arrived.
    has_come: bool,
}

/// Rows with their partition, and the objects that have an element for each of them.
struct Space {
    n_rows: u64,
    cut: Cut,
    /// Rows of this rank, read and written by the program as well.
    share: *mut malleable_share,
    objects: Vec<(&'static str, Object)>,
}

/// Object of which each rank holds its rows.
pub(crate) enum Object {
    /// An element for each row.
    Even(Class, ProgramArray),
    /// Lengths of the rows, and arrays with so many elements for each of them.
    Uneven(Class, ProgramArray, Vec<ProgramArray>),
    /// Structures of the program.
    Packed(PackedRows),
}

/// Functions that the program wants to have called with each size.
pub(crate) struct SizeHooks {
    begins: Option<Box<dyn Fn()>>,
    ends: Option<Box<dyn Fn()>>,
}

impl SizeHooks {
    pub(crate) fn of(
        begins: Option<impl Fn() + 'static>,
        ends: Option<impl Fn() + 'static>,
    ) -> Self {
        let begins = begins.map(|begins| Box::new(begins) as Box<dyn Fn()>);
        Self { begins, ends: ends.map(|ends| Box::new(ends) as Box<dyn Fn()>) }
    }
}

impl Registered {
    /// Nothing yet; `comm` gets the communicator of each size.
    pub(crate) fn telling(comm: Rc<Cell<usize>>) -> Self {
        let (values, spaces, hooks) = (Vec::new(), Vec::new(), Vec::new());
        Self { values, spaces, hooks, comm, is_begun: false, has_come: false }
    }

    pub(crate) fn value(&mut self, name: &'static str, class: Class, value: ProgramValue) {
        self.values.push((name, class, value));
    }

    pub(crate) fn hooks(&mut self, hooks: SizeHooks) {
        self.hooks.push(hooks);
    }

    /// Begins a space of rows.
    ///
    /// # Safety
    /// `share` stays at its address as long as this value exists.
    pub(crate) unsafe fn space(&mut self, n_rows: u64, cut: Cut, share: *mut malleable_share) {
        self.spaces.push(Space { n_rows, cut, share, objects: Vec::new() });
    }

    /// Adds an object to the newest space; `false` where there is none.
    pub(crate) fn object(&mut self, name: &'static str, object: Object) -> bool {
        self.spaces.last_mut().map(|space| space.objects.push((name, object))).is_some()
    }

    /// Returns whether the data of a new size have arrived since the last call, and drops packed rows.
    pub(crate) fn take_come(&mut self) -> bool {
        self.objects().for_each(|object| {
            if let Object::Packed(rows) = object {
                rows.clear();
            }
        });
        std::mem::take(&mut self.has_come)
    }

    /// Ends the present size, if one has begun, at the end of the program.
    pub(crate) fn end_size(&mut self) {
        if std::mem::take(&mut self.is_begun) {
            self.hooks.iter().rev().filter_map(|hooks| hooks.ends.as_ref()).for_each(|ends| ends());
        }
    }

    /// Takes back that a size has begun: the ranks have lost each other, so that nothing can be freed together.
    pub(crate) fn forget_size(&mut self) {
        self.is_begun = false;
    }

    /// Writes the rows that this rank has after a resize into the program's shares.
    fn tell(&mut self, comm: &Comm) -> Result<(), MpiError> {
        for space in &mut self.spaces {
            let come = space.objects.iter_mut().map(|(_, object)| object.n_come());
            let come = come.fold(None, Option::or).map(|n_rows| n_rows as u64);
            let n_rows = come.unwrap_or(space.share().n_rows);
            let all = comm.allgather(&[n_rows, space.n_rows])?;
            let before = all.chunks(2).take(comm.rank() as usize).map(|rank| rank[0]).sum();
            // New ranks may not know the total number of rows.
            space.n_rows = all.chunks(2).map(|rank| rank[1]).max().unwrap_or(0);
            let parts = space.cut.partition(space.n_rows, comm.size()).ok();
            let own = parts.filter(|_| !space.cut.is_blocks());
            let start =
                own.and_then(|parts| parts.rows_of(comm.rank()).next().map(|run| run.start));
            space.set_share(malleable_share { first: start.unwrap_or(before), n_rows });
        }
        Ok(())
    }

    /// Gives constant arrays back to the program.
    pub(crate) fn give_back(&mut self) {
        self.objects().for_each(|object| match object {
            Object::Even(_, array) => array.give_back(),
            Object::Uneven(_, lengths, arrays) => {
                lengths.give_back();
                arrays.iter_mut().for_each(ProgramArray::give_back);
            }
            Object::Packed(_) => {}
        });
    }

    fn objects(&mut self) -> impl Iterator<Item = &mut Object> {
        self.spaces.iter_mut().flat_map(|space| &mut space.objects).map(|(_, object)| object)
    }
}

impl Space {
    fn share(&self) -> malleable_share {
        // SAFETY: by the condition of `Registered::space`.
        unsafe { self.share.read() }
    }

    fn set_share(&self, share: malleable_share) {
        // SAFETY: as above.
        unsafe { self.share.write(share) }
    }

    fn packed(&mut self) -> impl Iterator<Item = &mut PackedRows> {
        self.objects.iter_mut().filter_map(|(_, object)| match object {
            Object::Packed(rows) => Some(rows),
            Object::Even(..) | Object::Uneven(..) => None,
        })
    }
}

impl Object {
    /// Number of rows, if they have arrived since the last call.
    fn n_come(&mut self) -> Option<usize> {
        match self {
            Self::Even(_, array) => array.n_come.take(),
            Self::Uneven(_, lengths, _) => lengths.n_come.take(),
            Self::Packed(rows) => Some(rows.n_rows()),
        }
    }

    fn register<'a>(&'a mut self, name: &'static str, n_own: usize, data: &mut Data<'a>) {
        match self {
            Self::Even(class, array) => {
                data.foreign_rows(name, *class, Box::new(array.slot(n_own)));
            }
            Self::Uneven(class, lengths, arrays) => {
                let n_entries = lengths.sum(n_own);
                let arrays = arrays.iter_mut().map(|array| {
                    let slot: Box<dyn Slot + 'a> = Box::new(array.slot(n_entries));
                    slot
                });
                let arrays = arrays.collect();
                data.foreign_uneven(name, *class, Box::new(lengths.slot(n_own)), arrays);
            }
            Self::Packed(rows) => rows.register(name, n_own, data),
        }
    }
}

impl State for Registered {
    fn data<'a>(&'a mut self, data: &mut Data<'a>) {
        for (name, class, value) in &mut self.values {
            data.foreign_words(name, *class, Box::new(*value));
        }
        for space in &mut self.spaces {
            let n_own = usize::try_from(space.share().n_rows).unwrap_or(usize::MAX);
            data.rows_of(space.n_rows, space.cut);
            for (name, object) in &mut space.objects {
                object.register(name, n_own, data);
            }
        }
    }

    fn size_begins(&mut self, comm: &Comm) -> Result<(), MpiError> {
        self.comm.set(comm.handle());
        if self.has_come {
            self.tell(comm)?;
            self.spaces.iter_mut().flat_map(Space::packed).for_each(PackedRows::unpack);
        }
        self.is_begun = true;
        self.hooks.iter().filter_map(|hooks| hooks.begins.as_ref()).for_each(|begins| begins());
        Ok(())
    }

    fn size_ends(&mut self, _comm: &Comm) -> Result<(), MpiError> {
        self.end_size();
        Ok(())
    }

    fn pack(&mut self) {
        for space in &mut self.spaces {
            let n_rows = space.share().n_rows;
            space.packed().for_each(|rows| rows.pack(n_rows));
        }
    }

    fn unpack(&mut self) {
        self.has_come = true;
    }
}
