/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Preloaded into a QEMU that counts instructions: lets its main loop go on only while all of the guest's CPUs wait.
 *
 * With -icount sleep=off, virtual time jumps to the next timer once every CPU is halted. QEMU's main loop makes that jump: whenever it
 * wakes up it asks whether all CPUs are idle (icount_start_warp_timer in softmmu/icount.c, 7.2). It wakes up for every timer that ends
 * as well, while the thread that runs the CPUs goes on. QEMU marks a CPU as halted before it counts the instructions the CPU has run,
 * and before the others had their turn. A main loop that looks in that moment jumps too far, or lets another CPU go on than usual.
 * That is seldom, some times in 100,000 idle periods, but two runs part then, and the more so the busier the host is.
 *
 * So it waits after the main loop has waited for events (ppoll). It waits until the CPUs' thread sits in its condition
 * variable before any thread has woken it. From there on QEMU's own lock keeps the order.
 *
 * And QEMU makes its cache of translated addresses smaller or larger. It goes by how full the cache was within 100 ms of the host's time
 * (tlb_mmu_resize_locked in accel/tcg/cputlb.c). What is in it decides which accesses of a guest fault needlessly. So the thread that runs
 * the CPUs sees a time that goes on by a millisecond each time it looks.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* What QEMU calls the thread that runs all CPUs, when it has the option to name its threads (accel/tcg/tcg-accel-ops-rr.c). */
static const char cpus_name[] = "ALL CPUs/TCG";
/* A file of this name is made once that thread is known: the process that started QEMU then knows that the barrier works. */
static const char mark_variable[] = "SWTCH_ICOUNT_BARRIER";
/* A guest that powers off may leave its CPUs spinning, and only the main loop can end QEMU then. */
static const int patience_s = 5;

static _Thread_local int runs_cpus;
static _Thread_local long looks_at_time;
static atomic_int cpus_known;
/* 1 while the CPUs' thread waits and no thread has woken it; a futex. */
static atomic_int cpus_wait;
static _Atomic(pthread_cond_t *) cpus_condition;

/* The function that would have been called. Condition variables have an older version too, with another layout. */
static void *next_function(const char *name, const char *version)
{
	void *found = NULL;
#ifdef __GLIBC__
	found = dlvsym(RTLD_NEXT, name, version);
#else
	(void)version;
#endif
	return found ? found : dlsym(RTLD_NEXT, name);
}

#define NEXT(name, version) ((__typeof__(&name))next_function(#name, version))

static __typeof__(&pthread_setname_np) next_setname;
static __typeof__(&pthread_cond_wait) next_wait;
static __typeof__(&pthread_cond_broadcast) next_broadcast;
static __typeof__(&pthread_cond_signal) next_signal;
static __typeof__(&ppoll) next_ppoll;
static __typeof__(&gettimeofday) next_gettimeofday;

/* Other libraries' constructors may call these functions before this library's own constructor runs. */
static pthread_once_t found_all = PTHREAD_ONCE_INIT;

static void find_all(void)
{
	next_setname = NEXT(pthread_setname_np, "GLIBC_2.34");
	next_wait = NEXT(pthread_cond_wait, "GLIBC_2.3.2");
	next_broadcast = NEXT(pthread_cond_broadcast, "GLIBC_2.3.2");
	next_signal = NEXT(pthread_cond_signal, "GLIBC_2.3.2");
	next_ppoll = NEXT(ppoll, "GLIBC_2.4");
	next_gettimeofday = NEXT(gettimeofday, "GLIBC_2.2.5");
}

static void mark(void)
{
	const char *path = getenv(mark_variable);
	int file = path ? open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600) : -1;

	if (file >= 0)
		close(file);
}

int pthread_setname_np(pthread_t thread, const char *name)
{
	pthread_once(&found_all, find_all);
	if (pthread_equal(thread, pthread_self()) && strcmp(name, cpus_name) == 0) {
		runs_cpus = 1;
		atomic_store(&cpus_known, 1);
		mark();
	}
	return next_setname(thread, name);
}

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
	int result;

	pthread_once(&found_all, find_all);
	if (!runs_cpus)
		return next_wait(condition, mutex);
	atomic_store(&cpus_condition, condition);
	atomic_store(&cpus_wait, 1);
	syscall(SYS_futex, &cpus_wait, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	result = next_wait(condition, mutex);
	atomic_store(&cpus_wait, 0);
	return result;
}

/* The thread that wakes the CPUs' thread may look again before that has woken up: it does not wait any more from here on. */
static void woken(pthread_cond_t *condition)
{
	if (condition == atomic_load(&cpus_condition))
		atomic_store(&cpus_wait, 0);
}

int pthread_cond_broadcast(pthread_cond_t *condition)
{
	pthread_once(&found_all, find_all);
	woken(condition);
	return next_broadcast(condition);
}

int pthread_cond_signal(pthread_cond_t *condition)
{
	pthread_once(&found_all, find_all);
	woken(condition);
	return next_signal(condition);
}

static void until_cpus_wait(void)
{
	const struct timespec second = { 1, 0 };
	struct timespec now;
	time_t began_s;

	clock_gettime(CLOCK_MONOTONIC, &now);
	began_s = now.tv_sec;
	while (!atomic_load(&cpus_wait) && now.tv_sec - began_s < patience_s) {
		syscall(SYS_futex, &cpus_wait, FUTEX_WAIT_PRIVATE, 0, &second, NULL, 0);
		clock_gettime(CLOCK_MONOTONIC, &now);
	}
}

int ppoll(struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
	int result;

	pthread_once(&found_all, find_all);
	result = next_ppoll(files, count, timeout, mask);
	if (atomic_load(&cpus_known) && getpid() == syscall(SYS_gettid))
		until_cpus_wait();
	return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	pthread_once(&found_all, find_all);
	if (!runs_cpus)
		return next_gettimeofday(now, zone);
	looks_at_time++;
	now->tv_sec = looks_at_time / 1000;
	now->tv_usec = looks_at_time % 1000 * 1000;
	return 0;
}
