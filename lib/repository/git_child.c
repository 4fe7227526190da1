/* A fetch in a process of its own: libgit2 waits inside its transports for as long as a server is silent,
 * asks nobody there, and only a process can be ended from outside. The parent keeps the limits in time; one
 * record comes back through a pipe. */
#include "base/files.h"
#include "base/url.h"
#include "repository/git.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SLICE_MS = 100,      /* how soon a stop is seen that no signal brings */
    CHILD_GRACE_MS = 300 /* to remove its files, before it is killed */
};

struct verdict {
    enum fetch_result result;
    enum err_class class;
    char text[ERR_TEXT_BYTES];
};
_Static_assert(sizeof(struct verdict) <= PIPE_BUF, "a verdict is written in one piece");

enum ending { ENDING_VERDICT, ENDING_NO_VERDICT, ENDING_STOPPED, ENDING_TIMEOUT, ENDING_DEADLINE };

static bool child_stop;

static void on_child_stop(int number)
{
    (void)number;
    child_stop = true;
}

/* The parent's handlers write into the parent's pipes. What it ignores (SIGPIPE) stays ignored. */
static void reset_signals(void)
{
    struct sigaction action;
    for (int number = 1; number < NSIG; number++)
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            signal(number, SIG_DFL);
    /* Without SA_RESTART: a read that waits is cut short. */
    const struct sigaction stop = {.sa_handler = on_child_stop};
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGINT, &stop, NULL);
    signal(SIGHUP, SIG_IGN);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void close_range_of(unsigned first, unsigned last)
{
    if (first > last || close_range(first, last, 0) == 0)
        return;
    long most = sysconf(_SC_OPEN_MAX); /* a kernel, or a container's filter, without that call */
    for (unsigned file = first; file <= last && (long)file < most; file++)
        close((int)file);
}

/* The parent's locks and connections are not the child's to hold. */
static void close_all_but(int kept)
{
    close_range_of(STDERR_FILENO + 1, (unsigned)kept - 1);
    close_range_of((unsigned)kept + 1, INT_MAX);
}

_Noreturn static void child_main(const char *mirror, const struct repository_options *options, int out,
                                 pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    reset_signals();
    close_all_but(out);
    /* Begun anew: what libgit2 shares inside a process are open files, closed above, and random numbers. */
    while (git_libgit2_shutdown() > 0)
        continue;
    struct repository_options own = *options;
    own.stop = &child_stop;
    struct err e;
    err_init(&e);
    struct verdict verdict = {.result = FETCH_FATAL};
    if (git_libgit2_init() < 0)
        err_fill(&e, ERR_REPOSITORY, "libgit2 can't be used");
    else if (git_set_options(&own, &e) == 0)
        verdict.result = git_fetch_here(mirror, &own, &e);
    verdict.class = e.class;
    memcpy(verdict.text, e.text, sizeof verdict.text);
    struct err ignored;
    err_init(&ignored);
    _exit(file_write_all(out, &verdict, sizeof verdict, &ignored) < 0 ? 1 : 0);
}

/* Signals wait until the child has handlers of its own. -1 with errno. */
static pid_t start_child(const char *mirror, const struct repository_options *options, int *in)
{
    int ends[2];
    sigset_t all, before;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    pid_t parent = getpid();
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t child = fork();
    if (child == 0)
        child_main(mirror, options, ends[1], parent);
    int number = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(ends[1]);
    if (child < 0)
        close(ends[0]);
    else
        *in = ends[0];
    errno = number;
    return child;
}

static bool is_stopped(const struct repository_options *options)
{
    return options->stop != NULL && *options->stop;
}

/* Waits for the verdict, the child's end or a limit. */
static enum ending wait_for_verdict(int in, const struct repository_options *options, struct verdict *out)
{
    const struct clock *clock = options->clock;
    int64_t started_ms = clock->monotonic_ms(clock->context);
    size_t got = 0;
    for (;;) {
        int64_t now_ms = clock->monotonic_ms(clock->context);
        if (is_stopped(options))
            return ENDING_STOPPED;
        if (options->timeout_ms > 0 && now_ms - started_ms >= options->timeout_ms)
            return ENDING_TIMEOUT;
        if (options->deadline_monotonic_ms > 0 && now_ms >= options->deadline_monotonic_ms)
            return ENDING_DEADLINE;
        struct pollfd wait = {.fd = in, .events = POLLIN};
        if (poll(&wait, 1, SLICE_MS) <= 0)
            continue;
        ssize_t more = read(in, (char *)out + got, sizeof *out - got);
        if (more < 0 && errno == EINTR)
            continue;
        if (more <= 0)
            return ENDING_NO_VERDICT;
        got += (size_t)more;
        if (got == sizeof *out)
            return ENDING_VERDICT;
    }
}

/* Ends and reaps the child in any case. Returns waitpid's status, 0 if somebody else took it. */
static int end_child(pid_t child, int in, enum ending ending)
{
    if (ending != ENDING_VERDICT)
        kill(child, SIGTERM);
    struct pollfd gone = {.fd = in}; /* its end closes the pipe; a second signal ends the wait */
    (void)poll(&gone, 1, CHILD_GRACE_MS);
    kill(child, SIGKILL); /* not reaped yet, so the number is still its own */
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return 0;
    return status;
}

static enum fetch_result describe(enum ending ending, int status, const struct verdict *verdict,
                                  const struct repository_options *options, struct err *e)
{
    char url[URL_TEXT_BYTES];
    char duration[CLOCK_TEXT_BYTES];
    url_redact(options->url, url, sizeof url);
    switch (ending) {
    case ENDING_VERDICT:
        if (verdict->result != FETCH_DONE)
            err_fill(e, verdict->class, "%s", verdict->text);
        return verdict->result;
    case ENDING_STOPPED:
        err_fill(e, ERR_INTERRUPTED, "fetching %s was stopped by a signal", url);
        return FETCH_FATAL;
    case ENDING_TIMEOUT:
        err_fill(e, ERR_REPOSITORY, "can't fetch %s: not done after %s; the limit is repository-timeout", url,
                 clock_duration_text(options->timeout_ms, duration));
        return FETCH_UNREACHABLE;
    case ENDING_DEADLINE:
        err_fill(e, ERR_REPOSITORY, "can't fetch %s: not done when the run's deadline came", url);
        return FETCH_UNREACHABLE;
    case ENDING_NO_VERDICT:
        break;
    }
    if (WIFSIGNALED(status))
        err_fill(e, ERR_REPOSITORY, "can't fetch %s: the process that fetches was ended by signal %d", url,
                 WTERMSIG(status));
    else
        err_fill(e, ERR_REPOSITORY, "can't fetch %s: the process that fetches ended without an answer", url);
    return FETCH_UNREACHABLE;
}

enum fetch_result git_fetch(const char *mirror, const struct repository_options *options, struct err *e)
{
    struct verdict verdict = {.result = FETCH_FATAL};
    CLEANUP(file_close_cleanup) int in = -1;
    if (is_stopped(options))
        return describe(ENDING_STOPPED, 0, &verdict, options, e);
    pid_t child = start_child(mirror, options, &in);
    if (child < 0) {
        err_fill_errno(e, "can't start a process for the fetch");
        return FETCH_UNREACHABLE;
    }
    enum ending ending = wait_for_verdict(in, options, &verdict);
    int status = end_child(child, in, ending);
    return describe(ending, status, &verdict, options, e);
}
