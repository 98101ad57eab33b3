//! Converts C expressions to [`Expr`].

use super::syntax_node::{Parsed, SourceLanguage, SyntaxNode};
use crate::expr::{Expr, Operator};
use expression::c_integer;
use std::collections::BTreeMap;

/// Callback for the meaning of a piece, where its context determines it.
pub(super) type Meaning<'a, 't> = dyn FnMut(SyntaxNode<'t>) -> Option<Expr> + 'a;

/// Largest nesting depth of expressions; deeper ones stay as written.
const DEPTH_MAX: usize = 120;
/// Largest number of characters in an expression's text; longer ones are cut.
const TEXT_MAX: usize = 60;

/// Reads an expression.
pub(super) fn read<'t>(piece: SyntaxNode<'t>, depth: usize, meaning: &mut Meaning<'_, 't>) -> Expr {
    if DEPTH_MAX < depth {
        return as_written(piece);
    }
    meaning(piece)
        .or_else(|| known(piece, &mut |piece| read(piece, depth + 1, meaning)))
        .unwrap_or_else(|| as_written(piece))
}

/// Returns the expression of a piece, whose parts `inner` reads; `None` for an unknown construct.
fn known<'t>(piece: SyntaxNode<'t>, inner: &mut dyn FnMut(SyntaxNode<'t>) -> Expr) -> Option<Expr> {
    match piece.kind() {
        "number_literal" => c_integer(piece.text()).map(Expr::Number),
        "true" | "false" => Some(Expr::Number(i64::from(piece.kind() == "true"))),
        "parenthesized_expression" | "argument" => piece.children().first().map(|it| inner(*it)),
        "comma_expression" => piece.children().into_iter().map(inner).reduce(|_, last| last),
        "cast_expression" => piece.field("value").map(inner),
        "unary_expression" => {
            let argument = inner(piece.field("argument")?);
            match piece.field("operator")?.text() {
                "-" => Some(Expr::Number(0).minus(argument)),
                "+" => Some(argument),
                "!" | "not" => Some(Expr::Not(Box::new(argument))),
                _ => None,
            }
        }
        "binary_expression" => {
            let (left, right) = (inner(piece.field("left")?), inner(piece.field("right")?));
            let operator = match piece.field("operator")?.text() {
                "and" => Operator::And,
                "or" => Operator::Or,
                sign => Operator::of(sign)?,
            };
            Some(left.join(operator, right))
        }
        "conditional_expression" => {
            let mut part = |name| piece.field(name).map(&mut *inner).map(Box::new);
            let (condition, one, other) =
                (part("condition"), part("consequence"), part("alternative"));
            Some(Expr::Choice(condition?, one?, other?))
        }
        "sizeof_expression" => Some(size_of(piece)),
        "condition_clause" => {
            piece.field("value").or_else(|| piece.children().last().copied()).map(inner)
        }
        _ => {
            // Its parts are read for their effects.
            piece.children().into_iter().for_each(|child| drop(inner(child)));
            None
        }
    }
}

/// Returns the text as written, in one line.
pub(super) fn as_written(piece: SyntaxNode<'_>) -> Expr {
    Expr::Varying(short(piece))
}

/// Returns the text in one line, cut if it is too long.
pub(super) fn short(piece: SyntaxNode<'_>) -> String {
    cut(piece.words(), TEXT_MAX)
}

/// Returns at most `n_max` characters of a text, with `…` where it is cut.
pub(super) fn cut(text: String, n_max: usize) -> String {
    match text.char_indices().nth(n_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Reads `sizeof`: of a basic type it is a number, of a struct a name.
fn size_of(piece: SyntaxNode<'_>) -> Expr {
    let of = piece.children().into_iter().next();
    let words = of.map(short).unwrap_or_default();
    let words = words.trim_start_matches('(').trim_end_matches(')').trim();
    match bytes_of_type(words) {
        Some(n_bytes) => Expr::Number(n_bytes),
        None => Expr::Call("sizeof".into(), vec![Expr::Name(words.to_owned())]),
    }
}

/// Returns the size of a basic C type on 64-bit systems, in bytes.
fn bytes_of_type(words: &str) -> Option<i64> {
    const NAMES: [(i64, &str); 4] = [
        (1, "char,signed char,unsigned char,bool,int8_t,uint8_t"),
        (2, "short,unsigned short,int16_t,uint16_t"),
        (4, "int,unsigned,unsigned int,float,int32_t,uint32_t"),
        (8, "long,unsigned long,double,size_t,int64_t,uint64_t"),
    ];
    NAMES.iter().find(|row| row.1.split(',').any(|known| known == words)).map(|row| row.0)
}

/// Evaluates a C text as an integer, using known constants.
pub(super) fn constant(text: &str, constants: &BTreeMap<String, i64>) -> Option<i64> {
    if let Some(number) = c_integer(text.trim()) {
        return Some(number);
    }
    if text.is_empty() || TEXT_MAX < text.len() {
        return None;
    }
    let parsed = Parsed::of("", format!("int v = {text};"), SourceLanguage::C, 1)?;
    if parsed.tree.root_node().has_error() {
        return None;
    }
    let value = parsed.root().all().into_iter().find(|it| it.kind() == "init_declarator")?;
    let read = read(value.field("value")?, 0, &mut |piece| {
        (piece.kind() == "identifier").then(|| Expr::Name(piece.text().to_owned()))
    });
    read.whole(&|leaf| match leaf {
        Expr::Name(name) => constants.get(name).copied(),
        _ => None,
    })
}
