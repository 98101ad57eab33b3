//! Reasons why a struct cannot be sent as it lies in memory, with the remedy.

use quote::ToTokens;
use syn::{Attribute, Data, DeriveInput, Error, Fields, Type, TypePath};

/// Remedy that works for any type.
const PACKED: &str =
    "derive serde's `Serialize` and `Deserialize` instead: such a type is sent packed";

/// Returns an error if the item cannot be sent, whatever its fields are.
pub(crate) fn of_item(input: &DeriveInput) -> Result<(), Error> {
    let name = &input.ident;
    let refuse = |why: &str| Err(Error::new_spanned(name, format!("`{name}` {why}")));
    match &input.data {
        Data::Enum(_) => {
            return refuse(&format!(
                "is an enum, and bytes that arrive may be none of its variants; {PACKED}"
            ));
        }
        Data::Union(_) => {
            return refuse("is a union, which does not say what its bytes are; use a struct");
        }
        Data::Struct(data) if matches!(data.fields, Fields::Unit) || data.fields.is_empty() => {
            return refuse("has no fields, so there is nothing to send; use `()` in its place");
        }
        Data::Struct(_) => {}
    }
    if !input.generics.params.is_empty() {
        return refuse(&format!(
            "has parameters, so its layout depends on them; write a struct for each, or {PACKED}"
        ));
    }
    if !input.attrs.iter().any(is_repr_c) {
        return refuse(
            "has its fields in an order that the compiler chooses; write `#[repr(C)]` above it",
        );
    }
    Ok(())
}

fn is_repr_c(attribute: &Attribute) -> bool {
    let mut is_c = false;
    if attribute.path().is_ident("repr") {
        // Malformed attributes are left for the compiler to refuse.
        let _outcome = attribute.parse_nested_meta(|meta| {
            is_c |= meta.path.is_ident("C");
            if meta.input.peek(syn::token::Paren) {
                let inside;
                syn::parenthesized!(inside in meta.input);
                inside.parse::<proc_macro2::TokenStream>()?;
            }
            Ok(())
        });
    }
    is_c
}

/// Returns why a value of this type cannot be sent, as far as its name tells.
pub(crate) fn of_type(ty: &Type) -> Option<String> {
    let text = || ty.to_token_stream().to_string().replace(' ', "");
    match ty {
        Type::Array(array) => of_type(&array.elem),
        Type::Group(group) => of_type(&group.elem),
        Type::Paren(paren) => of_type(&paren.elem),
        Type::Path(path) => of_path(path),
        Type::Tuple(_) => Some(format!(
            "the compiler chooses the order of a tuple's parts; use an array or a struct with \
             `#[repr(C)]`, or {PACKED}"
        )),
        Type::Reference(_) | Type::Ptr(_) | Type::Slice(_) => Some(elsewhere(&text())),
        Type::FnPtr(_) | Type::TraitObject(_) | Type::ImplTrait(_) | Type::Never(_) => Some(
            format!("`{}` means nothing to another process; send what it is made from", text()),
        ),
        _ => None,
    }
}

/// The same for a named type.
fn of_path(path: &TypePath) -> Option<String> {
    let name = path.path.segments.last()?.ident.to_string();
    Some(match name.as_str() {
        "bool" => format!("bytes that arrive may be no `bool`; use `u8`, or {PACKED}"),
        "char" => format!("bytes that arrive may be no `char`; use `u32`, or {PACKED}"),
        "Option" | "Result" => {
            format!("bytes that arrive may be no variant of `{name}`; {PACKED}")
        }
        "usize" => "`usize` is not as wide on every machine; use `u64`".to_owned(),
        "isize" => "`isize` is not as wide on every machine; use `i64`".to_owned(),
        "u128" | "i128" => format!("MPI has no datatype for `{name}`; use `[u64; 2]`"),
        "f16" | "f128" => format!("MPI has no datatype for `{name}`; use `f32` or `f64`"),
        "String" | "Vec" | "VecDeque" | "Box" | "Rc" | "Arc" | "Cow" | "HashMap" | "HashSet"
        | "BTreeMap" | "BTreeSet" | "PathBuf" | "OsString" | "CString" => elsewhere(&name),
        _ => return None,
    })
}

fn elsewhere(name: &str) -> String {
    format!("what a `{name}` holds lies elsewhere in memory; {PACKED}")
}
