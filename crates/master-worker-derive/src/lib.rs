//! The derive macro of `master-worker`: structs of numbers that are sent as they lie in memory.
//!
//! What it writes is checked twice: here, by what the fields are called, with a sentence for each type that cannot
//! be sent; and by the compiler, which knows what the names stand for.
//!
//! # Invariants
//! - A struct that compiles has no gaps, and any bytes are a value of it.
//!
//! # Not here
//! The trait (`master_worker::Element`); what MPI makes of a layout (`comm::Datatype`).

mod element;
mod refusal;

use proc_macro::TokenStream;

/// Makes a struct of numbers an element of messages that are sent as they lie in memory.
///
/// See `master_worker::Element`, which is derived.
#[proc_macro_derive(Element)]
pub fn element(input: TokenStream) -> TokenStream {
    element::derive(input.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}
