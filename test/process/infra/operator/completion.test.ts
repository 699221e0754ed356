// Tests the completion scripts: each shell runs its own.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { completionScript } from "../../../../infra/operator/completion.ts";

const home = mkdtempSync(join(tmpdir(), "rollcall-shells-"));
afterAll(() => rmSync(home, { recursive: true }));
/** In this environment no shell reads a configuration of the computer, or assumes that it is remote or nested. */
const env = { PATH: process.env["PATH"], HOME: home, TERM: "dumb", LC_ALL: "C" };

const missing = (shell: string) =>
  spawnSync(shell, ["--version"]).error ? ` (skipped: ${shell} is not installed)` : "";

const noBash = missing("bash");
test.skipIf(noBash !== "")(`bash → the words that begin with the one at the cursor${noBash}`, () => {
  const script = `${completionScript("bash")}
rollcall() { [[ "$*" == "__complete node --runtime n" ]] && printf 'none\\tno runtime\\nauto\\nnever\\n:4\\n'; }
COMP_WORDS=(rollcall node --runtime n) COMP_CWORD=3
_rollcall
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync("bash", ["--norc", "-uc", script], { encoding: "utf8", env });
  expect({ stdout, stderr }).toEqual({ stdout: "none\nnever\n", stderr: "" });
});

const noZsh = missing("zsh");
test.skipIf(noZsh !== "")(`zsh → Tab at its own prompt completes the word that fits${noZsh}`, () => {
  const file = join(home, "completion.zsh");
  writeFileSync(
    file,
    `PS1=
autoload -Uz compinit; compinit -D -u
${completionScript("zsh")}
rollcall() {
  if [[ "$*" == "__complete node --runtime n" ]]; then printf 'none\\tno runtime\\nauto\\n:4\\n'; else print -r "ran <$*>"; fi
}
print ready`,
  );
  // The script runs a shell at a terminal of its own, and waits for its output.
  const typing = `zmodload zsh/zpty
zpty -b inner zsh -f -i
zpty -w inner ${JSON.stringify(`source ${file}`)}
zpty -r inner text '*ready*'
zpty -w inner $'rollcall node --runtime n\t'
zpty -r inner text '*ran <*>*'
print -r -- "\${\${text##*ran <}%%>*}"
zpty -d inner`;
  const { stdout } = spawnSync("zsh", ["-fc", typing], { encoding: "utf8", env, timeout: 60_000 });
  expect(stdout).toBe("node --runtime none\n");
});

const noFish = missing("fish");
test.skipIf(noFish !== "")(
  `fish → the words that begin with the one at the cursor, and their descriptions${noFish}`,
  () => {
    const script = `${completionScript("fish")}
function rollcall
    test "$argv" = "__complete node --runtime n"; and printf 'none\\tno runtime\\nauto\\nnever\\n:4\\n'
end
complete -C 'rollcall node --runtime n'`;
    const { stdout, stderr } = spawnSync("fish", ["--no-config", "-c", script], { encoding: "utf8", env });
    expect({ lines: stdout.trimEnd().split("\n").toSorted(), stderr }).toEqual({
      lines: ["never", "none\tno runtime"],
      stderr: "",
    });
  },
);
