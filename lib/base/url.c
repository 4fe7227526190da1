/* URLs as people may see them: every message, log line and report passes them through here. */
#include "base/url.h"
#include "base/text.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { URL_LONGEST_BYTES = 8192, PORT_LARGEST = 65535 };

struct parts {
    const char *scheme;
    size_t scheme_length;
    const char *host; /* without userinfo, with port */
    size_t host_length;
    bool has_userinfo;
    const char *path;
    size_t path_length;
    bool has_query;
};

static bool split(const char *url, struct parts *parts)
{
    *parts = (struct parts){.scheme = url};
    const char *marker = strstr(url, "://");
    size_t scheme_end = strcspn(url, ":/?#@");
    if (marker == NULL || marker != url + scheme_end || scheme_end == 0)
        return false;
    parts->scheme_length = scheme_end;
    const char *authority = marker + 3;
    size_t length = strcspn(authority, "/?#\\");
    parts->path = authority + length;
    const char *at = memrchr(authority, '@', length);
    parts->has_userinfo = at != NULL;
    parts->host = at != NULL ? at + 1 : authority;
    parts->host_length = (size_t)(parts->path - parts->host);
    parts->path_length = strcspn(parts->path, "?#");
    parts->has_query = parts->path[parts->path_length] == '?';
    return true;
}

/* Where the text for people grows; cut at the end by text_printable(). */
struct writer {
    char text[URL_LONGEST_BYTES];
    size_t used;
};

static void put(struct writer *writer, const char *text, size_t length)
{
    size_t room = sizeof writer->text - writer->used;
    if (length > room)
        length = room;
    memcpy(writer->text + writer->used, text, length);
    writer->used += length;
}

static void put_text(struct writer *writer, const char *text)
{
    put(writer, text, strlen(text));
}

/* A path segment like "user:password@host" comes from a URL within the URL (a proxy's or a mirror's). */
static void put_path(struct writer *writer, const char *path, size_t length)
{
    while (length > 0) {
        size_t segment = 0;
        while (segment < length && path[segment] != '/')
            segment++;
        const char *at = memrchr(path, '@', segment);
        const char *colon = memchr(path, ':', segment);
        bool has_password = at != NULL && colon != NULL && colon < at;
        if (has_password) {
            put_text(writer, "***");
            put(writer, at, segment - (size_t)(at - path));
        } else {
            put(writer, path, segment);
        }
        path += segment;
        length -= segment;
        if (length > 0) {
            put(writer, path, 1);
            path++;
            length--;
        }
    }
}

/* A port of something else than digits: a password with an unescaped '/', '?' or '#' in it looks like that.
 */
static bool has_odd_port(const struct parts *parts)
{
    const char *end = parts->host + parts->host_length;
    const char *bracket = memrchr(parts->host, ']', parts->host_length);
    const char *from = bracket != NULL ? bracket : parts->host;
    const char *colon = memchr(from, ':', (size_t)(end - from));
    if (colon == NULL)
        return false;
    for (const char *digit = colon + 1; digit < end; digit++)
        if (!isdigit((unsigned char)*digit))
            return true;
    return false;
}

/* "user:12#34@host": no path, and an '@' behind what ends the authority. */
static bool has_cut_userinfo(const struct parts *parts)
{
    return (*parts->path == '?' || *parts->path == '#') && strchr(parts->path, '@') != NULL;
}

/* No "scheme://": "user:password@host/…" as in scp-like Git addresses still loses a password; "git@host:path"
 * is everybody's, and a path is no address. */
static void put_schemeless(struct writer *writer, const char *text)
{
    size_t end = strcspn(text, "?#");
    bool is_path =
        (text[0] == '/' && text[1] != '/') || text_starts_with(text, "./") || text_starts_with(text, "../");
    size_t user_length = strcspn(text, "/:?#");
    const char *first = memchr(text, '@', end);
    const char *last = memrchr(text, '@', end);
    const char *colon = memchr(text, ':', end);
    bool has_password = first != NULL && colon != NULL && colon < first;
    bool has_user = first != NULL && (size_t)(first - text) < user_length && !text_starts_with(text, "git@");
    if (is_path || (!has_password && !has_user)) {
        put(writer, text, end);
    } else {
        const char *at = has_password ? last : memrchr(text, '@', user_length);
        put_text(writer, "***");
        put(writer, at, end - (size_t)(at - text));
    }
}

const char *url_redact(const char *url, char *out, size_t size)
{
    struct writer writer; /* its text is not zeroed: every item of a plan comes by here */
    struct parts parts;
    writer.used = 0;
    if (!split(url, &parts)) {
        put_schemeless(&writer, url);
        if (url[strcspn(url, "?#")] == '?')
            put_text(&writer, "?…");
        return text_printable(writer.text, writer.used, '?', out, size);
    }
    bool is_file = parts.scheme_length == 4 && strncasecmp(parts.scheme, "file", 4) == 0;
    put(&writer, url, parts.scheme_length + 3);
    /* Not to be taken apart with certainty: then nothing of it is shown. */
    bool has_late_at = (parts.has_userinfo && strchr(parts.path, '@') != NULL) || has_cut_userinfo(&parts);
    bool has_no_host = parts.host_length == 0 && url[parts.scheme_length + 3] != '\0';
    if (!is_file && (has_no_host || has_odd_port(&parts) || has_late_at)) {
        put_text(&writer, "***");
        return text_printable(writer.text, writer.used, '?', out, size);
    }
    if (parts.has_userinfo)
        put_text(&writer, "***@");
    put(&writer, parts.host, parts.host_length);
    put_path(&writer, parts.path, parts.path_length);
    if (parts.has_query)
        put_text(&writer, "?…");
    return text_printable(writer.text, writer.used, '?', out, size);
}

/* An authority that two readers may read differently has no host for us: nothing is lent to it. */
static bool is_ambiguous(const struct parts *parts)
{
    const char *authority = parts->scheme + parts->scheme_length + 3;
    bool has_colon = memchr(authority, ':', (size_t)(parts->path - authority)) != NULL;
    if (*parts->path == '\\' || (has_cut_userinfo(parts) && (has_colon || parts->has_userinfo)))
        return true;
    for (const char *at = authority; at < parts->path; at++)
        if ((unsigned char)*at <= 0x20 || *at == 0x7F)
            return true;
    return false;
}

static bool scheme_is(const struct parts *parts, const char *scheme)
{
    return parts->scheme_length == strlen(scheme) &&
           strncasecmp(parts->scheme, scheme, parts->scheme_length) == 0;
}

const char *url_host(const char *url, char *out, size_t size)
{
    struct parts parts;
    out[0] = '\0';
    if (!split(url, &parts) || parts.host_length == 0 || parts.host[0] == ':' || is_ambiguous(&parts) ||
        parts.host_length + 7 >= size)
        return out;
    for (size_t i = 0; i < parts.host_length; i++)
        out[i] = (char)tolower((unsigned char)parts.host[i]);
    out[parts.host_length] = '\0';
    const char *bracket = strrchr(out, ']');
    char *colon = strchr(bracket != NULL ? bracket : out, ':');
    if (colon != NULL && colon[1] != '\0')
        return out;
    if (colon != NULL) /* "host:" */
        *colon = '\0';
    strcat(out, scheme_is(&parts, "https") ? ":443" : scheme_is(&parts, "ssh") ? ":22" : ":80");
    return out;
}

static int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    int letter = tolower((unsigned char)digit);
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

const char *url_file_name(const char *url, char *out, size_t size)
{
    char decoded[URL_LONGEST_BYTES];
    struct parts parts;
    out[0] = '\0';
    if (!split(url, &parts) || parts.path_length == 0)
        return out;
    const char *slash = memrchr(parts.path, '/', parts.path_length);
    const char *name = slash == NULL ? parts.path : slash + 1;
    const char *end = parts.path + parts.path_length;
    if (memchr(name, '%', (size_t)(end - name)) == NULL && memchr(name, '\\', (size_t)(end - name)) == NULL)
        return text_printable(name, (size_t)(end - name), '_', out, size); /* most are so */
    size_t used = 0;
    while (name < end && used < sizeof decoded) {
        int high = *name == '%' && end - name > 2 ? hex_value(name[1]) : -1;
        int low = high >= 0 ? hex_value(name[2]) : -1;
        char byte = low >= 0 ? (char)(high * 16 + low) : *name;
        name += low >= 0 ? 3 : 1;
        decoded[used++] = byte == '/' || byte == '\\' ? '_' : byte;
    }
    return text_printable(decoded, used, '_', out, size);
}

/* No port, "host:" (RFC 3986 3.2.3 allows it), or 1 to 65535. */
static bool has_good_port(const struct parts *parts)
{
    const char *end = parts->host + parts->host_length;
    const char *bracket = memrchr(parts->host, ']', parts->host_length);
    const char *from = bracket != NULL ? bracket : parts->host;
    const char *colon = memchr(from, ':', (size_t)(end - from));
    if (colon == NULL || colon + 1 == end)
        return true;
    long port = 0;
    for (const char *digit = colon + 1; digit < end; digit++) {
        if (!isdigit((unsigned char)*digit) || port > PORT_LARGEST)
            return false;
        port = port * 10 + (*digit - '0');
    }
    return port >= 1 && port <= PORT_LARGEST;
}

bool url_is_http(const char *url)
{
    struct parts parts;
    if (!split(url, &parts) || parts.host_length == 0 || parts.host[0] == ':' || is_ambiguous(&parts) ||
        !has_good_port(&parts))
        return false;
    return scheme_is(&parts, "http") || scheme_is(&parts, "https");
}

bool url_is_prefix(const char *url)
{
    return url_is_http(url) && strpbrk(url, "?# \t\r\n") == NULL;
}
