//! The classes of fault of a wire format, D01 to D11, for each protocol that can have them. D17 is in the runtime's tests
//! of embeddings.
//!
//! | | chat | Responses | Anthropic | Gemini | Ollama | Bedrock |
//! |---|---|---|---|---|---|---|
//! | D01 a tee | `delivery` | `delivery` | `delivery` | `delivery` | `delivery` | `delivery` |
//! | D02 broken off | `delivery` | `delivery` | `delivery` | `delivery` | `delivery` | `delivery` |
//! | D03 cut characters | `delivery` | `delivery` | `delivery` | `delivery` | `delivery` | binary |
//! | D04 line ends | `delivery` | `delivery` | `delivery` | `delivery` | `delivery` | binary |
//! | D05 comments | `delivery` | `delivery` | `delivery`, pings too | `delivery` | blank lines | binary |
//! | D06 event names | has none | `said` | `said` | has none | has none | binary |
//! | D07 the tail | `said` | `said` | `said` | `said` | `said` | runtime |
//! | D08 parallel tools | `said` | `said` | `said` | `said` | `said` | runtime |
//! | D09 thinking | `said` | `said` | `said` | `said` | `said`, no signatures | runtime |
//! | D10 errors inside | `said` | `said` | `said` | `said` | `said` | runtime |
//! | D11 early close | `delivery` | `delivery` | `delivery` | `delivery` | `delivery` | no end marker |

mod answers;
mod delivery;
mod pass;
mod said;
