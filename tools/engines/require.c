/* Whether NVIDIA_REQUIRE_CUDA lets a container start, by libnvidia-container's own comparator: require.sh compiles this
 * with a copy of src/cli/dsl.c of github.com/NVIDIA/libnvidia-container, which is not part of this project. It is asked
 * as that program's configure.c asks it: for one GPU, with the driver and the compute capability as NVML tells them.
 *   require EXPRESSION DRIVER CUDA CAPABILITY    exit status: 0 it starts, 1 it does not, 3 the expression is not read
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* What dsl.c takes from headers of its own. */
struct error { const char *said; };
enum dsl_comparator { EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL };
struct dsl_rule { const char *name; int (*func)(void *, enum dsl_comparator, const char *); };
#define nitems(list) (sizeof(list) / sizeof *(list))
#define error_setx(err, said_, ...) ((err)->said = (said_))
static bool str_case_equal(const char *a, const char *b) { return strcasecmp(a, b) == 0; }
static char *xstrdup(struct error *err, const char *text) { (void)err; return strdup(text); }

#include "dsl.c"

struct host { const char *driver, *cuda, *capability; };

static int driver(void *h, enum dsl_comparator c, const char *v) { return dsl_compare_version(((struct host *)h)->driver, c, v); }
static int cuda(void *h, enum dsl_comparator c, const char *v) { return dsl_compare_version(((struct host *)h)->cuda, c, v); }
static int arch(void *h, enum dsl_comparator c, const char *v) { return dsl_compare_version(((struct host *)h)->capability, c, v); }

int main(int count, char **args)
{
        static const struct dsl_rule rules[] = {{"cuda", cuda}, {"driver", driver}, {"arch", arch}};
        struct error err = {0};

        if (count != 5)
                return 64;
        struct host host = {args[2], args[3], args[4]};
        if (dsl_evaluate(&err, args[1], &host, rules, nitems(rules)) == 0)
                return 0;
        return strcmp(err.said, "invalid expression") ? 1 : 3;
}
