/* URLs as people may see them: every message, log line and report passes them through here. */
#include "base/url.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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

struct writer {
    char *out;
    size_t used, size;
    bool cut;
};

static void put(struct writer *writer, const char *text, size_t length)
{
    static const char ellipsis[] = "…";
    for (size_t i = 0; i < length && !writer->cut; i++) {
        if (writer->used + sizeof ellipsis >= writer->size) {
            memcpy(writer->out + writer->used, ellipsis, sizeof ellipsis);
            writer->cut = true;
            return;
        }
        unsigned char byte = (unsigned char)text[i];
        writer->out[writer->used++] = byte < 0x20 || byte == 0x7F ? '?' : (char)byte;
        writer->out[writer->used] = '\0';
    }
}

const char *url_redact(const char *url, char *out, size_t size)
{
    struct writer writer = {.out = out, .size = size};
    struct parts parts;
    out[0] = '\0';
    if (!split(url, &parts)) {
        /* No scheme: "user:password@host/…" as in scp-like Git addresses still loses a password. */
        const char *at = strchr(url, '@');
        size_t end = strcspn(url, "?#");
        if (at != NULL && (size_t)(at - url) < end && memchr(url, ':', (size_t)(at - url)) != NULL) {
            put(&writer, "***", 3);
            put(&writer, at, end - (size_t)(at - url));
        } else {
            put(&writer, url, end);
        }
        if (url[end] == '?')
            put(&writer, "?…", strlen("?…"));
        return out;
    }
    put(&writer, url, parts.scheme_length + 3);
    if (parts.has_userinfo)
        put(&writer, "***@", 4);
    put(&writer, parts.host, parts.host_length);
    put(&writer, parts.path, parts.path_length);
    if (parts.has_query)
        put(&writer, "?…", strlen("?…"));
    return out;
}

const char *url_host(const char *url, char *out, size_t size)
{
    struct parts parts;
    out[0] = '\0';
    if (!split(url, &parts) || parts.host_length == 0 || parts.host_length + 7 >= size)
        return out;
    for (size_t i = 0; i < parts.host_length; i++)
        out[i] = (char)tolower((unsigned char)parts.host[i]);
    out[parts.host_length] = '\0';
    const char *bracket = strrchr(out, ']');
    if (strchr(bracket != NULL ? bracket : out, ':') == NULL)
        strcat(out, strncasecmp(parts.scheme, "https", 5) == 0 && parts.scheme_length == 5 ? ":443" : ":80");
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
    struct parts parts;
    out[0] = '\0';
    if (!split(url, &parts) || parts.path_length == 0)
        return out;
    const char *slash = memrchr(parts.path, '/', parts.path_length);
    const char *name = slash == NULL ? parts.path : slash + 1;
    const char *end = parts.path + parts.path_length;
    size_t used = 0;
    while (name < end && used + 1 < size) {
        int high = *name == '%' && end - name > 2 ? hex_value(name[1]) : -1;
        int low = high >= 0 ? hex_value(name[2]) : -1;
        char byte = low >= 0 ? (char)(high * 16 + low) : *name;
        name += low >= 0 ? 3 : 1;
        out[used++] = (unsigned char)byte < 0x20 || byte == 0x7F || byte == '/' || byte == '\\' ? '_' : byte;
    }
    out[used] = '\0';
    return out;
}

bool url_is_http(const char *url)
{
    struct parts parts;
    if (!split(url, &parts) || parts.host_length == 0 || parts.host[0] == ':')
        return false;
    return (parts.scheme_length == 4 && strncasecmp(parts.scheme, "http", 4) == 0) ||
           (parts.scheme_length == 5 && strncasecmp(parts.scheme, "https", 5) == 0);
}
