/* Text that libyaml can't read at all, told in the words of who saved the file. */
#include "base/text.h"
#include "manifest/lines.h"

static const char *bytes_text(const struct yaml_file *file, size_t offset)
{
    const unsigned char *text = (const unsigned char *)file->text;
    if (file->length >= 2 && ((text[0] == 0xFF && text[1] == 0xFE) || (text[0] == 0xFE && text[1] == 0xFF)))
        return "this is UTF-16 text: save the file as UTF-8";
    if (!text_is_utf8(file->text, file->length, NULL))
        return "this is not UTF-8 text: save the file as UTF-8";
    if (offset < file->length && text[offset] == '\0')
        return "a NUL byte: this is no text file";
    return "a control character that YAML does not allow";
}

int yaml_fault_bytes(const struct yaml_file *file, size_t offset, struct err *e)
{
    size_t bad = offset;
    size_t line = 0;
    if (!text_is_utf8(file->text, file->length, &bad))
        offset = bad;
    const char *at = file->text;
    const char *stop = at + (offset < file->length ? offset : file->length);
    for (const char *next; (next = line_next(at, file->text + file->length)) <= stop && next > at; at = next)
        line++;
    size_t column = text_count_characters(at, (size_t)(stop - at));
    err_fill(e, ERR_MANIFEST, "%s", bytes_text(file, offset));
    err_at(e, file->path, (int)line + 1, (int)column + 1);
    return -1;
}
