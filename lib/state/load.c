/* The whole memory of one server, read at once before planning. */
#include "state/database.h"
#include <string.h>

/* One kind of row: its query and how a row becomes a struct. */
struct reading {
    struct state *state;
    struct arena *arena;
    struct memory *memory;
    size_t capacity;
};

static const char *column_text(sqlite3_stmt *statement, int column, struct arena *arena, struct err *e)
{
    const unsigned char *text = sqlite3_column_text(statement, column);
    return arena_strdup(arena, text == NULL ? "" : (const char *)text, e);
}

static int read_item(struct reading *reading, sqlite3_stmt *row, struct err *e)
{
    struct memory *memory = reading->memory;
    struct remembered_item *item =
        ARENA_PUSH(reading->arena, &memory->items, &memory->item_count, &reading->capacity, e);
    if (item == NULL)
        return -1;
    *item = (struct remembered_item){.team_id = sqlite3_column_int64(row, 0),
                                     .key = column_text(row, 1, reading->arena, e),
                                     .title_id = sqlite3_column_int64(row, 2),
                                     .sha256 = column_text(row, 3, reading->arena, e),
                                     .wish_fingerprint = column_text(row, 4, reading->arena, e),
                                     .row_fingerprint = column_text(row, 5, reading->arena, e),
                                     .ignored_fields = (unsigned)sqlite3_column_int64(row, 6),
                                     .assumed_fields = (unsigned)sqlite3_column_int64(row, 7),
                                     .details_read_wall_ms = sqlite3_column_int64(row, 8)};
    return err_is_set(e) ? -1 : 0;
}

static int read_default(struct reading *reading, sqlite3_stmt *row, struct err *e)
{
    struct memory *memory = reading->memory;
    struct remembered_default *script_default =
        ARENA_PUSH(reading->arena, &memory->defaults, &memory->default_count, &reading->capacity, e);
    if (script_default == NULL)
        return -1;
    *script_default = (struct remembered_default){.package_sha256 = column_text(row, 0, reading->arena, e),
                                                  .field = (enum software_field)sqlite3_column_int64(row, 1),
                                                  .text_sha256 = column_text(row, 2, reading->arena, e)};
    return err_is_set(e) ? -1 : 0;
}

static int read_validator(struct reading *reading, sqlite3_stmt *row, struct err *e)
{
    struct memory *memory = reading->memory;
    struct remembered_validator *validator =
        ARENA_PUSH(reading->arena, &memory->validators, &memory->validator_count, &reading->capacity, e);
    if (validator == NULL)
        return -1;
    *validator = (struct remembered_validator){.url_sha256 = column_text(row, 0, reading->arena, e),
                                               .etag = column_text(row, 1, reading->arena, e),
                                               .last_modified = column_text(row, 2, reading->arena, e),
                                               .sha256 = column_text(row, 3, reading->arena, e),
                                               .file_name = column_text(row, 4, reading->arena, e),
                                               .size_bytes = (uint64_t)sqlite3_column_int64(row, 5)};
    return err_is_set(e) ? -1 : 0;
}

static const struct {
    const char *sql;
    bool has_server;
    int (*read)(struct reading *reading, sqlite3_stmt *row, struct err *e);
} tables[] = {
    {"SELECT team, key, title, sha256, wish, row, ignored, assumed, details_read_ms FROM items"
     " WHERE server = ?1 ORDER BY team, key",
     true, read_item},
    {"SELECT package, field, text FROM defaults WHERE server = ?1 ORDER BY package, field, text", true,
     read_default},
    {"SELECT url_sha256, etag, last_modified, sha256, file_name, size FROM validators ORDER BY url_sha256",
     false, read_validator},
};

static int read_table(struct state *state, size_t table, struct arena *arena, struct memory *memory,
                      int *code, struct err *e)
{
    CLEANUP(statement_cleanup) sqlite3_stmt *statement = NULL;
    struct reading reading = {.state = state, .arena = arena, .memory = memory};
    *code = sqlite3_prepare_v2(state->database, tables[table].sql, -1, &statement, NULL);
    if (*code != SQLITE_OK)
        return err_set(e, ERR_SYSTEM, "can't read %s: %s", state->path, sqlite3_errmsg(state->database));
    if (tables[table].has_server)
        sqlite3_bind_int64(statement, 1, state->server_id);
    while ((*code = sqlite3_step(statement)) == SQLITE_ROW)
        if (tables[table].read(&reading, statement, e) < 0)
            return -1;
    if (*code == SQLITE_DONE)
        return 0;
    return err_set(e, *code == SQLITE_NOMEM ? ERR_MEMORY : ERR_SYSTEM, "can't read %s: %s", state->path,
                   sqlite3_errmsg(state->database));
}

int state_load(struct state *state, struct arena *arena, struct memory *out, struct err *e)
{
    struct memory memory = {0};
    *out = memory;
    for (size_t i = 0; i < ARRAY_LENGTH(tables) && state->database != NULL; i++) {
        struct err found;
        int code = SQLITE_OK;
        err_init(&found);
        if (read_table(state, i, arena, &memory, &code, &found) == 0)
            continue;
        /* A page that the quick check passed and that can't be read all the same. */
        if (database_is_corrupt(code))
            return database_start_over(state, "is corrupt", e);
        err_fill(e, found.class, "%s", found.text);
        return -1;
    }
    memory_sort(&memory);
    *out = memory;
    return 0;
}
