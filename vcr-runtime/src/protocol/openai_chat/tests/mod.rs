mod by_hand;
mod dialects;
mod generated;
mod real;
mod recorder;
mod unary;
