mod by_hand;
mod cases;
mod generated;
mod real;
mod recorder;
