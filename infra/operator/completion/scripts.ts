// What a shell loads to complete `rollcall`: a few lines that ask the program itself. Pure.

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

export function completionScript(shell: Shell): string {
  return { bash: BASH, zsh: ZSH, fish: FISH }[shell];
}

/** `rollcall __complete` prints a candidate a line, a tab and what it is, and last `:4`, or `:0` where a file is meant. */
const BASH = `# bash completion of rollcall: source <(rollcall completion bash)
_rollcall() {
  local line candidates=() current="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  while IFS= read -r line; do
    case "$line" in
      :0) compopt -o default 2> /dev/null ;;
      :*) ;;
      *) candidates+=("\${line%%$'\\t'*}") ;;
    esac
  done < <(rollcall __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null)
  for line in "\${candidates[@]}"; do
    [[ $line == "$current"* ]] && COMPREPLY+=("$(printf %q "$line")")
  done
}
complete -F _rollcall rollcall
`;

const ZSH = `#compdef rollcall
# zsh completion of rollcall: source <(rollcall completion zsh), or this file as _rollcall in a folder of fpath
_rollcall() {
  local line file=0
  local -a candidates
  while IFS= read -r line; do
    case "$line" in
      :0) file=1 ;;
      :*) ;;
      *) candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") ;;
    esac
  done < <(rollcall __complete "\${(@)words[2,CURRENT]}" 2> /dev/null)
  if (( file )); then _files; else _describe rollcall candidates; fi
}
if [[ $funcstack[1] == _rollcall ]]; then _rollcall "$@"; else compdef _rollcall rollcall; fi
`;

const FISH = `# fish completion of rollcall: rollcall completion fish | source
function __rollcall_complete
    set -l words (commandline -opc)
    rollcall __complete $words[2..-1] (commandline -ct) 2> /dev/null | string match -v -r '^:'
end
complete -c rollcall -f -a '(__rollcall_complete)'
complete -c rollcall -l secret-file -r -F
complete -c rollcall -l state -r -F
`;
