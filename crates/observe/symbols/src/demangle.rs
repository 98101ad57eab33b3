//! Names of functions as in the source, derived from linker names.

use cpp_demangle::{DemangleOptions, DemangleWrite, Symbol};

/// Suffixes that compilers append to the name of a copy of a function.
const COPIES: [&str; 6] = [".constprop.", ".isra.", ".part.", ".cold", ".lto_priv.", ".llvm."];

/// Returns the name as in the source: Rust, C++ (without parameters) and gfortran's modules
/// (`module::procedure`); any other name is returned without the suffix of a compiler's copy.
pub fn demangle(name: &str) -> String {
    // A symbol version, `write@@GLIBC_2.2.5`, is not part of the name.
    let name = name.split_once('@').map_or(name, |(name, _)| name);
    let name = without_copy(name);
    rust(name).or_else(|| cpp(name)).or_else(|| fortran(name)).unwrap_or_else(|| name.to_owned())
}

/// Returns the name as in the source, with the types of parameters; C++ only.
pub(crate) fn signature(name: &str) -> Option<String> {
    let name = name.split_once('@').map_or(name, |(name, _)| name);
    cpp_with(without_copy(name), DemangleOptions::new().no_return_type())
}

/// Returns whether the name is that of a compiler's copy of a function.
pub(crate) fn is_copy(name: &str) -> bool {
    without_copy(name).len() < name.len()
}

/// Returns the name of a Fortran procedure: as [`demangle`], without the underscores that compilers append.
pub(crate) fn demangle_fortran(name: &str) -> String {
    let name = without_copy(name);
    let bare = name.trim_end_matches('_');
    let intel =
        || bare.split_once("_mp_").map(|(module, procedure)| format!("{module}::{procedure}"));
    fortran(name).or_else(intel).unwrap_or_else(|| bare.to_owned())
}

fn without_copy(name: &str) -> &str {
    let end = COPIES.iter().filter_map(|copy| name.find(copy)).min();
    end.filter(|end| 0 < *end).map_or(name, |end| &name[..end])
}

fn rust(name: &str) -> Option<String> {
    rustc_demangle::try_demangle(name).ok().map(|demangled| format!("{demangled:#}"))
}

fn cpp(name: &str) -> Option<String> {
    let demangled = cpp_with(name, DemangleOptions::new().no_params().no_return_type())?;
    // Without its parameters, a method's `const` is meaningless.
    Some(demangled.trim_end_matches(" const").to_owned())
}

fn cpp_with(name: &str, options: DemangleOptions) -> Option<String> {
    if !name.starts_with("_Z") {
        return None;
    }
    let mut demangled = Limited(String::new());
    Symbol::new(name).ok()?.structured_demangle(&mut demangled, &options).ok()?;
    Some(demangled.0)
}

/// Name of bounded length: parts of a crafted name may repeat each other, so that the whole exceeds all memory.
struct Limited(String);

const NAME_BYTES_MAX: usize = 64 << 10;

impl DemangleWrite for Limited {
    fn write_string(&mut self, text: &str) -> std::fmt::Result {
        if NAME_BYTES_MAX < self.0.len() + text.len() {
            return Err(std::fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// gfortran: `__module_MOD_procedure`.
fn fortran(name: &str) -> Option<String> {
    let (module, procedure) = name.strip_prefix("__")?.split_once("_MOD_")?;
    Some(format!("{module}::{procedure}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: &str) {
        assert_eq!(demangle(name), expected);
    }

    #[test]
    fn a_name_is_as_the_source_has_it() {
        check("main", "main");
        check("exchange.constprop.0.isra.0", "exchange");
        check("worker.cold", "worker");
        check(".cold", ".cold");
        check("write@@GLIBC_2.2.5", "write");
        check("main._omp_fn.0", "main._omp_fn.0");
        check("_ZN4fire5Front7advanceEid", "fire::Front::advance");
        check("_ZN4fire5Front7advanceEid.part.0", "fire::Front::advance");
        check("_ZN4fire3maxIdEET_S1_S1_", "fire::max<double>");
        let push_back = "std::vector<int, std::allocator<int> >::push_back";
        check("_ZNSt6vectorIiSaIiEE9push_backERKi", push_back);
        check("_ZNK4fire5Front6lengthEv", "fire::Front::length");
        check("_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()");
        check("_Zbroken", "_Zbroken");
        check("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt");
        check("_RNvCs1234_7mycrate3foo", "mycrate::foo");
        check("__halo_MOD_exchange", "halo::exchange");
        check("__libc_start_main", "__libc_start_main");
    }

    #[test]
    fn fortran_names_lose_what_compilers_append() {
        assert_eq!(demangle_fortran("solve_"), "solve");
        assert_eq!(demangle_fortran("solve"), "solve");
        assert_eq!(demangle_fortran("MAIN__"), "MAIN");
        assert_eq!(demangle_fortran("halo_mp_exchange_"), "halo::exchange");
        assert_eq!(demangle_fortran("__halo_MOD_exchange"), "halo::exchange");
    }
}
