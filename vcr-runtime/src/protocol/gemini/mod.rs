//! Gemini's `generateContent` and `streamGenerateContent`, on the Gemini API and on Vertex AI.

mod ask;
mod assemble;
mod decode;
mod generate;
mod neutral;
mod partial;
mod parts;
mod render;
mod request;
mod shape;
mod template;
#[cfg(test)]
mod tests;
mod unary;
mod words;

pub(super) use generate::Gemini;
