/* Findings as SARIF 2.1.0 (OASIS), which code scanning services and editors read. */
#include "base/text.h"
#include "report/page.h"
#include <stdlib.h>
#include <string.h>

/* A path as a relative URI reference (RFC 3986). NULL when out of memory. */
static json_t *uri_of(const char *path)
{
    static const char hex[] = "0123456789ABCDEF";
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
    char *uri = malloc(strlen(path) * 3 + 1);
    if (uri == NULL)
        return NULL;
    char *end = uri;
    for (; *path != '\0'; path++) {
        unsigned char byte = (unsigned char)*path;
        if (strchr(plain, byte) != NULL) {
            *end++ = (char)byte;
            continue;
        }
        *end++ = '%';
        *end++ = hex[byte >> 4];
        *end++ = hex[byte & 15];
    }
    *end = '\0';
    json_t *value = json_string(uri);
    free(uri);
    return value;
}

static json_t *text_object(const char *text, bool *failed)
{
    json_t *value = json_object();
    json_put(value, "text", json_text(text), failed);
    return value;
}

static json_t *message_of(const struct diagnostic *diagnostic, bool *failed)
{
    char *text = finding_message(diagnostic, "\n", "");
    json_t *value = text_object(text, failed);
    *failed = *failed || text == NULL;
    free(text);
    return value;
}

static json_t *region_of(const struct diagnostic *diagnostic, bool *failed)
{
    json_t *region = json_object();
    json_put(region, "startLine", json_integer(diagnostic->place.line), failed);
    if (diagnostic->place.column > 0)
        json_put(region, "startColumn", json_integer(diagnostic->place.column), failed);
    if (diagnostic->excerpt != NULL)
        json_put(region, "snippet", text_object(diagnostic->excerpt, failed), failed);
    return region;
}

/* `region` is taken over; NULL: the file as a whole. */
static json_t *location_of(const struct place *place, json_t *region, bool *failed)
{
    json_t *artifact = json_object();
    json_t *physical = json_object();
    json_t *location = json_object();
    json_put(artifact, "uri", uri_of(place->file), failed);
    json_put(artifact, "uriBaseId", json_string("%SRCROOT%"), failed);
    json_put(physical, "artifactLocation", artifact, failed);
    if (region != NULL)
        json_put(physical, "region", region, failed);
    json_put(location, "physicalLocation", physical, failed);
    return location;
}

/* What is about no file is about the repository: GitHub refuses a whole report for one result without a
 * place. */
static json_t *locations_of(const struct diagnostic *diagnostic, bool *failed)
{
    static const struct place root = {.file = "."};
    json_t *locations = json_array();
    const struct place *place = diagnostic->place.file == NULL ? &root : &diagnostic->place;
    json_add(locations, location_of(place, place->line > 0 ? region_of(diagnostic, failed) : NULL, failed),
             failed);
    return locations;
}

/* Who names the file. */
static json_t *related_of(const struct diagnostic *diagnostic, bool *failed)
{
    json_t *locations = json_array();
    for (size_t i = 0; i < diagnostic->related_count && i < RELATED_MOST; i++) {
        json_t *region = json_object();
        json_put(region, "startLine", json_integer(diagnostic->related[i].line), failed);
        json_add(locations, location_of(&diagnostic->related[i], region, failed), failed);
    }
    return locations;
}

static const char *level_of(enum diagnostic_severity severity)
{
    return severity == DIAGNOSTIC_ERROR ? "error" : "warning";
}

static json_t *result_of(const struct diagnostic *diagnostic, const char *fingerprint, bool *failed)
{
    json_t *result = json_object();
    json_t *partial = json_object();
    json_put(partial, "tender/v1", json_string(fingerprint), failed);
    json_put(result, "ruleId", json_string(rule_name(diagnostic->rule)), failed);
    json_put(result, "ruleIndex", json_integer(diagnostic->rule), failed);
    json_put(result, "level", json_string(level_of(diagnostic->severity)), failed);
    json_put(result, "message", message_of(diagnostic, failed), failed);
    json_put(result, "locations", locations_of(diagnostic, failed), failed);
    if (diagnostic->related_count > 0)
        json_put(result, "relatedLocations", related_of(diagnostic, failed), failed);
    json_put(result, "partialFingerprints", partial, failed);
    return result;
}

static json_t *rule_value(enum rule rule, bool *failed)
{
    json_t *value = json_object();
    json_t *configuration = json_object();
    json_put(value, "id", json_string(rule_name(rule)), failed);
    json_put(value, "shortDescription", text_object(rule_description(rule), failed), failed);
    json_put(configuration, "level", json_string(level_of(rule_severity(rule))), failed);
    json_put(value, "defaultConfiguration", configuration, failed);
    return value;
}

static json_t *tool(const struct report_style *style, bool *failed)
{
    json_t *rules = json_array();
    for (int i = 0; i < RULE_COUNT; i++)
        json_add(rules, rule_value((enum rule)i, failed), failed);
    json_t *driver = json_object();
    json_put(driver, "name", json_string("tender"), failed);
    if (!text_is_empty(style->tender_version))
        json_put(driver, "version", json_text(style->tender_version), failed);
    json_put(driver, "rules", rules, failed);
    json_t *value = json_object();
    json_put(value, "driver", driver, failed);
    return value;
}

int sarif_diagnostics(const struct desired *desired, const struct report_style *style, struct buf *out,
                      struct err *e)
{
    char(*hex)[DIGEST_HEX_BYTES] = NULL;
    bool failed = false;
    if (fingerprints(desired, &hex, e) < 0)
        return -1;
    json_t *results = json_array();
    for (size_t i = 0; i < desired->diagnostic_count; i++)
        json_add(results, result_of(&desired->diagnostics[i], hex[i], &failed), &failed);
    free(hex);
    json_t *run = json_object();
    json_put(run, "tool", tool(style, &failed), &failed);
    json_put(run, "columnKind", json_string("unicodeCodePoints"), &failed);
    json_put(run, "results", results, &failed);
    json_t *runs = json_array();
    json_add(runs, run, &failed);
    json_t *document = json_object();
    json_put(document, "$schema", json_string("https://json.schemastore.org/sarif-2.1.0.json"), &failed);
    json_put(document, "version", json_string("2.1.0"), &failed);
    json_put(document, "runs", runs, &failed);
    return json_write(document, failed, out, e);
}
