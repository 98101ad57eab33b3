//! Generates the implementations of `Element` for a struct.

use crate::refusal;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Field, Fields, Ident, Index, Member};

/// Generates the implementations for the struct in `input`, or returns why it cannot be sent.
pub(crate) fn derive(input: TokenStream) -> Result<TokenStream, Error> {
    let input: DeriveInput = syn::parse2(input)?;
    let fields = fields(&input)?;
    let name = &input.ident;
    let members: Vec<Member> = fields.iter().enumerate().map(member).collect();
    let gaps = no_gaps(name, &fields, &members);
    let layout = fields.iter().zip(&members).map(|(field, member)| described(name, field, member));
    // The gap check and the bound on every field make the two `unsafe impl`s for `bytemuck` sound.
    Ok(quote! {
        const _: () = { #gaps };

        unsafe impl ::master_worker::derived::Zeroable for #name {}
        unsafe impl ::master_worker::derived::Pod for #name {}

        impl ::master_worker::Element for #name {
            const KIND: ::master_worker::ValueKind =
                ::master_worker::ValueKind::Struct(&::master_worker::Layout {
                    fields: &[#(#layout),*],
                    extent_bytes: ::core::mem::size_of::<#name>(),
                });
            const N_VALUES: usize = 1;
        }
    })
}

/// Returns the fields of a struct that can be sent, as far as names of types tell.
fn fields(input: &DeriveInput) -> Result<Vec<&Field>, Error> {
    refusal::of_item(input)?;
    let fields: Vec<&Field> = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => fields.named.iter().collect(),
            Fields::Unnamed(fields) => fields.unnamed.iter().collect(),
            Fields::Unit => Vec::new(),
        },
        Data::Enum(_) | Data::Union(_) => Vec::new(),
    };
    let members =
        fields.iter().copied().enumerate().map(|(at, field)| (member((at, &field)), field));
    let refusals = members.filter_map(|(member, field)| {
        refusal::of_type(&field.ty).map(|why| {
            let field_name = member.to_token_stream();
            Error::new(
                field.ty.span(),
                format!("field `{field_name}` of `{}` cannot be sent: {why}", input.ident),
            )
        })
    });
    let all = refusals.reduce(|mut all, next| {
        all.combine(next);
        all
    });
    all.map_or(Ok(fields), Err)
}

fn member((at, field): (usize, &&Field)) -> Member {
    field.ident.clone().map_or_else(|| Member::Unnamed(Index::from(at)), Member::Named)
}

/// Generates assertions that each field begins where the one before it ends, and that the last one
/// ends the struct.
fn no_gaps(name: &Ident, fields: &[&Field], members: &[Member]) -> TokenStream {
    let mut checks = TokenStream::new();
    let mut end = quote!(0);
    for (field, member) in fields.iter().zip(members) {
        let (place, ty) = (member.to_token_stream(), &field.ty);
        let why = format!(
            "`{name}` has a gap before `{place}`, and what is there must not be sent: put wider fields \
             first, or fill the gap with a field such as `unused: [u8; 4]`"
        );
        checks.extend(quote_spanned! { member.span() =>
            ::core::assert!(::core::mem::offset_of!(#name, #member) == #end, #why);
        });
        end = quote!(::core::mem::offset_of!(#name, #member) + ::core::mem::size_of::<#ty>());
    }
    let why = format!(
        "`{name}` has a gap at its end, and what is there must not be sent: fill it with a field such as \
         `unused: [u8; 4]`"
    );
    checks.extend(quote_spanned! { name.span() =>
        ::core::assert!(::core::mem::size_of::<#name>() == #end, #why);
    });
    checks
}

/// Generates the description of a field.
fn described(name: &Ident, field: &Field, member: &Member) -> TokenStream {
    let (ty, text) = (&field.ty, member.to_token_stream().to_string());
    let element = quote_spanned! { ty.span() => <#ty as ::master_worker::Element> };
    quote! {
        ::master_worker::Field {
            name: #text,
            offset_bytes: ::core::mem::offset_of!(#name, #member),
            kind: #element::KIND,
            n_values: #element::N_VALUES,
        }
    }
}

#[cfg(test)]
mod tests;
