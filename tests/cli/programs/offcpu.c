// Sleeps in known functions until its input ends. Most of the time it is in `fetch_order`, a third as often in `store_order`, an
// eighth in `refresh_cache`, seldom in `write_log`. Tools that walk by frame pointers lose `nap`, because the C library has none.
#include <poll.h>
#include <time.h>

// What follows the call keeps it from becoming a jump. The parts keep functions that do the same from being made one.
#define AFTER(part) __asm__ volatile("# " part)

__attribute__((noinline)) void nap(void)
{
	struct timespec time = {0, 1000000};
	nanosleep(&time, NULL);
	AFTER("nap");
}

__attribute__((noinline)) void fetch_order(void) { nap(); AFTER("fetch"); }
__attribute__((noinline)) void store_order(void) { nap(); nap(); nap(); AFTER("store"); }
__attribute__((noinline)) void refresh_cache(void) { nap(); AFTER("refresh"); }
__attribute__((noinline)) void write_log(void) { nap(); AFTER("log"); }

int main(void)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};
	for (long i = 0; !poll(&input, 1, 0); i++) {
		fetch_order();
		if (i % 9 == 0) store_order();
		if (i % 8 == 0) refresh_cache();
		if (i % 100 == 0) write_log();
	}
	return 0;
}
