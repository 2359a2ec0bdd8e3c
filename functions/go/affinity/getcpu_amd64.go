package affinity

// The syscall package's table ends before it.
const sysGetcpu = 309
