include(GNUInstallDirs)
install(TARGETS tender RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET fleetsim)
    install(TARGETS fleetsim RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT fleetsim EXCLUDE_FROM_ALL)
endif()

# JSON Schemas for editors, written by the program itself.
if(NOT CMAKE_CROSSCOMPILING)
    set(schemas)
    foreach(name team package settings)
        set(schema ${PROJECT_BINARY_DIR}/schemas/${name}.json)
        add_custom_command(OUTPUT ${schema}
            COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/schemas
            COMMAND $<TARGET_FILE:tender> schema ${name} > ${schema}
            DEPENDS tender VERBATIM)
        list(APPEND schemas ${schema})
    endforeach()
    add_custom_target(schemas ALL DEPENDS ${schemas})
    install(FILES ${schemas} DESTINATION ${CMAKE_INSTALL_DATADIR}/tender/schemas)
endif()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
