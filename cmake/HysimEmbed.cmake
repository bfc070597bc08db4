# hysim_embed_resources(target folders...)   compiles every *.json and *.csv under the folders
#                                            into the target; see src/config/embedded_files.h
# hysim_embed_version(target)                compiles the project version; see src/config/version.h
# hysim_embed_commit(target)                 compiles hysim::kCommit, the commit built; for the
#                                            program alone, since every commit relinks it

set(HYSIM_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/embed.cmake)
set(HYSIM_COMMIT_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/commit.cmake)

function(hysim_embed_resources target)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    return()  # nothing to compile into yet
  endif()

  set(patterns "")
  foreach(folder IN LISTS ARGN)
    list(APPEND patterns ${PROJECT_SOURCE_DIR}/${folder}/*.json
                         ${PROJECT_SOURCE_DIR}/${folder}/*.csv)
  endforeach()
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${patterns})
  list(SORT files COMPARE STRING)

  # The list is a file of its own so that a removed resource, too, makes the source stale.
  set(list ${CMAKE_CURRENT_BINARY_DIR}/embedded_files.txt)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/embedded_files.cpp)
  string(REPLACE ";" "\n" lines "${files}")
  file(CONFIGURE OUTPUT ${list} CONTENT "${lines}\n" @ONLY)
  list(TRANSFORM files PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE inputs)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DLIST=${list} -DOUT=${source}
            -P ${HYSIM_EMBED_SCRIPT}
    DEPENDS ${list} ${HYSIM_EMBED_SCRIPT} ${inputs}
    COMMENT "Embedding profiles, models and scenarios" VERBATIM)
  target_sources(${target} PRIVATE ${source})
endfunction()

function(hysim_embed_version target)
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL "INTERFACE_LIBRARY")
    configure_file(${PROJECT_SOURCE_DIR}/src/config/version.cpp.in version.cpp @ONLY)
    target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/version.cpp)
  endif()
endfunction()

function(hysim_embed_commit target)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/commit.cpp)
  add_custom_target(${target}_commit
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DOUT=${source} -P ${HYSIM_COMMIT_SCRIPT}
    BYPRODUCTS ${source} COMMENT "Looking up the commit" VERBATIM)
  add_dependencies(${target} ${target}_commit)
  target_sources(${target} PRIVATE ${source})
endfunction()
