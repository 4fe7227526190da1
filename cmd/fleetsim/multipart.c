/* Uploads come through here: http.c feeds the body in slices, the package handlers read the parts. Memory
 * stays flat, whatever the file's size. */
#include "multipart.h"
#include "base/buf.h"
#include "base/files.h"
#include "base/text.h"
#include "json.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { WINDOW_BYTES = 512 * 1024, HEADER_BYTES = 16 * 1024, BOUNDARY_BYTES = 80 };

enum reading {
    READING_PREAMBLE, /* before the first boundary */
    READING_BOUNDARY, /* right behind a boundary: CRLF goes on, "--" ends */
    READING_HEADERS,  /* of a part, up to the empty line */
    READING_BODY,     /* of a part, up to the next boundary */
    READING_DONE,     /* the closing boundary was there; the rest is ignored */
};

struct multipart {
    enum reading reading;
    char delimiter[BOUNDARY_BYTES + 8]; /* CRLF "--" boundary */
    size_t delimiter_length;
    char *window; /* what has come and is not used up yet */
    size_t used;
    struct form_part parts[MULTIPART_PARTS];
    size_t count;
    struct buf field;
    int file; /* of the part being read; -1: a field */
    struct digest *digest;
    char *(*temporary_path)(void *context);
    void *context;
};

/* The value of name="…" or name=… behind a header's first word. Go's rules: quotes may hold escaped quotes.
 */
static char *header_parameter(const char *header, const char *name)
{
    size_t length = strlen(name);
    bool quoted = false;
    for (const char *at = strchr(header, ';'); at != NULL && *at != '\0'; at++) {
        if (*at == '"' && at[-1] != '\\')
            quoted = !quoted;
        if (quoted || *at != ';')
            continue;
        const char *word = at + 1 + strspn(at + 1, " \t");
        if (strncasecmp(word, name, length) != 0 || word[length] != '=')
            continue;
        word += length + 1;
        char *value = copy_text(word);
        char *out = value;
        bool inside = *word == '"';
        for (word += inside; *word != '\0' && (inside ? *word != '"' : *word != ';'); word++) {
            if (inside && *word == '\\' && (word[1] == '"' || word[1] == '\\'))
                word++;
            *out++ = *word;
        }
        *out = '\0';
        return value;
    }
    return NULL;
}

struct multipart *multipart_new(const char *content_type, char *(*temporary_path)(void *context),
                                void *context, struct err *e)
{
    static const char form[] = "multipart/form-data";
    if (content_type == NULL || strncasecmp(content_type, form, strlen(form)) != 0) {
        err_fill(e, ERR_SERVER,
                 "failed to parse multipart form: request Content-Type isn't multipart/form-data");
        return NULL;
    }
    CLEANUP(file_free_cleanup) char *boundary = header_parameter(content_type, "boundary");
    if (boundary == NULL || boundary[0] == '\0' || strlen(boundary) > BOUNDARY_BYTES) {
        err_fill(e, ERR_SERVER,
                 "failed to parse multipart form: no multipart boundary param in Content-Type");
        return NULL;
    }
    struct multipart *multipart = allocate(sizeof *multipart);
    *multipart = (struct multipart){.window = allocate(WINDOW_BYTES),
                                    .field = BUF_INIT(MULTIPART_FIELD_BYTES),
                                    .file = -1,
                                    .temporary_path = temporary_path,
                                    .context = context};
    multipart->delimiter_length =
        (size_t)snprintf(multipart->delimiter, sizeof multipart->delimiter, "\r\n--%s", boundary);
    /* A line end before the body, so that the first boundary looks like all others. */
    memcpy(multipart->window, "\r\n", 2);
    multipart->used = 2;
    return multipart;
}

void multipart_free(struct multipart *multipart)
{
    if (multipart == NULL)
        return;
    for (size_t i = 0; i < multipart->count; i++) {
        struct form_part *part = &multipart->parts[i];
        if (part->path != NULL)
            unlink(part->path);
        free(part->path);
        free(part->name);
        free(part->file_name);
        free(part->value);
    }
    file_close_cleanup(&multipart->file);
    digest_free(multipart->digest);
    buf_done(&multipart->field);
    free(multipart->window);
    free(multipart);
}

static int begin_part(struct multipart *multipart, const char *headers, struct err *e)
{
    if (multipart->count == MULTIPART_PARTS)
        return err_set(e, ERR_SERVER, "failed to parse multipart form: multipart: message too large");
    struct form_part *part = &multipart->parts[multipart->count++];
    *part = (struct form_part){.name = NULL};
    for (const char *line = headers; line != NULL && *line != '\0';) {
        const char *end = strstr(line, "\r\n");
        char *header = copy_text(line);
        if (end != NULL)
            header[end - line] = '\0';
        if (part->name == NULL && strncasecmp(header, "content-disposition:", 20) == 0) {
            free(part->file_name);
            part->name = header_parameter(header, "name");
            part->file_name = header_parameter(header, "filename");
        }
        free(header);
        line = end != NULL ? end + 2 : NULL;
    }
    if (part->name == NULL)
        part->name = copy_text("");
    if (part->file_name == NULL)
        return 0;
    char *slash = strrchr(part->file_name, '/'); /* the name's last part only, as Go takes it */
    if (slash != NULL)
        memmove(part->file_name, slash + 1, strlen(slash));
    part->path = multipart->temporary_path(multipart->context);
    multipart->file = open(part->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (multipart->file < 0)
        return err_set_errno(e, "can't create %s", part->path);
    multipart->digest = digest_new(e);
    return multipart->digest == NULL ? -1 : 0;
}

static int add_to_part(struct multipart *multipart, const char *bytes, size_t length, struct err *e)
{
    if (length == 0)
        return 0;
    multipart->parts[multipart->count - 1].bytes += length;
    if (multipart->file < 0)
        return buf_add(&multipart->field, bytes, length, e);
    return digest_update(multipart->digest, bytes, length, e) < 0 ||
                   file_write_all(multipart->file, bytes, length, e) < 0
               ? -1
               : 0;
}

static int end_part(struct multipart *multipart, struct err *e)
{
    struct form_part *part = &multipart->parts[multipart->count - 1];
    if (multipart->file < 0) {
        part->value = copy_text(buf_text(&multipart->field));
        buf_clear(&multipart->field);
        return 0;
    }
    file_close_cleanup(&multipart->file);
    int result = digest_finish(multipart->digest, part->sha256, e);
    digest_free(TAKE(multipart->digest));
    return result;
}

static void use_up(struct multipart *multipart, size_t length)
{
    multipart->used -= length;
    memmove(multipart->window, multipart->window + length, multipart->used);
}

/* Up to the next boundary; all but what may be the beginning of one is used up at once. */
static int read_body(struct multipart *multipart, bool *more, struct err *e)
{
    const char *found =
        memmem(multipart->window, multipart->used, multipart->delimiter, multipart->delimiter_length);
    bool skip = multipart->reading == READING_PREAMBLE;
    size_t keep = multipart->delimiter_length - 1;
    size_t length = found != NULL            ? (size_t)(found - multipart->window)
                    : multipart->used > keep ? multipart->used - keep
                                             : 0;
    if (!skip && add_to_part(multipart, multipart->window, length, e) < 0)
        return -1;
    if (found == NULL) {
        use_up(multipart, length);
        *more = false;
        return 0;
    }
    use_up(multipart, length + multipart->delimiter_length);
    if (!skip && end_part(multipart, e) < 0)
        return -1;
    multipart->reading = READING_BOUNDARY;
    return 0;
}

static int read_behind_boundary(struct multipart *multipart, bool *more, struct err *e)
{
    if (multipart->used < 2) {
        *more = false;
        return 0;
    }
    if (memcmp(multipart->window, "--", 2) == 0)
        multipart->reading = READING_DONE;
    else if (memcmp(multipart->window, "\r\n", 2) == 0)
        multipart->reading = READING_HEADERS;
    else
        return err_set(e, ERR_SERVER, "failed to parse multipart form: multipart: expecting a new Part");
    use_up(multipart, 2);
    return 0;
}

static int read_headers(struct multipart *multipart, bool *more, struct err *e)
{
    const char *end = memmem(multipart->window, multipart->used, "\r\n\r\n", 4);
    if (end == NULL) {
        *more = false;
        if (multipart->used > HEADER_BYTES)
            return err_set(e, ERR_SERVER, "failed to parse multipart form: part headers too large");
        return 0;
    }
    size_t length = (size_t)(end - multipart->window);
    CLEANUP(file_free_cleanup) char *headers = allocate(length + 1);
    memcpy(headers, multipart->window, length);
    if (begin_part(multipart, headers, e) < 0)
        return -1;
    use_up(multipart, length + 4);
    multipart->reading = READING_BODY;
    return 0;
}

static int read_window(struct multipart *multipart, struct err *e)
{
    bool more = true;
    while (more) {
        switch (multipart->reading) {
        case READING_PREAMBLE:
        case READING_BODY:
            if (read_body(multipart, &more, e) < 0)
                return -1;
            break;
        case READING_BOUNDARY:
            if (read_behind_boundary(multipart, &more, e) < 0)
                return -1;
            break;
        case READING_HEADERS:
            if (read_headers(multipart, &more, e) < 0)
                return -1;
            break;
        case READING_DONE:
            multipart->used = 0;
            more = false;
            break;
        }
    }
    return 0;
}

int multipart_feed(struct multipart *multipart, const char *bytes, size_t length, struct err *e)
{
    while (length > 0) {
        size_t room = WINDOW_BYTES - multipart->used;
        size_t slice = length < room ? length : room;
        memcpy(multipart->window + multipart->used, bytes, slice);
        multipart->used += slice;
        bytes += slice;
        length -= slice;
        if (read_window(multipart, e) < 0)
            return -1;
    }
    return 0;
}

int multipart_finish(struct multipart *multipart, struct err *e)
{
    if (multipart->reading != READING_DONE)
        return err_set(e, ERR_SERVER, "failed to parse multipart form: unexpected EOF");
    return 0;
}

size_t multipart_count(const struct multipart *multipart)
{
    return multipart->count;
}

struct form_part *multipart_part(struct multipart *multipart, size_t index)
{
    return &multipart->parts[index];
}

const char *multipart_field(const struct multipart *multipart, const char *name)
{
    for (size_t i = 0; i < multipart->count; i++)
        if (multipart->parts[i].value != NULL && text_equal(multipart->parts[i].name, name))
            return multipart->parts[i].value;
    return NULL;
}

struct form_part *multipart_file(struct multipart *multipart, const char *name)
{
    for (size_t i = 0; i < multipart->count; i++)
        if (multipart->parts[i].file_name != NULL && text_equal(multipart->parts[i].name, name))
            return &multipart->parts[i];
    return NULL;
}
