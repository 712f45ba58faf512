//! Amazon Bedrock's Converse API. Unary answers have a canonical form; the binary streams are read for people and
//! replayed from their bytes.

mod content;
mod converse;
mod eventstream;
mod request;
mod stream;
#[cfg(test)]
mod tests;
mod unary;
mod words;

pub(super) use converse::Converse;
