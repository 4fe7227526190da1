/* Where in the user's files something stands. */
#ifndef TENDER_MODEL_PLACE_H
#define TENDER_MODEL_PLACE_H

struct place {
    const char *file; /* relative to the repository's root; NULL: nowhere */
    int line;         /* 1-based; 0: the file as a whole */
    int column;       /* 1-based, in characters; 0: unknown */
};

#endif
