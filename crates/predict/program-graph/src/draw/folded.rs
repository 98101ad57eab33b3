//! Functions that a click opens, each drawn once on a page of its own.

use super::fragment::Fragment;
use std::collections::BTreeMap;

/// A function on its own page.
pub(super) struct FoldedFunction {
    /// Name of its page in the picture.
    pub(super) page: String,
    pub(super) title: String,
    pub(super) body: Fragment,
}

/// Functions folded so far.
#[derive(Default)]
pub(super) struct FoldedFunctions {
    /// Start of the names of their pages, different for each lane and view.
    prefix: String,
    functions: Vec<FoldedFunction>,
    /// Pages by what the functions contain.
    by_contents: BTreeMap<String, String>,
    /// First page of each function, by its name.
    by_name: BTreeMap<String, String>,
}

impl FoldedFunctions {
    pub(super) fn new(prefix: String) -> Self {
        Self { prefix, ..Self::default() }
    }

    /// Returns the page of a function with the same contents.
    pub(super) fn known(&self, contents: &str) -> Option<String> {
        self.by_contents.get(contents).cloned()
    }

    /// Returns the first page of a function.
    pub(super) fn page_of(&self, name: &str) -> Option<String> {
        self.by_name.get(name).cloned()
    }

    /// Adds a function with its contents and title; returns its page.
    pub(super) fn add(
        &mut self,
        name: &str,
        (contents, title): (String, String),
        body: Fragment,
    ) -> String {
        let page = format!("{}{}", self.prefix, self.functions.len() + 1);
        self.by_contents.insert(contents, page.clone());
        self.by_name.entry(name.to_owned()).or_insert_with(|| page.clone());
        self.functions.push(FoldedFunction { page: page.clone(), title, body });
        page
    }

    pub(super) fn finish(self) -> Vec<FoldedFunction> {
        self.functions
    }
}

/// Makes a drawing open a page when it is clicked.
pub(super) fn opener(page: &str, mut fragment: Fragment) -> Fragment {
    fragment.svg = format!("<g class=\"open\" onclick=\"show('{page}')\">{}</g>", fragment.svg);
    fragment
}
