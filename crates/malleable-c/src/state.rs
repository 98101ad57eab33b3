//! What a program of C has registered, as a state of Rust.

use crate::abi::malleable_share;
use crate::memory::Array;
use crate::places::{Foreign, Kept, Place, Value};
use malleable::{Class, Comm, Cut, Data, Error, State};
use std::sync::Arc;

/// Everything that was registered, in that order.
#[derive(Default)]
pub(crate) struct Registered {
    values: Vec<(&'static str, Class, Value)>,
    spaces: Vec<Space>,
}

/// Rows, how they are cut, and what there is for each of them.
struct Space {
    n_rows: u64,
    cut: Cut,
    /// What this rank has of them, for the program and from it.
    share: *mut malleable_share,
    objects: Vec<Object>,
}

enum Object {
    Array { name: &'static str, class: Class, place: Place, kept: Kept },
    Sparse(Box<Sparse>),
}

/// A sparse matrix: the lengths of its rows are copied, since they decide where rows go.
struct Sparse {
    name: &'static str,
    lengths: Arc<[u32]>,
    /// Those that the program has.
    told: Arc<[u32]>,
    lengths_at: Place,
    arrays: [(Place, Kept); 2],
}

impl Registered {
    pub(crate) fn value(&mut self, name: &'static str, class: Class, value: Value) {
        self.values.push((name, class, value));
    }

    /// Begins a space of rows.
    ///
    /// # Safety
    /// The share stays where it is as long as this does.
    pub(crate) unsafe fn space(&mut self, n_rows: u64, cut: Cut, share: *mut malleable_share) {
        self.spaces.push(Space { n_rows, cut, share, objects: Vec::new() });
    }

    /// An array with an element for each row of the newest space; `false` where there is none.
    pub(crate) fn array(&mut self, name: &'static str, class: Class, place: Place) -> bool {
        let object = Object::Array { name, class, place, kept: Kept::default() };
        self.spaces.last_mut().map(|space| space.objects.push(object)).is_some()
    }

    /// A sparse matrix with the rows of the newest space: places of lengths, columns, and values.
    pub(crate) fn sparse(&mut self, name: &'static str, places: [Place; 3]) -> bool {
        let [lengths_at, columns, values] = places;
        let arrays = [columns, values].map(|place| (place, Kept::default()));
        let nothing: Arc<[u32]> = Arc::default();
        let (lengths, told) = (Arc::clone(&nothing), nothing);
        let sparse = Box::new(Sparse { name, lengths, told, lengths_at, arrays });
        self.spaces.last_mut().map(|space| space.objects.push(Object::Sparse(sparse))).is_some()
    }

    /// Tells the program which rows this rank has after a change of the size.
    pub(crate) fn tell(&mut self, comm: &Comm) -> Result<(), Error> {
        for space in &mut self.spaces {
            let come = space.objects.iter_mut().map(Object::told).fold(None, Option::or);
            let n_rows = come.unwrap_or(space.share().n_rows);
            let all = comm.allgather(&[n_rows, space.n_rows])?;
            let before = all.chunks(2).take(comm.rank() as usize).map(|rank| rank[0]).sum();
            // New ranks may not know how many rows there are in all.
            space.n_rows = all.chunks(2).map(|rank| rank[1]).max().unwrap_or(0);
            let parts = space.cut.partition(space.n_rows, comm.size()).ok();
            let own = parts.filter(|_| !space.has_blocks());
            let start =
                own.and_then(|parts| parts.rows_of(comm.rank()).next().map(|run| run.start));
            space.set_share(malleable_share { first: start.unwrap_or(before), n_rows });
        }
        Ok(())
    }

    /// Gives constants back to the program.
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

    fn has_blocks(&self) -> bool {
        !matches!(self.cut, Cut::Cyclic(_) | Cut::Blocks2d { .. })
    }
}

impl Object {
    /// Rows that came with a change of the size, which the program then has.
    fn told(&mut self) -> Option<u64> {
        let n_rows = match self {
            Self::Array { kept, .. } => kept.n_come.take(),
            Self::Sparse(sparse) => sparse.tell(),
        };
        n_rows.map(|n_rows| n_rows as u64)
    }
}

impl Sparse {
    /// Takes over the lengths of the program, when it has some that were not seen yet.
    fn look(&mut self, n_rows: usize) {
        let start = self.lengths_at.get().cast::<u32>();
        if self.lengths.is_empty() && !start.is_null() && n_rows != 0 {
            // SAFETY: the program says that there are so many.
            let lengths = unsafe { std::slice::from_raw_parts(start, n_rows) };
            self.lengths = lengths.into();
            self.told = Arc::clone(&self.lengths);
        }
    }

    /// Gives the program the lengths that came.
    fn tell(&mut self) -> Option<usize> {
        if Arc::ptr_eq(&self.lengths, &self.told) {
            return None;
        }
        let mut array = Array::zeros(size_of_val(&*self.lengths));
        for (bytes, length) in array.as_mut().chunks_exact_mut(4).zip(&*self.lengths) {
            bytes.copy_from_slice(&length.to_ne_bytes());
        }
        // SAFETY: the lengths that are replaced, which nobody else has.
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
