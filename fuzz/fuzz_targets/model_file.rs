#![no_main]

reticent_fuzz::target!("model_file");
