#!/bin/sh
# Installs, upgrades or removes rollcall's shim with its own Node.js: the .deb on Debian and Ubuntu, the .tar.gz on
# other systems. Only the last line calls a function, so that a script that arrived in part does nothing.

VERSION="0.1.0"
PACKAGE=rollcall-node-shim
UNIT=$PACKAGE.service
# The units that answer questions about the machine. An administrator enables the socket.
SOCKET=rollcall-ask.socket
ANSWER=rollcall-ask@.service

main() {
  set -eu
  umask 022
  # Tests install into another folder than /.
  root=${ROLLCALL_ROOT:-}
  home=$root/opt/$PACKAGE
  command_link=$root/usr/local/bin/node-shim
  manual_link=$root/usr/local/share/man/man8/node-shim.8.gz
  units=$root/usr/local/lib/systemd/system
  drop_ins=$root/etc/systemd/system/$UNIT.d
  config=$root/etc/rollcall
  state=$root/var/lib/rollcall
  work='' stage='' undo=''
  trap clean_up EXIT
  trap 'exit 1' HUP INT TERM

  parse "$@"
  if [ "$action" = install ]; then find_architecture; fi
  [ "$(id -u)" = 0 ] || fail "only root can do that: put sudo before sh"
  find_form
  "$action"
}

usage() {
  cat <<END
Usage: install.sh [--from PLACE] [--sha256 DIGEST]
       install.sh --uninstall [--purge] [--dry-run]
       install.sh --help | --version

Installs or upgrades rollcall's shim, which brings its own Node.js: x86_64 and aarch64, with glibc 2.28 or newer.

  --from PLACE     where the packages are: an https:// or file:// URL, or a folder
                   (default: ROLLCALL_PACKAGES, or the folder that this script is in)
  --sha256 DIGEST  the SHA-256 sum that PLACE's SHA256SUMS must have; an http:// URL needs it
  --uninstall      list the files to remove, stop the service and remove the shim; configuration, key and enrolment
                   stay. The Node stays in the cluster, not Ready. To remove the machine for good, run this first:
                   systemctl stop rollcall-node-shim && node-shim leave
  --purge          with --uninstall: remove configuration, key and enrolment as well
  --dry-run        with --uninstall: only list it
  --help           print this
  --version        print the version of this script

Example:
  curl -fsSL https://packages.example.com/install.sh | sudo sh -s -- --from https://packages.example.com

Exit codes: 0; 1 when something failed or is missing, and nothing was changed unless it says so; 2 for a wrong command
line.
END
}

parse() {
  from=${ROLLCALL_PACKAGES:-} digest='' action=install purge='' dry_run=''
  while [ $# -gt 0 ]; do
    case $1 in
      --from | --sha256)
        [ $# -ge 2 ] || misuse "$1 needs a value"
        if [ "$1" = --from ]; then from=$2; else digest=$2; fi
        shift
        ;;
      --uninstall) action=uninstall ;;
      --purge) purge=yes ;;
      --dry-run) dry_run=yes ;;
      --help) usage && exit 0 ;;
      --version) echo "install.sh $VERSION" && exit 0 ;;
      *) misuse "unknown argument $1" ;;
    esac
    shift
  done
  if [ "$action" = install ]; then check_place; fi
}

check_place() {
  [ -z "$purge" ] || misuse "--purge is for --uninstall"
  [ -z "$dry_run" ] || misuse "--dry-run is for --uninstall"
  # A script from a pipe has no folder: $0 is then the name of the shell.
  case $0 in
    install.sh | */install.sh) : "${from:=$(dirname -- "$0")}" ;;
  esac
  case $from in
    '') misuse "--from is missing: where are the packages?" ;;
    http://*) [ -n "$digest" ] || misuse "an attacker on the network can change what http:// brings: use https:// or --sha256" ;;
    https://* | file:///*) ;;
    *://*) misuse "--from: ${from%%:*} is none of https, http and file" ;;
  esac
  from=${from%/}
}

find_architecture() {
  [ "$(uname -s)" = Linux ] || fail "there is no package for $(uname -s): packages exist for Linux only"
  machine=$(uname -m)
  case $machine in
    x86_64) architecture=amd64 ;;
    aarch64) architecture=arm64 ;;
    *) no_package "$machine" "packages exist for x86_64 and aarch64 only" ;;
  esac
  have getconf || fail "getconf is missing, which tells whether a package fits: on glibc systems libc-bin or glibc-common has it"
  # uname names the kernel, but a 64-bit kernel may run a 32-bit system.
  [ "$(getconf LONG_BIT)" = 64 ] || no_package "this system" "it has 32 bits, though its kernel has 64"
  libc=$(getconf GNU_LIBC_VERSION 2> /dev/null) ||
    no_package "this system" "its C library is not glibc, but musl or another one"
  libc=${libc#glibc }
  major=${libc%%.*} minor=${libc#*.}
  minor=${minor%%[!0-9]*}
  [ "$major" -gt 2 ] || [ "$minor" -ge 28 ] ||
    no_package "this system" "it has glibc $libc, and the package's Node.js needs 2.28 or newer"
}

# Ends on a system without a package, and names the way: the shim runs with each Node.js of version 20 or newer.
no_package() {
  fail "there is no package for $1: $2. Install Node.js 20 or newer, then run: npm install -g ./$PACKAGE-$VERSION.tgz (docs/shim.md, Other systems)"
}

# Sets form: the form of the installed shim. For a new installation, deb if the system has apt, otherwise tar.gz.
find_form() {
  form=tar.gz status=''
  if have dpkg-query; then status=$(dpkg-query -W -f '${db:Status-Status}' "$PACKAGE" 2> /dev/null || true); fi
  if [ "$status" = installed ]; then
    form=deb
  elif [ ! -d "$home" ] && [ -e "$root/etc/debian_version" ] && have apt-get; then
    # A package that was removed and not purged has the status config-files.
    if [ "$action" = install ] || [ "${status:-not-installed}" != not-installed ]; then form=deb; fi
  fi
}

install() {
  [ "$form" = deb ] || refuse_others
  download
  if [ "$form" = deb ]; then install_deb; else install_folder; fi
}

# Downloads the package into a temporary folder and verifies its sum in SHA256SUMS, before the system is changed. A
# release that is already unpacked is not downloaded again.
download() {
  work=$(mktemp -d "${TMPDIR:-/var/tmp}/$PACKAGE.XXXXXX")
  # apt reads the package as another user. The folder contains no secret.
  chmod 755 "$work"
  fetch SHA256SUMS
  [ -z "$digest" ] || [ "$(sum_of SHA256SUMS)" = "$digest" ] ||
    fail "$from/SHA256SUMS does not have the SHA-256 sum $digest: nothing was changed"
  name=$(sed -n "s/^[0-9a-f]\{64\}  \(${PACKAGE}_[0-9][^/]*_$architecture\.$form\)\$/\1/p" "$work/SHA256SUMS")
  [ "$(echo "$name" | wc -w)" -eq 1 ] ||
    fail "$from/SHA256SUMS must name exactly one $form for $architecture, but names: ${name:-none}: nothing was changed"
  sum=$(sed -n "s/^\([0-9a-f]\{64\}\)  $name\$/\1/p" "$work/SHA256SUMS")
  release=${name%.tar.gz}-$(echo "$sum" | cut -c 1-12)
  if [ "$form" = tar.gz ] && [ -d "$home/$release" ]; then return; fi
  fetch "$name"
  [ "$(sum_of "$name")" = "$sum" ] || fail "$from/$name does not have the sum in SHA256SUMS: nothing was changed"
}

fetch() {
  say "fetching $from/$1"
  case $from in
    http*)
      if have curl; then
        curl -fsSL --proto "=${from%%:*},https" --retry 3 --connect-timeout 20 --speed-limit 1 --speed-time 60 \
          -o "$work/$1" "$from/$1"
      elif have wget; then
        wget -q -T 60 -O "$work/$1" "$from/$1"
      else
        fail "curl and wget are both missing: install one, or fetch the packages and name their folder with --from"
      fi
      ;;
    *) cp -- "${from#file://}/$1" "$work/$1" ;;
  esac || fail "$from/$1 cannot be fetched: nothing was changed"
}

sum_of() { sha256sum < "$work/$1" | cut -d ' ' -f 1; }

# Installs the .deb with apt-get: dpkg would leave the package half-installed if a library is missing.
install_deb() {
  DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends -o Dpkg::Use-Pty=0 \
    -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold "$work/$name" ||
    fail "apt-get has not installed $name: its output above has the reason"
}

# Returns 0 if the command node-shim belongs to this installation. npm installs a command of this name, too.
is_own_command() {
  [ "$(readlink "$command_link" || true)" = "${home#"$root"}/current/bin/node-shim" ]
}

refuse_others() {
  if [ -e "$command_link" ] || [ -L "$command_link" ]; then
    is_own_command ||
      fail "$command_link belongs to another installation: remove that one first (npm uninstall -g @rollcall/node-shim)"
  fi
  [ ! -e "$root/etc/systemd/system/$UNIT" ] ||
    fail "$root/etc/systemd/system/$UNIT takes precedence over the installed unit: run \"node-shim uninstall-service\" first"
}

# Installs the .tar.gz. Each release has its own folder. The link `current` names the active release and is changed
# last.
install_folder() {
  previous=$(readlink "$home/current" || true)
  if [ -z "$previous" ]; then undo=remove_files; fi
  writable "$home"
  if [ ! -d "$home/$release" ]; then unpack; fi
  writable "${command_link%/*}" "${manual_link%/*}" "$units" "$config"
  for file in kubelet.yaml node-shim.env; do
    [ -e "$config/$file" ] || cp "$home/$release/etc/$file" "$config/$file"
  done
  link "${home#"$root"}/current/bin/node-shim" "$command_link"
  link "${home#"$root"}/current/man/node-shim.8.gz" "$manual_link"
  for unit in "$ANSWER" "$SOCKET" "$UNIT"; do
    cp "$home/$release/systemd/$unit" "$units/$unit.new"
    mv "$units/$unit.new" "$units/$unit"
  done
  # Only a first installation enables the service, so that an administrator's "disable" outlasts an upgrade.
  if [ -z "$previous" ] && have systemctl; then systemctl enable --quiet "$UNIT"; fi
  link "$release" "$home/current"
  undo=''
  if have restorecon; then restorecon -R "$home" "$units/$UNIT" "$units/$SOCKET" "$units/$ANSWER" || true; fi
  if [ "$previous" = "$release" ]; then say "$release is installed already"; else say "$release is installed"; fi
  start_service
  for folder in "$home"/*; do
    [ "$folder" = "$home/current" ] || [ "$folder" = "$home/$release" ] || rm -rf "$folder"
  done
  say_next
}

writable() {
  for folder; do
    { mkdir -p "$folder" && [ -w "$folder" ]; } || fail "$folder cannot be written: is the file system read-only?"
  done
}

# Unpacks the release, and checks that its shim runs on this machine, before the installed release is changed.
unpack() {
  stage=$home/.new.$$
  mkdir "$stage"
  tar -xzf "$work/$name" -C "$stage" --strip-components=1 --no-same-owner || fail "$name cannot be unpacked"
  "$stage/bin/node-shim" version > /dev/null || fail "$name does not run here: nothing was changed"
  mv "$stage" "$home/$release"
}

# Makes or replaces a link in one step, so that the link exists at any time.
link() {
  ln -s "$1" "$2.new.$$"
  mv -T "$2.new.$$" "$2"
}

start_service() {
  if ! have systemctl; then
    say "there is no systemd: have your init system run node-shim run --config /etc/rollcall/kubelet.yaml"
  elif [ ! -d "$root/run/systemd/system" ]; then
    say "systemd does not run here: the service starts with the machine"
  else
    systemctl daemon-reload
    # The unit starts only on an enrolled machine. An upgrade does not start a service that an administrator has
    # stopped.
    if [ -z "$previous" ]; then set -- start; else set -- try-restart; fi
    [ "$previous" = "$release" ] || systemctl "$1" "$UNIT" ||
      fail "the shim is installed, but its service does not start: journalctl -u $UNIT"
  fi
}

say_next() {
  if [ -e "$state/enrolment.json" ] || [ -e "$state/pending.json" ] || [ -e "$config/join-token" ]; then return; fi
  if have node-shim; then shim=node-shim; else shim=${command_link#"$root"}; fi
  say "next, with your Worker's URL and a join token in a file:"
  echo "  $shim join --url https://rollcall.example.com --join-token-file /root/join-token --install-service"
}

uninstall() {
  if [ -n "$dry_run" ]; then say "would be removed:"; else say "will be removed:"; fi
  listed=$(list)
  echo "${listed:-  nothing: it is not here}"
  if [ -n "$dry_run" ]; then return; fi
  if [ "$form" = deb ]; then
    if [ -n "$purge" ]; then set -- purge; else set -- remove; fi
    DEBIAN_FRONTEND=noninteractive apt-get "$1" -y -q "$PACKAGE" || fail "apt-get has not removed $PACKAGE: its output above has the reason"
  else
    remove_files
  fi
  if [ -n "$purge" ]; then
    purge_files
    say "removed, with configuration, key and enrolment"
  else
    say "removed; configuration ($config), key and enrolment ($state) stay: --purge removes them"
  fi
}

# Lists the existing files that --uninstall removes, including those that the package's own scripts remove.
list() {
  if [ "$form" = deb ]; then
    echo "  the package $PACKAGE"
    set --
  else
    set -- "$units/$SOCKET" "$units/$ANSWER" "$units/$UNIT" "$manual_link" "$home"
    if is_own_command; then set -- "$command_link" "$@"; fi
  fi
  [ -z "$purge" ] || set -- "$@" "$config/kubelet.yaml" "$config/node-shim.env" "$config/join-token" "$drop_ins/kmsg.conf" "$state"
  for file; do
    if [ -e "$file" ] || [ -L "$file" ]; then echo "  $file"; fi
  done
}

# Removes the files of the .tar.gz. The folder is last, so that an interrupted removal can be repeated.
remove_files() {
  for unit in "$SOCKET" "$UNIT"; do
    if have systemctl && [ -e "$units/$unit" ]; then systemctl disable --now --quiet "$unit" || true; fi
  done
  if is_own_command; then rm -f "$command_link"; fi
  rm -f "$units/$UNIT" "$units/$SOCKET" "$units/$ANSWER" "$manual_link"
  if have systemctl && [ -d "$root/run/systemd/system" ]; then systemctl daemon-reload || true; fi
  rm -rf "$home"
}

purge_files() {
  rm -rf "$state"
  rm -f "$config/kubelet.yaml" "$config/node-shim.env" "$config/join-token" "$drop_ins/kmsg.conf"
  if [ -d "$drop_ins" ]; then rmdir --ignore-fail-on-non-empty "$drop_ins"; fi
  if [ -d "$config" ]; then rmdir --ignore-fail-on-non-empty "$config"; fi
}

clean_up() {
  code=$?
  trap - EXIT
  if [ -n "$undo" ]; then "$undo"; fi
  rm -rf "$work" "$stage"
  exit "$code"
}

have() { command -v "$1" > /dev/null; }

say() { echo "install.sh: $*"; }

fail() {
  echo "install.sh: $*" >&2
  exit 1
}

misuse() {
  echo "install.sh: $*; --help has the rest" >&2
  exit 2
}

main "$@"
