//! The tests that run the program, and those that look at the house as a whole.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod advice;
mod arrays;
mod cases;
mod columnar;
mod completions;
mod coverage;
mod examples;
mod expressions;
mod facts;
mod formats;
mod inputs;
mod laws;
mod layers;
mod man;
mod messages;
mod modules;
mod nested;
mod oracle;
mod oracle_compare;
mod outputs;
mod pages;
mod random;
mod records;
mod sequences;
mod sessions;
mod sparse;
mod split;
mod streams;
mod tatter;
mod tensor_laws;
mod terminal;
mod tfexample;
mod tfrecord;
mod tfrecord_laws;
mod verbs;
