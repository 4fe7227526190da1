/* Redirects are followed hop by hop; here is decided what a hop may take along. */
#include "fetch/origin.h"
#include "base/url.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool origin_is_https(const char *url)
{
    return strncasecmp(url, "https://", 8) == 0;
}

bool origin_is_same(const char *a, const char *b)
{
    char host_a[URL_HOST_BYTES], host_b[URL_HOST_BYTES];
    return origin_is_https(a) == origin_is_https(b) && url_is_http(a) && url_is_http(b) &&
           strcmp(url_host(a, host_a, sizeof host_a), url_host(b, host_b, sizeof host_b)) == 0 &&
           host_a[0] != '\0';
}

/* Where the userinfo begins, and its length with the "@"; 0 if there is none. */
static size_t find_userinfo(const char *url, const char **start)
{
    *start = url;
    const char *marker = strstr(url, "://");
    if (marker == NULL)
        return 0;
    *start = marker + 3;
    const char *at = memrchr(*start, '@', strcspn(*start, "/?#\\"));
    return at == NULL ? 0 : (size_t)(at - *start) + 1;
}

bool origin_has_userinfo(const char *url)
{
    const char *start;
    return find_userinfo(url, &start) > 0;
}

char *origin_carry_userinfo(const char *from, const char *target)
{
    const char *userinfo, *behind_scheme;
    size_t length = find_userinfo(from, &userinfo);
    if (length == 0 || !origin_is_same(from, target) || find_userinfo(target, &behind_scheme) > 0)
        return strdup(target);
    char *carried = NULL;
    if (asprintf(&carried, "%.*s%.*s%s", (int)(behind_scheme - target), target, (int)length, userinfo,
                 behind_scheme) < 0)
        return NULL;
    return carried;
}
