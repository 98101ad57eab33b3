//! What a program's state consists of, registered by class.
//!
//! | | replicated: every rank has all of it | distributed: each rank has its rows |
//! |---|---|---|
//! | constant | [`constant`](Data::constant), [`constant_list`](Data::constant_list) | [`constant_rows`](Data::constant_rows), [`constant_csr`](Data::constant_csr) |
//! | variable | [`variable`](Data::variable), [`variable_list`](Data::variable_list) | [`rows`](Data::rows) |
//!
//! Constant data travel while the program goes on to compute, variable data while it stands still (I. Martín-Álvarez,
//! M. I. Castillo, J. I. Aliaga, D. Andrade, "Incorporación de la maleabilidad en un método iterativo", table of data
//! classes).
//!
//! # Invariants
//! - What was registered is read before a change of the size, and written only when the change is certain.
//!
//! # Not here
//! How data travel: `moving`.

mod cut;
mod slot;

use crate::Csr;
use bytemuck::Pod;
use slot::{Own, Shared, Single};
use std::sync::Arc;

pub use cut::Cut;
pub use slot::{Allocate, Lent, Memory, Slot, Steady, Words};

/// The state of a program, which every rank has a part of.
pub trait State {
    /// Registers what the state consists of: always the same, in the same order, on every rank, also on one that is new and
    /// has nothing yet.
    fn data<'a>(&'a mut self, data: &mut Data<'a>);
}

/// What is registered. Names are for messages and records.
#[derive(Default)]
pub struct Data<'a> {
    pub(crate) replicated: Vec<Replicated<'a>>,
    pub(crate) groups: Vec<Group<'a>>,
}

/// Whether data change from iteration to iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// They do not.
    Constant,
    /// They may.
    Variable,
}

/// What every rank has all of.
pub(crate) struct Replicated<'a> {
    pub(crate) name: &'static str,
    pub(crate) class: Class,
    pub(crate) words: Box<dyn Words + 'a>,
}

/// Objects whose rows are cut in the same way.
pub(crate) struct Group<'a> {
    pub(crate) n_rows: u64,
    pub(crate) cut: Cut,
    pub(crate) objects: Vec<Object<'a>>,
}

/// What each rank has its rows of.
pub(crate) struct Object<'a> {
    pub(crate) name: &'static str,
    pub(crate) class: Class,
    pub(crate) rows: Rows<'a>,
}

/// How the rows of an object lie in arrays.
pub(crate) enum Rows<'a> {
    /// One array, with so many elements for each row.
    Even { n_per_row: usize, array: Box<dyn Slot + 'a> },
    /// Lengths of rows, then the arrays that have so many elements for each.
    Sparse { lengths: Shared<'a, u32>, arrays: [Box<dyn Slot + 'a>; 2] },
}

impl<'a> Data<'a> {
    /// A constant that every rank has.
    pub fn constant<T: Pod>(&mut self, name: &'static str, value: &'a mut T) {
        self.replicated.push(Replicated {
            name,
            class: Class::Constant,
            words: Box::new(Single(value)),
        });
    }

    /// A variable that has the same value on every rank.
    pub fn variable<T: Pod>(&mut self, name: &'static str, value: &'a mut T) {
        self.replicated.push(Replicated {
            name,
            class: Class::Variable,
            words: Box::new(Single(value)),
        });
    }

    /// Constants that every rank has.
    pub fn constant_list<T: Pod>(&mut self, name: &'static str, list: &'a mut Vec<T>) {
        self.replicated.push(Replicated { name, class: Class::Constant, words: Box::new(list) });
    }

    /// Variables that are the same on every rank. Their number may change.
    pub fn variable_list<T: Pod>(&mut self, name: &'static str, list: &'a mut Vec<T>) {
        self.replicated.push(Replicated { name, class: Class::Variable, words: Box::new(list) });
    }

    /// Begins a group of objects of `n_rows` rows, which are registered next, and says how these are cut. A new rank need
    /// not know `n_rows`.
    pub fn rows_of(&mut self, n_rows: u64, cut: Cut) {
        self.groups.push(Group { n_rows, cut, objects: Vec::new() });
    }

    /// The rows of a matrix that does not change.
    pub fn constant_csr<T: Pod + Send + Sync>(&mut self, name: &'static str, csr: &'a mut Csr<T>) {
        let lengths = Shared(&mut csr.lengths);
        let arrays: [Box<dyn Slot + 'a>; 2] =
            [Box::new(Shared(&mut csr.columns)), Box::new(Shared(&mut csr.values))];
        self.object(name, Class::Constant, Rows::Sparse { lengths, arrays });
    }

    /// One element for each row, which does not change.
    pub fn constant_rows<T: Pod + Send + Sync>(
        &mut self,
        name: &'static str,
        rows: &'a mut Arc<[T]>,
    ) {
        self.constant_rows_wide(name, 1, rows);
    }

    /// `n_per_row` elements for each row, which do not change.
    pub fn constant_rows_wide<T: Pod + Send + Sync>(
        &mut self,
        name: &'static str,
        n_per_row: usize,
        rows: &'a mut Arc<[T]>,
    ) {
        let array = Box::new(Shared(rows));
        self.object(name, Class::Constant, Rows::Even { n_per_row, array });
    }

    /// One element for each row.
    pub fn rows<T: Pod + Send + Sync>(&mut self, name: &'static str, rows: &'a mut Vec<T>) {
        self.rows_wide(name, 1, rows);
    }

    /// `n_per_row` elements for each row.
    pub fn rows_wide<T: Pod + Send + Sync>(
        &mut self,
        name: &'static str,
        n_per_row: usize,
        rows: &'a mut Vec<T>,
    ) {
        let array = Box::new(Own::of(rows));
        self.object(name, Class::Variable, Rows::Even { n_per_row, array });
    }

    /// What every rank has all of, where it lies in memory of another language.
    pub fn foreign_words(&mut self, name: &'static str, class: Class, words: Box<dyn Words + 'a>) {
        self.replicated.push(Replicated { name, class, words });
    }

    /// One element for each row, where they lie in memory of another language.
    pub fn foreign_rows(&mut self, name: &'static str, class: Class, array: Box<dyn Slot + 'a>) {
        self.object(name, class, Rows::Even { n_per_row: 1, array });
    }

    /// The rows of a matrix that does not change: columns and values lie in memory of another language.
    pub fn foreign_csr(
        &mut self,
        name: &'static str,
        lengths: &'a mut Arc<[u32]>,
        arrays: [Box<dyn Slot + 'a>; 2],
    ) {
        self.object(name, Class::Constant, Rows::Sparse { lengths: Shared(lengths), arrays });
    }

    fn object(&mut self, name: &'static str, class: Class, rows: Rows<'a>) {
        // Rows that belong to no group: a group of as many rows as there are, which is refused when they are moved.
        if self.groups.is_empty() {
            self.rows_of(0, Cut::Even);
        }
        if let Some(group) = self.groups.last_mut() {
            group.objects.push(Object { name, class, rows });
        }
    }
}
