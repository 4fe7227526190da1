/* Symbolic links in the user's files: followed part by part, so that none leads out of the root, whether the
 * files lie in a folder or in a commit's tree. */
#include "repository/reader.h"
#include <stdio.h>
#include <string.h>

struct walk {
    char done[PATH_MAX]; /* resolved so far, without links */
    char rest[PATH_MAX]; /* what is still to be walked */
    int links;
    struct link_trail *trail; /* NULL: not asked for */
};

static int too_long(const char *path, struct err *e)
{
    return err_set(e, ERR_REPOSITORY, "the path is too long: %s", path);
}

/* Takes the first part off `rest`. */
static void take_part(struct walk *walk, char part[PATH_MAX])
{
    size_t length = strcspn(walk->rest, "/");
    memcpy(part, walk->rest, length);
    part[length] = '\0';
    const char *behind = walk->rest + length + strspn(walk->rest + length, "/");
    memmove(walk->rest, behind, strlen(behind) + 1);
}

static int go_up(struct walk *walk, const char *path, struct err *e)
{
    if (walk->done[0] == '\0')
        return err_set(e, ERR_REPOSITORY, "%s leads out of the repository", path);
    char *slash = strrchr(walk->done, '/');
    *(slash == NULL ? walk->done : slash) = '\0';
    return 0;
}

/* `link` leads to `target`. */
static int follow(struct walk *walk, const char *path, const char *link, const char *target, struct err *e)
{
    if (++walk->links > LINKS_MAX)
        return err_set(e, ERR_REPOSITORY, "%s: more than %d symbolic links", path, LINKS_MAX);
    if (walk->trail != NULL) {
        walk->trail->is_link = walk->trail->is_link || walk->rest[0] == '\0';
        snprintf(walk->trail->paths[walk->trail->count++], PATH_MAX, "%s", link);
    }
    if (target[0] == '/')
        return err_set(e, ERR_REPOSITORY, "%s is a symbolic link out of the repository", path);
    char rest[PATH_MAX];
    if (snprintf(rest, sizeof rest, "%s/%s", target, walk->rest) >= (int)sizeof rest)
        return too_long(path, e);
    memcpy(walk->rest, rest, strlen(rest) + 1);
    return 0;
}

static int step(const struct reader *reader, struct walk *walk, const char *path, enum entry_type *type,
                struct err *e)
{
    char part[PATH_MAX];
    take_part(walk, part);
    if (part[0] == '\0' || strcmp(part, ".") == 0)
        return 0;
    if (strcmp(part, "..") == 0)
        return go_up(walk, path, e);
    char candidate[PATH_MAX];
    char target[PATH_MAX];
    if (snprintf(candidate, sizeof candidate, "%s%s%s", walk->done, walk->done[0] == '\0' ? "" : "/", part) >=
        (int)sizeof candidate)
        return too_long(path, e);
    enum entry_type found;
    if (reader->ops->look(reader->data, candidate, &found, target, e) < 0) {
        /* Where it would lie. */
        bool fits = snprintf(walk->done, sizeof walk->done, "%s%s%s", candidate,
                             walk->rest[0] == '\0' ? "" : "/", walk->rest) < (int)sizeof walk->done;
        return fits ? -1 : too_long(path, e);
    }
    if (found == ENTRY_LINK)
        return follow(walk, path, candidate, target, e);
    if (found != ENTRY_FOLDER && walk->rest[0] != '\0')
        return err_set(e, ERR_NOT_FOUND, "%s does not exist: %s is not a folder", path, candidate);
    memcpy(walk->done, candidate, strlen(candidate) + 1);
    *type = found;
    return 0;
}

int reader_resolve(const struct reader *reader, const char *path, char out[PATH_MAX], enum entry_type *type,
                   struct link_trail *trail, struct err *e)
{
    struct walk walk; /* not zeroed as a whole: its texts are large */
    walk.done[0] = '\0';
    walk.links = 0;
    walk.trail = trail;
    if (trail != NULL) {
        trail->count = 0;
        trail->is_link = false;
    }
    size_t length = strlen(path);
    if (length >= sizeof walk.rest)
        return too_long(path, e);
    if (path[0] == '/')
        return err_set(e, ERR_REPOSITORY, "%s is not below the repository's root", path);
    memcpy(walk.rest, path, length + 1);
    enum entry_type found = ENTRY_FOLDER;
    while (walk.rest[0] != '\0')
        if (step(reader, &walk, path, &found, e) < 0) {
            memcpy(out, walk.done, strlen(walk.done) + 1);
            return -1;
        }
    /* A ".." at the end leaves a folder behind. */
    if (walk.done[0] == '\0')
        found = ENTRY_FOLDER;
    memcpy(out, walk.done, strlen(walk.done) + 1);
    *type = found;
    return 0;
}

int reader_check_size(const char *path, uint64_t size, int64_t max_file_bytes, const struct buf *out,
                      struct err *e)
{
    uint64_t room = out->max_bytes - out->length;
    uint64_t limit = max_file_bytes > 0 && (uint64_t)max_file_bytes < room ? (uint64_t)max_file_bytes : room;
    if (size > limit)
        return err_set(e, ERR_REPOSITORY,
                       "%s is too large: %llu bytes, the limit is %llu bytes (--max-document-size)", path,
                       (unsigned long long)size, (unsigned long long)limit);
    return 0;
}
