/* What tells one finding from another over time, for programs that keep a list of those that are known. */
#include "base/text.h"
#include "report/page.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A text with its end, so that no two lists of texts are the same bytes. */
static int add(struct digest *digest, const char *text, struct err *e)
{
    return digest_update(digest, text == NULL ? "" : text, text == NULL ? 1 : strlen(text) + 1, e);
}

/* Without the numbers of lines that the text names ("in line 4", "teams/a.yml:7"): those move. */
static int add_message(struct digest *digest, const char *text, struct err *e)
{
    static const char line[] = "line ";
    const char *from = text;
    for (const char *at = text; *at != '\0';) {
        size_t digits = strspn(at, "0123456789");
        bool is_number = digits > 0 && at > text &&
                         (at[-1] == ':' || ((size_t)(at - text) >= sizeof line - 1 &&
                                            memcmp(at - (sizeof line - 1), line, sizeof line - 1) == 0));
        if (is_number && digest_update(digest, from, (size_t)(at - from), e) < 0)
            return -1;
        at += digits > 0 ? digits : 1;
        from = is_number ? at : from;
    }
    return add(digest, from, e);
}

static int digest_of(struct digest *digest, const struct diagnostic *diagnostic, size_t nth,
                     char hex[DIGEST_HEX_BYTES], struct err *e)
{
    char number[32];
    snprintf(number, sizeof number, "%zu", nth);
    if (digest_restart(digest, e) < 0 || add(digest, rule_name(diagnostic->rule), e) < 0 ||
        add(digest, diagnostic->place.file, e) < 0 || add_message(digest, diagnostic->text, e) < 0 ||
        add(digest, diagnostic->excerpt, e) < 0 || add(digest, nth == 0 ? "" : number, e) < 0)
        return -1;
    return digest_finish(digest, hex, e);
}

struct numbered {
    const char *hex; /* without its number among those that say the same */
    size_t index;
};

static int compare(const void *a, const void *b)
{
    const struct numbered *left = a;
    const struct numbered *right = b;
    int order = memcmp(left->hex, right->hex, DIGEST_HEX_BYTES);
    return order != 0 ? order : (left->index > right->index) - (left->index < right->index);
}

/* Those that say the same get a number each, in their order in the file. */
static int number_equals(const struct desired *desired, struct digest *digest, char (*hex)[DIGEST_HEX_BYTES],
                         struct err *e)
{
    size_t count = desired->diagnostic_count;
    struct numbered *sorted = calloc(count + 1, sizeof *sorted);
    size_t *nth = calloc(count + 1, sizeof *nth);
    int result = sorted == NULL || nth == NULL ? err_set(e, ERR_MEMORY, "out of memory") : 0;
    if (result == 0) {
        for (size_t i = 0; i < count; i++)
            sorted[i] = (struct numbered){.hex = hex[i], .index = i};
        qsort(sorted, count, sizeof *sorted, compare);
        for (size_t i = 1; i < count; i++)
            if (memcmp(sorted[i - 1].hex, sorted[i].hex, DIGEST_HEX_BYTES) == 0)
                nth[sorted[i].index] = nth[sorted[i - 1].index] + 1;
        for (size_t i = 0; i < count && result == 0; i++)
            if (nth[i] > 0)
                result = digest_of(digest, &desired->diagnostics[i], nth[i], hex[i], e);
    }
    free(sorted);
    free(nth);
    return result;
}

int fingerprints(const struct desired *desired, char (**hex)[DIGEST_HEX_BYTES], struct err *e)
{
    CLEANUP(digest_cleanup) struct digest *digest = digest_new(e);
    if (digest == NULL)
        return -1;
    *hex = calloc(desired->diagnostic_count + 1, sizeof **hex);
    if (*hex == NULL)
        return err_set(e, ERR_MEMORY, "out of memory");
    int result = 0;
    for (size_t i = 0; i < desired->diagnostic_count && result == 0; i++)
        result = digest_of(digest, &desired->diagnostics[i], 0, (*hex)[i], e);
    if (result == 0)
        result = number_equals(desired, digest, *hex, e);
    if (result < 0) {
        free(*hex);
        *hex = NULL;
    }
    return result;
}
