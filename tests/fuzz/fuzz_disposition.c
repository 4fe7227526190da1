/* Any bytes as a Content-Disposition value, and behind a line's end as the last URL's path: the name that
 * comes out is one that may be given to a file. */
#include "fetch/disposition.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_name(const char *name)
{
    size_t length = strnlen(name, FILE_NAME_BYTES);
    if (length == 0 || length >= FILE_NAME_BYTES || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        abort();
    for (size_t i = 0; i < length; i++)
        if (name[i] == '/' || name[i] == '\\' || (unsigned char)name[i] < 0x20 || name[i] == 0x7F)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char name[FILE_NAME_BYTES], url[4096];
    char *text = malloc(size + 1);
    if (text == NULL)
        abort();
    memcpy(text, bytes, size);
    text[size] = '\0';
    char *path = strchr(text, '\n');
    if (path != NULL)
        *path++ = '\0';
    snprintf(url, sizeof url, "https://h.example/%s", path == NULL ? "" : path);
    if (disposition_file_name(text, name))
        check_name(name);
    check_name(disposition_choose(text, url, "https://h.example/original.pkg", name));
    check_name(disposition_choose(NULL, url, "https://h.example/", name));
    free(text);
    return 0;
}
