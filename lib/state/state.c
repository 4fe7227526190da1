/* What former runs learned, as the model's structs; and what this run learns, written as it is told. */
#include "base/files.h"
#include "base/url.h"
#include "state/database.h"
#include <stdlib.h>
#include <string.h>

enum { SERVER_BYTES = 2048 };

static char *server_name(const char *fleet_url)
{
    char name[SERVER_BYTES];
    url_redact(fleet_url == NULL ? "" : fleet_url, name, sizeof name);
    size_t length = strlen(name);
    while (length > 0 && name[length - 1] == '/')
        name[--length] = '\0';
    return strdup(name);
}

static int find_server(struct state *state, struct err *e)
{
    CLEANUP(statement_cleanup) sqlite3_stmt *statement = NULL;
    if (state->database == NULL)
        return 0;
    if (database_prepare(state, "SELECT id FROM servers WHERE url = ?1", &statement, e) < 0)
        return -1;
    sqlite3_bind_text(statement, 1, state->server, -1, SQLITE_STATIC);
    int code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        state->server_id = sqlite3_column_int64(statement, 0);
    if (code == SQLITE_ROW || code == SQLITE_DONE)
        return 0;
    return err_set(e, ERR_SYSTEM, "can't read %s: %s", state->path, sqlite3_errmsg(state->database));
}

struct state *state_open(const char *state_dir, const char *fleet_url, bool read_only, const struct log *log,
                         struct err *e)
{
    CLEANUP(state_cleanup) struct state *state = malloc(sizeof *state);
    if (state == NULL) {
        (void)err_set(e, ERR_MEMORY, "out of memory");
        return NULL;
    }
    *state = (struct state){.read_only = read_only, .log = log};
    state->path = path_join(state_dir, "state.db");
    state->server = server_name(fleet_url);
    if (state->path == NULL || state->server == NULL) {
        (void)err_set(e, ERR_MEMORY, "out of memory");
        return NULL;
    }
    if ((!read_only && folder_make(state_dir, e) < 0) || database_open(state, e) < 0 ||
        find_server(state, e) < 0)
        return NULL;
    return TAKE(state);
}

void state_close(struct state *state)
{
    if (state == NULL)
        return;
    struct err e;
    err_init(&e);
    if (state->database != NULL && state_commit(state, &e) < 0)
        log_warning(state->log, "state", "%s", e.text);
    sqlite3_close_v2(state->database);
    free(state->path);
    free(state->server);
    free(state);
}

void state_cleanup(struct state **state)
{
    state_close(*state);
    *state = NULL;
}

int state_commit(struct state *state, struct err *e)
{
    struct err pending = state->pending;
    err_init(&state->pending);
    if (state->in_transaction) {
        state->in_transaction = false;
        if (database_run(state->database, "COMMIT", e) < 0) {
            struct err ignored;
            err_init(&ignored);
            (void)!database_run(state->database, "ROLLBACK", &ignored);
            return -1;
        }
    }
    if (!err_is_set(&pending))
        return 0;
    err_fill(e, pending.class, "%s", pending.text);
    return -1;
}

/* Everything belongs to a server: it gets its row with the first write. */
static int ensure_server(struct state *state, struct err *e)
{
    CLEANUP(statement_cleanup) sqlite3_stmt *statement = NULL;
    if (database_begin(state, e) < 0)
        return -1;
    if (state->server_id != 0)
        return 0;
    if (database_prepare(state, "INSERT INTO servers (url) VALUES (?1)", &statement, e) < 0)
        return -1;
    sqlite3_bind_text(statement, 1, state->server, -1, SQLITE_STATIC);
    if (statement_finish(state, statement, e) < 0)
        return -1;
    state->server_id = sqlite3_last_insert_rowid(state->database);
    return 0;
}

/* One value of a statement, so that each write is a row of a table. */
struct value {
    const char *text; /* NULL: the number counts */
    int64_t number;
};
#define TEXT_VALUE(text_) ((struct value){.text = (text_) == NULL ? "" : (text_)})
#define NUMBER_VALUE(number_) ((struct value){.number = (int64_t)(number_)})

static int write_row(struct state *state, const char *sql, const struct value *values, size_t count,
                     struct err *e)
{
    CLEANUP(statement_cleanup) sqlite3_stmt *statement = NULL;
    if (ensure_server(state, e) < 0 || database_prepare(state, sql, &statement, e) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        int code = values[i].text != NULL
                       ? sqlite3_bind_text(statement, (int)i + 1, values[i].text, -1, SQLITE_STATIC)
                       : sqlite3_bind_int64(statement, (int)i + 1, values[i].number);
        if (code != SQLITE_OK)
            return err_set(e, ERR_MEMORY, "the state file: %s", sqlite3_errstr(code));
    }
    return statement_finish(state, statement, e);
}

/* A failing write is told once; what could be written is still committed. */
static void learn(struct state *state, const char *sql, struct value *values, size_t count, bool has_server)
{
    struct err e;
    err_init(&e);
    bool is_locked_out = err_is_set(&state->pending) && !state->in_transaction; /* no wait for each row */
    if (state->database == NULL || state->read_only || is_locked_out)
        return;
    if (has_server && ensure_server(state, &e) == 0)
        values[0] = NUMBER_VALUE(state->server_id);
    if (!err_is_set(&e) && write_row(state, sql, values, count, &e) == 0)
        return;
    if (!err_is_set(&state->pending))
        log_warning(state->log, "state", "what this run learned can't be remembered: %s", e.text);
    err_fill(&state->pending, e.class, "%s", e.text);
}

static void learn_item(void *context, const struct remembered_item *item)
{
    struct value values[] = {NUMBER_VALUE(0),
                             NUMBER_VALUE(item->team_id),
                             TEXT_VALUE(item->key),
                             NUMBER_VALUE(item->title_id),
                             TEXT_VALUE(item->sha256),
                             TEXT_VALUE(item->wish_fingerprint),
                             TEXT_VALUE(item->row_fingerprint),
                             NUMBER_VALUE(item->ignored_fields),
                             NUMBER_VALUE(item->assumed_fields),
                             NUMBER_VALUE(item->details_read_wall_ms)};
    learn(context, "INSERT OR REPLACE INTO items VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)", values,
          ARRAY_LENGTH(values), true);
}

static void forget_item(void *context, int64_t team_id, const char *key)
{
    struct value values[] = {NUMBER_VALUE(0), NUMBER_VALUE(team_id), TEXT_VALUE(key)};
    learn(context, "DELETE FROM items WHERE server = ?1 AND team = ?2 AND key = ?3", values,
          ARRAY_LENGTH(values), true);
}

static void learn_default(void *context, const struct remembered_default *script_default)
{
    struct value values[] = {NUMBER_VALUE(0), TEXT_VALUE(script_default->package_sha256),
                             NUMBER_VALUE(script_default->field), TEXT_VALUE(script_default->text_sha256)};
    learn(context, "INSERT OR IGNORE INTO defaults VALUES (?1, ?2, ?3, ?4)", values, ARRAY_LENGTH(values),
          true);
}

static void learn_validator(void *context, const struct remembered_validator *validator)
{
    struct value values[] = {TEXT_VALUE(validator->url_sha256),    TEXT_VALUE(validator->etag),
                             TEXT_VALUE(validator->last_modified), TEXT_VALUE(validator->sha256),
                             TEXT_VALUE(validator->file_name),     NUMBER_VALUE(validator->size_bytes)};
    learn(context, "INSERT OR REPLACE INTO validators VALUES (?1, ?2, ?3, ?4, ?5, ?6)", values,
          ARRAY_LENGTH(values), false);
}

struct memory_sink state_sink(struct state *state)
{
    return (struct memory_sink){.item = learn_item,
                                .forget_item = forget_item,
                                .script_default = learn_default,
                                .validator = learn_validator,
                                .context = state};
}

/* Nothing grows for ever: the newest rows stay. */
static int drop_oldest(struct state *state, struct err *e)
{
    static const struct {
        const char *sql;
        int most;
    } limits[] = {
        {"DELETE FROM runs WHERE rowid <= (SELECT max(rowid) FROM runs) - ?1", STATE_MAX_RUNS},
        {"DELETE FROM validators WHERE rowid IN (SELECT rowid FROM validators ORDER BY rowid DESC"
         " LIMIT -1 OFFSET ?1)",
         STATE_MAX_VALIDATORS},
        {"DELETE FROM defaults WHERE rowid IN (SELECT rowid FROM defaults ORDER BY rowid DESC"
         " LIMIT -1 OFFSET ?1)",
         STATE_MAX_DEFAULTS},
        {"DELETE FROM items WHERE rowid IN (SELECT rowid FROM items ORDER BY rowid DESC LIMIT -1 OFFSET ?1)",
         STATE_MAX_ITEMS},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(limits); i++) {
        const struct value most = NUMBER_VALUE(limits[i].most);
        if (write_row(state, limits[i].sql, &most, 1, e) < 0)
            return -1;
    }
    return 0;
}

static int counts_text(const struct run_report *report, struct buf *out, struct err *e)
{
    for (int kind = 0; kind < OUTCOME_KIND_COUNT; kind++)
        if (report->counts[kind] > 0 &&
            buf_printf(out, e, "%s%s=%zu", out->length > 0 ? " " : "",
                       outcome_kind_name((enum outcome_kind)kind), report->counts[kind]) < 0)
            return -1;
    return 0;
}

static int record(struct state *state, const struct run_report *report, struct buf *counts, struct err *e)
{
    if (counts_text(report, counts, e) < 0 || ensure_server(state, e) < 0)
        return -1;
    const struct value values[] = {NUMBER_VALUE(state->server_id),      NUMBER_VALUE(report->started_wall_ms),
                                   NUMBER_VALUE(report->duration_ms),   TEXT_VALUE(report->command),
                                   TEXT_VALUE(report->tender_version),  TEXT_VALUE(report->revision),
                                   NUMBER_VALUE(report->exit_status),   TEXT_VALUE(report->failure.text),
                                   TEXT_VALUE(buf_text(counts)),        NUMBER_VALUE(report->received_bytes),
                                   NUMBER_VALUE(report->uploaded_bytes)};
    if (write_row(state,
                  "INSERT INTO runs (server, started_ms, duration_ms, command, version, revision,"
                  " exit_status, failure, counts, received, uploaded)"
                  " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                  values, ARRAY_LENGTH(values), e) < 0)
        return -1;
    return drop_oldest(state, e);
}

int state_record_run(struct state *state, const struct run_report *report, struct err *e)
{
    struct buf counts = BUF_INIT(4096);
    if (state->database == NULL || state->read_only)
        return 0;
    int result = record(state, report, &counts, e);
    buf_done(&counts);
    return result;
}
