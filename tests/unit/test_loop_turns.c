/* net/loop.h: every socket has its turn, whatever the others do: many that end all the time, many at once,
 * some that are paused. */
#include "net/http.h"
#include "scripted_server.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BIG_BYTES = 24 * 1024 * 1024, SMALL_BYTES = 64, MANY = 150, LONGEST_MS = 120000 };

static char big[BIG_BYTES];
static const struct script_step big_step = {.body = big, .body_length = BIG_BYTES};
static const struct script_step small_step = {.body = big, .body_length = SMALL_BYTES};
static const struct script_path paths[] = {{"/big", &big_step, 1}, {"/small", &small_step, 1}};

struct scene {
    struct scripted_server *server;
    struct loop *loop;
    struct http *http;
    struct err e;
};

/* One exchange after the other, or one only. */
struct asker {
    struct scene *scene;
    const char *path;
    bool is_chain, must_stop;
    struct http_exchange *exchange;
    uint64_t bytes;
    int good, bad;
};

static void ask(struct asker *asker);

static int on_body(void *context, const void *bytes, size_t length)
{
    struct asker *asker = context;
    (void)bytes;
    asker->bytes += length;
    return 0;
}

static void on_done(void *context, struct http_answer *answer)
{
    struct asker *asker = context;
    asker->exchange = NULL;
    if (answer->end == HTTP_ANSWERED)
        asker->good++;
    else
        asker->bad++;
    if (asker->is_chain && !asker->must_stop)
        ask(asker);
}

static void ask(struct asker *asker)
{
    char url[64];
    struct scene *scene = asker->scene;
    snprintf(url, sizeof url, "http://127.0.0.1:%d%s", scripted_server_port(scene->server), asker->path);
    const struct http_request request = {.method = "GET",
                                         .url = url,
                                         .range_end = -1,
                                         .connect_timeout_ms = LONGEST_MS,
                                         .stall_bytes_per_s = 1,
                                         .stall_ms = LONGEST_MS,
                                         .on_body = on_body,
                                         .on_done = on_done,
                                         .context = asker};
    asker->exchange = http_start(scene->http, &request, &scene->e);
    assert_non_null(asker->exchange);
}

static void open_scene(struct scene *scene)
{
    *scene = (struct scene){.server = scripted_server_new(paths, 2)};
    err_init(&scene->e);
    scene->loop = loop_new(clock_system(), &scene->e);
    assert_non_null(scene->loop);
    const struct http_options options = {.loop = scene->loop, .clock = clock_system()};
    scene->http = http_new(&options, &scene->e);
    assert_non_null(scene->http);
}

static void close_scene(struct scene *scene)
{
    http_free(scene->http);
    loop_free(scene->loop);
    scripted_server_free(scene->server);
}

static int64_t now_ms(void)
{
    return clock_system()->monotonic_ms(clock_system()->context);
}

static void step(struct scene *scene, int64_t end_ms)
{
    assert_true(now_ms() < end_ms);
    assert_int_equal(loop_step(scene->loop, end_ms, &scene->e), 0);
}

/* Three that end all the time: the fourth is read all the same, and they go on, too. */
static void test_one_among_many_ends(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene);
    struct asker chains[3], one = {.scene = &scene, .path = "/big"};
    int64_t end_ms = now_ms() + LONGEST_MS;
    for (size_t i = 0; i < 3; i++) {
        chains[i] = (struct asker){.scene = &scene, .path = "/small", .is_chain = true};
        ask(&chains[i]);
    }
    ask(&one);
    /* Nobody starves: how many each has by then is chance. */
    while (one.good + one.bad == 0 || chains[0].good <= 3 || chains[1].good <= 3 || chains[2].good <= 3)
        step(&scene, end_ms);
    assert_int_equal(one.good, 1);
    assert_int_equal(one.bytes, BIG_BYTES);
    for (size_t i = 0; i < 3; i++)
        chains[i].must_stop = true;
    for (size_t i = 0; i < 3; i++)
        while (chains[i].exchange != NULL)
            step(&scene, end_ms);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(chains[i].bad, 0);
    close_scene(&scene);
}

/* More sockets than the list first has room for. */
static void test_many_sockets(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene);
    static struct asker askers[MANY];
    int64_t end_ms = now_ms() + LONGEST_MS;
    for (size_t i = 0; i < MANY; i++) {
        askers[i] = (struct asker){.scene = &scene, .path = "/small"};
        ask(&askers[i]);
    }
    for (size_t i = 0; i < MANY; i++)
        while (askers[i].exchange != NULL)
            step(&scene, end_ms);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(askers[i].good, 1);
        assert_int_equal(askers[i].bytes, SMALL_BYTES);
    }
    close_scene(&scene);
}

/* Who is paused and resumed between steps loses no bytes, and no wake-up: nothing else is there to wake the
 * loop. */
static void test_pauses(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene);
    struct asker one = {.scene = &scene, .path = "/big"};
    int64_t end_ms = now_ms() + LONGEST_MS;
    ask(&one);
    while (one.bytes == 0)
        step(&scene, end_ms);
    for (int i = 0; one.exchange != NULL; i++) {
        if (i % 3 == 0) {
            http_pause(one.exchange, true);
            uint64_t before = one.bytes;
            step(&scene, now_ms() + 2);
            assert_int_equal(one.bytes, before);
            http_pause(one.exchange, false);
        }
        step(&scene, end_ms);
    }
    assert_true(now_ms() < end_ms);
    assert_int_equal(one.good, 1);
    assert_int_equal(one.bytes, BIG_BYTES);
    close_scene(&scene);
}

int main(void)
{
    memset(big, 'x', sizeof big);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_among_many_ends),
        cmocka_unit_test(test_many_sockets),
        cmocka_unit_test(test_pauses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
