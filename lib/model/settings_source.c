/* Which rule of tender.yml's `sources` holds for a URL: decides who gets credentials. */
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
 */
static size_t prefix_match(const char *prefix, const char *url)
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
    if (strcmp(prefix_path, "/") == 0 || length == 0)
        return 1;
    if (strncmp(prefix_path, path, length) != 0 || has_dot_segment(path))
        return 0;
    bool at_boundary = prefix_path[length - 1] == '/' || strchr("/?#", path[length]) != NULL;
    return at_boundary ? length + 1 : 0;
}

const struct source_rule *settings_source_for(const struct settings *settings, const char *url)
{
    const struct source_rule *best = NULL;
    size_t best_length = 0;
    for (size_t i = 0; i < settings->source_count; i++) {
        size_t length = prefix_match(settings->sources[i].prefix, url);
        if (length > best_length) {
            best_length = length;
            best = &settings->sources[i];
        }
    }
    return best;
}
