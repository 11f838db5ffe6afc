//! The commands of `crf`, run as users run them, in one program.

mod bad_inputs;
mod commands;
mod constraints;
mod defects;
mod early_stop;
mod infer;
mod model_file;
mod ocr;
mod overwritten;
mod selection;
mod show;
mod template_file;
mod tune;
mod untouched;
mod workbench;
