/* Fleet takes a package's type from its file name, so the name matters: the server's own word for it first,
 * then the URL that was read, then the URL that was asked. */
#include "fetch/disposition.h"
#include "base/text.h"
#include "base/url.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { RAW_BYTES = 1024 };

static int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    int letter = tolower((unsigned char)digit);
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

/* Keeps the last path segment, harmless and short enough; false if nothing is left. */
static bool make_harmless(const char *raw, char out[FILE_NAME_BYTES])
{
    const char *name = raw;
    for (const char *byte = raw; *byte != '\0'; byte++)
        if (*byte == '/' || *byte == '\\')
            name = byte + 1;
    size_t length = strlen(name);
    const char *dot = strrchr(name, '.');
    size_t suffix = dot != NULL && strlen(dot) <= 16 ? strlen(dot) : 0;
    size_t kept = length < FILE_NAME_BYTES ? length - suffix : FILE_NAME_BYTES - 1 - suffix;
    /* Never cut within a UTF-8 character. */
    while (kept > 0 && length >= FILE_NAME_BYTES && ((unsigned char)name[kept] & 0xC0) == 0x80)
        kept--;
    memcpy(out, name, kept);
    memcpy(out + kept, name + length - suffix, suffix);
    out[kept + suffix] = '\0';
    for (char *byte = out; *byte != '\0'; byte++)
        if ((unsigned char)*byte < 0x20 || *byte == 0x7F)
            *byte = '_';
    return out[0] != '\0' && strcmp(out, ".") != 0 && strcmp(out, "..") != 0;
}

/* filename*=UTF-8''na%C3%AFve.pkg */
static bool decode_extended(const char *value, char out[RAW_BYTES])
{
    bool is_latin = strncasecmp(value, "iso-8859-1'", 11) == 0;
    const char *quote = strchr(value, '\'');
    quote = quote == NULL ? NULL : strchr(quote + 1, '\'');
    if (quote == NULL || (!is_latin && strncasecmp(value, "utf-8'", 6) != 0))
        return false;
    size_t used = 0;
    for (const char *byte = quote + 1; *byte != '\0' && used + 3 < RAW_BYTES; byte++) {
        unsigned char decoded = (unsigned char)*byte;
        if (*byte == '%') {
            int high = hex_value(byte[1]), low = high < 0 ? -1 : hex_value(byte[2]);
            if (low < 0)
                return false;
            decoded = (unsigned char)(high * 16 + low);
            byte += 2;
        }
        if (decoded == 0)
            return false;
        if (is_latin && decoded >= 0x80) {
            out[used++] = (char)(0xC0 | decoded >> 6);
            out[used++] = (char)(0x80 | (decoded & 0x3F));
        } else {
            out[used++] = (char)decoded;
        }
    }
    out[used] = '\0';
    return text_is_utf8(out, used, NULL);
}

/* One parameter's value, quoted or token, into out. Returns behind it. */
static const char *read_value(const char *text, char out[RAW_BYTES])
{
    size_t used = 0;
    if (*text == '"') {
        for (text++; *text != '\0' && *text != '"'; text++) {
            /* Browsers' way: a backslash escapes only what needs it, and Windows paths survive. */
            if (*text == '\\' && (text[1] == '"' || text[1] == '\\'))
                text++;
            if (used + 1 < RAW_BYTES)
                out[used++] = *text;
        }
        text += *text == '"';
    } else {
        for (; *text != '\0' && *text != ';'; text++)
            if (used + 1 < RAW_BYTES)
                out[used++] = *text;
        while (used > 0 && isspace((unsigned char)out[used - 1]))
            used--;
    }
    out[used] = '\0';
    return text;
}

bool disposition_file_name(const char *value, char out[FILE_NAME_BYTES])
{
    char raw[RAW_BYTES], plain[RAW_BYTES] = "", extended[RAW_BYTES] = "";
    const char *rest = value + strcspn(value, ";");
    while (*rest == ';') {
        rest += 1 + strspn(rest + 1, " \t");
        const char *name = rest;
        size_t length = strcspn(name, "=; \t");
        rest = name + length + strspn(name + length, " \t");
        if (*rest != '=') {
            rest += strcspn(rest, ";");
            continue;
        }
        rest = read_value(rest + 1 + strspn(rest + 1, " \t"), raw);
        rest += strcspn(rest, ";");
        if (length == 8 && strncasecmp(name, "filename", 8) == 0 && plain[0] == '\0')
            memcpy(plain, raw, sizeof plain);
        if (length == 9 && strncasecmp(name, "filename*", 9) == 0 && !decode_extended(raw, extended))
            extended[0] = '\0';
    }
    if (extended[0] != '\0' && make_harmless(extended, out))
        return true;
    return plain[0] != '\0' && make_harmless(plain, out);
}

static bool name_of_url(const char *url, char out[FILE_NAME_BYTES])
{
    char raw[RAW_BYTES];
    return url != NULL && make_harmless(url_file_name(url, raw, sizeof raw), out);
}

const char *disposition_choose(const char *disposition, const char *final_url, const char *original_url,
                               char out[FILE_NAME_BYTES])
{
    if (disposition != NULL && disposition_file_name(disposition, out))
        return out;
    if (name_of_url(final_url, out) || name_of_url(original_url, out))
        return out;
    snprintf(out, FILE_NAME_BYTES, "package");
    return out;
}
