/* Marks spans as a program would: in blocks, in threads, in a child, with texts that JSON must escape. */
#include "swtch_span.h"
#include <pthread.h>
#include <sys/wait.h>

void other_file(void);

static void *work(void *of)
{
	int i;

	for (i = 0; i < 5000; i++) {
		char id[16];

		snprintf(id, sizeof(id), "%d", i);
		SWTCH_SPAN((const char *)of, id);
	}
	return NULL;
}

int main(void)
{
	struct swtch_span outer = swtch_span_begin("outer", NULL);
	pthread_t threads[2];
	int i;

	for (i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, (void *)"inner");
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	other_file();
	if (fork() == 0) {
		{
			SWTCH_SPAN("child", NULL);
		}
		swtch_span_end(&outer);
		exit(0);
	}
	wait(NULL);
	swtch_span_end(&outer);
	swtch_span_end(&outer);
	return 0;
}
