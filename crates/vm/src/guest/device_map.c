/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the guest's first process does with devices, which takes a mapping of their memory or a call of their own. A program without any library:
 *
 *   device_map stop /sys/bus/pci/devices/ADDRESS/resource0    writes a byte there; pvpanic's makes QEMU stop the machine, and keep it
 *   device_map read /sys/bus/pci/devices/ADDRESS/resource2    prints what is there after a length of eight bytes, and no more than that
 *
 *   device_map mix /dev/urandom                               has what was written there count in random numbers at once, not within a minute
 *   device_map count /dev/urandom                             has the kernel take its random numbers for good ones
 *
 * pvpanic: docs/specs/pvpanic.txt; the memory of ivshmem: docs/specs/ivshmem-spec.txt (QEMU 7.2). Linux maps a device's memory by that file of
 * sysfs (Documentation/PCI/sysfs-pci.rst).
 */
/*
 * System calls by number (arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h of Linux): some compilers for another
 * machine have no headers for a program without a library.
 */
#if defined(__x86_64__)
enum { call_write = 1, call_mmap = 9, call_ioctl = 16, call_exit_group = 231, call_openat = 257 };
#elif defined(__aarch64__) || defined(__riscv)
enum { call_ioctl = 29, call_openat = 56, call_write = 64, call_exit_group = 94, call_mmap = 222 };
#endif

enum { page_bytes = 4096, header_bytes = 8 };
enum { can_read = 1, can_write = 2, map_shared = 1, open_both = 2, at_cwd = -100 };
/* RNDRESEEDCRNG and RNDADDENTROPY (include/uapi/linux/random.h). */
enum { reseed = 0x5207, add_entropy = 0x40085203 };
enum { key_bytes = 32 };

static long call(long number, long one, long two, long three, long four, long five, long six)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = four;
	register long r8 __asm__("r8") = five;
	register long r9 __asm__("r9") = six;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(one), "S"(two), "d"(three), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = one;
	register long x1 __asm__("x1") = two;
	register long x2 __asm__("x2") = three;
	register long x3 __asm__("x3") = four;
	register long x4 __asm__("x4") = five;
	register long x5 __asm__("x5") = six;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
#elif defined(__riscv)
	register long a7 __asm__("a7") = number;
	register long a0 __asm__("a0") = one;
	register long a1 __asm__("a1") = two;
	register long a2 __asm__("a2") = three;
	register long a3 __asm__("a3") = four;
	register long a4 __asm__("a4") = five;
	register long a5 __asm__("a5") = six;

	__asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5) : "memory");
	return a0;
#else
#error "guests are x86-64, arm64 or riscv64"
#endif
}

static volatile unsigned char *map(long file, unsigned long bytes)
{
	long place = call(call_mmap, 0, bytes, can_read | can_write, map_shared, file, 0);

	return place < 0 && place > -page_bytes ? 0 : (volatile unsigned char *)place;
}

static int print(long file)
{
	volatile unsigned char *head = map(file, page_bytes);
	unsigned long bytes = 0;
	volatile unsigned char *all;
	int byte;

	if (!head)
		return 4;
	for (byte = header_bytes - 1; byte >= 0; byte--)
		bytes = bytes << 8 | head[byte];
	all = map(file, header_bytes + bytes);
	if (!all)
		return 5;
	all += header_bytes;
	while (bytes) {
		long written = call(call_write, 1, (long)all, bytes, 0, 0, 0);

		if (written <= 0)
			return 6;
		all += written;
		bytes -= written;
	}
	return 0;
}

/*
 * A CPU without instructions for random numbers leaves the kernel waiting for noise. The first program that asks for random numbers then makes
 * some, in a loop that takes a CPU for seconds (try_to_generate_entropy in drivers/char/random.c; reading /dev/urandom is enough). Where instructions
 * are counted, the loop may never end: what it looks for is that times differ by chance. So zeros count as chance. What the kernel has mixed in before
 * stays, and a guest that resumes from a kept boot mixes in numbers of its own.
 */
static int count_as_random(long file)
{
	const struct { int bits, bytes; unsigned char key[key_bytes]; } pool = { key_bytes * 8, key_bytes, { 0 } };

	return call(call_ioctl, file, add_entropy, (long)&pool, 0, 0, 0) ? 8 : 0;
}

/* The exit status says where it failed. */
static int run(long count, char **words)
{
	volatile unsigned char *place;
	long file;

	if (count != 3)
		return 2;
	file = call(call_openat, at_cwd, (long)words[2], open_both, 0, 0, 0);
	if (file < 0)
		return 3;
	if (words[1][0] == 'r')
		return print(file);
	if (words[1][0] == 'c')
		return count_as_random(file);
	if (words[1][0] == 'm')
		return call(call_ioctl, file, reseed, 0, 0, 0, 0) ? 7 : 0;
	place = map(file, page_bytes);
	if (!place)
		return 4;
	*place = 1;
	return 0;
}

__attribute__((used)) void begin(long *stack)
{
	call(call_exit_group, run(stack[0], (char **)(stack + 1)), 0, 0, 0, 0, 0);
	__builtin_unreachable();
}

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall begin\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n\tmov x0, sp\n\tbl begin\n");
#elif defined(__riscv)
/* The linker may have made addresses relative to gp. */
__asm__(".globl _start\n_start:\n\t.option push\n\t.option norelax\n\tla gp, __global_pointer$\n\t.option pop\n\tmv a0, sp\n\tcall begin\n");
#endif
