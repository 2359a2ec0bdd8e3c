/* A second file of the program. */
#include "swtch_span.h"

void other_file(void);

void other_file(void)
{
	struct swtch_span span = swtch_span_begin("\"quoted\"\\\n", "a\tb");

	swtch_span_end(&span);
}
