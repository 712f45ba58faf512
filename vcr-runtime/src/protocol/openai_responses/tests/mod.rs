mod by_hand;
mod generated;
mod real;
mod recorder;
mod unary;
