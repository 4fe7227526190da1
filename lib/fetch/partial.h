/* One file on its way: bytes so far, their running digest, and beside it a sidecar that says where they came
 * from. Both survive the process; a lock keeps two processes apart. */
#ifndef TENDER_FETCH_PARTIAL_H
#define TENDER_FETCH_PARTIAL_H

#include "base/digest.h"
#include "base/err.h"
#include <stdint.h>

struct partial {
    int file;              /* locked while open; -1: closed */
    char *path;            /* owned */
    char *about;           /* the sidecar's path; owned */
    struct digest *digest; /* over the first hashed_bytes */
    uint64_t size_bytes;   /* what is kept, with what is only gathered */
    uint64_t hashed_bytes; /* less than size_bytes until a former run's bytes are read, or gathered ones
                              written */
    char *gathered;        /* the last bytes, not written yet; owned, NULL between two answers */
    size_t gathered_bytes;
    uint64_t started_writeback_bytes;
    bool is_resumed;   /* not all bytes came with one answer */
    bool disk_is_full; /* there was no room for it */
    bool sync_has_failed;
    bool about_is_pending;         /* the description is not in the sidecar yet */
    bool has_left_traces;          /* the file or the sidecar may not be as if never used */
    char source[DIGEST_HEX_BYTES]; /* SHA-256 of the URL the bytes came from (URLs hold secrets); "": unknown
                                    */
    char *validator;               /* strong, byte for byte; NULL: none. Owned */
    int64_t expected_bytes;        /* the whole file's length; -1: unknown */
    char *file_name;               /* owned; NULL: unknown */
};

void partial_init(struct partial *partial);
/* Frees the memory; the files stay (an empty one goes). */
void partial_done(struct partial *partial);
bool partial_is_open(const struct partial *partial);

/* Opens and locks `partial/<key>`, and learns what a former run left there. ERR_LOCKED: somebody else is at
 * it. What is left counts only with its sidecar, and after a restart of the machine only where a pinned
 * digest will tell torn bytes. */
int partial_open(struct partial *partial, const char *cache_dir, const char *key, bool is_pinned,
                 struct err *e) MUST_CHECK;
/* Reads at most `slice_bytes` of what was left into the digest; done when hashed_bytes == size_bytes. */
int partial_hash_slice(struct partial *partial, size_t slice_bytes, struct err *e) MUST_CHECK;
/* Cuts the file (and what is to be hashed) to `size_bytes`; only before hashing began. */
int partial_cut(struct partial *partial, uint64_t size_bytes, struct err *e) MUST_CHECK;
/* Empties it: the next byte is the first one. */
int partial_restart(struct partial *partial, struct err *e) MUST_CHECK;
/* Says where the bytes come from; before the first byte. NULLs: unknown. The sidecar is written before the
 * bytes that are worth it: a small file is done before anybody could need one. */
int partial_describe(struct partial *partial, const char *source_url, const char *validator,
                     int64_t expected_bytes, const char *file_name, struct err *e) MUST_CHECK;
/* Gathers them: small pieces become large writes. */
int partial_append(struct partial *partial, const void *bytes, size_t length, struct err *e) MUST_CHECK;
/* Writes what is gathered, with its sidecar, so that it outlives the process. If that fails, it is no longer
 * among what is kept. */
int partial_flush(struct partial *partial, struct err *e) MUST_CHECK;
/* At the end of an answer: the same (`is_whole`: all is there, no sidecar is needed); the memory goes. */
int partial_settle(struct partial *partial, bool is_whole, struct err *e) MUST_CHECK;
/* The bytes from `offset` on, written or gathered; returns how many. */
size_t partial_read(const struct partial *partial, uint64_t offset, char *out, size_t size);
/* Ends the digest; the disk begins to write what it does not have yet. */
int partial_finish(struct partial *partial, char hex[DIGEST_HEX_BYTES], struct err *e) MUST_CHECK;
int partial_sync(struct partial *partial, struct err *e) MUST_CHECK;
/* Whether the kept bytes came from this URL. */
bool partial_is_from(const struct partial *partial, const char *source_url);

/* Closes and unlocks, keeping what came. An empty file goes, and one that the disk had no room for: it would
 * take the room of others. */
void partial_close(struct partial *partial);
/* Closes it and removes both files. */
void partial_discard(struct partial *partial);
/* After the file was renamed into the cache. */
void partial_forget(struct partial *partial);

#endif
