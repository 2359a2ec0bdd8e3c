package switching

const sysGetcpu = 168
