//! What stands between this system and the hardware: a hypervisor, a container, gVisor.

use crate::cpuinfo::CpuInfo;
use crate::files::Files;
use crate::host::Virtualisation;

/// Reads all three.
pub(crate) fn read(files: &Files, cpuinfo: &CpuInfo) -> Virtualisation {
    Virtualisation {
        hypervisor: hypervisor(files, cpuinfo),
        container: container(files),
        gvisor: is_gvisor(files),
    }
}

/// What firmware tables of virtual machines contain, and the name of the hypervisor (systemd-detect-virt(1)).
const FIRMWARE: [(&str, &str); 17] = [
    ("Amazon EC2", "amazon"),
    ("Google Compute Engine", "google"),
    ("KVM", "kvm"),
    ("OpenStack", "kvm"),
    ("KubeVirt", "kvm"),
    ("DigitalOcean", "kvm"),
    ("QEMU", "qemu"),
    ("VMware", "vmware"),
    ("VMW", "vmware"),
    ("innotek GmbH", "oracle"),
    ("VirtualBox", "oracle"),
    ("Xen", "xen"),
    ("Bochs", "bochs"),
    ("Parallels", "parallels"),
    ("BHYVE", "bhyve"),
    ("Hyper-V", "microsoft"),
    ("Apple Virtualization", "apple"),
];

fn hypervisor(files: &Files, cpuinfo: &CpuInfo) -> Option<String> {
    if let Some(name) = files.word("sys/hypervisor/type") {
        return Some(name);
    }
    let flag = cpuinfo.hypervisor_flag();
    // On x86 the flag decides: clouds put their name into the tables of their bare-metal machines too.
    if flag == Some(false) {
        return None;
    }
    from_firmware(files)
        .or_else(|| from_device_tree(files))
        .or_else(|| from_clock_sources(files))
        .or_else(|| flag.map(|_| "unknown"))
        .map(str::to_owned)
}

fn from_firmware(files: &Files) -> Option<&'static str> {
    let table = |name: &str| files.word(&format!("sys/class/dmi/id/{name}")).unwrap_or_default();
    let (vendor, product) = (table("sys_vendor"), table("product_name"));
    // EC2 names its bare-metal machines m5.metal, c7g.metal-48xl.
    if vendor == "Amazon EC2" && product.contains(".metal") {
        return None;
    }
    // Hyper-V gives the vendor that Microsoft's own computers give.
    if vendor == "Microsoft Corporation" && product == "Virtual Machine" {
        return Some("microsoft");
    }
    // The product first: a KVM machine may have QEMU for a vendor.
    [product, vendor, table("bios_vendor")]
        .iter()
        .find_map(|text| FIRMWARE.iter().find(|(part, _)| text.contains(part)).map(|(_, name)| *name))
}

/// Arm and RISC-V guests without firmware tables say it in their device tree.
fn from_device_tree(files: &Files) -> Option<&'static str> {
    let compatible = files.text("proc/device-tree/hypervisor/compatible").unwrap_or_default();
    if compatible.contains("linux,kvm") {
        return Some("kvm");
    }
    if compatible.contains("xen") {
        return Some("xen");
    }
    let model = files.text("proc/device-tree/compatible").unwrap_or_default();
    (model.contains("linux,dummy-virt") || model.contains("riscv-virtio")).then_some("qemu")
}

/// A guest has the clock of its hypervisor even where there is no firmware table at all (Firecracker).
fn from_clock_sources(files: &Files) -> Option<&'static str> {
    let text = files.text("sys/devices/system/clocksource/clocksource0/available_clocksource")?;
    [("kvm-clock", "kvm"), ("hyperv", "microsoft"), ("xen", "xen")]
        .into_iter()
        .find(|(clock, _)| text.split_whitespace().any(|name| name.starts_with(clock)))
        .map(|(_, name)| name)
}

/// The container runtime. What a runtime says of itself comes before what the cgroups suggest.
fn container(files: &Files) -> Option<String> {
    if let Some(name) =
        files.word("run/systemd/container").or_else(|| files.word("run/host/container-manager"))
    {
        return Some(name);
    }
    if files.exists("run/.containerenv") {
        return Some("podman".to_owned());
    }
    let environment = files.text("proc/1/environ").unwrap_or_default();
    let declared = environment.split('\0').find_map(|entry| entry.strip_prefix("container="));
    if let Some(name) = declared.filter(|name| !name.is_empty()) {
        return Some(name.to_owned());
    }
    let groups = files.text("proc/self/cgroup").unwrap_or_default();
    if files.exists("var/run/secrets/kubernetes.io") || groups.contains("kubepods") {
        return Some("kubernetes".to_owned());
    }
    if files.exists(".dockerenv") {
        return Some("docker".to_owned());
    }
    // With slash or hyphen, so that docker's own service outside a container does not match.
    [
        ("/docker/", "docker"),
        ("/docker-", "docker"),
        ("/libpod-", "podman"),
        ("/lxc/", "lxc"),
        ("/lxc.", "lxc"),
    ]
    .into_iter()
    .find(|(part, _)| groups.contains(part))
    .map(|(_, name)| name.to_owned())
}

/// gVisor names itself in its release since 2025 (`4.19.0-gvisor`). Before, it gave the version of a plain build of Linux 4.4
/// five minutes after the tag; both carry that date (pkg/sentry/syscalls/linux/linux64.go).
fn is_gvisor(files: &Files) -> bool {
    ["proc/version", "proc/sys/kernel/osrelease", "proc/sys/kernel/version", "proc/cmdline"].iter().any(
        |path| {
            let text = files.text(path).unwrap_or_default();
            text.to_ascii_lowercase().contains("gvisor") || text.contains("Sun Jan 10 15:06:54 PST 2016")
        },
    )
}
