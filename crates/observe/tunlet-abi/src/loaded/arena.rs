//! Memory for data passed to C, which stays at its address until the arena is dropped.

use std::any::Any;
use std::ffi::{CString, c_char};

/// Owner of texts and lists that were handed out as pointers.
#[derive(Debug, Default)]
pub(super) struct Arena {
    texts: Vec<CString>,
    lists: Vec<Box<dyn Any>>,
}

impl Arena {
    /// Stores a text for C, cut at its first zero byte.
    pub(super) fn text(&mut self, text: &str) -> *const c_char {
        let until_zero: Vec<u8> = text.bytes().take_while(|byte| *byte != 0).collect();
        let text = CString::new(until_zero).expect("no zero byte is left");
        let first = text.as_ptr();
        self.texts.push(text);
        first
    }

    /// Stores a list for C.
    pub(super) fn list<T: 'static>(&mut self, list: Vec<T>) -> *const T {
        // Moving a vector does not move its elements.
        let first = list.as_ptr();
        self.lists.push(Box::new(list));
        first
    }

    /// Stores a single value for C.
    pub(super) fn one<T: 'static>(&mut self, one: T) -> *const T {
        self.list(vec![one])
    }
}
