//! The embeddings of `OpenAI` and of everything that speaks like it.

mod embeddings;
#[cfg(test)]
mod tests;

pub(super) use embeddings::{NAME, OpenAiEmbeddings};
