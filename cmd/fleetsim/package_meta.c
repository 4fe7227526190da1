/* Types of packages: the step between received bytes and a software title. */
#include "package_meta.h"
#include "base/files.h"
#include "base/text.h"
#include "json.h"
#include <ctype.h>
#include <endian.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAGIC_BYTES = 8 };

struct type_row {
    const char *extension;
    const char *source;
    const char *platform;
    const char *magic; /* the file's first bytes; NULL: any */
    size_t magic_length;
    bool needs_scripts;
    bool is_script;      /* newer servers only */
    bool is_file_a_name; /* the title is the file's name */
    int (*read)(const char *path, struct package_meta *out, struct err *e);
};

/* A program is more than its first two letters: the DOS header points to the PE header. */
static int exe_read(const char *path, struct package_meta *out, struct err *e)
{
    char head[64], mark[4];
    (void)out;
    CLEANUP(file_close_cleanup) int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || read(file, head, sizeof head) != (ssize_t)sizeof head)
        return err_set(e, ERR_SERVER, "no program");
    uint32_t at;
    memcpy(&at, head + 60, sizeof at);
    if (pread(file, mark, sizeof mark, (off_t)le32toh(at)) != (ssize_t)sizeof mark ||
        memcmp(mark, "PE\0\0", sizeof mark) != 0)
        return err_set(e, ERR_SERVER, "no program");
    return 0;
}

static const struct type_row types[] = {
    {".deb", "deb_packages", "linux", "!<arch>\n", 8, false, false, false, deb_read},
    {".rpm", "rpm_packages", "linux", "\xED\xAB\xEE\xDB", 4, false, false, false, rpm_read},
    {".tar.gz", "tgz_packages", "linux", "\x1F\x8B", 2, true, false, true, NULL},
    {".tgz", "tgz_packages", "linux", "\x1F\x8B", 2, true, false, true, NULL},
    {".msi", "programs", "windows", "\xD0\xCF\x11\xE0", 4, false, false, false, NULL},
    {".exe", "programs", "windows", "MZ", 2, true, false, false, exe_read},
    {".pkg", "apps", "darwin", "xar!", 4, false, false, false, NULL},
    {".sh", "sh_packages", "linux", NULL, 0, false, true, true, NULL},
    {".ps1", "ps1_packages", "windows", NULL, 0, false, true, true, NULL},
};

static const struct type_row *find_type(const char *file_name, bool with_scripts)
{
    for (size_t i = 0; i < ARRAY_LENGTH(types); i++)
        if (text_ends_with_ignoring_case(file_name, types[i].extension) &&
            (with_scripts || !types[i].is_script))
            return &types[i];
    return NULL;
}

static bool has_magic(const char *path, const struct type_row *type)
{
    char head[MAGIC_BYTES];
    CLEANUP(file_close_cleanup) int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || type->magic == NULL)
        return file >= 0;
    return read(file, head, sizeof head) >= (ssize_t)type->magic_length &&
           memcmp(head, type->magic, type->magic_length) == 0;
}

/* "demo-two-2.3.4.msi": demo-two, 2.3.4. */
static void read_file_name(const char *file_name, const struct type_row *type, struct package_meta *out)
{
    size_t length = strlen(file_name) - strlen(type->extension);
    if (type->is_file_a_name) {
        snprintf(out->name, sizeof out->name, "%s", file_name);
        return;
    }
    size_t end = length;
    for (size_t i = 1; i + 1 < length && end == length; i++)
        if ((file_name[i] == '-' || file_name[i] == '_') && isdigit((unsigned char)file_name[i + 1]))
            end = i;
    snprintf(out->name, sizeof out->name, "%.*s", (int)end, file_name);
    if (end == length)
        return;
    const char *version = file_name + end + 1;
    size_t rest = length - end - 1;
    size_t stop = 0;
    while (stop < rest && version[stop] != '_' && version[stop] != '-')
        stop++;
    snprintf(out->version, sizeof out->version, "%.*s", (int)stop, version);
}

int package_meta_read(const char *path, const char *file_name, bool with_scripts, struct package_meta *out,
                      struct err *e)
{
    const struct type_row *type = find_type(file_name, with_scripts);
    struct package_meta meta = {.name = ""};
    if (type != NULL && has_magic(path, type)) {
        meta.extension = type->extension;
        meta.source = type->source;
        meta.platform = type->platform;
        meta.needs_scripts = type->needs_scripts;
        read_file_name(file_name, type, &meta);
        struct err reading;
        err_init(&reading);
        if (type->read == NULL || type->read(path, &meta, &reading) == 0) {
            *out = meta;
            return 0;
        }
    }
    return err_set(
        e, ERR_SERVER,
        "Couldn't edit software. File type not supported. The file should be .pkg, .msi, .exe, .deb, "
        ".rpm, or .tar.gz.");
}

struct script_row {
    const char *extension;
    const char *install, *uninstall; /* %s in the second: the package's name */
};

static const struct script_row scripts[] = {
    {".deb", "#!/bin/sh\n# fleetsim's default for .deb packages\napt-get install --yes \"$INSTALLER_PATH\"\n",
     "package=%s\n# fleetsim's default for .deb packages\napt-get remove --yes \"$package\"\n"},
    {".rpm",
     "#!/bin/sh\n# fleetsim's default for .rpm packages\ndnf install --assumeyes \"$INSTALLER_PATH\"\n",
     "package=%s\n# fleetsim's default for .rpm packages\ndnf remove --assumeyes \"$package\"\n"},
    {".msi",
     "# fleetsim's default for .msi packages\nmsiexec /quiet /norestart /i \"${env:INSTALLER_PATH}\"\n",
     "$product = \"%s\"\n# fleetsim's default for .msi packages\nmsiexec /quiet /norestart /x $product\n"},
    {".pkg",
     "#!/bin/sh\n# fleetsim's default for .pkg packages\ninstaller -pkg \"$INSTALLER_PATH\" -target /\n",
     "package=%s\n# fleetsim's default for .pkg packages\npkgutil --forget \"$package\"\n"},
};

static const struct script_row *find_script(const char *extension)
{
    for (size_t i = 0; i < ARRAY_LENGTH(scripts); i++)
        if (text_equal(scripts[i].extension, extension))
            return &scripts[i];
    return NULL;
}

char *default_install_script(const char *extension)
{
    const struct script_row *row = find_script(extension);
    return copy_text(row != NULL ? row->install : "");
}

char *default_uninstall_script(const char *extension, const char *name)
{
    const struct script_row *row = find_script(extension);
    if (row == NULL)
        return copy_text("");
    const char *gap = strstr(row->uninstall, "%s");
    size_t before = (size_t)(gap - row->uninstall);
    size_t size = strlen(row->uninstall) + strlen(name) + 1;
    char *text = allocate(size);
    snprintf(text, size, "%.*s%s%s", (int)before, row->uninstall, name, gap + 2);
    return text;
}
