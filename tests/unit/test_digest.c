/* base/digest.h against the published SHA-256 vectors (FIPS 180-4 examples). */
#include "base/digest.h"
#include "base/files.h"
#include "failing_alloc.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct {
    const char *text;
    const char *hex;
} vectors[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
};

static void test_vectors(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    CLEANUP(digest_cleanup) struct digest *digest = digest_new(&e);
    assert_non_null(digest);
    for (size_t i = 0; i < ARRAY_LENGTH(vectors); i++) {
        char hex[DIGEST_HEX_BYTES];
        size_t length = strlen(vectors[i].text);
        assert_int_equal(digest_bytes(vectors[i].text, length, hex, &e), 0);
        assert_string_equal(hex, vectors[i].hex);
        assert_int_equal(digest_restart(digest, &e), 0);
        for (size_t k = 0; k < length; k++) /* byte by byte is the same */
            assert_int_equal(digest_update(digest, vectors[i].text + k, 1, &e), 0);
        assert_int_equal(digest_finish(digest, hex, &e), 0);
        assert_string_equal(hex, vectors[i].hex);
    }
}

static void test_file(void **state)
{
    (void)state;
    char path[] = "/tmp/tender-test-digest-XXXXXX";
    CLEANUP(file_close_cleanup) int file = mkstemp(path);
    assert_true(file >= 0);
    struct err e;
    err_init(&e);
    char million[1000];
    memset(million, 'a', sizeof million);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(file_write_all(file, million, sizeof million, &e), 0);
    char hex[DIGEST_HEX_BYTES];
    uint64_t size = 0;
    assert_int_equal(digest_file(path, hex, &size, &e), 0);
    assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    assert_int_equal(size, 1000000);
    assert_int_equal(digest_file(path, hex, NULL, &e), 0);
    unlink(path);
    assert_int_equal(digest_file(path, hex, &size, &e), -1);
    assert_int_equal(e.class, ERR_SYSTEM);
    err_init(&e);
    assert_int_equal(digest_file("/", hex, &size, &e), -1);
    assert_int_equal(e.class, ERR_SYSTEM);
}

static void test_is_hex(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool expected;
    } cases[] = {
        {"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", true},
        {"E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855", true},
        {"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b85", false},
        {"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b8555", false},
        {"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b85g", false},
        {"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 ", false},
        {"", false},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_int_equal(digest_is_hex(cases[i].text), cases[i].expected);
}

static void test_each_allocation_fails(void **state)
{
    (void)state;
    struct err e;
    char hex[DIGEST_HEX_BYTES];
    err_init(&e);
    failing_alloc_start(0, false);
    assert_int_equal(digest_file("/proc/self/exe", hex, NULL, &e), 0);
    long count = failing_alloc_stop();
    assert_true(count >= 2);
    for (long nth = 1; nth <= count; nth++) {
        err_init(&e);
        failing_alloc_start(nth, false);
        int result = digest_file("/proc/self/exe", hex, NULL, &e);
        failing_alloc_stop();
        assert_int_equal(result, -1);
        assert_int_equal(e.class, ERR_MEMORY);
    }
    digest_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_is_hex),
        cmocka_unit_test(test_each_allocation_fails),
    };
    return cmocka_run_group_tests_name("digest", tests, NULL, NULL);
}
