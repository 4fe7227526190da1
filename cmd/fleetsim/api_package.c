/* One package at a time: uploading a new one, editing one that is there. */
#include "access.h"
#include "base/files.h"
#include "base/text.h"
#include "json.h"
#include "parameters.h"
#include "routes.h"
#include "software.h"
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Go's strconv.ParseBool. */
static bool parse_flag(const char *text, bool *out)
{
    static const char *const yes[] = {"1", "t", "T", "true", "TRUE", "True"};
    static const char *const no[] = {"0", "f", "F", "false", "FALSE", "False"};
    for (size_t i = 0; i < ARRAY_LENGTH(yes); i++) {
        if (text_equal(text, yes[i]) || text_equal(text, no[i])) {
            *out = text_equal(text, yes[i]);
            return true;
        }
    }
    return false;
}

/* Scripts come with either line end and are kept with LF. */
static char *with_line_feeds(const char *text)
{
    char *copy = allocate(strlen(text) + 1);
    char *out = copy;
    for (const char *at = text; *at != '\0'; at++)
        if (at[0] != '\r' || at[1] != '\n')
            *out++ = *at;
    *out = '\0';
    return copy;
}

/* The values of a repeated field, empty ones left out; *sent says whether it came at all. */
static json_t *field_list(struct multipart *form, const char *name, bool *sent)
{
    json_t *values = new_array();
    *sent = false;
    for (size_t i = 0; i < multipart_count(form); i++) {
        const struct form_part *part = multipart_part(form, i);
        if (part->value == NULL || !text_equal(part->name, name))
            continue;
        *sent = true;
        if (part->value[0] != '\0')
            append(values, new_text(part->value));
    }
    return values;
}

/* What is read before anything is checked: a refusal here is text/plain. */
static bool decode_form(const struct request *request, json_int_t *team_id, bool *team_given,
                        bool *self_service, struct answer *answer)
{
    const char *team = multipart_field(request->form, "team_id");
    const char *flag = multipart_field(request->form, "self_service");
    char *end;
    bool is_number = true;
    *team_given = team != NULL && team[0] != '\0';
    *team_id = 0;
    if (*team_given) {
        *team_id = strtoll(team, &end, 10);
        is_number = *end == '\0' && isdigit((unsigned char)team[0]);
    }
    if (!is_number) {
        refuse(answer, REFUSE_UNDECODABLE, "base", "Invalid team_id: %s", team);
        return false;
    }
    *self_service = false;
    if (flag != NULL && flag[0] != '\0' && !parse_flag(flag, self_service)) {
        refuse(answer, REFUSE_UNDECODABLE, "base",
               "failed to decode self_service bool in multipart form: strconv.ParseBool: parsing \"%s\": "
               "invalid syntax",
               flag);
        return false;
    }
    return true;
}

/* The scripts that were sent go into the wish. False: a secret that is not known. */
static bool take_scripts(const struct request *request, json_t *wish, struct answer *answer)
{
    static const struct {
        const char *field, *name; /* as the refusal calls it */
    } scripts[] = {{"install_script", "install script"},
                   {"uninstall_script", "uninstall script"},
                   {"post_install_script", "post-install script"}};
    for (size_t i = 0; i < ARRAY_LENGTH(scripts); i++) {
        const char *text = multipart_field(request->form, scripts[i].field);
        if (text == NULL)
            continue;
        char *clean = with_line_feeds(text);
        put_text(wish, scripts[i].field, clean);
        char *missing = unknown_secret(&request->sim->store, clean);
        free(clean);
        if (missing == NULL)
            continue;
        refuse(answer, REFUSE_INVALID, scripts[i].name,
               "Couldn't add. Secret variable \"$FLEET_SECRET_%s\" missing from database", missing);
        free(missing);
        return false;
    }
    if (multipart_field(request->form, "pre_install_query") != NULL)
        put_text(wish, "pre_install_query", multipart_field(request->form, "pre_install_query"));
    return true;
}

/* Labels and categories that were sent go into the wish. */
static bool take_lists(const struct request *request, json_t *wish, bool *changed, struct answer *answer)
{
    bool include_sent, exclude_sent, categories_sent;
    json_t *include_ids = NULL, *exclude_ids = NULL;
    CLEANUP(json_cleanup) json_t *include = field_list(request->form, "labels_include_any", &include_sent);
    CLEANUP(json_cleanup) json_t *exclude = field_list(request->form, "labels_exclude_any", &exclude_sent);
    CLEANUP(json_cleanup) json_t *names = field_list(request->form, "categories", &categories_sent);
    if (!labels_by_name(request, include, exclude, &include_ids, &exclude_ids, answer))
        return false;
    *changed = include_sent || exclude_sent;
    if (*changed) {
        put(wish, "labels_include_any", include_ids);
        put(wish, "labels_exclude_any", exclude_ids);
    } else {
        json_decref(include_ids);
        json_decref(exclude_ids);
    }
    /* An unknown category is passed over in silence here; known ones replace what was there. */
    CLEANUP(json_cleanup) json_t *known = categories_in_order(names);
    if (categories_sent && (json_array_size(known) > 0 || json_array_size(names) == 0))
        put(wish, "categories", json_incref(known));
    return true;
}

/* The fault "corrupt-stored-bytes": what is kept is not what was sent. */
static void corrupt(struct form_part *file)
{
    struct err e;
    err_init(&e);
    char byte = 0;
    CLEANUP(file_close_cleanup) int handle = open(file->path, O_RDWR | O_CLOEXEC);
    off_t last = (off_t)file->bytes - 1;
    if (handle < 0 || last < 0 || pread(handle, &byte, 1, last) != 1)
        return;
    byte = (char)(byte ^ 1);
    if (pwrite(handle, &byte, 1, last) != 1 || digest_file(file->path, file->sha256, NULL, &e) < 0)
        fprintf(stderr, "fleetsim: an upload could not be corrupted\n");
}

/* The uploaded file as a package. False: refused. */
static bool read_package(const struct request *request, struct form_part *file, struct package_bytes *out,
                         struct answer *answer)
{
    struct err e;
    err_init(&e);
    *out = (struct package_bytes){.bundle_identifier = ""};
    if (package_meta_read(file->path, file->file_name, sim_version_from(request->sim, 4, 80), &out->meta,
                          &e) < 0) {
        refuse(answer, REFUSE_BAD_REQUEST, "base", "%s", e.text);
        return false;
    }
    if (request->fault.kind == FAULT_CORRUPT)
        corrupt(file);
    package_name_title(&request->sim->store, out);
    snprintf(out->file_name, sizeof out->file_name, "%s", file->file_name);
    snprintf(out->sha256, sizeof out->sha256, "%s", file->sha256);
    return true;
}

static bool has_needed_scripts(const struct package_meta *meta, const json_t *wish, struct answer *answer)
{
    static const struct {
        const char *key, *name;
    } needed[] = {{"install_script", "Install"}, {"uninstall_script", "Uninstall"}};
    for (size_t i = 0; meta->needs_scripts && i < ARRAY_LENGTH(needed); i++) {
        if (text_at(wish, needed[i].key)[0] != '\0')
            continue;
        refuse(answer, REFUSE_BAD_REQUEST, "base", "Couldn't add. %s script is required for %s packages.",
               needed[i].name, meta->extension);
        return false;
    }
    return true;
}

static bool keep_bytes(const struct request *request, struct form_part *file, struct answer *answer)
{
    struct err e;
    err_init(&e);
    if (store_blob_keep(&request->sim->store, file->path, file->sha256, &e) < 0) {
        refuse(answer, REFUSE_INTERNAL, "base", "%s", e.text);
        return false;
    }
    return true;
}

/* Is the title free in a team that exists? */
static bool title_is_free(const struct request *request, json_int_t team_id,
                          const struct package_bytes *package, struct answer *answer)
{
    struct store *store = &request->sim->store;
    const json_t *title = store_title_of(store, package->title_name, package->meta.source, "");
    if (store_installer(store, team_id, number_at(title, "id")) != NULL) {
        refuse(answer, REFUSE_EXISTS, "base", "SoftwareInstaller \"%s\" already exists", package->title_name);
        return false;
    }
    if (team_id != 0 && store_team(store, team_id) == NULL) {
        refuse(answer, REFUSE_DATABASE, "base",
               "Error 1452 (23000): Cannot add or update a child row: a foreign key constraint fails "
               "(`fleet`.`software_installers`, CONSTRAINT `fk_software_installers_team_id` FOREIGN KEY "
               "(`team_id`) "
               "REFERENCES `teams` (`id`) ON DELETE CASCADE ON UPDATE CASCADE)");
        return false;
    }
    return true;
}

void create_package(struct request *request, struct answer *answer)
{
    struct store *store = &request->sim->store;
    json_int_t team_id;
    bool team_given, self_service, labels_changed;
    struct package_bytes package;
    CLEANUP(json_cleanup) json_t *wish = wish_new();
    struct form_part *file = multipart_file(request->form, "software");
    if (file == NULL) {
        refuse(answer, REFUSE_UNDECODABLE, "base", "software multipart field is required");
        return;
    }
    if (!decode_form(request, &team_id, &team_given, &self_service, answer))
        return;
    if (!may_write_software(&request->caller, team_id)) {
        refuse(answer, REFUSE_FORBIDDEN, "base", "forbidden");
        return;
    }
    put_flag(wish, "self_service", self_service);
    if (!take_lists(request, wish, &labels_changed, answer) || !take_scripts(request, wish, answer) ||
        !read_package(request, file, &package, answer) || !has_needed_scripts(&package.meta, wish, answer) ||
        !title_is_free(request, team_id, &package, answer) || !keep_bytes(request, file, answer))
        return;
    wish_fill_scripts(wish, &package.meta);
    const json_t *installer = installer_set(store, team_id, &package, wish);
    store_save(store);
    json_t *body = new_object();
    put(body, "software_package", installer_shown(store, installer, false));
    answer_json(answer, 200, body);
}

/* What the row has now, as a wish that the form's fields go over. */
static json_t *wish_of_row(const json_t *installer)
{
    const char *key;
    json_t *value;
    json_t *wish = wish_new();
    json_object_foreach(wish, key, value)
    {
        json_t *own = json_object_get(installer, key);
        if (own != NULL)
            json_object_set(wish, key, own);
    }
    return wish;
}

static bool fits_title(const struct package_bytes *uploaded, const struct package_bytes *existing,
                       struct answer *answer)
{
    if (!text_equal(uploaded->meta.extension, existing->meta.extension)) {
        refuse(answer, REFUSE_BAD_REQUEST, "base", "The selected package is for a different file type.");
        return false;
    }
    if (!text_equal(uploaded->title_name, existing->title_name)) {
        refuse(answer, REFUSE_BAD_REQUEST, "base", "The selected package is for different software.");
        return false;
    }
    return true;
}

static void answer_edited(struct store *store, const json_t *installer, bool with_status,
                          struct answer *answer)
{
    json_t *body = new_object();
    put(body, "software_installer", installer_shown(store, installer, with_status));
    answer_json(answer, 200, body);
}

/* The installer that is meant. NULL: refused. */
static json_t *installer_to_edit(const struct request *request, json_int_t team_id, bool team_given,
                                 struct answer *answer)
{
    if (!team_given) {
        refuse(answer, REFUSE_BAD_REQUEST, "base", "team_id is required; enter 0 for no team");
        return NULL;
    }
    if (!may_write_software(&request->caller, team_id)) {
        refuse(answer, REFUSE_FORBIDDEN, "base", "forbidden");
        return NULL;
    }
    json_t *installer = store_installer(&request->sim->store, team_id, request->ids[0]);
    if (installer == NULL)
        refuse(answer, REFUSE_NOT_FOUND, "base", "SoftwareTitle %lld was not found in the datastore",
               (long long)request->ids[0]);
    return installer;
}

void edit_package(struct request *request, struct answer *answer)
{
    struct store *store = &request->sim->store;
    json_int_t team_id;
    bool team_given, self_service, labels_changed;
    struct package_bytes existing, package;
    if (!decode_form(request, &team_id, &team_given, &self_service, answer))
        return;
    const json_t *installer = installer_to_edit(request, team_id, team_given, answer);
    if (installer == NULL)
        return;
    CLEANUP(json_cleanup) json_t *wish = wish_of_row(installer);
    CLEANUP(json_cleanup) json_t *before = copy_of(wish);
    if (!text_is_empty(multipart_field(request->form, "self_service")))
        put_flag(wish, "self_service", self_service);
    if (!take_lists(request, wish, &labels_changed, answer) || !take_scripts(request, wish, answer))
        return;
    package_of_installer(store, installer, &existing);
    package = existing;
    struct form_part *file = multipart_file(request->form, "software");
    if (file != NULL) {
        if (!read_package(request, file, &package, answer) || !fits_title(&package, &existing, answer))
            return;
        package.bundle_identifier = existing.bundle_identifier;
        put_text(wish, "url", "");
    }
    if (!has_needed_scripts(&package.meta, wish, answer) ||
        (file != NULL && !keep_bytes(request, file, answer)))
        return;
    wish_fill_scripts(wish, &package.meta);
    /* Where nothing is to be changed, the server returns early, and its answer has no status. */
    bool is_dirty = file != NULL || !json_equal(wish, before);
    if (is_dirty) {
        installer = installer_set(store, team_id, &package, wish);
        store_save(store);
    }
    answer_edited(store, installer, is_dirty, answer);
}
