//! How many instructions each basic block of a scheduler has, told to guard.c.
//!
//! The compiler calls `__sanitizer_cov_trace_pc` in every block. In its assembly the instructions up to the next such call are the block's, and
//! their number becomes the call's argument. A call destroys the register of its first argument anyway, so nothing else changes. What a function
//! does before its first block is not counted: it saves registers, most of them because of these calls.

/// What the compiler calls in each block.
const COUNTED: &str = "__sanitizer_cov_trace_pc";

/// Assembly as clang and gcc write it, whose blocks tell their number of instructions.
pub(super) fn told(assembly: &str) -> String {
    let mut whole = String::with_capacity(assembly.len() + assembly.len() / 4);
    let mut lines = assembly.lines();
    while let Some(line) = lines.next() {
        if calls(line) {
            let rest = lines.clone().take_while(|line| !calls(line) && !begins_a_function(line));
            whole += &argument(rest.filter(|line| is_instruction(line)).count());
        }
        whole.push_str(line);
        whole.push('\n');
    }
    whole
}

/// The instruction that makes a number the first argument of a call.
fn argument(instructions: usize) -> String {
    match std::env::consts::ARCH {
        // More does not fit into one.
        "aarch64" => format!("\tmov\tw0, #{}\n", instructions.min(65_535)),
        "riscv64" => format!("\tli\ta0, {instructions}\n"),
        _ => format!("\tmovl\t${instructions}, %edi\n"),
    }
}

/// Whether a block begins here.
fn calls(line: &str) -> bool {
    is_instruction(line) && line.contains(COUNTED)
}

/// Whether a line has an instruction, not a label, a directive or a remark.
fn is_instruction(line: &str) -> bool {
    line.starts_with(char::is_whitespace)
        && line.trim_start().starts_with(|first: char| first.is_ascii_lowercase())
}

/// Whether the line is a label of a function: those of blocks begin with a dot.
fn begins_a_function(line: &str) -> bool {
    line.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') && line.contains(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_tells_its_own_instructions() {
        let call = "\tcallq\t__sanitizer_cov_trace_pc@PLT\n";
        let assembly = format!(
            "first:\n\t.cfi_startproc\n\tpushq\t%rax\n{call}\ttestl\t%edi, %edi\n.LBB0_1:   # a loop\n\t# a remark\n\tjne\t.LBB0_2\n\
             .LBB0_2:\n{call}\tret\nsecond:\n\tnop\n\tnop\n{call}\tret\n\t.quad\t1\n{call}"
        );
        let made = told(&assembly);
        let told: Vec<&str> = made.lines().filter(|line| !assembly.contains(line)).collect();
        assert_eq!(told, [2, 1, 1, 0].map(|number| argument(number).trim_end().to_owned()));
        let blocks = made.lines().zip(made.lines().skip(1)).filter(|(_, next)| calls(next));
        assert!(blocks.clone().all(|(before, _)| told.contains(&before)) && blocks.count() == 4, "{made}");
        assert_eq!(made.lines().count(), assembly.lines().count() + 4);
    }
}
