/* Revisions, files and links of a mirror, a commit and a folder; what happens when the remote is away or the
 * mirror is damaged. The repositories are made here with libgit2. */
#include "base/digest.h"
#include "base/files.h"
#include "base/text.h"
#include "repository/repository.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <git2.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { BIG_BYTES = 200 * 1024 };

struct world {
    char folder[64]; /* holds remote/ and state/ */
    char remote[80];
    char state[80];
    char first[41], second[41]; /* commits of main */
    char branch[41];
};

struct blob {
    const char *path;
    uint32_t mode;
    const char *text;
    size_t length; /* 0: strlen */
};

static char big[BIG_BYTES];

/* libgit2 1.5 itself loses some references when a pack is damaged while it fetches. */
const char *__asan_default_options(void);
const char *__lsan_default_suppressions(void);

const char *__asan_default_options(void)
{
    return "fast_unwind_on_malloc=0";
}

const char *__lsan_default_suppressions(void)
{
    return "leak:git_revparse_single\n";
}

static void must(int code)
{
    if (code < 0)
        fail_msg("libgit2: %s", git_error_last() == NULL ? "?" : git_error_last()->message);
}

/* Adds a commit with exactly these files to the reference. */
static void commit_files(git_repository *repository, const char *reference, const struct blob *blobs,
                         size_t count, const char *parent, int64_t when, char id[41])
{
    git_index *index;
    git_tree *tree;
    git_oid tree_id, commit_id, parent_id;
    git_signature *who;
    git_commit *before = NULL;
    must(git_index_new(&index));
    for (size_t i = 0; i < count; i++) {
        git_index_entry entry = {.path = blobs[i].path, .mode = blobs[i].mode};
        size_t length = blobs[i].length > 0 ? blobs[i].length : strlen(blobs[i].text);
        if (blobs[i].mode == GIT_FILEMODE_COMMIT)
            must(git_oid_fromstr(&entry.id, "1234567890123456789012345678901234567890"));
        else
            must(git_blob_create_from_buffer(&entry.id, repository, blobs[i].text, length));
        must(git_index_add(index, &entry));
    }
    must(git_index_write_tree_to(&tree_id, index, repository));
    must(git_tree_lookup(&tree, repository, &tree_id));
    must(git_signature_new(&who, "T", "t@example.com", when, 0));
    if (parent != NULL) {
        must(git_oid_fromstr(&parent_id, parent));
        must(git_commit_lookup(&before, repository, &parent_id));
    }
    const git_commit *parents[] = {before};
    must(git_commit_create(&commit_id, repository, reference, who, who, NULL, "m", tree,
                           parent == NULL ? 0 : 1, parents));
    git_oid_tostr(id, 41, &commit_id);
    git_commit_free(before);
    git_signature_free(who);
    git_tree_free(tree);
    git_index_free(index);
}

static void add_tag(git_repository *repository, const char *name, const char *commit)
{
    git_oid id, tag;
    git_object *target;
    git_signature *who;
    must(git_oid_fromstr(&id, commit));
    must(git_object_lookup(&target, repository, &id, GIT_OBJECT_COMMIT));
    must(git_signature_new(&who, "T", "t@example.com", 1000, 0));
    must(git_tag_create(&tag, repository, name, target, who, "m", 0));
    git_signature_free(who);
    git_object_free(target);
}

static int set_up(void **state)
{
    static struct world world;
    git_repository *repository;
    world = (struct world){.folder = "/tmp/tender-repository-XXXXXX"};
    assert_non_null(mkdtemp(world.folder));
    snprintf(world.remote, sizeof world.remote, "%s/remote", world.folder);
    snprintf(world.state, sizeof world.state, "%s/state", world.folder);
    git_libgit2_init();
    uint32_t random = 1;
    for (size_t i = 0; i < sizeof big; i++) {
        random = random * 1664525 + 1013904223;
        big[i] = (char)(random >> 24);
    }
    git_repository_init_options options;
    git_repository_init_options_init(&options, GIT_REPOSITORY_INIT_OPTIONS_VERSION);
    options.flags = GIT_REPOSITORY_INIT_MKDIR | GIT_REPOSITORY_INIT_MKPATH;
    options.initial_head = "trunk";
    must(git_repository_init_ext(&repository, world.remote, &options));
    const struct blob files[] = {
        {"teams/a.yml", GIT_FILEMODE_BLOB, "name: A\r\n", 0},
        {"teams/b.yml", GIT_FILEMODE_BLOB_EXECUTABLE, "name: B\n", 0},
        {"lib/with\nnewline", GIT_FILEMODE_BLOB, "x", 0},
        {"lib/big", GIT_FILEMODE_BLOB, big, sizeof big},
        {"lib/empty", GIT_FILEMODE_BLOB, "", 0},
        {"links/file", GIT_FILEMODE_LINK, "../teams/a.yml", 0},
        {"links/folder", GIT_FILEMODE_LINK, "../teams", 0},
        {"links/chain", GIT_FILEMODE_LINK, "folder/../links/file", 0},
        {"links/out", GIT_FILEMODE_LINK, "../../etc/passwd", 0},
        {"links/absolute", GIT_FILEMODE_LINK, "/etc/passwd", 0},
        {"links/loop", GIT_FILEMODE_LINK, "loop", 0},
        {"links/nowhere", GIT_FILEMODE_LINK, "nothing", 0},
        {"module", GIT_FILEMODE_COMMIT, "", 0},
    };
    commit_files(repository, "refs/heads/trunk", files, 2, NULL, 1000000, world.first);
    commit_files(repository, "refs/heads/trunk", files, ARRAY_LENGTH(files), world.first, 2000000,
                 world.second);
    commit_files(repository, "refs/heads/side/branch", files, 1, world.first, 3000000, world.branch);
    add_tag(repository, "v1", world.first);
    git_repository_free(repository);
    *state = &world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    struct err e;
    err_init(&e);
    git_libgit2_shutdown();
    return folder_remove(world->folder, &e);
}

static struct repository_options options_for(const struct world *world)
{
    return (struct repository_options){.url = world->remote,
                                       .state_dir = world->state,
                                       .timeout_ms = 600000,
                                       .max_file_bytes = 1024 * 1024,
                                       .clock = clock_system()};
}

static struct repository *open_or_fail(const struct repository_options *options)
{
    struct err e;
    err_init(&e);
    struct repository *repository = repository_open(options, &e);
    if (repository == NULL)
        fail_msg("%s", e.text);
    return repository;
}

static void expect_file(struct repository *repository, const char *path, const char *text, size_t length)
{
    struct err e;
    err_init(&e);
    struct buf buf = BUF_INIT(1024 * 1024);
    if (repository_read(repository, path, &buf, &e) < 0)
        fail_msg("%s: %s", path, e.text);
    assert_int_equal(buf.length, length);
    assert_memory_equal(buf_text(&buf), text, length);
    buf_done(&buf);
}

static void expect_error(struct repository *repository, const char *path, enum err_class class_,
                         const char *text)
{
    struct err e;
    err_init(&e);
    struct buf buf = BUF_INIT(100 * 1024);
    assert_int_equal(repository_read(repository, path, &buf, &e), -1);
    if (e.class != class_ || strstr(e.text, text) == NULL)
        fail_msg("%s: %s: %s", path, err_class_name(e.class), e.text);
    buf_done(&buf);
}

static void test_revisions(void **state)
{
    struct world *world = *state;
    char start[11];
    snprintf(start, sizeof start, "%.10s", world->branch);
    const struct {
        const char *revision, *commit;
    } cases[] = {{NULL, world->second},
                 {"trunk", world->second},
                 {"v1", world->first},
                 {world->first, world->first},
                 {start, world->branch},
                 {"side/branch", world->branch},
                 {"refs/tags/v1", world->first},
                 {"refs/heads/trunk", world->second},
                 {"trunk~1", world->first},
                 {"HEAD^", world->first},
                 {"@", world->second},
                 {"@~1", world->first},
                 {"origin/trunk", world->second},
                 {"origin/trunk^", world->first},
                 {"v1^{}", world->first},
                 {"v1^{commit}", world->first}};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct repository_options options = options_for(world);
        options.revision = cases[i].revision;
        struct repository *repository = open_or_fail(&options);
        assert_string_equal(repository_revision(repository), cases[i].commit);
        assert_string_equal(repository_warning(repository), "");
        repository_close(repository);
    }
}

static void test_no_such_revision(void **state)
{
    struct world *world = *state;
    static const char none[] = "no branch, tag or commit";
    static const struct {
        const char *revision, *text;
    } cases[] = {{"nothing", none},
                 {"", none},
                 {"v2", none},
                 {"1234567890123456789012345678901234567890", none},
                 {"12345678", none},
                 {"nothing~1", none},
                 {"trunk~2", "the history does not go back that far"},
                 {"trunk^^", "the history does not go back that far"},
                 {"trunk^2", "has no such parent"},
                 {"trunk@{1}", "kept in no mirror"},
                 {"@{u}", "kept in no mirror"},
                 {"..", "no single revision"},
                 {"v1..trunk", "no single revision"},
                 {"a b", none},
                 {"^trunk", "no single revision"},
                 {"trunk~x", "no single revision"},
                 {":/m", "git rev-parse"},
                 {"trunk^{/m}", "git rev-parse"},
                 {"trunk:teams", "else than a commit"},
                 {"trunk^{tree}", "else than a commit"}};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct repository_options options = options_for(world);
        struct err e;
        err_init(&e);
        options.revision = cases[i].revision;
        assert_null(repository_open(&options, &e));
        assert_int_equal(e.class, ERR_REPOSITORY);
        if (strstr(e.text, cases[i].text) == NULL)
            fail_msg("%s: %s", cases[i].revision, e.text);
    }
}

/* A branch and a tag of one name that mean different commits: neither is guessed. */
static void test_two_names(void **state)
{
    struct world *world = *state;
    struct err e;
    git_repository *remote;
    must(git_repository_open(&remote, world->remote));
    add_tag(remote, "side/branch", world->first);
    add_tag(remote, "trunk", world->second);
    git_repository_free(remote);
    struct repository_options options = options_for(world);
    err_init(&e);
    options.revision = "side/branch";
    assert_null(repository_open(&options, &e));
    assert_non_null(strstr(e.text, "refs/heads/side/branch"));
    options.revision = "refs/tags/side/branch";
    struct repository *repository = open_or_fail(&options);
    assert_string_equal(repository_revision(repository), world->first);
    repository_close(repository);
    options.revision = "trunk";
    repository = open_or_fail(&options);
    assert_string_equal(repository_revision(repository), world->second);
    repository_close(repository);
}

static void expect_files(struct repository *repository)
{
    struct err e;
    err_init(&e);
    const struct repository_entry *entries;
    size_t count;
    expect_file(repository, "teams/a.yml", "name: A\r\n", 9);
    expect_file(repository, "lib/with\nnewline", "x", 1);
    expect_file(repository, "lib/big", big, sizeof big);
    expect_file(repository, "lib/empty", "", 0);
    expect_file(repository, "links/file", "name: A\r\n", 9);
    expect_file(repository, "links/folder/b.yml", "name: B\n", 8);
    expect_file(repository, "links/chain", "name: A\r\n", 9);
    expect_error(repository, "links/out", ERR_REPOSITORY, "out of the repository");
    expect_error(repository, "links/absolute", ERR_REPOSITORY, "out of the repository");
    expect_error(repository, "links/loop", ERR_REPOSITORY, "more than 8");
    expect_error(repository, "links/nowhere", ERR_REPOSITORY,
                 "links/nowhere is a symbolic link to links/nothing, which does not exist");
    expect_error(repository, "teams", ERR_REPOSITORY, "a folder");
    expect_error(repository, "", ERR_REPOSITORY, "a folder");
    expect_error(repository, "teams/a.yml/x", ERR_NOT_FOUND, "not a folder");
    expect_error(repository, "../remote/teams/a.yml", ERR_REPOSITORY, "out of the repository");
    expect_error(repository, "/etc/passwd", ERR_REPOSITORY, "");
    expect_error(repository, "nothing", ERR_NOT_FOUND, "does not exist");
    expect_error(repository, ".git/config", ERR_NOT_FOUND, "does not exist");
    expect_error(repository, "lib/big", ERR_REPOSITORY, "--max-document-size");
    assert_int_equal(repository_list(repository, "links", &entries, &count, &e), 0);
    static const struct repository_entry expected[] = {
        {"absolute", ENTRY_LINK}, {"chain", ENTRY_FILE},   {"file", ENTRY_FILE}, {"folder", ENTRY_FOLDER},
        {"loop", ENTRY_LINK},     {"nowhere", ENTRY_LINK}, {"out", ENTRY_LINK}};
    assert_int_equal(count, ARRAY_LENGTH(expected));
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(entries[i].name, expected[i].name);
        assert_int_equal(entries[i].type, expected[i].type);
    }
    assert_int_equal(repository_list(repository, "links/folder", &entries, &count, &e), 0);
    assert_int_equal(count, 2);
    assert_int_equal(repository_list(repository, "nothing", &entries, &count, &e), -1);
    assert_int_equal(e.class, ERR_NOT_FOUND);
}

static void test_mirror_files(void **state)
{
    struct world *world = *state;
    const struct repository_options options = options_for(world);
    struct repository *repository = open_or_fail(&options);
    struct err e;
    err_init(&e);
    const struct repository_entry *entries;
    size_t count;
    expect_files(repository);
    assert_int_equal(repository_list(repository, "", &entries, &count, &e), 0);
    assert_int_equal(count, 4);
    assert_string_equal(entries[2].name, "module");
    assert_int_equal(entries[2].type, ENTRY_OTHER);
    repository_close(repository);
}

/* The work tree of the second commit, but for the submodule. */
static void check_out(const struct world *world)
{
    git_repository *repository;
    git_checkout_options checkout;
    must(git_repository_open(&repository, world->remote));
    git_checkout_options_init(&checkout, GIT_CHECKOUT_OPTIONS_VERSION);
    checkout.checkout_strategy = GIT_CHECKOUT_FORCE;
    must(git_checkout_head(repository, &checkout));
    git_repository_free(repository);
}

static void test_directory(void **state)
{
    struct world *world = *state;
    char revision[128];
    char pipe[160];
    check_out(world);
    snprintf(revision, sizeof revision, "folder %s", world->remote);
    snprintf(pipe, sizeof pipe, "%s/pipe", world->remote);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    const struct repository_options options = {
        .directory = world->remote, .max_file_bytes = 1024 * 1024, .clock = clock_system()};
    struct repository *repository = open_or_fail(&options);
    assert_string_equal(repository_revision(repository), revision);
    expect_files(repository);
    expect_error(repository, "pipe", ERR_REPOSITORY, "not a file");
    struct err e;
    err_init(&e);
    const struct repository_entry *entries;
    size_t count;
    assert_int_equal(repository_list(repository, "", &entries, &count, &e), 0);
    for (size_t i = 0; i < count; i++)
        assert_string_not_equal(entries[i].name, ".git");
    repository_close(repository);
    unlink(pipe);
    const struct repository_options missing = {.directory = "/nothing/there", .clock = clock_system()};
    assert_null(repository_open(&missing, &e));
    assert_int_equal(e.class, ERR_REPOSITORY);
}

static void test_commit_of_a_directory(void **state)
{
    struct world *world = *state;
    char below[128];
    struct err e;
    err_init(&e);
    struct repository_options options = options_for(world);
    options.url = NULL;
    options.directory = world->remote;
    options.revision = "trunk";
    struct repository *repository = open_or_fail(&options);
    assert_string_equal(repository_revision(repository), world->second);
    expect_files(repository);
    repository_close(repository);
    /* A folder below the root: the commit's same folder. */
    check_out(world);
    snprintf(below, sizeof below, "%s/teams", world->remote);
    options.directory = below;
    repository = open_or_fail(&options);
    expect_file(repository, "a.yml", "name: A\r\n", 9);
    repository_close(repository);
    options.revision = "nothing";
    assert_null(repository_open(&options, &e));
    assert_non_null(strstr(e.text, "no branch, tag or commit"));
    err_init(&e);
    options.directory = "/";
    assert_null(repository_open(&options, &e));
    assert_int_equal(e.class, ERR_REPOSITORY);
}

/* The path of the one mirror. */
enum { MIRROR_BYTES = 600 };

static void find_mirror(const struct world *world, char out[MIRROR_BYTES])
{
    char folder[128];
    snprintf(folder, sizeof folder, "%s/mirror", world->state);
    DIR *stream = opendir(folder);
    assert_non_null(stream);
    out[0] = '\0';
    for (const struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream))
        if (text_ends_with(entry->d_name, ".git"))
            snprintf(out, MIRROR_BYTES, "%s/%s", folder, entry->d_name);
    closedir(stream);
    assert_true(out[0] != '\0');
}

static void move_remote(const struct world *world, bool away)
{
    char aside[128];
    snprintf(aside, sizeof aside, "%s.aside", world->remote);
    assert_int_equal(away ? rename(world->remote, aside) : rename(aside, world->remote), 0);
}

static void test_remote_is_away(void **state)
{
    struct world *world = *state;
    struct err e;
    err_init(&e);
    struct repository_options options = options_for(world);
    repository_close(open_or_fail(&options));
    move_remote(world, true);
    struct repository *repository = open_or_fail(&options);
    assert_string_equal(repository_revision(repository), world->second);
    assert_non_null(strstr(repository_warning(repository), "can't be reached"));
    assert_non_null(strstr(repository_warning(repository), " old, is used"));
    expect_file(repository, "teams/a.yml", "name: A\r\n", 9);
    repository_close(repository);
    /* A commit that is here needs no remote. */
    options.revision = world->first;
    repository = open_or_fail(&options);
    assert_string_equal(repository_warning(repository), "");
    repository_close(repository);
    options.revision = "never-fetched";
    assert_null(repository_open(&options, &e));
    assert_non_null(strstr(e.text, "can't fetch"));
    move_remote(world, false);
}

static void test_branch_goes_away(void **state)
{
    struct world *world = *state;
    git_repository *repository;
    git_reference *reference;
    struct err e;
    err_init(&e);
    struct repository_options options = options_for(world);
    repository_close(open_or_fail(&options));
    must(git_repository_open(&repository, world->remote));
    must(git_reference_lookup(&reference, repository, "refs/heads/side/branch"));
    must(git_reference_delete(reference));
    git_reference_free(reference);
    git_repository_free(repository);
    options.revision = "side/branch";
    assert_null(repository_open(&options, &e));
    assert_non_null(strstr(e.text, "no branch"));
}

/* Overwrites bytes in the middle of every pack: the commit and its trees can be read, a large blob can't. */
static void damage_packs(const char *mirror, bool whole)
{
    char folder[MIRROR_BYTES + 32];
    snprintf(folder, sizeof folder, "%s/objects/pack", mirror);
    DIR *stream = opendir(folder);
    assert_non_null(stream);
    size_t damaged = 0;
    for (const struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream)) {
        char path[PATH_MAX + 300];
        if (!text_ends_with(entry->d_name, ".pack"))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        assert_int_equal(chmod(path, 0600), 0);
        int file = open(path, O_RDWR);
        assert_true(file >= 0);
        if (whole)
            assert_int_equal(ftruncate(file, 10), 0);
        else
            assert_int_equal(pwrite(file, big, 1000, lseek(file, 0, SEEK_END) / 2), 1000);
        close(file);
        damaged++;
    }
    closedir(stream);
    assert_true(damaged > 0);
}

static void test_damaged_mirror(void **state)
{
    struct world *world = *state;
    char mirror[MIRROR_BYTES];
    char head[MIRROR_BYTES + 32];
    const struct repository_options options = options_for(world);
    repository_close(open_or_fail(&options));
    find_mirror(world, mirror);
    /* A blob that can't be read is found out when it is wanted. */
    damage_packs(mirror, false);
    struct repository *repository = open_or_fail(&options);
    expect_files(repository);
    repository_close(repository);
    damage_packs(mirror, true);
    repository = open_or_fail(&options);
    expect_files(repository);
    repository_close(repository);
    struct err e;
    err_init(&e);
    snprintf(head, sizeof head, "%s/HEAD", mirror);
    assert_int_equal(file_write_atomically(head, "nonsense", 8, 0600, &e), 0);
    repository = open_or_fail(&options);
    expect_files(repository);
    repository_close(repository);
    /* A run that was killed while it wrote. */
    static const char *const leftovers[] = {"refs/tender/HEAD.lock",
                                            "refs/heads/side/branch.lock",
                                            "HEAD.lock",
                                            "packed-refs.lock",
                                            "config.lock",
                                            "objects/pack/pack_git2_abcdef",
                                            "objects/tmp_object_git2_abcdef"};
    for (size_t i = 0; i < ARRAY_LENGTH(leftovers); i++) {
        snprintf(head, sizeof head, "%s/%s", mirror, leftovers[i]);
        assert_int_equal(file_write_atomically(head, "x", 1, 0600, &e), 0);
    }
    repository_close(open_or_fail(&options));
    for (size_t i = 0; i < ARRAY_LENGTH(leftovers); i++) {
        snprintf(head, sizeof head, "%s/%s", mirror, leftovers[i]);
        if (access(head, F_OK) == 0)
            fail_msg("%s is still there", head);
    }
}

static const char packed_refs[] = "# pack-refs with: peeled fully-peeled sorted";

/* What a power cut leaves of one file: nothing, zeros, or its beginning; or it was written over. */
static void damage_file(const char *mirror, const char *name, const char *how)
{
    char path[MIRROR_BYTES + 64];
    struct err e;
    err_init(&e);
    struct buf bytes = BUF_INIT(1024 * 1024);
    snprintf(path, sizeof path, "%s/%s", mirror, name);
    if (strcmp(how, "empty") == 0) {
        assert_int_equal(buf_add(&bytes, "", 0, &e), 0);
    } else if (strcmp(how, "garbage") == 0) {
        assert_int_equal(buf_add(&bytes, "\xff\xfe [x\n\xff", 8, &e), 0);
    } else {
        if (file_read(path, &bytes, &e) < 0) {
            err_init(&e);
            assert_int_equal(buf_add(&bytes, packed_refs, sizeof packed_refs, &e), 0);
        }
        if (strcmp(how, "zeros") == 0)
            memset(bytes.bytes, 0, bytes.length);
        else
            bytes.length /= 2;
    }
    assert_int_equal(unlink(path) == 0 || errno == ENOENT, 1);
    assert_int_equal(file_write_atomically(path, bytes.bytes, bytes.length, 0600, &e), 0);
    buf_done(&bytes);
}

/* Adds a commit to the remote's trunk. */
static void add_commit(struct world *world, const char *text)
{
    git_repository *repository;
    const struct blob files[] = {{"teams/a.yml", GIT_FILEMODE_BLOB, text, 0}};
    must(git_repository_open(&repository, world->remote));
    commit_files(repository, "refs/heads/trunk", files, 1, world->second, 4000000, world->second);
    git_repository_free(repository);
}

/* Whatever is damaged in the mirror: what is new in the remote is read, without a warning. */
static void test_damaged_files_of_the_mirror(void **state)
{
    struct world *world = *state;
    static const char *const names[] = {
        "HEAD", "config", "packed-refs", "refs/tender/HEAD", "refs/heads/trunk", "refs/heads/side/branch"};
    static const char *const ways[] = {"empty", "zeros", "half", "garbage"};
    const struct repository_options options = options_for(world);
    for (size_t i = 0; i < ARRAY_LENGTH(names) * ARRAY_LENGTH(ways); i++) {
        const char *name = names[i / ARRAY_LENGTH(ways)];
        const char *how = ways[i % ARRAY_LENGTH(ways)];
        char mirror[MIRROR_BYTES];
        char text[64];
        repository_close(open_or_fail(&options));
        find_mirror(world, mirror);
        damage_file(mirror, name, how);
        for (size_t k = 0; k < 2; k++) { /* with a new commit and without */
            struct repository *repository = open_or_fail(&options);
            if (strcmp(repository_warning(repository), "") != 0 ||
                strcmp(repository_revision(repository), world->second) != 0)
                fail_msg("%s, %s: %s", name, how, repository_warning(repository));
            repository_close(repository);
            snprintf(text, sizeof text, "name: A%zu\n", i);
            add_commit(world, text);
            if (k == 0)
                damage_file(mirror, name, how);
        }
    }
}

/* A damaged reference while the remote is away: what else is there is used. */
static void test_damaged_reference_and_away(void **state)
{
    struct world *world = *state;
    char mirror[MIRROR_BYTES];
    struct repository_options options = options_for(world);
    repository_close(open_or_fail(&options));
    find_mirror(world, mirror);
    damage_file(mirror, "refs/heads/side/branch", "zeros");
    move_remote(world, true);
    for (size_t i = 0; i < 2; i++) {
        struct repository *repository = open_or_fail(&options);
        assert_string_equal(repository_revision(repository), world->second);
        assert_non_null(strstr(repository_warning(repository), "can't be reached"));
        expect_files(repository);
        repository_close(repository);
    }
    move_remote(world, false);
    options.revision = "side/branch";
    struct repository *repository = open_or_fail(&options);
    assert_string_equal(repository_revision(repository), world->branch);
    assert_string_equal(repository_warning(repository), "");
    repository_close(repository);
}

/* A damaged mirror while the remote is away: nothing is made up. */
static void test_damaged_and_away(void **state)
{
    struct world *world = *state;
    char mirror[MIRROR_BYTES];
    struct err e;
    err_init(&e);
    const struct repository_options options = options_for(world);
    repository_close(open_or_fail(&options));
    find_mirror(world, mirror);
    damage_packs(mirror, true);
    move_remote(world, true);
    assert_null(repository_open(&options, &e));
    assert_int_equal(e.class, ERR_REPOSITORY);
    move_remote(world, false);
    struct repository *repository = open_or_fail(&options);
    expect_files(repository);
    repository_close(repository);
}

static void test_secrets_and_stop(void **state)
{
    struct world *world = *state;
    static const char *const urls[] = {
        "https://user:s3cret@127.0.0.1:1/x.git", "https://s3cret@127.0.0.1:1/x.git",
        "odd://user:s3cret@host/x?token=s3cret", "http://127.0.0.1:1/x?key=s3cret",
        "http://user:p@s3cret#x@127.0.0.1:1/x",  "http://user:12#s3cret@127.0.0.1:1/x",
        "https://user:s3cret/@127.0.0.1:1/x"};
    for (size_t i = 0; i < ARRAY_LENGTH(urls); i++) {
        struct err e;
        err_init(&e);
        struct repository_options options = options_for(world);
        options.url = urls[i];
        assert_null(repository_open(&options, &e));
        assert_int_equal(e.class, ERR_REPOSITORY);
        if (strstr(e.text, "s3cret") != NULL)
            fail_msg("%s", e.text);
    }
    struct err e;
    err_init(&e);
    const bool stop = true;
    struct repository_options options = options_for(world);
    options.stop = &stop;
    assert_null(repository_open(&options, &e));
    assert_int_equal(e.class, ERR_INTERRUPTED);
    err_init(&e);
    options = (struct repository_options){.clock = clock_system()};
    assert_null(repository_open(&options, &e));
    repository_close(NULL);
}

/* A Git server that answers with `text`, and no more; the kernel takes the connection where it is NULL. */
struct silent_server {
    int listener;
    const char *text;
    char url[64];
    pthread_t thread;
};

static void *answer_once(void *argument)
{
    const struct silent_server *server = argument;
    char request[4096];
    int connection = accept(server->listener, NULL, NULL);
    if (connection < 0)
        return NULL;
    if (read(connection, request, sizeof request) > 0)
        (void)!write(connection, server->text, strlen(server->text));
    while (read(connection, request, sizeof request) > 0)
        continue; /* until the fetcher is gone */
    close(connection);
    return NULL;
}

static void server_start(struct silent_server *server, const char *text)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    *server =
        (struct silent_server){.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .text = text};
    assert_true(server->listener >= 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server->listener, 8), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&address, &length), 0);
    snprintf(server->url, sizeof server->url, "http://127.0.0.1:%d/x.git", ntohs(address.sin_port));
    if (text != NULL)
        assert_int_equal(pthread_create(&server->thread, NULL, answer_once, server), 0);
}

static void server_end(struct silent_server *server)
{
    shutdown(server->listener, SHUT_RDWR);
    if (server->text != NULL)
        pthread_join(server->thread, NULL);
    close(server->listener);
}

static bool has_no_child(void)
{
    return waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD;
}

static int64_t now_ms(void)
{
    return clock_system()->monotonic_ms(NULL);
}

static bool stop_by_alarm;

static void on_alarm(int number)
{
    (void)number;
    stop_by_alarm = true;
}

/* Whoever is silent, and wherever: the limit that comes first ends the fetch, and no process stays. */
static void test_silent_server(void **state)
{
    struct world *world = *state;
    static const char first_line[] =
        "HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement"
        "\r\nContent-Length: 5000\r\n\r\n001e# service=git-upload-pack\n";
    static const char no_headers[] = "HTTP/1.1 200 OK\r\nContent-Type: app";
    const struct {
        const char *text;
        int64_t timeout_ms, deadline_ms, alarm_ms;
        enum err_class class;
        const char *reason;
    } cases[] = {
        {NULL, 300, 0, 0, ERR_REPOSITORY, "not done after 300 ms; the limit is repository-timeout"},
        {first_line, 300, 0, 0, ERR_REPOSITORY, "the limit is repository-timeout"},
        {no_headers, 300, 0, 0, ERR_REPOSITORY, "the limit is repository-timeout"},
        {NULL, 600000, 300, 0, ERR_REPOSITORY, "deadline"},
        {first_line, 0, 300, 0, ERR_REPOSITORY, "deadline"},
        {NULL, 600000, 0, 300, ERR_INTERRUPTED, "stopped by a signal"},
        {first_line, 600000, 600000, 300, ERR_INTERRUPTED, "stopped by a signal"},
    };
    signal(SIGALRM, on_alarm);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct silent_server server;
        struct err e;
        err_init(&e);
        server_start(&server, cases[i].text);
        stop_by_alarm = false;
        int64_t started_ms = now_ms();
        struct repository_options options = options_for(world);
        options.url = server.url;
        options.timeout_ms = cases[i].timeout_ms;
        options.deadline_monotonic_ms = cases[i].deadline_ms == 0 ? 0 : started_ms + cases[i].deadline_ms;
        options.stop = &stop_by_alarm;
        if (cases[i].alarm_ms > 0)
            setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = cases[i].alarm_ms * 1000}, NULL);
        assert_null(repository_open(&options, &e));
        if (e.class != cases[i].class || strstr(e.text, cases[i].reason) == NULL)
            fail_msg("case %zu: %s: %s", i, err_class_name(e.class), e.text);
        assert_true(now_ms() - started_ms >= 250);
        assert_true(has_no_child());
        server_end(&server);
    }
}

/* A server that went silent: what was fetched before is used. */
static void test_silent_after_a_fetch(void **state)
{
    struct world *world = *state;
    char mirror[MIRROR_BYTES];
    char path[MIRROR_BYTES + 64];
    char hex[DIGEST_HEX_BYTES];
    struct silent_server server;
    struct err e;
    err_init(&e);
    struct repository_options options = options_for(world);
    repository_close(open_or_fail(&options));
    find_mirror(world, mirror);
    server_start(&server, NULL);
    options.url = server.url;
    options.timeout_ms = 200;
    /* The silent server's mirror is the other one's. */
    assert_int_equal(digest_bytes(server.url, strlen(server.url), hex, &e), 0);
    snprintf(path, sizeof path, "%s/mirror/%.16s.git", world->state, hex);
    assert_int_equal(rename(mirror, path), 0);
    struct repository *repository = open_or_fail(&options);
    assert_string_equal(repository_revision(repository), world->second);
    assert_non_null(strstr(repository_warning(repository), "can't be reached"));
    assert_non_null(strstr(repository_warning(repository), "repository-timeout"));
    expect_files(repository);
    repository_close(repository);
    server_end(&server);
}

/* An open descriptor of ours, a lock for one, does not reach the process that fetches. */
static void test_child_holds_nothing(void **state)
{
    struct world *world = *state;
    int ends[2];
    struct silent_server server;
    struct err e;
    err_init(&e);
    assert_int_equal(pipe(ends), 0);
    server_start(&server, NULL);
    struct repository_options options = options_for(world);
    options.url = server.url;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        struct repository *ignored = repository_open(&options, &e);
        _exit(ignored == NULL);
    }
    close(ends[1]);
    usleep(300 * 1000);
    /* Killed outright: nobody is left who could hold the pipe's other end. */
    assert_int_equal(kill(child, SIGKILL), 0);
    struct pollfd wait = {.fd = ends[0], .events = POLLIN};
    assert_int_equal(poll(&wait, 1, 5000), 1);
    char byte;
    assert_int_equal(read(ends[0], &byte, 1), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(ends[0]);
    server_end(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_revisions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_such_revision, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_two_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mirror_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_directory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_commit_of_a_directory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_remote_is_away, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_branch_goes_away, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_mirror, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_files_of_the_mirror, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_reference_and_away, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_and_away, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_secrets_and_stop, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_silent_server, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_silent_after_a_fetch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_child_holds_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
