'use strict';
// What the function runs on, from files that need no privilege.

const os = require('node:os');
const { firstLine, text } = require('./files');
const cgroup = require('./cgroup');

/** The kernel's names of architectures. */
const ARCHITECTURES = { x64: 'x86_64', arm64: 'aarch64' };

function read(root, platform, unavailable) {
  const host = {
    architecture: ARCHITECTURES[process.arch] ?? process.arch,
    kernel_release: os.release(),
    cpu_model: text(root, 'proc/cpuinfo').match(/^model name\s*:\s*(.*)$/m)?.[1] ?? null,
    cpus_online: os.cpus().length || os.availableParallelism(),
    cpus_allowed: os.availableParallelism(),
    memory_limit_bytes: cgroup.memoryLimit(root),
    sandbox: sandbox(root, platform),
  };
  if (host.cpu_model === null) unavailable.push({ what: 'host.cpu_model', why: '/proc/cpuinfo has no model name' });
  if (host.memory_limit_bytes === null) {
    unavailable.push({ what: 'host.memory_limit_bytes', why: 'no cgroup of this process has a limit that can be read' });
  }
  return host;
}

// gVisor gives itself away by the kernel that it imitates, Firecracker by the devices on its kernel's command line.
function sandbox(root, platform) {
  if (/gVisor|4\.4\.0 #1 SMP Sun Jan 10 15:06:54 PST 2016/.test(firstLine(root, 'proc/version'))) return 'gvisor';
  return platform === 'lambda' || firstLine(root, 'proc/cmdline').includes('virtio_mmio.device=') ? 'firecracker' : null;
}

/** The C library of this process. */
function libc() {
  return process.report.getReport().header.glibcVersionRuntime ? 'glibc' : 'musl';
}

module.exports = { libc, read };
