/* Packages' bytes on their way to the server: streaming multipart out of the cache's file, hashed
 * while it streams, compared with what was verified before and with what the server says it got. Memory does
 * not grow with the package. */
#include "base/text.h"
#include "fleet/call.h"
#include "fleet/client.h"
#include "fleet/fleet_private.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PATH_BYTES = 512, LOOKUP_ARENA_BYTES = 64 * 1024 * 1024, FIXED_PARTS = 8 };

static void call_cleanup(struct call *call)
{
    call_done(call);
}

static void free_cleanup(struct http_part **parts)
{
    free(*parts);
}

/* The form under construction. */
struct form {
    struct http_part *parts;
    size_t count;
};

static void add_text(struct form *form, const char *name, const char *text)
{
    if (text != NULL)
        form->parts[form->count++] =
            (struct http_part){.name = name, .text = text, .text_length = strlen(text)};
}

static void add_names(struct form *form, const char *name, const struct string_list *names, bool may_clear)
{
    for (size_t i = 0; i < names->count; i++)
        add_text(form, name, names->items[i]);
    if (names->count == 0 && may_clear)
        add_text(form, name, "");
}

static void add_fields(struct form *form, const struct package_fields *fields, bool is_edit)
{
    add_text(form, "install_script", fields->install_script);
    add_text(form, "uninstall_script", fields->uninstall_script);
    add_text(form, "post_install_script", fields->post_install_script);
    add_text(form, "pre_install_query", fields->pre_install_query);
    if (fields->self_service != TRISTATE_ABSENT)
        add_text(form, "self_service", fields->self_service == TRISTATE_TRUE ? "true" : "false");
    if (fields->send_labels) {
        bool is_none = fields->label_mode == LABELS_NONE || fields->labels.count == 0;
        static const struct string_list none = {.is_set = true};
        add_names(form, is_none ? "labels_include_any" : label_mode_name(fields->label_mode),
                  is_none ? &none : &fields->labels, is_edit);
    }
    if (fields->categories.is_set)
        add_names(form, "categories", &fields->categories, is_edit);
    add_text(form, "display_name", fields->display_name);
}

static struct http_part *new_parts(const struct package_fields *fields, struct err *e)
{
    struct http_part *parts =
        calloc(FIXED_PARTS + fields->labels.count + fields->categories.count + 4, sizeof *parts);
    if (parts == NULL)
        err_fill(e, ERR_MEMORY, "out of memory");
    return parts;
}

static void add_file(struct form *form, const struct upload_file *file, struct digest *digest)
{
    form->parts[form->count++] = (struct http_part){.name = "software",
                                                    .file_path = file->path,
                                                    .file_name = file->file_name,
                                                    .file_bytes = file->size_bytes,
                                                    .digest = digest};
}

/* Each attempt hashes what it sends. */
static int restart_digest(void *context, struct err *e)
{
    struct digest *digest = context;
    return digest == NULL ? 0 : digest_restart(digest, e);
}

static int check_bytes(const struct call *call, struct digest *digest, const struct upload_file *file,
                       int64_t *title_id, struct err *e)
{
    char sent[DIGEST_HEX_BYTES];
    if (call->was_looked_up)
        return 0; /* found by its digest */
    if (digest_finish(digest, sent, e) < 0)
        return -1;
    if (strcmp(sent, file->sha256) != 0)
        return err_set(
            e, ERR_SYSTEM,
            "the bytes of %s changed while they were sent: sha256 %s was expected, %s was sent; run "
            "again",
            file->file_name, file->sha256, sent);
    struct package_answer answer;
    if (codec_package_answer(call->answer.bytes, call->answer.length, &answer, e) < 0)
        return -1;
    if (answer.sha256[0] != '\0' && strcmp(answer.sha256, file->sha256) != 0)
        return err_set(e, ERR_SERVER,
                       "the server stored other bytes of %s than were sent: sha256 %s was sent, it says %s",
                       file->file_name, file->sha256, answer.sha256);
    *title_id = answer.title_id;
    return 0;
}

/* "413" is for good, and says which limit it is about. */
static int explain(const struct call *call, const struct upload_file *file, const struct err *trouble,
                   struct err *e)
{
    char size[TEXT_SIZE_BYTES];
    if (call->status != 413 || file == NULL)
        return err_set(e, trouble->class, "%s", trouble->text);
    return err_set(
        e, ERR_SERVER,
        "%s: %s is %s, more than the server, or a proxy before it, takes (413%s%s); raise the limit "
        "there (request body size; Fleet's FLEET_SERVER_MAX_INSTALLER_SIZE)",
        call->name, file->file_name, text_size(file->size_bytes, size),
        call->refusal.reason[0] != '\0' ? ": " : "", call->refusal.reason);
}

struct upload_lookup {
    struct fleet *fleet;
    int64_t team_id;
    int64_t title_id; /* 0: whichever title has the digest */
    const char *sha256;
    const struct package_fields *fields; /* where no bytes were sent: these must be there */
    int64_t found_id;
};

static bool same_or_unsent(const char *sent, const struct text_file *has)
{
    return sent == NULL || (sent[0] != '\0' && text_equal(sent, has->text));
}

static bool same_names(const struct string_list *a, const struct string_list *b)
{
    size_t found = 0;
    for (size_t i = 0; i < a->count; i++)
        for (size_t k = 0; k < b->count; k++)
            found += strcasecmp(a->items[i], b->items[k]) == 0;
    return a->count == b->count && found == a->count;
}

/* Whether all that was sent is there; false where that can't be seen, as for a script that was reset. */
static bool fields_are_there(const struct package_fields *sent, const struct observed_title *has)
{
    return same_or_unsent(sent->install_script, &has->install_script) &&
           same_or_unsent(sent->uninstall_script, &has->uninstall_script) &&
           same_or_unsent(sent->post_install_script, &has->post_install_script) &&
           same_or_unsent(sent->pre_install_query, &has->pre_install_query) &&
           (sent->self_service == TRISTATE_ABSENT ||
            (sent->self_service == TRISTATE_TRUE) == has->self_service) &&
           (!sent->send_labels ||
            (sent->label_mode == has->label_mode && same_names(&sent->labels, &has->labels))) &&
           (!sent->categories.is_set || same_names(&sent->categories, &has->categories)) &&
           (sent->display_name == NULL || text_equal(sent->display_name, has->display_name));
}

static int look_up(void *context, bool *is_there, struct err *e)
{
    struct upload_lookup *lookup = context;
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(LOOKUP_ARENA_BYTES);
    if (arena == NULL)
        return err_set(e, ERR_MEMORY, "out of memory");
    struct title_rows rows = {.items = NULL};
    if (fleet_list_titles(lookup->fleet, lookup->team_id, arena, &rows, e) < 0)
        return -1;
    for (size_t i = 0; i < rows.count && !*is_there; i++) {
        struct observed_title *title = &rows.items[i];
        if (lookup->title_id != 0 && title->title_id != lookup->title_id)
            continue;
        if (lookup->sha256 != NULL) {
            *is_there = text_equal(title->sha256, lookup->sha256);
        } else if (lookup->title_id != 0) {
            if (fleet_get_title(lookup->fleet, lookup->team_id, title, arena, e) < 0)
                return -1;
            *is_there = fields_are_there(lookup->fields, title);
        }
        if (*is_there)
            lookup->found_id = title->title_id;
    }
    return 0;
}

int fleet_edit_package(struct fleet *fleet, int64_t team_id, int64_t title_id, const struct upload_file *file,
                       const struct package_fields *fields, struct err *e)
{
    char path[PATH_BYTES], team[24];
    snprintf(path, sizeof path, "/software/titles/%" PRId64 "/package", title_id);
    snprintf(team, sizeof team, "%" PRId64, team_id);
    CLEANUP(free_cleanup) struct http_part *parts = new_parts(fields, e);
    CLEANUP(digest_cleanup) struct digest *digest = file != NULL ? digest_new(e) : NULL;
    if (parts == NULL || (file != NULL && digest == NULL))
        return -1;
    struct form form = {.parts = parts};
    add_text(&form, "team_id", team);
    add_fields(&form, fields, true);
    if (file != NULL)
        add_file(&form, file, digest);
    CLEANUP(call_cleanup)
    struct call call = {.name = "PATCH /software/titles/{id}/package",
                        .method = "PATCH",
                        .path = path,
                        .right = "write the software of this team",
                        .is_write = true,
                        .parts = parts,
                        .part_count = form.count,
                        .on_start = restart_digest,
                        .context = digest};
    struct upload_lookup lookup = {fleet, team_id, title_id, file != NULL ? file->sha256 : NULL, fields, 0};
    struct err trouble;
    err_init(&trouble);
    if (call_write(fleet, &call, look_up, &lookup, &trouble) < 0)
        return explain(&call, file, &trouble, e);
    int64_t ignored;
    return file == NULL ? 0 : check_bytes(&call, digest, file, &ignored, e);
}

/* ".tar.gz", ".deb", …: what decides which kind of title a file becomes. */
static const char *extension_of(const char *file_name)
{
    const char *dot = strrchr(file_name, '.');
    if (dot != NULL && text_ends_with_ignoring_case(file_name, ".tar.gz"))
        return file_name + strlen(file_name) - strlen(".tar.gz");
    return dot == NULL ? "" : dot;
}

/* The title that a 409 speaks of: `SoftwareInstaller "alpha" already exists` names it, but has no id. */
static const struct observed_title *find_existing(const struct title_rows *rows, const char *reason,
                                                  const struct upload_file *file)
{
    const struct observed_title *found = NULL;
    size_t candidates = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const struct observed_title *title = &rows->items[i];
        char quoted[REFUSAL_TEXT_BYTES];
        snprintf(quoted, sizeof quoted, "\"%s\"", title->name);
        if (title->kind == SOFTWARE_APP_STORE_APP || strstr(reason, quoted) == NULL)
            continue;
        bool same_type = strcasecmp(extension_of(title->file_name), extension_of(file->file_name)) == 0;
        if (!same_type)
            continue;
        found = title;
        candidates++;
    }
    return candidates == 1 ? found : NULL;
}

/* An upload says nothing of what is to be the default; an edit has to. */
static struct package_fields as_edit(const struct package_fields *fields)
{
    struct package_fields edit = *fields;
    const char **scripts[] = {&edit.install_script, &edit.uninstall_script, &edit.post_install_script,
                              &edit.pre_install_query};
    for (size_t i = 0; i < ARRAY_LENGTH(scripts); i++)
        if (*scripts[i] == NULL)
            *scripts[i] = "";
    if (edit.self_service == TRISTATE_ABSENT)
        edit.self_service = TRISTATE_FALSE;
    edit.send_labels = true;
    edit.categories.is_set = true;
    return edit;
}

struct existing {
    const struct upload_titles *titles;
    const char *reason; /* the 409's */
    const char *trouble;
};

/* 409: the team has the title already, with these bytes or others; it is found and edited. */
static int edit_existing(struct fleet *fleet, int64_t team_id, const struct upload_file *file,
                         const struct package_fields *fields, const struct existing *existing,
                         struct upload_result *out, struct err *e)
{
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(LOOKUP_ARENA_BYTES);
    if (arena == NULL)
        return err_set(e, ERR_MEMORY, "out of memory");
    struct title_rows rows = {.items = NULL};
    if (fleet_list_titles(fleet, team_id, arena, &rows, e) < 0)
        return -1;
    const struct observed_title *title = find_existing(&rows, existing->reason, file);
    if (title == NULL)
        return err_set(e, ERR_CONFLICT, "%s; which of the team's titles it means can't be told",
                       existing->trouble);
    if (title->kind == SOFTWARE_MAINTAINED_APP)
        return err_set(e, ERR_CONFLICT, "%s: the team has it as a Fleet-maintained app", existing->trouble);
    for (size_t i = 0; i < existing->titles->other_count; i++)
        if (existing->titles->others[i] == title->title_id)
            return err_set(e, ERR_CONFLICT, "%s: another item of the team's file is the same title \"%s\"",
                           existing->trouble, title->name);
    struct package_fields edit = as_edit(fields);
    bool has_bytes = text_equal(title->sha256, file->sha256);
    if (fleet_edit_package(fleet, team_id, title->title_id, has_bytes ? NULL : file, &edit, e) < 0)
        return -1;
    *out = (struct upload_result){.title_id = title->title_id, .existed = true};
    return 0;
}

static int post_package(struct fleet *fleet, int64_t team_id, const struct upload_file *file,
                        const struct package_fields *fields, struct call *call, struct upload_result *out,
                        struct err *e)
{
    char team[24];
    snprintf(team, sizeof team, "%" PRId64, team_id);
    CLEANUP(free_cleanup) struct http_part *parts = new_parts(fields, e);
    CLEANUP(digest_cleanup) struct digest *digest = digest_new(e);
    if (parts == NULL || digest == NULL)
        return -1;
    struct form form = {.parts = parts};
    add_text(&form, "team_id", team);
    add_fields(&form, fields, false);
    add_file(&form, file, digest);
    *call = (struct call){.name = "POST /software/package",
                          .method = "POST",
                          .path = "/software/package",
                          .right = "add software to this team",
                          .is_write = true,
                          .parts = parts,
                          .part_count = form.count,
                          .on_start = restart_digest,
                          .context = digest};
    struct upload_lookup lookup = {fleet, team_id, 0, file->sha256, fields, 0};
    if (call_write(fleet, call, look_up, &lookup, e) < 0)
        return -1;
    struct upload_result result = {.title_id = lookup.found_id};
    if (check_bytes(call, digest, file, &result.title_id, e) < 0)
        return -1;
    *out = result;
    return 0;
}

/* "The selected package is for different software", "… a different file type", or the title is gone: nothing
 * was changed. */
static bool is_for_another_title(const struct err *trouble)
{
    return trouble->class == ERR_NOT_FOUND ||
           (trouble->class == ERR_SERVER && strstr(trouble->text, "different") != NULL);
}

int fleet_upload_package(struct fleet *fleet, int64_t team_id, const struct upload_file *file,
                         const struct package_fields *fields, const struct upload_titles *titles,
                         struct upload_result *out, struct err *e)
{
    CLEANUP(call_cleanup) struct call call = {.status = 0};
    const struct upload_file sent = *file;
    struct err trouble;
    err_init(&trouble);
    if (titles->likely != 0) {
        struct package_fields edit = as_edit(fields);
        if (fleet_edit_package(fleet, team_id, titles->likely, &sent, &edit, &trouble) == 0) {
            *out = (struct upload_result){.title_id = titles->likely, .existed = true};
            return 0;
        }
        if (!is_for_another_title(&trouble))
            return err_set(e, trouble.class, "%s", trouble.text);
        err_init(&trouble);
    }
    if (post_package(fleet, team_id, &sent, fields, &call, out, &trouble) == 0)
        return 0;
    if (call.status != 409 || !call.refusal.is_fleet_json)
        return explain(&call, &sent, &trouble, e);
    struct existing existing = {titles, call.refusal.reason, trouble.text};
    return edit_existing(fleet, team_id, &sent, fields, &existing, out, e);
}
