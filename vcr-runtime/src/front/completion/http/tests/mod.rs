mod answers;
mod failures;
mod server;
