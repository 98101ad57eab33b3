//! The derive macro of `master-worker`: structs of numbers that are sent as they lie in memory.
//!
//! The input is checked twice: here by the names of types, with a message for each type that cannot be sent; and
//! by the compiler, which knows the types behind the names.
//!
//! # Invariants
//! - A struct that compiles has no gaps, and any bytes are a valid value of it.
//!
//! # Not here
//! The trait (`master_worker::Element`); the MPI datatype of a layout (`comm::Datatype`).

mod element;
mod refusal;

use proc_macro::TokenStream;

/// Makes a struct of numbers an element of messages that are sent as they lie in memory.
///
/// See `master_worker::Element`, the derived trait.
#[proc_macro_derive(Element)]
pub fn element(input: TokenStream) -> TokenStream {
    element::derive(input.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}
