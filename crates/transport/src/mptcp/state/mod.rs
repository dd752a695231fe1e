//! What a connection consists of. Each part owns its state, offers what is done to it, and knows neither the connection nor
//! what is sent about it: that is in the files above.

pub mod addresses;
pub mod context;
pub mod control;
pub mod data_level;
pub mod due;
pub mod ending;
pub mod fallback;
pub mod held_memory;
pub mod keys;
pub mod plan;
pub mod ready;
pub mod receive_stream;
pub mod reinjection;
pub mod reset;
pub mod send_stream;
pub mod silence;
pub mod stream_timers;
pub mod tracing;
pub mod tuning;
pub mod usual;
pub mod verifying;
pub mod waiting;
pub mod window;
