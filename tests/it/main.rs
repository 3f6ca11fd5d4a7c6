//! The tests that run the program, and those that look at the house as a whole.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cases;
mod examples;
mod layers;
mod oracle;
mod oracle_compare;
mod tatter;
