/* Findings as GitLab's Code Quality report: the subset of the Code Climate format that merge requests show.
 */
#include "base/text.h"
#include "report/page.h"
#include <stdlib.h>
#include <string.h>

/* A finding about no file stands at the repository itself: the format wants a path and a line. */
static json_t *location_of(const struct place *place, bool *failed)
{
    json_t *lines = json_object();
    json_put(lines, "begin", json_integer(place->line > 0 ? place->line : 1), failed);
    json_t *location = json_object();
    json_put(location, "path", json_text(place->file == NULL ? "." : place->file), failed);
    json_put(location, "lines", lines, failed);
    return location;
}

static json_t *description_of(const struct diagnostic *diagnostic)
{
    char *text = finding_message(diagnostic, " (", ")");
    json_t *value = text == NULL ? NULL : json_text(text);
    free(text);
    return value;
}

int gitlab_diagnostics(const struct desired *desired, const struct report_style *style, struct buf *out,
                       struct err *e)
{
    char(*hex)[DIGEST_HEX_BYTES] = NULL;
    bool failed = false;
    (void)style;
    if (fingerprints(desired, &hex, e) < 0)
        return -1;
    json_t *document = json_array();
    for (size_t i = 0; i < desired->diagnostic_count; i++) {
        const struct diagnostic *diagnostic = &desired->diagnostics[i];
        json_t *value = json_object();
        json_put(value, "description", description_of(diagnostic), &failed);
        json_put(value, "check_name", json_string(rule_name(diagnostic->rule)), &failed);
        json_put(value, "fingerprint", json_string(hex[i]), &failed);
        json_put(value, "severity", json_string(diagnostic->severity == DIAGNOSTIC_ERROR ? "major" : "minor"),
                 &failed);
        json_put(value, "location", location_of(&diagnostic->place, &failed), &failed);
        json_add(document, value, &failed);
    }
    free(hex);
    return json_write(document, failed, out, e);
}
