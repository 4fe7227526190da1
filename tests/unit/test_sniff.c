/* What a file's first and last bytes say it is, against what its name promised: every right file comes
 * through, every plainly wrong one is named. */
#include "base/text.h"
#include "fetch/sniff.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BYTES(text) (text), sizeof(text) - 1
#define ANY "*" /* refused, of no kind that we know */
#define ARRAY(array) (sizeof(array) / sizeof((array)[0]))

/* A small whole file: head and tail are all of it. */
struct row {
    const char *name;
    const char *bytes;
    size_t length;
    const char *found; /* NULL: comes through */
};

static bool look(const char *name, const char *bytes, size_t length, bool is_whole, struct sniff_refusal *why)
{
    size_t piece = length < SNIFF_BYTES ? length : SNIFF_BYTES;
    struct sniff_sample sample = {.head = bytes, .head_length = piece, .size_bytes = length};
    if (is_whole) {
        sample.tail = bytes + length - piece;
        sample.tail_length = piece;
    }
    return sniff_refuses(name, &sample, why);
}

static void check(const struct row *row)
{
    struct sniff_refusal why;
    bool is_refused = look(row->name, row->bytes, row->length, true, &why);
    bool is_right = is_refused == (row->found != NULL) &&
                    (!is_refused || text_equal(why.found, strcmp(row->found, ANY) == 0 ? NULL : row->found));
    if (!is_right)
        fail_msg("%s, \"%.30s\": %s", row->name, row->bytes,
                 !is_refused         ? "not refused"
                 : why.found == NULL ? "something"
                                     : why.found);
}

/* A page may be one short sentence; then only its label tells. */
static void test_labels(void **state)
{
    (void)state;
    static const struct {
        const char *content_type, *name, *text;
        bool is_refused;
    } rows[] = {
        {"text/html", "a.ps1", "Service down", true},
        {"Text/HTML; charset=utf-8", "a.sh", "Please sign in", true},
        {"application/json", "a.sh", "\n  true", true},
        {"application/problem+json", "a.py", "nothing here", true},
        {"application/vnd.api+json;x=y", "a.sh", "sorry", true},
        {"application/xhtml+xml", "a.sh", "Sorry - down", true},
        {"text/plain", "a.ps1", "Service down", false},
        {NULL, "a.ps1", "Service down", false},
        {"", "a.ps1", "Service down", false},
        {"application/octet-stream", "a.sh", "mytool --now", false},
        {"text/html", "a.sh", "#!/bin/sh\necho hi\n", false},
        {"text/html", "a.sh", "\n# a comment\n", false},
        {"text/html", "a.sh", "found=1\n", false},
        {"text/html", "a.sh", "main() {\n", false},
        {"text/html", "a.sh", "set -e\n", false},
        {"text/html", "a.ps1", "Write-Host hi\r\n", false},
        {"text/html", "a.ps1", "\xEF\xBB\xBFparam()\n", false},
        {"text/html", "a.ps1", "<#\n.SYNOPSIS\n#>", false},
        {"text/html", "a.ps1", "$a = 1\n", false},
        {"text/html", "a.py", "import os\n", false},
        {"text/html", "a.deb", "!<arch>\ndebian-binary", false},
    };
    for (size_t i = 0; i < ARRAY(rows); i++) {
        struct sniff_refusal why;
        size_t length = strlen(rows[i].text);
        struct sniff_sample sample = {.head = rows[i].text,
                                      .head_length = length,
                                      .tail = rows[i].text,
                                      .tail_length = length,
                                      .size_bytes = length,
                                      .content_type = rows[i].content_type};
        if (sniff_refuses(rows[i].name, &sample, &why) != rows[i].is_refused)
            fail_msg("%s as %s: %s", rows[i].text, rows[i].content_type,
                     rows[i].is_refused ? "not refused" : why.found);
    }
}

static void test_right_files(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"a.pkg", BYTES("xar!\0\x1C"), NULL},
        {"A.PKG", BYTES("xar!\0\x1C"), NULL},
        {"a.msi", BYTES("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"), NULL},
        {"a.exe", BYTES("MZ\x90\0\3\0\0\0\4\0\0\0"), NULL},
        {"a.deb", BYTES("!<arch>\ndebian-binary   1700000000  0     0     100644  4         `\n2.0\n"), NULL},
        {"a.deb", BYTES("!<arch>\ndebian-binary/  0           0     0     100644  4         `\n2.0\n"), NULL},
        {"a.rpm", BYTES("\xED\xAB\xEE\xDB\3\0"), NULL},
        {"a.zip", BYTES("PK\3\4\x14\0\0\0"), NULL},
        {"a.zip", BYTES("PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), NULL},
        {"a.ipa", BYTES("PK\3\4\x14\0\0\0"), NULL},
        {"a.msix", BYTES("PK\3\4\x2D\0\0\0"), NULL},
        {"a.tar.gz", BYTES("\x1F\x8B\x08\0\0\0\0\0\0\3"), NULL},
        {"a.TGZ", BYTES("\x1F\x8B\x08\x08"), NULL},
        {"latest", BYTES("anything"), NULL},
        {"latest",
         BYTES("\x7F"
               "ELF\2\1"),
         NULL},
        /* Fleet runs a script without a first line by /bin/sh, and takes it as it is. */
        {"a.sh", BYTES("#!/bin/sh\n"), NULL},
        {"a.sh", BYTES("#!/bin/sh\r\necho hi\r\n"), NULL},
        {"a.sh", BYTES("\xEF\xBB\xBF#!/bin/bash\n"), NULL},
        {"a.sh", BYTES("echo hi\n"), NULL},
        {"a.sh", BYTES("\n\n# a comment\nset -e\n"), NULL},
        {"a.sh", BYTES("exit 0"), NULL},
        {"a.sh", BYTES("[ \"$1\" = x ] && exit 1\n"), NULL},
        {"a.sh", BYTES("{ \"$tool\" --version; }\n"), NULL},
        {"a.sh", BYTES("sudo apt-get install -y foo\n"), NULL},
        {"a.sh", BYTES("#!/bin/sh\nbase64 -d <<E\n\1\2"), NULL}, /* with a payload */
        {"a.sh", BYTES("found=1\nerror() { exit 1; }\n"), NULL},
        {"a.sh", BYTES("error 404\n"), "an error message"},
        {"a.sh", BYTES("caf\xC3\xA9=1\n"), NULL},
        {"a.sh", BYTES("caf\xE9=1\n"), NULL},
        {"a.sh", BYTES("printf '\x1B[1m'\n"), NULL},
        {"a.ps1", BYTES("Write-Host hello\n"), NULL},
        {"a.ps1", BYTES("<#\n.SYNOPSIS\n#>\nparam()\n"), NULL},
        {"a.ps1", BYTES("[CmdletBinding()]\nparam()\n"), NULL},
        {"a.ps1", BYTES("$ErrorActionPreference = 'Stop'\r\n"), NULL},
        {"a.ps1", BYTES("\xFF\xFEW\0r\0i\0t\0e\0"), NULL},
        {"a.ps1", BYTES("\xEF\xBB\xBFWrite-Host\r\n"), NULL},
        {"a.ps1", BYTES("exit 0\r\n\x1A"), NULL},
        {"a.py", BYTES("#!/usr/bin/env python3\n"), NULL},
        {"a.py", BYTES("\"\"\"Not found? No: a docstring.\"\"\"\n"), NULL},
        {"a.py", BYTES("import os\n"), NULL},
        {"a.py", BYTES("# -*- coding: utf-8 -*-\n"), NULL},
    };
    for (size_t i = 0; i < ARRAY(rows); i++)
        check(&rows[i]);
}

static void test_wrong_files(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"a.pkg", BYTES("PK\3\4\x14\0\0\0"), "a zip archive"},
        {"a.pkg", BYTES("xa"), ANY},
        {"a.msi", BYTES("MZ\x90\0\3\0\0\0\4\0\0\0"), "a Windows program"},
        {"a.exe", BYTES("MZ is not here"), "a text page"},
        {"a.exe", BYTES("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"), "an OLE document (msi)"},
        {"a.deb", BYTES("\xED\xAB\xEE\xDB\3\0"), "an rpm"},
        {"a.deb",
         BYTES("!<arch>\nlibx.o/         0           0     0     644     8         `\n\1\2\3\4\5\6\7\x8"),
         "an ar archive"},
        {"a.deb", BYTES("xar!\0\x1C"), "a xar archive (pkg)"},
        {"a.rpm", BYTES("!<arch>\ndebian-binary   \1\2\3\4"), "a deb"},
        {"a.zip", BYTES("\x1F\x8B\x08\0"), "a gzip stream"},
        {"a.zip", BYTES("PKZIP is not here"), "a text page"},
        {"a.ipa", BYTES("7z\xBC\xAF\x27\x1C\0\4"), "a 7-Zip archive"},
        {"a.tar.gz", BYTES("Cache timeout, try again"), "a text page"},
        {"a.tar.gz",
         BYTES("\xFD"
               "7zXZ\0\0\4"),
         "an xz stream"},
        {"a.tar.gz", BYTES("BZh91AY&SY\1\2"), "a bzip2 stream"},
        {"a.tgz", BYTES("\x28\xB5\x2F\xFD\0\0"), "a zstd stream"},
        {"a.pkg", BYTES("\xCF\xFA\xED\xFE\7\0\0\1"), "a Mach-O program"},
        {"a.pkg", BYTES("\x89PNG\r\n\x1A\n\0\0"), "a PNG image"},
        {"a.pkg", BYTES("%PDF-1.7\n%\xE2\xE3\xCF\xD3\n"), "a PDF document"},
        {"a.pkg", BYTES("<!DOCTYPE HTML>"), "an HTML page"},
        {"a.pkg", BYTES("\xEF\xBB\xBF \n<HTML>"), "an HTML page"},
        {"a.pkg", BYTES("{\"error\": \"gone\"}"), "a JSON text"},
        {"latest", BYTES("<!-- x --><html>"), "an HTML page"},
        {"latest", BYTES("<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>"), "an XML text"},
        {"latest", BYTES("<?xml version=\"1.0\"?>\n<!DOCTYPE html PUBLIC>"), "an HTML page"},
        {"latest", BYTES("404 page not found\n"), "an error message"},
        {"a.deb", BYTES("version https://git-lfs.github.com/spec/v1\n"), "a Git LFS pointer"},
        {"latest", BYTES("version https://git-lfs.github.com/spec/v1\n"), "a Git LFS pointer"},
        /* Scripts. */
        {"a.sh", BYTES("version https://git-lfs.github.com/spec/v1\n"), "a Git LFS pointer"},
        {"a.sh",
         BYTES("\x7F"
               "ELF\2\1\1\0"),
         "an ELF program"},
        {"a.ps1", BYTES("MZ\x90\0\3\0\0\0"), "a Windows program"},
        {"a.py", BYTES("PK\3\4\x14\0\0\0"), "a zip archive"},
        {"a.sh", BYTES("\x1F\x8B\x08\0\0\0\0\0"), "a gzip stream"},
        {"a.sh", BYTES("\0\1\2\3"), "binary data"},
        {"a.sh", BYTES("#!/bin/sh\necho\0\n"), "binary data"}, /* torn, or a whole page of a file lost */
        {"a.sh", BYTES("\xEF\xBB\xBF#!/bin/sh\n\0"), "binary data"},
        {"a.py", BYTES("#!/usr/bin/python3\n\0\0\0"), "binary data"},
        {"a.ps1", BYTES("Write-Host\0\0\0"), "binary data"},
        {"a.sh", BYTES("\xFF\xFEW\0r\0i\0t\0e\0"), "binary data"}, /* UTF-16 is PowerShell's only */
        {"a.sh", BYTES("404 page not found\n"), "an error message"},
        {"a.sh", BYTES("404"), "an error message"},
        {"a.sh", BYTES("404: Not Found"), "an error message"},
        {"a.sh", BYTES("Not Found"), "an error message"},
        {"a.ps1", BYTES("Not Found\r\n"), "an error message"},
        {"a.py", BYTES("Forbidden.\n"), "an error message"},
        {"a.sh", BYTES("error: no such revision\n"), "an error message"},
        {"a.sh", BYTES("Error 503 Service Unavailable\n"), "an error message"},
        {"a.sh", BYTES("HTTP/1.1 502 Bad Gateway\r\n"), "an error message"},
        {"a.sh", BYTES("upstream request timeout"), "an error message"},
        {"a.sh", BYTES("Access Denied"), "an error message"},
        {"a.sh", BYTES("Unauthorized"), "an error message"},
        {"a.py", BYTES("{\"message\":\"Not Found\",\"status\":404}"), "a JSON text"},
        {"a.sh", BYTES(" {\n  \"error\" : {\"code\": 403}}"), "a JSON text"},
        {"a.sh", BYTES("[{\"error\":1}]"), "a JSON text"},
        {"a.sh", BYTES("{}"), "a JSON text"},
        {"a.sh", BYTES("<html><body>Sign in</body></html>"), "an HTML page"},
        {"a.ps1", BYTES("<!DOCTYPE html>\n<p>"), "an HTML page"},
        {"a.sh", BYTES("<?xml version=\"1.0\"?>\n<Error>"), "an XML text"},
    };
    for (size_t i = 0; i < ARRAY(rows); i++)
        check(&rows[i]);
}

/* A disk image of `sectors` whole sectors, random inside, with words put where they belong. */
struct image {
    const char *what;
    const char *head;
    size_t head_length;
    const char *tail;
    size_t tail_length, tail_before_end;
    size_t sectors, more_bytes;
    const char *found; /* of the whole file */
    bool is_refused_early;
};

static void test_disk_images(void **state)
{
    (void)state;
#define KOLY BYTES("koly\0\0\0\4\0\0\2\0"), 512
#define ELF_HEAD                                                                                             \
    BYTES("\x7F"                                                                                             \
          "ELF\2\1\1\0")
    static const struct image images[] = {
        {"zlib blocks, trailer", BYTES("\x78\xDA\x63\x60"), KOLY, 9, 77, NULL, false},
        {"bzip2 blocks, trailer", BYTES("BZh91AY&SY"), KOLY, 9, 5, NULL, false},
        {"LZMA blocks, trailer",
         BYTES("\xFD"
               "7zXZ\0"),
         KOLY, 9, 5, NULL, false},
        {"a boot sector like a program's, trailer", BYTES("MZ\x90\0"), KOLY, 9, 0, NULL, false},
        {"the trailer only", BYTES(""), KOLY, 1, 0, NULL, false},
        {"an old image: in front", BYTES("koly\0\0\0\1"), BYTES(""), 0, 4, 9, NULL, false},
        {"encrypted, version 2", BYTES("encrcdsa\0\0\0\2"), BYTES(""), 0, 9, 3, NULL, false},
        {"encrypted, version 1", BYTES("\x9A\x13"), BYTES("cdsaencr"), 8, 9, 3, NULL, false},
        {"raw: whole sectors", BYTES("\0\0\0\0"), BYTES(""), 0, 9, 0, NULL, false},
        {"raw: a driver map", BYTES("ER\2\0"), BYTES(""), 0, 9, 0, NULL, false},
        {"no mark, and no whole sectors", BYTES("\x9A\x13"), BYTES(""), 0, 9, 7, ANY, false},
        {"cut: the trailer is missing", BYTES("\x78\xDA\x63\x60"), BYTES(""), 0, 9, 1, ANY, false},
        {"an ELF program", ELF_HEAD, BYTES(""), 0, 9, 0, "an ELF program", true},
        {"a Windows program", BYTES("MZ\x90\0"), BYTES(""), 0, 9, 0, "a Windows program", false},
        {"a bzip2 stream", BYTES("BZh91AY&SY"), BYTES(""), 0, 9, 0, "a bzip2 stream", false},
        {"a pkg", BYTES("xar!\0\x1C"), BYTES(""), 0, 9, 0, "a xar archive (pkg)", true},
        {"a zip archive", BYTES("PK\3\4\x14\0"), BYTES(""), 0, 9, 0, "a zip archive", true},
        {"a compressed image that is none yet", BYTES("\x1F\x8B\x08\0"), BYTES(""), 0, 9, 0, "a gzip stream",
         true},
    };
    for (size_t i = 0; i < ARRAY(images); i++) {
        const struct image *image = &images[i];
        size_t length = image->sectors * 512 + image->more_bytes;
        char *bytes = malloc(length);
        assert_non_null(bytes);
        for (size_t k = 0; k < length; k++)
            bytes[k] = (char)(k * 7 + (k >> 8));
        memcpy(bytes, image->head, image->head_length);
        memcpy(bytes + length - image->tail_before_end, image->tail, image->tail_length);
        const struct row row = {"a.dmg", bytes, length, image->found};
        struct sniff_refusal why;
        check(&row);
        if (look("a.dmg", bytes, length, false, &why) != image->is_refused_early)
            fail_msg("%s: early", image->what);
        free(bytes);
    }
    static const struct row texts[] = {
        {"a.dmg", BYTES("Too many requests\n"), "an error message"},
        {"a.dmg", BYTES("not available now\n"), "a text page"},
        {"a.dmg", BYTES("<html>"), "an HTML page"},
    };
    for (size_t i = 0; i < ARRAY(texts); i++)
        check(&texts[i]);
}

/* What is refused while it comes is refused when it is whole, too. */
static void test_early_is_never_stricter(void **state)
{
    (void)state;
    static const char *const names[] = {"a.pkg", "a.dmg", "a.sh", "a.exe", "latest"};
    static const char *const heads[] = {"MZ",
                                        "BZh9",
                                        "xar!",
                                        "koly",
                                        "#!/bin/sh",
                                        "<html>",
                                        "404 no",
                                        ("\x7F"
                                         "ELF")};
    for (size_t i = 0; i < ARRAY(names); i++)
        for (size_t k = 0; k < ARRAY(heads); k++)
            for (size_t length = 1; length < 2000; length += 333) {
                char bytes[2000] = {0};
                struct sniff_refusal early, late;
                memcpy(bytes, heads[k], strlen(heads[k]));
                if (look(names[i], bytes, length, false, &early))
                    assert_true(look(names[i], bytes, length, true, &late));
            }
}

static void test_names(void **state)
{
    (void)state;
    struct sniff_refusal why;
    assert_true(sniff_knows("a.PKG") && sniff_has_magic("a.PKG"));
    assert_true(sniff_knows("a.dmg") && !sniff_has_magic("a.dmg"));
    assert_true(sniff_knows("a.sh") && sniff_has_magic("a.sh"));
    assert_false(sniff_knows("a") || sniff_has_magic("a") || sniff_knows("a.txt"));
    assert_true(look("x.msi", BYTES("<html>"), true, &why));
    assert_string_equal(why.declared, "an msi");
    assert_true(look("x", BYTES("<html>"), true, &why));
    assert_string_equal(why.declared, "a package");
    assert_false(look("x.deb", "", 0, true, &why) && why.found != NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right_files),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_wrong_files),
        cmocka_unit_test(test_disk_images),
        cmocka_unit_test(test_early_is_never_stricter),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
