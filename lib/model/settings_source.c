/* Which rules of tender.yml hold for a URL: who gets credentials, what may be fetched at all, and where else
 * it lies. */
#include "base/url.h"
#include "model/settings.h"
#include <string.h>
#include <strings.h>

/* "/private/../public": what the server is asked for is not what stands there. "%2e" is a dot too. */
static bool has_dot_segment(const char *path)
{
    const char *end = path + strcspn(path, "?#");
    for (const char *slash = path; slash < end; slash++) {
        if (*slash != '/')
            continue;
        const char *at = slash + 1;
        int dots = 0;
        while (at < end && (*at == '.' || strncasecmp(at, "%2e", 3) == 0)) {
            at += *at == '.' ? 1 : 3;
            dots++;
        }
        if ((dots == 1 || dots == 2) && (at == end || *at == '/'))
            return true;
    }
    return false;
}

/* A prefix holds for a URL only if scheme, host and port are the same and the path continues at a boundary,
 * so that https://example.com never lends its credentials to https://example.com.evil.org, nor /a to /a/../b.
 * 0: it does not; else the longer the better. `*rest` is what the URL has behind the prefix. */
static size_t prefix_match(const char *prefix, const char *url, const char **rest)
{
    char prefix_host[URL_HOST_BYTES], host[URL_HOST_BYTES];
    size_t scheme = strcspn(prefix, ":");
    if (strncasecmp(prefix, url, scheme) != 0 || url[scheme] != ':' ||
        url_host(prefix, prefix_host, sizeof prefix_host)[0] == '\0' ||
        strcmp(prefix_host, url_host(url, host, sizeof host)) != 0)
        return 0;
    const char *prefix_path = prefix + scheme + 3 + strcspn(prefix + scheme + 3, "/?#");
    const char *path = url + scheme + 3 + strcspn(url + scheme + 3, "/?#");
    size_t length = strlen(prefix_path);
    *rest = path;
    if (strcmp(prefix_path, "/") == 0 || length == 0)
        return 1;
    if (strncmp(prefix_path, path, length) != 0 || has_dot_segment(path))
        return 0;
    *rest = path + length;
    bool at_boundary = prefix_path[length - 1] == '/' || strchr("/?#", path[length]) != NULL;
    return at_boundary ? length + 1 : 0;
}

const struct source_rule *settings_source_for(const struct settings *settings, const char *url)
{
    const struct source_rule *best = NULL;
    const char *rest;
    size_t best_length = 0;
    for (size_t i = 0; i < settings->source_count; i++) {
        size_t length = prefix_match(settings->sources[i].prefix, url, &rest);
        if (length > best_length) {
            best_length = length;
            best = &settings->sources[i];
        }
    }
    return best;
}

bool settings_allows_source(const struct settings *settings, const char *url)
{
    const char *rest;
    for (size_t i = 0; i < settings->allowed_sources.count; i++)
        if (prefix_match(settings->allowed_sources.items[i], url, &rest) > 0)
            return true;
    return !settings->allowed_sources.is_set;
}

static const struct mirror_rule *mirror_rule_for(const struct settings *settings, const char *url,
                                                 const char **rest)
{
    const struct mirror_rule *best = NULL;
    const char *candidate;
    size_t best_length = 0;
    for (size_t i = 0; i < settings->mirror_count; i++) {
        size_t length = prefix_match(settings->mirrors[i].prefix, url, &candidate);
        if (length > best_length) {
            best_length = length;
            best = &settings->mirrors[i];
            *rest = candidate;
        }
    }
    return best;
}

int settings_mirrors_for(const struct settings *settings, const char *url, struct arena *arena,
                         struct string_list *out, struct err *e)
{
    const char *rest = NULL;
    const struct mirror_rule *rule = mirror_rule_for(settings, url, &rest);
    if (rule == NULL) {
        *out = (struct string_list){.is_set = false};
        return 0;
    }
    const char **urls = arena_alloc_array(arena, rule->replacements.count, sizeof *urls, e);
    if (urls == NULL)
        return -1;
    for (size_t i = 0; i < rule->replacements.count; i++) {
        const char *replacement = rule->replacements.items[i];
        size_t length = strlen(replacement);
        bool has_slash = length > 0 && replacement[length - 1] == '/';
        bool needs_slash = !has_slash && strchr("/?#", rest[0]) == NULL; /* "" needs none */
        urls[i] = arena_printf(arena, e, "%s%s%s", replacement, needs_slash ? "/" : "",
                               has_slash && rest[0] == '/' ? rest + 1 : rest);
        if (urls[i] == NULL)
            return -1;
    }
    *out = (struct string_list){.is_set = true, .count = rule->replacements.count, .items = urls};
    return 0;
}
