#!/bin/sh
# `./dev lint`: what the compilers and tools say. Each tool's verdict is printed; any complaint fails.
set -u
cd "$(dirname "$0")/../.." || exit 1
failed=0

report() { # name status
    if [ "$2" -eq 0 ]; then echo "lint: $1: clean"; else
        echo "lint: $1: FAILED"
        failed=1
    fi
}

sources() { git ls-files '*.c' '*.h'; }

# shellcheck disable=SC2046 # paths of the project hold no spaces
clang-format-14 --dry-run -Werror $(sources)
report "clang-format" $?

shellcheck dev tests/lint/run.sh .ci/run
report "shellcheck" $?

for check in tests/lint/*.py; do
    python3 "$check"
    report "$check" $?
done

cmake --preset clang >/dev/null && cmake --build --preset clang >build/clang.log 2>&1
status=$?
[ $status -eq 0 ] || cat build/clang.log
report "clang 14 with -Werror" $status

# One file at a time (clang-tidy 14 crashes on some lists), two at once.
git ls-files 'lib/*.c' 'cmd/*.c' | xargs -P 2 -n 1 clang-tidy-14 -p build/clang --quiet --warnings-as-errors='*' 2>/dev/null
report "clang-tidy" $?

cppcheck --quiet --std=c11 --enable=warning,portability --inline-suppr --suppress=memleak --suppress=missingIncludeSystem --suppress=internalAstError \
    --suppress=unknownMacro --suppress=checkersReport --error-exitcode=1 -I lib -I cmd/tender -I cmd/fleetsim -j 2 lib cmd
report "cppcheck" $?

# Each level sees what the other drops.
for level in 0 2; do
    # shellcheck disable=SC2016 # the inner shell expands them
    git ls-files 'lib/*.c' 'cmd/tender/*.c' | xargs -P 2 -n 8 sh -c '
        level=$1
        shift
        for file in "$@"; do
            gcc -std=gnu17 "-O$level" -fanalyzer -Werror -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DTENDER_VERSION="\"lint\"" \
                -Ilib -Icmd/tender $(pkg-config --cflags libgit2 yaml-0.1 libcurl jansson sqlite3 libcrypto) -c "$file" -o /dev/null || exit 1
        done' analyze "$level"
    report "gcc -fanalyzer -O$level" $?
done

exit $failed
