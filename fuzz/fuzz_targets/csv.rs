#![no_main]

reticent_fuzz::target!("csv");
