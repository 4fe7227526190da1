/* Runs a fuzz target over its corpus under any compiler: each file as it is, and with a few fixed mutations,
 * so that every test run looks a little beside the known inputs. usage: TARGET MUTATIONS FILE-OR-FOLDER… */
#include "base/files.h"
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { INPUT_MAX_BYTES = 4 * 1024 * 1024, PATH_BYTES = 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* In an allocation of exactly its size, so that a sanitizer sees the first byte too many. */
static int run_exactly(const char *bytes, size_t length)
{
    uint8_t *copy = malloc(length > 0 ? length : 1);
    if (copy == NULL)
        return -1;
    if (length > 0)
        memcpy(copy, bytes, length);
    LLVMFuzzerTestOneInput(copy, length);
    free(copy);
    return 0;
}

static int mutate_and_run(const struct buf *input, uint32_t *random)
{
    static const char odd[] = "\0\t\n\r \"#$&'*-:<>?@[]`{|}~\x80\xff\xef";
    size_t length = input->length;
    char *bytes = malloc(length + 1);
    if (bytes == NULL)
        return -1;
    memcpy(bytes, input->bytes, length);
    for (uint32_t changes = next_random(random) % 4 + 1; changes > 0 && length > 0; changes--) {
        size_t at = next_random(random) % length;
        switch (next_random(random) % 4) {
        case 0:
            bytes[at] = odd[next_random(random) % (sizeof odd - 1)];
            break;
        case 1:
            length = at;
            break;
        case 2: {
            size_t run = next_random(random) % (length - at) % 64;
            memmove(bytes + at, bytes + at + run, length - at - run);
            length -= run;
            break;
        }
        default: {
            size_t from = next_random(random) % length;
            size_t run = length - (at > from ? at : from);
            memmove(bytes + at, bytes + from, run < 64 ? run : 64);
        }
        }
    }
    int result = run_exactly(bytes, length);
    free(bytes);
    return result;
}

static int run_file(const char *path, long mutations, size_t *count)
{
    struct err e;
    struct buf input = BUF_INIT(INPUT_MAX_BYTES);
    uint32_t random = 2463534242u;
    err_init(&e);
    int result = file_read(path, &input, &e);
    if (result < 0)
        printf("%s\n", e.text);
    if (result == 0)
        result = run_exactly(buf_text(&input), input.length);
    for (long i = 0; i < mutations && result == 0 && input.length > 0; i++)
        result = mutate_and_run(&input, &random);
    buf_done(&input);
    (*count)++;
    return result;
}

static int run_path(const char *path, long mutations, size_t *count)
{
    struct stat status;
    if (stat(path, &status) < 0) {
        printf("%s can't be read\n", path);
        return -1;
    }
    if (!S_ISDIR(status.st_mode))
        return run_file(path, mutations, count);
    DIR *folder = opendir(path);
    int result = folder == NULL ? -1 : 0;
    for (const struct dirent *entry = result < 0 ? NULL : readdir(folder); entry != NULL && result == 0;
         entry = readdir(folder)) {
        char file[PATH_BYTES];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        result = run_file(file, mutations, count);
    }
    if (folder != NULL)
        closedir(folder);
    return result;
}

int main(int argc, char **argv)
{
    size_t count = 0;
    long mutations = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    for (int i = 2; i < argc; i++)
        if (run_path(argv[i], mutations, &count) < 0)
            return 1;
    printf("%zu inputs, %ld mutations each\n", count, mutations);
    return count > 0 ? 0 : 1;
}
