//! Division by zero as BPF has it (Linux Documentation/bpf/standardization/instruction-set.rst): the quotient is 0 and the remainder is the dividend.
//!
//! Schedulers rely on that, knowingly or not. x86-64 raises an exception, which would end the simulator, so a test is put before each division of a
//! compiler's output. AArch64 divides as BPF does; RISC-V gives a quotient of all ones, which is left so.

use std::fmt::Write;

/// Assembly as clang and gcc write it, in which no division of 32 or 64 bits raises an exception because of its divisor.
pub(super) fn without_exceptions(assembly: &str) -> String {
    if !cfg!(target_arch = "x86_64") {
        return assembly.to_owned();
    }
    let mut whole = String::with_capacity(assembly.len() + assembly.len() / 16);
    for (number, line) in assembly.lines().enumerate() {
        let Some((size, divisor)) = division(line) else {
            whole.push_str(line);
            whole.push('\n');
            continue;
        };
        let (quotient, rest) = if size == 'q' { ("%rax", "%rdx") } else { ("%eax", "%edx") };
        let _ = writeln!(
            whole,
            "\tcmp{size}\t$0, {divisor}\n\tjne\t.Lswtch_divides_{number}\n\tmov{size}\t{quotient}, {rest}\n\txorl\t%eax, %eax\n\
             \tjmp\t.Lswtch_divided_{number}\n.Lswtch_divides_{number}:\n{line}\n.Lswtch_divided_{number}:"
        );
    }
    whole
}

/// The size of a division's operands, `l` or `q`, and its divisor; nothing for another line.
fn division(line: &str) -> Option<(char, &str)> {
    let code = line.split('#').next().unwrap_or_default();
    let (name, divisor) = code.trim().split_once(char::is_whitespace)?;
    let size = name.strip_prefix("idiv").or_else(|| name.strip_prefix("div"))?;
    let size = size.parse().ok().filter(|size| ['l', 'q'].contains(size))?;
    Some((size, divisor.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisions_are_found_whatever_their_divisor() {
        assert_eq!(division("\tdivq\t%rsi"), Some(('q', "%rsi")));
        assert_eq!(
            division("\tidivl\t8(%rsp,%rax,4)   # 4-byte Folded Reload"),
            Some(('l', "8(%rsp,%rax,4)"))
        );
        for other in [
            "\tdivss\t%xmm0, %xmm1",
            "divide:",
            "\tmovq\t%rax, %rdx",
            "",
            "\t.asciz\t\"divq %rsi\"",
            "\tdivb\t%cl",
        ] {
            assert_eq!(division(other), None, "{other}");
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_test_precedes_each_and_the_rest_stays() {
        let made = without_exceptions("f:\n\tdivl\t%esi\n\tret\n");
        assert!(
            made.starts_with("f:\n\tcmpl\t$0, %esi\n\tjne\t.Lswtch_divides_1\n\tmovl\t%eax, %edx\n"),
            "{made}"
        );
        assert!(made.ends_with("\tdivl\t%esi\n.Lswtch_divided_1:\n\tret\n"), "{made}");
    }
}
