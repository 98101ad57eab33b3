//! Registered objects of a C program, as a state in Rust.

use crate::abi::malleable_share;
use crate::arrays::{ArrayState, Foreign, PointerSlot, ProgramValue};
use crate::memory::Array;
use malleable::{Class, Comm, Cut, Data, Error, State};
use std::sync::Arc;

/// All registered objects, in the order of registration.
#[derive(Default)]
pub(crate) struct Registered {
    values: Vec<(&'static str, Class, ProgramValue)>,
    spaces: Vec<Space>,
}

/// Rows with their partition, and the objects that have an element for each of them.
struct Space {
    n_rows: u64,
    cut: Cut,
    /// Rows of this rank, read and written by the program as well.
    share: *mut malleable_share,
    objects: Vec<Object>,
}

enum Object {
    Array { name: &'static str, class: Class, place: PointerSlot, kept: ArrayState },
    Sparse(Box<Sparse>),
}

/// Sparse matrix: the lengths of its rows are copied, since they decide where rows go.
struct Sparse {
    name: &'static str,
    lengths: Arc<[u32]>,
    /// Lengths that the program has.
    told: Arc<[u32]>,
    lengths_at: PointerSlot,
    arrays: [(PointerSlot, ArrayState); 2],
}

impl Registered {
    pub(crate) fn value(&mut self, name: &'static str, class: Class, value: ProgramValue) {
        self.values.push((name, class, value));
    }

    /// Begins a space of rows.
    ///
    /// # Safety
    /// `share` stays at its address as long as this value exists.
    pub(crate) unsafe fn space(&mut self, n_rows: u64, cut: Cut, share: *mut malleable_share) {
        self.spaces.push(Space { n_rows, cut, share, objects: Vec::new() });
    }

    /// Adds an array with an element for each row of the newest space; `false` where there is none.
    pub(crate) fn array(&mut self, name: &'static str, class: Class, place: PointerSlot) -> bool {
        let object = Object::Array { name, class, place, kept: ArrayState::default() };
        self.spaces.last_mut().map(|space| space.objects.push(object)).is_some()
    }

    /// Adds a sparse matrix with the rows of the newest space: places of lengths, columns, and
    /// values.
    pub(crate) fn sparse(&mut self, name: &'static str, places: [PointerSlot; 3]) -> bool {
        let [lengths_at, columns, values] = places;
        let arrays = [columns, values].map(|place| (place, ArrayState::default()));
        let nothing: Arc<[u32]> = Arc::default();
        let (lengths, told) = (Arc::clone(&nothing), nothing);
        let sparse = Box::new(Sparse { name, lengths, told, lengths_at, arrays });
        self.spaces.last_mut().map(|space| space.objects.push(Object::Sparse(sparse))).is_some()
    }

    /// Writes the rows that this rank has after a resize into the program's shares.
    pub(crate) fn tell(&mut self, comm: &Comm) -> Result<(), Error> {
        for space in &mut self.spaces {
            let come = space.objects.iter_mut().map(Object::told).fold(None, Option::or);
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
        for object in self.spaces.iter_mut().flat_map(|space| &mut space.objects) {
            match object {
                Object::Array { place, kept, .. } => kept.give_back(*place),
                Object::Sparse(sparse) => {
                    sparse.arrays.iter_mut().for_each(|(place, kept)| kept.give_back(*place));
                }
            }
        }
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
}

impl Object {
    /// Hands new lengths to the program; returns the number of rows after a resize.
    fn told(&mut self) -> Option<u64> {
        let n_rows = match self {
            Self::Array { kept, .. } => kept.n_come.take(),
            Self::Sparse(sparse) => sparse.tell(),
        };
        n_rows.map(|n_rows| n_rows as u64)
    }
}

impl Sparse {
    /// Takes over the program's lengths, when there are new ones.
    fn look(&mut self, n_rows: usize) {
        let start = self.lengths_at.get().cast::<u32>();
        if self.lengths.is_empty() && !start.is_null() && n_rows != 0 {
            // SAFETY: the program states that there are `n_rows`.
            let lengths = unsafe { std::slice::from_raw_parts(start, n_rows) };
            self.lengths = lengths.into();
            self.told = Arc::clone(&self.lengths);
        }
    }

    /// Hands the new lengths to the program.
    fn tell(&mut self) -> Option<usize> {
        if Arc::ptr_eq(&self.lengths, &self.told) {
            return None;
        }
        let mut array = Array::zeros(size_of_val(&*self.lengths));
        for (bytes, length) in array.as_mut().chunks_exact_mut(4).zip(&*self.lengths) {
            bytes.copy_from_slice(&length.to_ne_bytes());
        }
        // SAFETY: these are the lengths being replaced, which have no other owner.
        drop(unsafe { Array::adopt(self.lengths_at.get(), size_of_val(&*self.told)) });
        self.lengths_at.set(array.into_raw());
        self.told = Arc::clone(&self.lengths);
        Some(self.lengths.len())
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
            for object in &mut space.objects {
                register(object, n_own, data);
            }
        }
    }
}

fn register<'a>(object: &'a mut Object, n_own: usize, data: &mut Data<'a>) {
    match object {
        Object::Array { name, class, place, kept } => {
            let array = Foreign::new(*place, n_own, *class == Class::Constant, kept);
            data.foreign_rows(name, *class, Box::new(array));
        }
        Object::Sparse(sparse) => {
            sparse.look(n_own);
            let Sparse { name, lengths, arrays: [columns, values], .. } = &mut **sparse;
            let n = lengths.iter().map(|length| *length as usize).sum();
            let columns = Foreign::new(columns.0, n, true, &mut columns.1);
            let values = Foreign::new(values.0, n, true, &mut values.1);
            data.foreign_csr(name, lengths, [Box::new(columns), Box::new(values)]);
        }
    }
}
