/* The SQLite file itself: opened, checked, set aside where it is corrupt or not ours, made anew. Everything
 * in it can be learned again, so no fault of it stops a run. */
#include "state/database.h"
#include "base/files.h"
#include "base/text.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    APPLICATION_ID = 0x54454E44 /* "TEND" */,
    SCHEMA_VERSION = 2,
    BUSY_TIMEOUT_MS = 5000,
    PATH_BYTES = 4096,
    ASIDE_KEPT = 3 /* the newest ones */
};

static const char schema[] =
    "BEGIN IMMEDIATE;"
    "PRAGMA application_id = 1413828164;"
    "PRAGMA user_version = 2;"
    "CREATE TABLE servers (id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE);"
    "CREATE TABLE items (server INTEGER NOT NULL, team INTEGER NOT NULL, key TEXT NOT NULL,"
    " title INTEGER NOT NULL, sha256 TEXT NOT NULL, wish TEXT NOT NULL, row TEXT NOT NULL,"
    " ignored INTEGER NOT NULL, assumed INTEGER NOT NULL, details_read_ms INTEGER NOT NULL,"
    " UNIQUE (server, team, key));"
    "CREATE TABLE defaults (server INTEGER NOT NULL, package TEXT NOT NULL, field INTEGER NOT NULL,"
    " text TEXT NOT NULL, UNIQUE (server, package, field, text));"
    "CREATE TABLE validators (url_sha256 TEXT NOT NULL UNIQUE, etag TEXT NOT NULL, last_modified TEXT NOT "
    "NULL,"
    " sha256 TEXT NOT NULL, file_name TEXT NOT NULL, size INTEGER NOT NULL);"
    "CREATE TABLE runs (id INTEGER PRIMARY KEY AUTOINCREMENT, server INTEGER NOT NULL,"
    " started_ms INTEGER NOT NULL, duration_ms INTEGER NOT NULL, command TEXT NOT NULL,"
    " version TEXT NOT NULL, revision TEXT NOT NULL, exit_status INTEGER NOT NULL, failure TEXT NOT NULL,"
    " counts TEXT NOT NULL, received INTEGER NOT NULL, uploaded INTEGER NOT NULL);"
    "COMMIT;";
_Static_assert(APPLICATION_ID == 1413828164 && SCHEMA_VERSION == 2, "the schema's text names both numbers");

/* Version 1 held whole URLs, with what is secret in them. What is overwritten and left out here is learned
 * again; no page keeps it. */
static const char upgrade[] = "PRAGMA secure_delete = ON;"
                              "BEGIN IMMEDIATE;"
                              "DELETE FROM items;"
                              "DELETE FROM validators;"
                              "ALTER TABLE validators RENAME COLUMN url TO url_sha256;"
                              "PRAGMA user_version = 2;"
                              "COMMIT;"
                              "VACUUM;";

enum verdict {
    VERDICT_OURS,
    VERDICT_OLDER,
    VERDICT_EMPTY,
    VERDICT_NEWER,
    VERDICT_FOREIGN,
    VERDICT_CORRUPT,
    VERDICT_FAILED
};

bool database_is_corrupt(int code)
{
    return (code & 0xFF) == SQLITE_CORRUPT || (code & 0xFF) == SQLITE_NOTADB;
}

int database_run(sqlite3 *database, const char *sql, struct err *e)
{
    int code = sqlite3_exec(database, sql, NULL, NULL, NULL);
    if (code == SQLITE_OK)
        return 0;
    return err_set(e, code == SQLITE_NOMEM ? ERR_MEMORY : ERR_SYSTEM, "the state file: %s",
                   sqlite3_errmsg(database));
}

void statement_cleanup(sqlite3_stmt **statement)
{
    sqlite3_finalize(*statement);
    *statement = NULL;
}

int database_prepare(struct state *state, const char *sql, sqlite3_stmt **out, struct err *e)
{
    if (sqlite3_prepare_v2(state->database, sql, -1, out, NULL) == SQLITE_OK)
        return 0;
    return err_set(e, ERR_SYSTEM, "the state file %s: %s", state->path, sqlite3_errmsg(state->database));
}

int statement_finish(struct state *state, sqlite3_stmt *statement, struct err *e)
{
    int code = sqlite3_step(statement);
    if (code == SQLITE_DONE)
        return 0;
    return err_set(e, code == SQLITE_NOMEM ? ERR_MEMORY : ERR_SYSTEM, "the state file %s: %s", state->path,
                   sqlite3_errmsg(state->database));
}

int database_begin(struct state *state, struct err *e)
{
    if (state->in_transaction)
        return 0;
    if (database_run(state->database, "BEGIN IMMEDIATE", e) < 0)
        return -1;
    state->in_transaction = true;
    return 0;
}

/* The first column of the first row; 0 and its code where there is none. */
static int read_number(sqlite3 *database, const char *sql, int64_t *out)
{
    CLEANUP(statement_cleanup) sqlite3_stmt *statement = NULL;
    *out = 0;
    int code = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    if (code != SQLITE_OK)
        return code;
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        *out = sqlite3_column_int64(statement, 0);
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

static enum verdict verdict_of_code(int code)
{
    return database_is_corrupt(code) ? VERDICT_CORRUPT : VERDICT_FAILED;
}

static enum verdict examine(sqlite3 *database)
{
    int64_t application = 0, version = 0, tables = 0, sound = 0;
    int code = read_number(database, "PRAGMA application_id", &application);
    if (code == SQLITE_OK)
        code = read_number(database, "PRAGMA user_version", &version);
    if (code == SQLITE_OK)
        code = read_number(database, "SELECT count(*) FROM sqlite_master", &tables);
    if (code != SQLITE_OK)
        return verdict_of_code(code);
    if (application == 0 && version == 0 && tables == 0)
        return VERDICT_EMPTY;
    if (application != APPLICATION_ID)
        return VERDICT_FOREIGN;
    if (version > SCHEMA_VERSION)
        return VERDICT_NEWER;
    code =
        read_number(database, "SELECT count(*) FROM pragma_quick_check(1) WHERE quick_check = 'ok'", &sound);
    if (code != SQLITE_OK)
        return verdict_of_code(code);
    if (sound != 1 || version < 1)
        return VERDICT_CORRUPT;
    return version == SCHEMA_VERSION ? VERDICT_OURS : VERDICT_OLDER;
}

static void close_database(struct state *state)
{
    sqlite3_close_v2(state->database);
    state->database = NULL;
    state->in_transaction = false;
    state->server_id = 0;
}

static bool exists(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

/* The number of "state.db.corrupt-N" or of its journal; 0: another file. */
static int64_t aside_number(const char *name)
{
    static const char beginning[] = "state.db.corrupt-";
    if (!text_starts_with(name, beginning) || name[sizeof beginning - 1] < '1' ||
        name[sizeof beginning - 1] > '9')
        return 0;
    char *end;
    int64_t number = strtoll(name + sizeof beginning - 1, &end, 10);
    return number < INT32_MAX && (*end == '\0' || strcmp(end, "-journal") == 0) ? number : 0;
}

static void folder_close(DIR **folder)
{
    if (*folder != NULL)
        closedir(*folder);
}

/* The highest number of a file set aside, 0 if there is none. Those below `oldest_kept` are removed. */
static int64_t scan_aside(const struct state *state, int64_t oldest_kept)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%.*s", (int)(strrchr(state->path, '/') - state->path), state->path);
    CLEANUP(folder_close) DIR *folder = opendir(path);
    int64_t highest = 0;
    while (folder != NULL) {
        const struct dirent *entry = readdir(folder);
        if (entry == NULL)
            break;
        int64_t number = aside_number(entry->d_name);
        highest = number > highest ? number : highest;
        if (number > 0 && number < oldest_kept)
            (void)!unlinkat(dirfd(folder), entry->d_name, 0);
    }
    return highest;
}

/* The file and its journal, which belongs to it, under the next number; a few of them are kept. */
static int set_aside(struct state *state, const char *why, struct err *e)
{
    char aside[PATH_BYTES], from[PATH_BYTES + 16], to[PATH_BYTES + 16];
    close_database(state);
    int64_t number = scan_aside(state, 0) + 1;
    snprintf(aside, sizeof aside, "%s.corrupt-%lld", state->path, (long long)number);
    if (rename(state->path, aside) != 0)
        return err_set_errno(e, "can't set %s aside", state->path);
    snprintf(from, sizeof from, "%s-journal", state->path);
    snprintf(to, sizeof to, "%s-journal", aside);
    if (rename(from, to) != 0 && errno != ENOENT)
        return err_set_errno(e, "can't set %s aside", from);
    (void)scan_aside(state, number - ASIDE_KEPT + 1);
    log_warning(state->log, "state", "%s %s; it was set aside as %s and is made anew", state->path, why,
                aside);
    return 0;
}

/* SQLite gives a journal the mode of its database. */
static int make_private_file(const char *path, struct err *e)
{
    CLEANUP(file_close_cleanup) int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        return err_set_errno(e, "can't open %s", path);
    if (fchmod(file, 0600) != 0)
        return err_set_errno(e, "can't make %s private", path);
    return 0;
}

static int open_file(struct state *state, struct err *e)
{
    int flags = state->read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    if (!state->read_only && make_private_file(state->path, e) < 0)
        return -1;
    int code = sqlite3_open_v2(state->path, &state->database, flags | SQLITE_OPEN_NOFOLLOW, NULL);
    if (code == SQLITE_OK) {
        sqlite3_busy_timeout(state->database, BUSY_TIMEOUT_MS);
        return 0;
    }
    (void)err_set(e, ERR_SYSTEM, "can't open %s: %s", state->path, sqlite3_errstr(code));
    close_database(state);
    return -1;
}

static int make_schema(struct state *state, const char *sql, struct err *e)
{
    if (database_run(state->database, sql, e) == 0)
        return 0;
    close_database(state);
    return -1;
}

static int start_over_for(struct state *state, const char *why, struct err *e)
{
    if (state->read_only) {
        log_warning(state->log, "state", "%s %s; this run does without what was remembered", state->path,
                    why);
        close_database(state);
        return 0;
    }
    if (set_aside(state, why, e) < 0 || open_file(state, e) < 0 ||
        database_run(state->database, "PRAGMA journal_mode = TRUNCATE", e) < 0)
        return -1;
    return make_schema(state, schema, e);
}

int database_start_over(struct state *state, const char *why, struct err *e)
{
    return start_over_for(state, why, e);
}

static int act_on(struct state *state, enum verdict verdict, struct err *e)
{
    switch (verdict) {
    case VERDICT_OURS:
        return 0;
    case VERDICT_OLDER:
    case VERDICT_EMPTY:
        if (!state->read_only)
            return make_schema(state, verdict == VERDICT_EMPTY ? schema : upgrade, e);
        close_database(state);
        return 0;
    case VERDICT_NEWER:
        log_warning(state->log, "state",
                    "%s was written by a newer tender; it is left alone, and this run does without it",
                    state->path);
        close_database(state);
        return 0;
    case VERDICT_FOREIGN:
        return start_over_for(state, "is another program's database", e);
    case VERDICT_CORRUPT:
        return start_over_for(state, "is corrupt", e);
    case VERDICT_FAILED:
        (void)err_set(e, ERR_SYSTEM, "can't read %s: %s", state->path, sqlite3_errmsg(state->database));
        close_database(state);
        return -1;
    }
    return 0;
}

int database_open(struct state *state, struct err *e)
{
    if (state->read_only && !exists(state->path))
        return 0;
    if (open_file(state, e) < 0)
        return -1;
    enum verdict verdict = examine(state->database);
    if (act_on(state, verdict, e) < 0)
        return -1;
    if (state->database != NULL && !state->read_only)
        return database_run(state->database, "PRAGMA journal_mode = TRUNCATE", e);
    return 0;
}
