/* All that a finding says as one text, for formats that have a single field for it. */
#include "base/text.h"
#include "report/page.h"
#include <stdlib.h>
#include <string.h>

char *finding_message(const struct diagnostic *diagnostic, const char *before, const char *after)
{
    const char *const more[] = {diagnostic->trail, diagnostic->advice};
    size_t length = strlen(diagnostic->text) + 1;
    for (size_t i = 0; i < ARRAY_LENGTH(more); i++)
        length += text_is_empty(more[i]) ? 0 : strlen(before) + strlen(more[i]) + strlen(after);
    char *message = malloc(length);
    if (message == NULL)
        return NULL;
    char *end = stpcpy(message, diagnostic->text);
    for (size_t i = 0; i < ARRAY_LENGTH(more); i++)
        if (!text_is_empty(more[i]))
            end = stpcpy(stpcpy(stpcpy(end, before), more[i]), after);
    return message;
}
