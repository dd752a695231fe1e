//! Compiles the programs' arithmetic for this machine: the text that clang compiles for the kernel.

const PROGRAMS: &str = "../../python/mptcplab/bpf/programs";

/// One algorithm by its bridge, whose functions get names of their own.
fn compile(name: &str, bridge: &str, functions: &[&str]) {
    let mut build = cc::Build::new();
    build.file(format!("src/{bridge}")).include(PROGRAMS).define("ALGORITHM", &*format!("\"{name}.h\"")).warnings(true);
    for function in functions {
        build.define(&function.to_uppercase(), &*format!("mptcplab_{name}_{function}"));
    }
    build.compile(&format!("mptcplab_{name}"));
}

fn main() {
    println!("cargo::rerun-if-changed={PROGRAMS}");
    println!("cargo::rerun-if-changed=src");
    for name in ["lia", "olia", "balia", "ewtcp"] {
        compile(name, "bridge.c", &["window", "remaining"]);
    }
    for name in ["pert", "mppert"] {
        compile(name, "bridge_early.c", &["measured", "chance", "acknowledged", "lost", "found"]);
    }
    compile("wvegas", "bridge_wvegas.c", &[]);
}
