/* Where both servers write what they were asked: the end-to-end tests read this file. */
#include "request_log.h"
#include "base/clock.h"
#include "base/files.h"
#include "json.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int request_log_open(struct request_log *log, const char *path, struct err *e)
{
    *log = (struct request_log){.file = -1};
    pthread_mutex_init(&log->mutex, NULL);
    if (path == NULL)
        return 0;
    log->file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log->file < 0)
        return err_set_errno(e, "can't open the log %s", path);
    return 0;
}

void request_log_close(struct request_log *log)
{
    file_close_cleanup(&log->file);
    pthread_mutex_destroy(&log->mutex);
}

json_int_t request_log_begin(struct request_log *log)
{
    pthread_mutex_lock(&log->mutex);
    json_int_t number = ++log->sequence;
    log->open++;
    pthread_mutex_unlock(&log->mutex);
    return number;
}

json_int_t request_log_open_count(struct request_log *log)
{
    pthread_mutex_lock(&log->mutex);
    json_int_t count = log->open;
    pthread_mutex_unlock(&log->mutex);
    return count;
}

void request_log_write(struct request_log *log, json_int_t number, json_t *line)
{
    if (log->file >= 0) {
        const struct clock *clock = clock_system();
        char at[CLOCK_TEXT_BYTES];
        put_text(line, "at", clock_iso8601(clock->wall_ms(clock->context), at));
        pthread_mutex_lock(&log->mutex);
        put_number(line, "n", number);
        size_t length;
        char *text = json_text(line, &length);
        text[length] = '\n'; /* in the place of the NUL: one write, so lines never mix */
        struct err e;
        err_init(&e);
        if (file_write_all(log->file, text, length + 1, &e) < 0) {
            /* The log is what the tests look at: losing a line in silence would make them lie. */
            static const char sorry[] = "fleetsim: can't write the request log\n";
            if (write(STDERR_FILENO, sorry, strlen(sorry)) < 0)
                abort();
        }
        free(text);
        pthread_mutex_unlock(&log->mutex);
    }
    pthread_mutex_lock(&log->mutex);
    log->open--;
    pthread_mutex_unlock(&log->mutex);
    json_decref(line);
}
