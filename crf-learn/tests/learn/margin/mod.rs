//! Tests of the room `margin`.

mod arow;
mod ocr;
mod perceptron;
mod ssvm;
