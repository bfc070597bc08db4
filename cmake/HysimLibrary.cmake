# hysim_library(floors...)   the floors as one archive, hysim::hysim, with the headers of
#                            include/hysim as its whole surface; installed so that
#                            find_package(hysim) and pkg-config find it
# hysim_documents(program)   the program's manual page and completions, which it prints itself

include(CMakePackageConfigHelpers)
set(HYSIM_PRINT_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/print.cmake)

function(hysim_library)
  set(objects "")
  foreach(floor IN LISTS ARGN)
    get_target_property(type hysim_${floor} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      list(APPEND objects $<TARGET_OBJECTS:hysim_${floor}>)
    endif()
  endforeach()
  add_library(hysim_library STATIC ${objects})
  add_library(hysim::hysim ALIAS hysim_library)
  set_target_properties(hysim_library PROPERTIES
    OUTPUT_NAME hysim EXPORT_NAME hysim LINKER_LANGUAGE CXX)
  target_compile_features(hysim_library PUBLIC cxx_std_20)
  target_include_directories(hysim_library PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  if(NOT HYSIM_INSTALL)
    return()
  endif()

  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/hysim)
  install(TARGETS hysim_library EXPORT hysim ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/hysim DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT hysim NAMESPACE hysim:: FILE hysimTargets.cmake DESTINATION ${package})
  # It needs no other package: what the floors use of others is compiled in.
  file(CONFIGURE OUTPUT hysimConfig.cmake @ONLY
    CONTENT "include(\"\${CMAKE_CURRENT_LIST_DIR}/hysimTargets.cmake\")\n")
  write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/hysimConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)  # below 1.0 a minor version may change the surface
  file(CONFIGURE OUTPUT hysim.pc @ONLY CONTENT "\
Name: hysim
Description: ${PROJECT_DESCRIPTION}
Version: ${PROJECT_VERSION}
Cflags: -I${CMAKE_INSTALL_FULL_INCLUDEDIR}
Libs: -L${CMAKE_INSTALL_FULL_LIBDIR} -lhysim
")
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/hysimConfig.cmake
                ${CMAKE_CURRENT_BINARY_DIR}/hysimConfigVersion.cmake DESTINATION ${package})
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/hysim.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

function(hysim_documents program)
  set(outputs "")
  foreach(document IN ITEMS "man/hysim.1=__man" "bash/hysim=completion bash"
                            "zsh/_hysim=completion zsh" "fish/hysim.fish=completion fish")
    string(REGEX MATCH "^([^=]*)=(.*)$" matched "${document}")
    set(file ${CMAKE_CURRENT_BINARY_DIR}/share/${CMAKE_MATCH_1})
    string(REPLACE " " ";" arguments "${CMAKE_MATCH_2}")
    add_custom_command(OUTPUT ${file}
      COMMAND ${CMAKE_COMMAND} -DOUT=${file} "-DCOMMAND=$<TARGET_FILE:${program}>;${arguments}"
              -P ${HYSIM_PRINT_SCRIPT}
      DEPENDS ${program} ${HYSIM_PRINT_SCRIPT} COMMENT "Printing ${CMAKE_MATCH_1}" VERBATIM)
    list(APPEND outputs ${file})
  endforeach()
  add_custom_target(${program}_documents ALL DEPENDS ${outputs})
  if(HYSIM_INSTALL)
    list(POP_FRONT outputs man bash zsh fish)
    install(FILES ${man} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${bash} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${zsh} DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${fish} DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  endif()
endfunction()
