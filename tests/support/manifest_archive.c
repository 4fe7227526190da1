/* The manifest stage reads its files through functions; here they come out of one text. */
#include "manifest_archive.h"
#include <stdio.h>
#include <string.h>

static const char marker[] = "== ";

/* Where the line behind `at` begins; the end if there is none. */
static const char *next_line(const char *at, const char *end)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline == NULL ? end : newline + 1;
}

static const char *find_marker(const char *at, const char *end)
{
    while (at < end && ((size_t)(end - at) < sizeof marker || memcmp(at, marker, sizeof marker - 1) != 0))
        at = next_line(at, end);
    return at;
}

void archive_read(struct archive *archive, const char *text, size_t length)
{
    const char *end = text + length;
    *archive = (struct archive){.expected = ""};
    for (const char *at = find_marker(text, end); at < end && archive->count < ARCHIVE_MAX_FILES;) {
        const char *body = next_line(at, end);
        const char *behind = find_marker(body, end);
        const char *name = at + sizeof marker - 1;
        size_t name_length = (size_t)(body - name);
        while (name_length > 0 && (name[name_length - 1] == '\n' || name[name_length - 1] == '\r'))
            name_length--;
        if (name_length == strlen("expected") && memcmp(name, "expected", name_length) == 0) {
            archive->expected = body;
            archive->expected_length = (size_t)(behind - body);
        } else if (name_length < ARCHIVE_PATH_BYTES) {
            struct archive_file *file = &archive->files[archive->count++];
            memcpy(file->path, name, name_length);
            file->path[name_length] = '\0';
            file->bytes = body;
            file->length = (size_t)(behind - body);
        }
        at = behind;
    }
}

static int archive_get(void *context, const char *path, struct buf *out, struct err *e)
{
    const struct archive *archive = context;
    for (size_t i = 0; i < archive->count; i++) {
        const struct archive_file *file = &archive->files[i];
        if (strcmp(file->path, path) != 0)
            continue;
        if (file->length > out->max_bytes - out->length)
            return err_set(e, ERR_REPOSITORY, "%s is too large: %zu bytes", path, file->length);
        return buf_add(out, file->bytes, file->length, e);
    }
    return err_set(e, ERR_NOT_FOUND, "%s does not exist", path);
}

/* Whether an earlier file gave the same entry already. */
static bool is_known(const struct archive *archive, size_t before, const char *prefix, size_t length)
{
    for (size_t i = 0; i < before; i++)
        if (strncmp(archive->files[i].path, prefix, length) == 0 &&
            (archive->files[i].path[length] == '/' || archive->files[i].path[length] == '\0'))
            return true;
    return false;
}

static int archive_list(void *context, const char *folder,
                        void (*each)(void *user, const char *name, bool is_folder), void *user, struct err *e)
{
    const struct archive *archive = context;
    size_t skip = folder[0] == '\0' ? 0 : strlen(folder) + 1;
    bool found = skip == 0;
    for (size_t i = 0; i < archive->count; i++) {
        const char *path = archive->files[i].path;
        if (skip > 0 && (strncmp(path, folder, skip - 1) != 0 || path[skip - 1] != '/'))
            continue;
        found = true;
        size_t length = strcspn(path + skip, "/");
        char name[ARCHIVE_PATH_BYTES];
        snprintf(name, sizeof name, "%.*s", (int)length, path + skip);
        if (!is_known(archive, i, path, skip + length))
            each(user, name, path[skip + length] == '/');
    }
    return found ? 0 : err_set(e, ERR_NOT_FOUND, "%s does not exist", folder);
}

struct manifest_source archive_source(struct archive *archive)
{
    return (struct manifest_source){.list = archive_list, .read = archive_get, .context = archive};
}

const char *archive_diagnostic(const struct diagnostic *diagnostic, char *out, size_t size)
{
    const char *file = diagnostic->place.file == NULL ? "-" : diagnostic->place.file;
    snprintf(out, size, "%s:%d:%d: %s %s: %s%s%s%s%s%s%s", file, diagnostic->place.line,
             diagnostic->place.column, diagnostic->severity == DIAGNOSTIC_ERROR ? "error" : "warning",
             rule_name(diagnostic->rule), diagnostic->text, diagnostic->trail == NULL ? "" : " [",
             diagnostic->trail == NULL ? "" : diagnostic->trail, diagnostic->trail == NULL ? "" : "]",
             diagnostic->advice == NULL ? "" : " (", diagnostic->advice == NULL ? "" : diagnostic->advice,
             diagnostic->advice == NULL ? "" : ")");
    return out;
}
