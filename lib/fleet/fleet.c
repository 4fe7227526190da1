/* The connection itself: address and token checked, and the time of its calls added up for the report, so
 * that blame is visible. */
#include "base/text.h"
#include "base/url.h"
#include "fleet/client.h"
#include "fleet/fleet_private.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_token(const char *token, struct err *e)
{
    if (text_is_empty(token))
        return err_set(e, ERR_CONFIG,
                       "no API token: set FLEET_API_TOKEN, or name a file that holds it with --token-file");
    for (const char *at = token; *at != '\0'; at++)
        if (*at <= ' ' || *at > '~')
            return err_set(e, ERR_CONFIG,
                           "the API token holds a character that no token has (a blank, a line end?)");
    return 0;
}

static int set_base(struct fleet *fleet, const char *url, struct err *e)
{
    char shown[URL_TEXT_BYTES];
    if (text_is_empty(url))
        return err_set(e, ERR_CONFIG, "no Fleet server: set FLEET_URL or --fleet-url");
    if (!url_is_prefix(url))
        return err_set(e, ERR_CONFIG, "\"%s\" is no address of a Fleet server (https://fleet.example.com)",
                       url_redact(url, shown, sizeof shown));
    if (strstr(url, "/api/") != NULL)
        return err_set(e, ERR_CONFIG,
                       "\"%s\" goes too far: FLEET_URL is the server's address alone, without /api/…",
                       url_redact(url, shown, sizeof shown));
    size_t length = strlen(url);
    while (length > 0 && url[length - 1] == '/')
        length--;
    if (length + sizeof "/api/v1/fleet" > sizeof fleet->base)
        return err_set(e, ERR_CONFIG, "the Fleet server's address is too long");
    snprintf(fleet->base, sizeof fleet->base, "%.*s/api/v1/fleet", (int)length, url);
    return 0;
}

void fleet_hide_secrets(const struct fleet *fleet, char *text)
{
    static const char mark[] = "***";
    text_replace(text, strrchr(fleet->authorisation, ' ') + 1, mark);
    for (size_t i = 0; i < fleet->secret_count; i++)
        if (strlen(fleet->secrets[i].value) >= strlen(mark)) /* a shorter one could be any part of a word */
            text_replace(text, fleet->secrets[i].value, mark);
}

void fleet_know_secrets(struct fleet *fleet, const struct secret_value *secrets, size_t count)
{
    fleet->secrets = secrets;
    fleet->secret_count = count;
}

struct fleet *fleet_new(const struct fleet_options *options, struct err *e)
{
    static const char prefix[] = "Authorization: Bearer ";
    const char *token = options->settings->fleet_token;
    if (check_token(token, e) < 0)
        return NULL;
    CLEANUP(fleet_cleanup) struct fleet *fleet = calloc(1, sizeof *fleet);
    if (fleet == NULL) {
        err_fill(e, ERR_MEMORY, "out of memory");
        return NULL;
    }
    fleet->options = *options;
    if (set_base(fleet, options->settings->fleet_url, e) < 0)
        return NULL;
    fleet->authorisation = malloc(sizeof prefix + strlen(token));
    if (fleet->authorisation == NULL) {
        err_fill(e, ERR_MEMORY, "out of memory");
        return NULL;
    }
    snprintf(fleet->authorisation, sizeof prefix + strlen(token), "%s%s", prefix, token);
    return TAKE(fleet);
}

void fleet_free(struct fleet *fleet)
{
    if (fleet == NULL)
        return;
    if (fleet->authorisation != NULL)
        explicit_bzero(fleet->authorisation, strlen(fleet->authorisation));
    free(fleet->authorisation);
    free(fleet);
}

void fleet_cleanup(struct fleet **fleet)
{
    fleet_free(*fleet);
    *fleet = NULL;
}

void fleet_begin_commit(struct fleet *fleet)
{
    fleet->in_commit = true;
}

void fleet_end_commit(struct fleet *fleet)
{
    fleet->in_commit = false;
}

bool fleet_is_locked_out(const struct fleet *fleet)
{
    return fleet->is_locked_out;
}

uint64_t fleet_uploaded_bytes(const struct fleet *fleet)
{
    return fleet->uploaded_bytes;
}

void fleet_count_call(struct fleet *fleet, const char *name, int64_t duration_ms)
{
    struct call_statistics *entry = NULL;
    for (size_t i = 0; i < fleet->statistics_count && entry == NULL; i++)
        if (strcmp(fleet->statistics[i].call, name) == 0)
            entry = &fleet->statistics[i];
    if (entry == NULL) {
        if (fleet->statistics_count == MAX_CALL_NAMES)
            return;
        entry = &fleet->statistics[fleet->statistics_count++];
        *entry = (struct call_statistics){.call = name};
    }
    entry->count++;
    entry->total_ms += duration_ms;
    if (duration_ms > entry->longest_ms)
        entry->longest_ms = duration_ms;
}

int fleet_statistics(const struct fleet *fleet, struct arena *arena, struct call_statistics **out,
                     size_t *count, struct err *e)
{
    struct call_statistics *copy = arena_alloc_array(arena, fleet->statistics_count, sizeof *copy, e);
    if (copy == NULL)
        return -1;
    memcpy(copy, fleet->statistics, fleet->statistics_count * sizeof *copy);
    *out = copy;
    *count = fleet->statistics_count;
    return 0;
}
