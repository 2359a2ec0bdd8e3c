// Switches in known functions: stacks ROUNDS. `culprit` sleeps ROUNDS times, `minor` a tenth as often, and two threads hand a byte to and fro in `hand_over`.
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int there[2], back[2];
static long rounds;

// What follows the call keeps it from becoming a jump.
#define AFTER __asm__ volatile("")

// Different times: functions that do the same may be made one.
__attribute__((noinline)) void culprit(void)
{
	struct timespec time = {0, 200000};
	nanosleep(&time, NULL);
	AFTER;
}

__attribute__((noinline)) void minor(void)
{
	struct timespec time = {0, 300000};
	nanosleep(&time, NULL);
	AFTER;
}

__attribute__((noinline)) void hand_over(int from, int to, int first)
{
	char byte = 0;
	for (long i = 0; i < rounds / 2; i++) {
		if (first && write(to, &byte, 1) != 1) abort();
		if (read(from, &byte, 1) != 1) abort();
		if (!first && write(to, &byte, 1) != 1) abort();
	}
	AFTER;
}

static void *other(void *unused) { (void)unused; hand_over(there[0], back[1], 0); return NULL; }

int main(int count, char **words)
{
	pthread_t thread;
	rounds = count > 1 ? atol(words[1]) : 100;
	for (long i = 0; i < rounds; i++) {
		culprit();
		if (i % 10 == 0) minor();
	}
	if (pipe(there) || pipe(back) || pthread_create(&thread, NULL, other, NULL)) return 1;
	hand_over(back[0], there[1], 1);
	return pthread_join(thread, NULL);
}
