/* curl's rule for proxies, kept here because libgit2 has another one: it takes names in no_proxy exactly
 * only, and knows no all_proxy. HTTP_PROXY in upper case counts too: curl leaves it out for programs that a
 * web server starts with a client's headers in the environment, and this is none. */
#include "net/proxy.h"
#include "base/attributes.h"
#include "base/text.h"
#include "base/url.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ADDRESS_BYTES = 16, DEFAULT_PORT = 1080, DEFAULT_TLS_PORT = 443 };

/* The first that is set and not empty. */
static const char *variable(const char *const names[2])
{
    for (int i = 0; i < 2; i++) {
        const char *value = getenv(names[i]);
        if (!text_is_empty(value))
            return value;
    }
    return NULL;
}

/* Of either family; 0: it is none. */
static size_t parse_address(const char *text, unsigned char out[ADDRESS_BYTES])
{
    if (inet_pton(AF_INET, text, out) == 1)
        return 4;
    return inet_pton(AF_INET6, text, out) == 1 ? ADDRESS_BYTES : 0;
}

static bool shares_bits(const unsigned char *a, const unsigned char *b, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;
    return memcmp(a, b, whole) == 0 && (rest == 0 || ((a[whole] ^ b[whole]) >> (8 - rest)) == 0);
}

/* `pattern`: an address, or a block of them. */
static bool address_matches(const unsigned char *address, size_t length, char *pattern)
{
    unsigned char other[ADDRESS_BYTES];
    char *slash = strchr(pattern, '/'), *end = NULL;
    unsigned long bits = length * 8;
    if (slash != NULL) {
        *slash = '\0';
        bits = strtoul(slash + 1, &end, 10);
        if (end == slash + 1 || *end != '\0' || bits > length * 8)
            return false;
    }
    return parse_address(pattern, other) == length && shares_bits(address, other, (unsigned)bits);
}

static bool name_matches(const char *host, const char *pattern)
{
    pattern += pattern[0] == '.';
    size_t host_length = strlen(host), length = strlen(pattern);
    if (length == 0 || length > host_length || strcasecmp(host + host_length - length, pattern) != 0)
        return false;
    return length == host_length || host[host_length - length - 1] == '.';
}

static void drop_last(char *text, char character)
{
    size_t length = strlen(text);
    if (length > 0 && text[length - 1] == character)
        text[length - 1] = '\0';
}

/* Without port, brackets and a dot at the end. */
static void host_of(const char *url, char out[URL_HOST_BYTES])
{
    char host[URL_HOST_BYTES];
    url_host(url, host, sizeof host);
    char *port = strrchr(host, ':');
    if (port != NULL)
        *port = '\0';
    drop_last(host, ']');
    drop_last(host, '.');
    snprintf(out, URL_HOST_BYTES, "%s", host[0] == '[' ? host + 1 : host);
}

bool proxy_excepts(const char *no_proxy, const char *url)
{
    char host[URL_HOST_BYTES], pattern[URL_HOST_BYTES];
    unsigned char address[ADDRESS_BYTES];
    if (no_proxy == NULL)
        return false;
    host_of(url, host);
    size_t address_length = parse_address(host, address);
    for (const char *at = no_proxy; *at != '\0';) {
        at += strspn(at, ", \t");
        size_t length = strcspn(at, ", \t");
        const char *from = at[0] == '[' ? at + 1 : at;
        snprintf(pattern, sizeof pattern, "%.*s", (int)(length - (size_t)(from - at)), from);
        drop_last(pattern, ']');
        drop_last(pattern, '.');
        at += length;
        if (strcmp(pattern, "*") == 0)
            return true;
        if (address_length > 0 ? address_matches(address, address_length, pattern)
                               : name_matches(host, pattern))
            return true;
    }
    return false;
}

static bool has_port(const char *authority, size_t length)
{
    const char *at = memrchr(authority, '@', length);
    const char *host = at == NULL ? authority : at + 1;
    size_t rest = length - (size_t)(host - authority);
    const char *colon = memrchr(host, ':', rest), *bracket = memrchr(host, ']', rest);
    return colon != NULL && (bracket == NULL || colon > bracket);
}

static bool has_digits_for_port(const char *authority, size_t length)
{
    const char *end = authority + length;
    const char *at = memrchr(authority, '@', length);
    const char *host = at == NULL ? authority : at + 1;
    const char *bracket = memrchr(host, ']', (size_t)(end - host));
    const char *from = bracket == NULL ? host : bracket;
    const char *colon = memchr(from, ':', (size_t)(end - from));
    return colon == NULL || colon + 1 + strspn(colon + 1, "0123456789") >= end;
}

/* A login with a character that ends it elsewhere: part of the password would pass for the proxy's name, be
 * looked up and be shown. */
static bool is_unclear(const char *authority, size_t length)
{
    const char *at = strchr(authority, '@');
    bool has_late_at = at != NULL && (at >= authority + length || strchr(at + 1, '@') != NULL);
    return has_late_at || !has_digits_for_port(authority, length) || strchr(authority, '\\') != NULL;
}

/* With the scheme and the port that curl would take. */
static int complete(const char *proxy, char **out, struct err *e)
{
    const char *marker = strstr(proxy, "://");
    const char *authority = marker == NULL ? proxy : marker + 3;
    int scheme_length = marker == NULL ? 4 : (int)(marker - proxy);
    size_t length = strcspn(authority, "/?#");
    int port = strncasecmp(proxy, "https://", 8) == 0 ? DEFAULT_TLS_PORT : DEFAULT_PORT;
    char port_text[16] = "";
    if (is_unclear(authority, length))
        return err_set(
            e, ERR_CONFIG,
            "the proxy in the environment can't be read: it should be http://user:password@host:port, "
            "with @ : / ? # in user and password written as %%40 %%3A %%2F %%3F %%23");
    if (!has_port(authority, length))
        snprintf(port_text, sizeof port_text, ":%d", port);
    if (asprintf(out, "%.*s://%.*s%s", scheme_length, marker == NULL ? "http" : proxy, (int)length, authority,
                 port_text) < 0) {
        *out = NULL;
        return err_set(e, ERR_MEMORY, "out of memory");
    }
    return 0;
}

int proxy_for(const char *url, char **out, struct err *e)
{
    static const char *const for_http[] = {"http_proxy", "HTTP_PROXY"};
    static const char *const for_https[] = {"https_proxy", "HTTPS_PROXY"};
    static const char *const for_all[] = {"all_proxy", "ALL_PROXY"}, *const none[] = {"no_proxy", "NO_PROXY"};
    *out = NULL;
    bool is_https = strncasecmp(url, "https://", 8) == 0;
    if (!is_https && strncasecmp(url, "http://", 7) != 0)
        return 0;
    const char *proxy = variable(is_https ? for_https : for_http);
    if (proxy == NULL)
        proxy = variable(for_all);
    if (proxy == NULL || proxy_excepts(variable(none), url))
        return 0;
    return complete(proxy, out, e);
}

bool proxy_speaks_http(const char *proxy)
{
    return strncasecmp(proxy, "http://", 7) == 0 || strncasecmp(proxy, "https://", 8) == 0;
}
