package affinity

const sysGetcpu = 168
