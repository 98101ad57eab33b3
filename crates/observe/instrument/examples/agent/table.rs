//! Functions and variables of the program, by name.

use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};

/// A function of the program.
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) address: usize,
    pub(crate) n_bytes: usize,
    pub(crate) n_bytes_to_next: usize,
}

/// Functions and variables, at their addresses in this process.
pub(crate) struct Table {
    pub(crate) functions: Vec<Function>,
    variables: Vec<(String, usize)>,
}

impl Table {
    pub(crate) fn of_program() -> Self {
        let bytes = std::fs::read("/proc/self/exe").unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let bias = bias();
        let mut functions = Vec::new();
        let mut variables = Vec::new();
        for symbol in file.symbols().filter(ObjectSymbol::is_definition) {
            let name = symbol.name().unwrap_or_default().to_owned();
            let address = symbol.address() as usize + bias;
            let end = || {
                let section = file.section_by_index(symbol.section_index()?).ok()?;
                Some((section.address() + section.size()) as usize + bias)
            };
            match symbol.kind() {
                SymbolKind::Text => {
                    let end = end().unwrap_or(address);
                    functions.push((address, end, symbol.size() as usize, name));
                }
                SymbolKind::Data => variables.push((name, address)),
                _ => {}
            }
        }
        functions.sort();
        functions.dedup_by_key(|function| function.0);
        let nexts: Vec<_> =
            functions.iter().skip(1).map(|next| next.0).chain([usize::MAX]).collect();
        let functions = functions
            .into_iter()
            .zip(nexts)
            .map(|((address, end, size, name), next)| {
                let n_bytes_to_next = next.min(end) - address;
                let n_bytes = if size == 0 { n_bytes_to_next } else { size };
                Function { name, address, n_bytes, n_bytes_to_next }
            })
            .collect();
        Self { functions, variables }
    }

    pub(crate) fn function(&self, name: &str) -> usize {
        let known = self.functions.iter().position(|function| function.name == name);
        known.unwrap_or_else(|| panic!("no function `{name}`"))
    }

    pub(crate) fn variable(&self, name: &str) -> usize {
        let known = self.variables.iter().find(|variable| variable.0 == name);
        known.unwrap_or_else(|| panic!("no variable `{name}`")).1
    }
}

/// Returns the load bias of the program: the difference between its addresses in memory and in its file.
fn bias() -> usize {
    extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        _n_bytes: usize,
        bias: *mut libc::c_void,
    ) -> i32 {
        // SAFETY: the loader's own description.
        let address = unsafe { (*info).dlpi_addr };
        // SAFETY: our own variable.
        unsafe { *bias.cast::<usize>() = address as usize };
        1
    }
    let mut bias = 0_usize;
    // SAFETY: the function takes note of the first object, the program, in our variable.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut bias).cast()) };
    bias
}
