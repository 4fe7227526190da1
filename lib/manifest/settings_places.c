/* Files that somebody took for tender.yml: by another name, or in the folder of the teams. To pass over one
 * in silence would apply settings that nobody meant. */
#include "base/text.h"
#include "manifest/settings_file.h"
#include <string.h>
#include <strings.h>

static bool is_nearly(const char *name)
{
    static const char *const names[] = {"tender.yml", "tender.yaml", ".tender.yml", ".tender.yaml"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return false;
}

static int complain(struct settings_reader *reader, const char *path, bool is_there, bool is_name,
                    struct err *e)
{
    struct load *load = reader->load;
    reader->settings->selection_in_doubt |= !is_there;
    return diagnose(load, is_there ? RULE_SECOND_SETTINGS_FILE : RULE_SETTINGS_FILE, NULL,
                    (struct place){.file = path},
                    is_there  ? "remove it"
                    : is_name ? "rename it"
                              : "move it there",
                    e,
                    is_name ? "this file is not read: the settings' file is " SETTINGS_FILE
                            : "this file is not read: " SETTINGS_FILE " lies at the repository's root");
}

static bool is_team_folder(const struct listing_entry *entry)
{
    return entry->is_folder && (strcmp(entry->name, "teams") == 0 || strcmp(entry->name, "fleets") == 0);
}

/* A folder that is not the root, but holds the folder of teams. */
static int check_folder(struct settings_reader *reader, const char *folder, bool is_there, struct err *e)
{
    struct listing listing;
    bool has_teams = false;
    if (reference_list(reader->load, folder, &listing, e) < 0)
        return -1;
    for (size_t i = 0; i < listing.count; i++)
        has_teams = has_teams || is_team_folder(&listing.entries[i]);
    for (size_t i = 0; has_teams && i < listing.count; i++) {
        if (listing.entries[i].is_folder || !is_nearly(listing.entries[i].name))
            continue;
        const char *path = reference_join(reader->load, folder, listing.entries[i].name, e);
        if (path == NULL || complain(reader, path, is_there, false, e) < 0)
            return -1;
    }
    return 0;
}

int settings_check_places(struct settings_reader *reader, bool is_there, struct err *e)
{
    struct listing listing;
    const char *subdir = reader->load->options->subdir;
    if (reference_list(reader->load, "", &listing, e) < 0)
        return -1;
    for (size_t i = 0; i < listing.count; i++) {
        const struct listing_entry *entry = &listing.entries[i];
        if (!entry->is_folder && is_nearly(entry->name) && strcmp(entry->name, SETTINGS_FILE) != 0 &&
            complain(reader, entry->name, is_there, true, e) < 0)
            return -1;
        if (entry->is_folder && entry->name[0] != '.' && text_is_empty(subdir) &&
            check_folder(reader, entry->name, is_there, e) < 0)
            return -1;
    }
    const char *reason = NULL;
    const char *base = text_is_empty(subdir) ? NULL : reference_resolve(reader->load, "", subdir, &reason, e);
    if (base != NULL)
        return check_folder(reader, base, is_there, e);
    return text_is_empty(subdir) || reason != NULL ? 0 : -1;
}
