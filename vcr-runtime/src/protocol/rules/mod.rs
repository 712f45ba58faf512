//! Extraction rules as data: what a provider calls text, reasoning, tool calls, finish reason, usage and errors stands in
//! its `rules.toml`; one engine reads payloads by it. Code is only for what a table cannot say.
//!
//! A table:
//!
//! ```toml
//! [stream]
//! end = "[DONE]"            # data of the event that ends a stream (its beginning is enough); absent: the protocol has none
//! names = "type"            # the member that repeats the `event:` name; absent: events have no names
//! closed_by = "finish"      # a stream is also complete once every choice has finished; absent: by its end or an error
//!
//! [[event]]                 # the payloads of a stream: the first table whose `when` holds is applied
//! name = "delta"            # for code that must know which one it was
//! when = { path = "type", is = "content_block_delta" }   # or a list: all must hold; see below
//! at = "delta"              # what follows is relative to this object …
//! each = "choices"          # … or to each item of this array
//! choice = "index"          # the choice's number; else the position in `each`; else that of the table around
//! index = "index"           # the number of the block or tool call
//! reasoning = ["reasoning_content", "reasoning"]   # a list of paths: the first that says something
//! signature = "signature"
//! text = "content"
//! refusal = "refusal"
//! native = "."              # a block without canonical form, kept as it is
//! tool = { id = "id", name = "function.name", arguments = "function.arguments" }
//! finish = "finish_reason"
//! native_finish = "native_finish_reason"           # the provider's own word, where it stands elsewhere
//! finish_else = "stop"      # the word where none is stated
//! usage = ["usage", "x.usage"]   # paths after the first count only where no usage came before
//! error = "error"           # where this is there, the answer has failed; read by [error], relative to the table's value
//! end = true                # this payload ends the answer
//! [[event.part]]            # tables inside: all whose `when` holds are applied
//! [[event.kind]]            # tables inside: only the first whose `when` holds
//!
//! [[body]]                  # the same for the unary body
//!
//! [finish]                  # canonical word = the provider's words; others stay as they are
//! stop = ["STOP"]
//!
//! [tools]
//! numbering = "order"       # calls are counted as they appear; absent: by their `index`
//! finish = ["stop"]         # canonical words that mean `tool_calls` where the choice has called tools
//!
//! [usage]
//! prompt = { sum = ["input_tokens", "cache_read_input_tokens"] }  # or a path, or a list of which the first count is taken
//! completion = "output_tokens"
//! total = "total_tokens"    # absent: prompt + completion
//! merge = true              # later usages replace member by member; absent: as a whole
//! details = ["eval_duration"]   # members to keep besides; absent: all
//!
//! [error]
//! at = "error"              # where the error object stands, else the value itself
//! type = ["type", "status"]
//! message = "message"
//! code = "code"
//! status = "code"           # the HTTP status, if it is one (400 to 599)
//! ```
//!
//! A condition is `{ path = "type", is = "x" }`, `is = ["x", "y"]`, `not = …` (the same, denied; holds where nothing is),
//! `{ path = "text", present = true }` (there and not null) or `{ event = "error" }` (the `event:` name). Values are
//! texts, numbers or booleans. In a table order of evaluation is: reasoning, signature, text, refusal, native, tool, then the parts and
//! the kind, then finish, usage, error, end. Empty texts say nothing. A tool's `comes` is `"fragments"`
//! (by itself: of calls that are told apart by `index`, else by id), `"more"` (only of a call that is known under its
//! `index`), `"whole"` (each value is a call of its own) or `"single"` (fragments of the only call there can be). In a `sum` of counts the first member is not kept in the details, as it follows
//! from the sum and the others.

mod conditions;
mod error;
mod parse;
mod reader;
mod reading;
mod stream;
mod table;
#[cfg(test)]
mod tests;
mod tools;
mod usage;

pub(crate) use reader::Reader;
pub(crate) use reading::{Field, Hit, Reading};
pub(crate) use stream::StreamReader;
pub(crate) use table::Rules;
pub(crate) use tools::{ToolCalls, index};
