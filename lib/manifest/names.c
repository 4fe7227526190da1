/* Team names: brought into one form where they are read, and compared as Fleet's database does, so that two
 * files never mean one team by chance. */
#include "manifest/names.h"
#include <stdint.h>
#include <string.h>
#include <utf8proc.h>

enum { BEYOND_BASIC_PLANE = 0x10000, REPLACEMENT = 0xFFFD };

/* One weight for all of them, as the collation utf8mb4_unicode_ci has it. */
static utf8proc_int32_t fold_beyond(utf8proc_int32_t character, void *unused)
{
    (void)unused;
    return character >= BEYOND_BASIC_PLANE ? REPLACEMENT : character;
}

/* Decomposes by the options and encodes again. *out is NULL if `text` is no UTF-8. */
static int map(struct arena *arena, const char *text, size_t length, utf8proc_option_t options,
               utf8proc_custom_func custom, const char **out, struct err *e)
{
    const utf8proc_uint8_t *bytes = (const utf8proc_uint8_t *)text;
    *out = NULL;
    utf8proc_ssize_t needed =
        utf8proc_decompose_custom(bytes, (utf8proc_ssize_t)length, NULL, 0, options, custom, NULL);
    if (needed < 0)
        return needed == UTF8PROC_ERROR_NOMEM ? err_set(e, ERR_MEMORY, "out of memory") : 0;
    /* The text that replaces them is never longer than their four bytes each. */
    utf8proc_int32_t *characters = arena_alloc_array(arena, (size_t)needed + 1, sizeof *characters, e);
    if (characters == NULL)
        return -1;
    needed =
        utf8proc_decompose_custom(bytes, (utf8proc_ssize_t)length, characters, needed, options, custom, NULL);
    if (needed < 0 || utf8proc_reencode(characters, needed, options) < 0)
        return 0;
    *out = (const char *)characters;
    return 0;
}

static bool is_blank(const char *text, size_t length, utf8proc_ssize_t *size)
{
    utf8proc_int32_t character;
    *size = utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)length, &character);
    if (*size <= 0)
        return false;
    return (character >= '\t' && character <= '\r') || character == 0x85 ||
           (utf8proc_category(character) >= UTF8PROC_CATEGORY_ZS &&
            utf8proc_category(character) <= UTF8PROC_CATEGORY_ZP);
}

int name_normalise(struct arena *arena, const char *text, const char **out, struct err *e)
{
    utf8proc_ssize_t size;
    size_t length = strlen(text);
    size_t kept = 0;
    while (is_blank(text, length, &size)) {
        text += size;
        length -= (size_t)size;
    }
    /* Up to the end of the last character that is no blank. */
    for (size_t at = 0; at < length;) {
        bool blank = is_blank(text + at, length - at, &size);
        at += size > 0 ? (size_t)size : 1;
        kept = blank ? kept : at;
    }
    return map(arena, text, kept, UTF8PROC_STABLE | UTF8PROC_COMPOSE, NULL, out, e);
}

const char *name_fold(struct arena *arena, const char *name, struct err *e)
{
    const char *folded = NULL;
    if (map(arena, name, strlen(name),
            UTF8PROC_STABLE | UTF8PROC_COMPAT | UTF8PROC_DECOMPOSE | UTF8PROC_CASEFOLD | UTF8PROC_IGNORE |
                UTF8PROC_STRIPMARK,
            fold_beyond, &folded, e) < 0)
        return NULL;
    return folded != NULL ? folded : arena_strdup(arena, name, e);
}

long name_find_control(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    for (;;) {
        while (*at >= 0x20 && *at < 0x7F) /* most texts are nothing else */
            at++;
        if (*at == '\0')
            return -1;
        if (*at < 0x20 || *at == 0x7F || (*at == 0xC2 && at[1] >= 0x80 && at[1] < 0xA0))
            return (long)(at - (const unsigned char *)text);
        at++;
    }
}
