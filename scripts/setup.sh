#!/usr/bin/env bash
# Installs what a purpose needs and this machine lacks, and says what and why.
#
#   scripts/setup.sh demo    run `sintonia` on the example program
#   scripts/setup.sh test    everything the tests use
#   scripts/setup.sh bench   what the price table uses
#   scripts/setup.sh list    print the tables below; install nothing
#
# Does nothing, in well under a second, where all is there. Never asks a question.
#
# Exit codes:
#   0  all that is needed is there
#   1  an installation failed
#   2  the command line is wrong
#   3  not a Debian-like system: install by hand what the messages name
#   4  packages are missing and this user may not install them
#   5  Rust is missing or too old
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# package | what proves it is there: a command, or a file pattern | purposes | need | why
# A `may` package is skipped with a word where the system does not offer it.
packages() {
  cat <<'TABLE'
gcc              | cc                                      | demo test bench | must | compiles and links C programs, and Rust ones
make             | make                                    | demo test bench | must | builds the C programs
libopenmpi-dev   | mpicc.openmpi                           | demo test bench | must | Open MPI headers and compilers
openmpi-bin      | mpirun.openmpi                          | demo test bench | must | starts ranks under Open MPI
libmpich-dev     | mpicc.mpich                             | test bench      | must | MPICH headers and compilers
mpich            | mpirun.mpich                            | test bench      | must | starts ranks under MPICH
g++              | g++                                     | test            | must | C++ programs under the probe
clang            | clang                                   | test            | must | a second compiler for what users write in C
gfortran         | gfortran                                | test            | must | the three Fortran bindings under the probe, malleable programs
python3-venv     | /usr/lib/python3*/ensurepip/__init__.py | test            | must | Python programs and the MPI wheels of PyPI
iproute2         | ip                                      | test            | may  | a cluster of network namespaces on one machine
openssh-server   | sshd                                    | test            | may  | daemons started over `ssh` on that cluster (Debian starts an `sshd` of its own, too)
slurm-wlm        | slurmctld                               | test            | may  | ranks started by `srun`
munge            | munged                                  | test            | may  | authentication of Slurm
libsimgrid-dev   | smpirun                                 | test            | may  | replays an exported trace in SimGrid
chromium         | chromium                                | test            | may  | opens the HTML report without a screen
gdb              | gdb                                     | bench           | may  | a breakpoint beside a probe
lammps           | lmp                                     | test bench      | may  | a large unmodified program: molecular dynamics
quantum-espresso | pw.x                                    | test bench      | may  | a large unmodified program: electronic structure, Fortran
TABLE
}

# virtual environment | requirements file | purposes | why
environments() {
  cat <<'TABLE'
target/venv-openmpi5 | scripts/python/openmpi5.txt | test bench | Open MPI 5 with mpi4py and NumPy; programs start processes in it
target/venv-mpich5   | scripts/python/mpich5.txt   | test bench | MPICH 5 with mpi4py and NumPy; programs start processes in it
target/venv-mpi4py   | scripts/python/mpi4py.txt   | test bench | mpi4py on the system's own MPI libraries; NumPy and cloudpickle for functions as tasks
target/venv-extrap   | scripts/python/extrap.txt   | bench | Extra-P, beside which models are fitted
target/venv-hyperqueue | scripts/python/hyperqueue.txt | bench | HyperQueue, beside which tasks are run
TABLE
}

nextest_version=0.9.143

say() { printf 'setup: %s\n' "$*"; }
fail() {
  local code=$1
  shift
  printf 'setup: %s\n' "$*" >&2
  exit "$code"
}

# The rows of the table on standard input that serve $purpose, with one blank around bars.
rows_of_purpose() {
  local column=$1
  sed -E 's/ *\| */|/g' | awk -F'|' -v p="$purpose" -v c="$column" '(" " $c " ") ~ (" " p " ")'
}

is_there() {
  case $1 in
    /*) compgen -G "$1" >/dev/null ;;
    *) command -v "$1" >/dev/null || [ -x "/usr/sbin/$1" ] ;;
  esac
}

# Fills `missing` with the rows whose proof fails.
find_missing() {
  missing=()
  local row proof
  while IFS= read -r row; do
    IFS='|' read -r _ proof _ <<<"$row"
    is_there "$proof" || missing+=("$row")
  done < <(packages | rows_of_purpose 3)
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    sudo -n "$@"
  elif command -v sudo >/dev/null && [ -t 0 ]; then
    sudo "$@"
  else
    fail 4 "cannot become root without a password: run this once as root, or install the packages named above"
  fi
}

# Waits for the lock of the packages where another apt holds it, as on a machine just started.
apt_get() {
  as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=a \
    apt-get -y -qq -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 \
    -o Dpkg::Options::=--force-confold "$@" </dev/null
}

is_offered() {
  apt-cache show --no-all-versions "$1" >/dev/null 2>&1
}

# Prints the packages to install and fills `wanted` and, for those that may fail, `welcome`.
choose_offered() {
  wanted=()
  welcome=()
  local row package need why
  for row in "${missing[@]}"; do
    IFS='|' read -r package _ _ need why <<<"$row"
    if ! is_offered "$package"; then
      [ "$need" = may ] ||
        fail 1 "no package \`$package\` in the package lists ($why): add the repository that has it"
      say "skipping $package: not offered by this system ($why); the tests that use it say so"
      continue
    fi
    say "installing $package: $why"
    if [ "$need" = must ]; then wanted+=("$package"); else welcome+=("$package"); fi
  done
}

install_packages() {
  find_missing
  [ ${#missing[@]} -gt 0 ] || return 0
  command -v apt-get >/dev/null || name_missing_and_stop
  refresh_lists_if_any_is_unknown
  choose_offered
  install_at_once "${wanted[@]}" || fail 1 "apt-get could not install: ${wanted[*]}"
  install_at_once "${welcome[@]}" ||
    say "apt-get could not install: ${welcome[*]}; the tests that use them say so"
}

name_missing_and_stop() {
  local row package proof why
  for row in "${missing[@]}"; do
    IFS='|' read -r package proof _ _ why <<<"$row"
    say "missing: \`$proof\` (package $package in Debian): $why"
  done
  fail 3 "this is not a Debian-like system: install the above by hand; the two MPI libraries must be reachable as \`mpicc.openmpi\`, \`mpirun.openmpi\`, \`mpicc.mpich\` and \`mpirun.mpich\`"
}

install_at_once() {
  [ $# -gt 0 ] || return 0
  if is_locked; then say "waiting up to 10 minutes: another apt is at work"; fi
  apt_get --no-install-recommends install "$@" >/dev/null && return 0
  # Lists older than the archive name files that are gone: refresh them once.
  refresh_lists
  apt_get --no-install-recommends install "$@" >/dev/null
}

is_locked() {
  local lock=/var/lib/dpkg/lock-frontend
  [ -e "$lock" ] && grep -q ":$(stat -c %i "$lock") " /proc/locks
}

refresh_lists_if_any_is_unknown() {
  local row
  for row in "${missing[@]}"; do
    is_offered "${row%%|*}" && continue
    refresh_lists
    return
  done
}

# The lock of the lists is not waited for by apt itself, unlike that of the packages.
refresh_lists() {
  local attempt
  say "refreshing the package lists"
  for attempt in 1 2 3 4 5 6; do
    apt_get update && return 0
    say "attempt $attempt failed (no network, or another apt is at work)"
    [ "$attempt" -eq 6 ] || sleep 10
  done
  say "going on with the old package lists"
}

check_rust() {
  local needed have
  needed=$(sed -n 's/^rust-version *= *"\(.*\)"/\1/p' Cargo.toml)
  command -v cargo >/dev/null ||
    fail 5 "Rust is missing: install $needed or later with https://rustup.rs, then open a new shell"
  have=$(rustc --version | awk '{print $2}')
  [ "$(printf '%s\n%s\n' "$needed" "${have%%-*}" | sort -V | head -n 1)" = "$needed" ] ||
    fail 5 "Rust $have is older than $needed: run \`rustup update stable\`"
}

install_nextest() {
  command -v cargo-nextest >/dev/null && return 0
  say "installing cargo-nextest $nextest_version: runs the tests; compiling it takes some minutes"
  cargo install --quiet --locked --version "$nextest_version" cargo-nextest </dev/null ||
    fail 1 "\`cargo install cargo-nextest\` failed"
}

# The interpreter that the package python3-venv belongs to, whatever else is on the path.
python() {
  if [ -x /usr/bin/python3 ]; then /usr/bin/python3 "$@"; else python3 "$@"; fi
}

# An environment is up to date when the requirements it was made from are the present ones.
install_environments() {
  local row folder requirements why
  while IFS= read -r row; do
    IFS='|' read -r folder requirements _ why <<<"$row"
    cmp -s "$requirements" "$folder/requirements.txt" && continue
    say "making $folder: $why"
    rm -rf "$folder"
    mkdir -p "$(dirname "$folder")"
    python -m venv "$folder" </dev/null || fail 1 "\`$folder\` could not be made"
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
      --only-binary :all: -r "$requirements" </dev/null ||
      fail 1 "\`pip install -r $requirements\` failed: is PyPI reachable?"
    cp "$requirements" "$folder/requirements.txt"
  done < <(environments | rows_of_purpose 3)
}

# Debian names MPICH `libmpich.so.12`; the wheel of mpi4py asks for `libmpi.so.12`.
link_mpich_for_mpi4py() {
  local folder=target/venv-mpi4py/lib/mpich library
  [ -d target/venv-mpi4py ] || return 0
  [ -e "$folder/libmpi.so.12" ] && return 0
  library=$(compgen -G '/usr/lib/*/libmpich.so.12' | head -n 1) || return 0
  mkdir -p "$folder"
  ln -sfn "$library" "$folder/libmpi.so.12"
}

purpose=${1:-}
case $purpose in
  demo)
    install_packages
    check_rust
    ;;
  bench)
    install_packages
    check_rust
    # In a shell of its own: without these the rest can be measured all the same.
    (install_environments) || say "going on without what is missing of Open MPI 5, MPICH 5, mpi4py, Extra-P and HyperQueue"
    link_mpich_for_mpi4py
    ;;
  test)
    install_packages
    check_rust
    install_nextest
    install_environments
    link_mpich_for_mpi4py
    ;;
  list)
    packages
    environments
    ;;
  *) fail 2 "usage: scripts/setup.sh demo|test|bench|list" ;;
esac
