/* Attributes that prototypes carry, and the cleanup attribute as a word. */
#ifndef TENDER_BASE_ATTRIBUTES_H
#define TENDER_BASE_ATTRIBUTES_H

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(format_index, first_argument)                                                            \
    __attribute__((format(printf, format_index, first_argument)))

/* Declares a variable that `free_function(&variable)` cleans when it leaves its scope. */
#define CLEANUP(free_function) __attribute__((cleanup(free_function)))

/* Hands a pointer over: yields its value and leaves NULL behind, so that its cleanup does nothing. */
#define TAKE(pointer)                                                                                        \
    __extension__({                                                                                          \
        __typeof__(pointer) taken_ = (pointer);                                                              \
        (pointer) = NULL;                                                                                    \
        taken_;                                                                                              \
    })

#define ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#endif
