//! Compiles the programs' arithmetic for this machine: the text that clang compiles for the kernel.

const PROGRAMS: &str = "../../python/mptcplab/bpf/programs";

fn main() {
    println!("cargo::rerun-if-changed={PROGRAMS}");
    println!("cargo::rerun-if-changed=src/bridge.c");
    for name in ["lia", "olia", "balia", "ewtcp"] {
        cc::Build::new()
            .file("src/bridge.c")
            .include(PROGRAMS)
            .define("ALGORITHM", &*format!("\"{name}.h\""))
            .define("WINDOW", &*format!("mptcplab_{name}_window"))
            .define("REMAINING", &*format!("mptcplab_{name}_remaining"))
            .warnings(true)
            .compile(&format!("mptcplab_{name}"));
    }
}
