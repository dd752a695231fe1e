//! Writes a capture that has every option in every form, to look at in Wireshark, and its packets one by one as seeds
//! for the fuzzer: `cargo run -p wire --example write_capture -- FILE.pcap [DIRECTORY]`.

#[path = "../tests/conversation/mod.rs"]
mod conversation;

use std::path::Path;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let Some(file) = arguments.next() else {
        eprintln!("which file? write_capture FILE.pcap [DIRECTORY for the packets]");
        std::process::exit(2);
    };
    let capture = conversation::all();
    std::fs::write(file, capture.to_pcap())?;
    if let Some(directory) = arguments.next() {
        std::fs::create_dir_all(&directory)?;
        for (number, packet) in capture.packets.iter().enumerate() {
            std::fs::write(Path::new(&directory).join(format!("packet-{number:03}")), packet)?;
        }
    }
    Ok(())
}
