/* The peer of the manifests' benchmark: libyaml alone opens and scans each named file once, tokens only.
 * Prints the CPU seconds (user and system) of that, and the bytes. usage: scan_yaml FILE… */
#include <stdio.h>
#include <time.h>
#include <yaml.h>

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The file's bytes; -1 if it can't be scanned. */
static long scan(const char *path)
{
    yaml_parser_t parser;
    yaml_token_t token;
    int is_end = 0;
    long length = -1;
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return -1;
    if (yaml_parser_initialize(&parser) != 1) {
        fclose(file);
        return -1;
    }
    yaml_parser_set_input_file(&parser, file);
    while (!is_end && yaml_parser_scan(&parser, &token) == 1) {
        is_end = token.type == YAML_STREAM_END_TOKEN;
        yaml_token_delete(&token);
    }
    if (is_end)
        length = ftell(file);
    yaml_parser_delete(&parser);
    fclose(file);
    return length;
}

int main(int argc, char **argv)
{
    long total = 0;
    double before = cpu_seconds();
    for (int i = 1; i < argc; i++) {
        long length = scan(argv[i]);
        if (length < 0) {
            fprintf(stderr, "%s can't be scanned\n", argv[i]);
            return 1;
        }
        total += length;
    }
    printf("%.6f %ld\n", cpu_seconds() - before, total);
    return 0;
}
