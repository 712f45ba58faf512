mod by_hand;
mod generated;
mod real;
mod streams;
mod unary;
