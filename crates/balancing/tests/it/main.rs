//! The rules from outside: laws that hold for every policy, and what each of them says.

mod dialogs;
mod messages;
mod storms;
