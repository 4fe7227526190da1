# The folders of lib/ in the order of the data's way, and how each becomes a library. Who may include whom is
# checked by tests/lint/include_direction.py.

set(TENDER_LAYERS base model net repository manifest state plan fetch fleet deliver report reconcile)

# tender_layer(NAME [libraries…]): a static library of the folder's .c files.
function(tender_layer name)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.c)
    if(sources)
        add_library(tender_${name} STATIC ${sources})
        target_include_directories(tender_${name} PUBLIC ${PROJECT_SOURCE_DIR}/lib)
        target_link_libraries(tender_${name} PUBLIC ${ARGN})
    else()
        add_library(tender_${name} INTERFACE)
        target_include_directories(tender_${name} INTERFACE ${PROJECT_SOURCE_DIR}/lib)
        target_link_libraries(tender_${name} INTERFACE ${ARGN})
    endif()
endfunction()
