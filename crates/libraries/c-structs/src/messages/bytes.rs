//! Generates the functions that write and read the bytes of a struct.

use super::{first, line, struct_of};
use crate::header::{Factor, Header, Member, Struct};

/// Declares all functions of a struct in advance, so that structs may refer to each other.
pub(super) fn declare(code: &mut String, of: &Struct) {
    let Struct { name, c_type, .. } = of;
    line(code, &format!("static inline size_t mw_pack_size_{name}(const {c_type} *from);"));
    line(
        code,
        &format!("static inline void mw_put_{name}(const {c_type} *from, unsigned char **at);"),
    );
    line(
        code,
        &format!(
            "static inline int mw_take_{name}({c_type} *to, const unsigned char **at, size_t *n_left);"
        ),
    );
    if !of.is_flat {
        line(code, &format!("static inline void mw_free_{name}({c_type} *of);"));
    }
    line(code, "");
}

pub(super) fn write(code: &mut String, header: &Header, of: &Struct) {
    for member in of.members.iter().filter(|member| member.is_dynamic()) {
        write_count(code, of, member);
    }
    write_size(code, header, of);
    write_put(code, header, of);
    write_take(code, header, of);
    if !of.is_flat {
        write_free(code, header, of);
    }
    write_whole(code, of);
}

/// Generates the function that counts the elements behind a pointer.
fn write_count(code: &mut String, of: &Struct, member: &Member) {
    let Struct { name, c_type, .. } = of;
    let mut n = String::new();
    for count in &member.counts {
        let factor = match count {
            Factor::Member { name, is_signed: true } => {
                format!("(of->{name} < 0 ? 0 : (size_t)of->{name})")
            }
            Factor::Member { name, is_signed: false } => format!("(size_t)of->{name}"),
            Factor::Constant(number) => format!("(size_t){number}"),
        };
        n = if n.is_empty() { factor } else { format!("mw_messages_times({n}, {factor})") };
    }
    line(
        code,
        &format!("static inline size_t mw_count_{name}_{}(const {c_type} *of)", member.name),
    );
    line(code, &format!("{{\n    return {n};\n}}\n"));
}

/// Returns the C expression for the number of elements of a member.
fn count(of: &Struct, member: &Member, pointer: &str) -> String {
    if member.is_dynamic() {
        return format!("mw_count_{}_{}({pointer})", of.name, member.name);
    }
    let name = &member.name;
    if member.extents.is_empty() {
        return "1".to_owned();
    }
    format!("sizeof {pointer}->{name} / sizeof {pointer}->{}", first(member))
}

/// Returns the members in the order of a message: pointers last, because their counts must be read before.
fn in_order(of: &Struct) -> impl Iterator<Item = &Member> {
    let (behind, inside): (Vec<_>, Vec<_>) = of.members.iter().partition(|it| it.is_dynamic());
    inside.into_iter().chain(behind)
}

/// Returns the C expression for the address of a member's first element.
fn start(member: &Member, pointer: &str) -> String {
    if member.is_dynamic() {
        return format!("{pointer}->{}", member.name);
    }
    format!("&{pointer}->{}", first(member))
}

fn write_size(code: &mut String, header: &Header, of: &Struct) {
    let Struct { name, c_type, .. } = of;
    line(code, &format!("static inline size_t mw_pack_size_{name}(const {c_type} *from)\n{{"));
    line(code, "    size_t n_bytes = 0;");
    line(code, "    (void)from;");
    for member in &of.members {
        let text = match struct_of(header, member) {
            None if member.is_dynamic() => format!(
                "    n_bytes += {} * sizeof *from->{};",
                count(of, member, "from"),
                member.name
            ),
            None => format!("    n_bytes += sizeof from->{};", member.name),
            Some(inner) => each(
                &count(of, member, "from"),
                &format!("n_bytes += mw_pack_size_{}({} + i);", inner.name, start(member, "from")),
            ),
        };
        line(code, &text);
    }
    line(code, "    return n_bytes;\n}\n");
}

/// Returns a C loop over elements.
fn each(count: &str, what: &str) -> String {
    format!("    for (size_t i = 0, n = {count}; i < n; i++)\n        {what}")
}

fn write_put(code: &mut String, header: &Header, of: &Struct) {
    let Struct { name, c_type, .. } = of;
    line(
        code,
        &format!("static inline void mw_put_{name}(const {c_type} *from, unsigned char **at)\n{{"),
    );
    for member in in_order(of) {
        let text = match struct_of(header, member) {
            None if member.is_dynamic() => format!(
                "    mw_messages_put(from->{0}, {1} * sizeof *from->{0}, at);",
                member.name,
                count(of, member, "from")
            ),
            None => format!("    mw_messages_put(&from->{0}, sizeof from->{0}, at);", member.name),
            Some(inner) => each(
                &count(of, member, "from"),
                &format!("mw_put_{}({} + i, at);", inner.name, start(member, "from")),
            ),
        };
        line(code, &text);
    }
    line(code, "}\n");
}

fn write_take(code: &mut String, header: &Header, of: &Struct) {
    let Struct { name, c_type, .. } = of;
    let head = "const unsigned char **at, size_t *n_left";
    line(code, &format!("static inline int mw_take_{name}({c_type} *to, {head})\n{{"));
    for member in in_order(of) {
        line(code, &take(header, of, member));
    }
    line(code, "    return 1;\n}\n");
}

fn take(header: &Header, of: &Struct, member: &Member) -> String {
    let name = &member.name;
    let n = count(of, member, "to");
    let Some(inner) = struct_of(header, member) else {
        if !member.is_dynamic() {
            return format!(
                "    if (!mw_messages_take(&to->{name}, sizeof to->{name}, at, n_left))\n        return 0;"
            );
        }
        let made = made(of, member, &format!("sizeof *to->{name}"));
        return format!(
            "{made}    if (!mw_messages_take(to->{name}, {n} * sizeof *to->{name}, at, n_left))\n        return 0;"
        );
    };
    let read = each(
        &n,
        &format!(
            "if (!mw_take_{}({} + i, at, n_left))\n            return 0;",
            inner.name,
            start(member, "to")
        ),
    );
    let made = if member.is_dynamic() { made(of, member, "1") } else { String::new() };
    format!("{made}{read}")
}

/// Returns C code that allocates the elements behind a pointer, if the message can hold so many of at least
/// `least` bytes.
fn made(of: &Struct, member: &Member, least: &str) -> String {
    let (name, c_type) = (&member.name, &member.c_type);
    let n = count(of, member, "to");
    format!(
        "    if (!mw_messages_fit({n}, {least}, *n_left))\n        return 0;\n    \
         if ({n} != 0 && (to->{name} = ({c_type} *)calloc({n}, sizeof *to->{name})) == NULL)\n        return 0;\n"
    )
}

fn write_free(code: &mut String, header: &Header, of: &Struct) {
    let Struct { name, c_type, .. } = of;
    line(code, &format!("static inline void mw_free_{name}({c_type} *of)\n{{"));
    for member in &of.members {
        if let Some(inner) = struct_of(header, member).filter(|inner| !inner.is_flat) {
            let mut n = count(of, member, "of");
            if member.is_dynamic() {
                n = format!("of->{} == NULL ? 0 : {n}", member.name);
            }
            line(code, &each(&n, &format!("mw_free_{}({} + i);", inner.name, start(member, "of"))));
        }
        if member.is_dynamic() {
            line(code, &format!("    free(of->{0});\n    of->{0} = NULL;", member.name));
        }
    }
    line(code, "}\n");
}

/// Generates the functions that programs call.
fn write_whole(code: &mut String, of: &Struct) {
    let Struct { name, c_type, .. } = of;
    let undo = if of.is_flat { String::new() } else { format!("    mw_free_{name}(to);\n") };
    line(
        code,
        &format!(
            "static inline size_t mw_pack_{name}(const {c_type} *from, void *to)\n\
             {{\n    \
                 unsigned char *at = (unsigned char *)to;\n    \
                 mw_put_{name}(from, &at);\n    \
                 return (size_t)(at - (unsigned char *)to);\n\
             }}\n\n\
             static inline size_t mw_unpack_{name}({c_type} *to, const void *from, size_t n_bytes)\n\
             {{\n    \
                 const unsigned char *at = (const unsigned char *)from;\n    \
                 size_t n_left = n_bytes;\n    \
                 memset(to, 0, sizeof *to);\n    \
                 if (mw_take_{name}(to, &at, &n_left))\n        \
                     return n_bytes - n_left;\n\
             {undo}    \
                 return 0;\n\
             }}\n"
        ),
    );
}
