/* The peer of the manifests' benchmark: libyaml alone scans each named file once, tokens only. Prints the CPU
 * seconds of the scanning (files are read before), and the bytes. usage: scan_yaml FILE… */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <yaml.h>

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static char *read_whole(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        return NULL;
    long size = ftell(file);
    rewind(file);
    char *text = size < 0 ? NULL : malloc((size_t)size + 1);
    if (text != NULL)
        *length = fread(text, 1, (size_t)size, file);
    fclose(file);
    return text;
}

static int scan(const char *text, size_t length)
{
    yaml_parser_t parser;
    yaml_token_t token;
    int is_end = 0;
    if (yaml_parser_initialize(&parser) != 1)
        return -1;
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
    while (!is_end) {
        if (yaml_parser_scan(&parser, &token) != 1) {
            yaml_parser_delete(&parser);
            return -1;
        }
        is_end = token.type == YAML_STREAM_END_TOKEN;
        yaml_token_delete(&token);
    }
    yaml_parser_delete(&parser);
    return 0;
}

int main(int argc, char **argv)
{
    double seconds = 0;
    size_t total = 0;
    for (int i = 1; i < argc; i++) {
        size_t length = 0;
        char *text = read_whole(argv[i], &length);
        if (text == NULL) {
            fprintf(stderr, "%s can't be read\n", argv[i]);
            return 1;
        }
        double before = cpu_seconds();
        if (scan(text, length) < 0) {
            fprintf(stderr, "%s can't be scanned\n", argv[i]);
            return 1;
        }
        seconds += cpu_seconds() - before;
        total += length;
        free(text);
    }
    printf("%.6f %zu\n", seconds, total);
    return 0;
}
