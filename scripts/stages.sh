# Sourced by the scripts: names each stage, keeps it quiet unless it fails, reports its time.

stage_times=()
jobs=$(nproc)

# stage NAME COMMAND...: the command's output is shown only when it fails.
stage() {
  local name=$1 log status=0
  shift
  log=$(mktemp)
  echo "== $name"
  begin_stage
  "$@" </dev/null >"$log" 2>&1 || status=$?
  ((status == 0)) || tail -n 400 "$log"
  rm -f "$log"
  end_stage "$name" "$status"
  return "$status"
}

# run_tests NAME CTEST-ARGUMENTS...: shows failing tests with their output, and ctest's last lines.
run_tests() {
  local name=$1 status
  shift
  echo "== $name"
  begin_stage
  # Passing and starting tests are one line each; hundreds of them say nothing.
  status=0
  ctest --output-on-failure --no-tests=error --no-label-summary -j "$jobs" "$@" </dev/null 2>&1 |
    { grep -Ev '^ +Start +[0-9]+: |^ *[0-9]+/[0-9]+ Test +#[0-9]+: .* Passed ' || true; } ||
    status=$?
  end_stage "$name" "$status"
  return "$status"
}

begin_stage() { stage_begin=$SECONDS; }

end_stage() {  # NAME STATUS
  local line
  line=$(printf '%-32s %5d s' "$1" $((SECONDS - stage_begin)))
  (($2 == 0)) || line+="  FAILED"
  stage_times+=("$line")
  echo "   $line"
}

print_times() {
  echo
  printf '   %s\n' "${stage_times[@]}"
  printf '   %-32s %5d s\n' total "$SECONDS"
}
