mod files;
mod format_faults;
mod formats;
mod graphs;
