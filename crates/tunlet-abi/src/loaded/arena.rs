//! Memory for what C looks at: it stays where it is until the arena goes.

use std::any::Any;
use std::ffi::{CString, c_char};

/// Owner of texts and lists that were handed out as pointers.
#[derive(Debug, Default)]
pub(super) struct Arena {
    texts: Vec<CString>,
    lists: Vec<Box<dyn Any>>,
}

impl Arena {
    /// A text for C; it ends where it has a zero byte.
    pub(super) fn text(&mut self, text: &str) -> *const c_char {
        let until_zero: Vec<u8> = text.bytes().take_while(|byte| *byte != 0).collect();
        let text = CString::new(until_zero).expect("no zero byte is left");
        let first = text.as_ptr();
        self.texts.push(text);
        first
    }

    /// A list for C.
    pub(super) fn list<T: 'static>(&mut self, list: Vec<T>) -> *const T {
        // The elements of a vector do not move when the vector does.
        let first = list.as_ptr();
        self.lists.push(Box::new(list));
        first
    }

    /// One thing for C.
    pub(super) fn one<T: 'static>(&mut self, one: T) -> *const T {
        self.list(vec![one])
    }
}
