// kubectl as a deployment runs it for the cluster's token: a program of a test's own is on the PATH in its place.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { runKubectl } from "../../../../infra/deploy/kubectl-run.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rollcall-kubectl-"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

test.each<[situation: string, script: string | null, expected: object]>([
  ["it prints", 'echo "$@"', { stdout: "create token a\n", fault: null }],
  [
    "it fails → the last line of its stderr",
    "echo 1 >&2; echo no account >&2; exit 1",
    { fault: "no account" },
  ],
  ["it fails without a word → its exit code", "exit 3", { fault: "kubectl ended with 3" }],
  ["there is none → that", null, { stdout: "", fault: expect.stringMatching(/^kubectl: .*ENOENT/) }],
])("%s", async (_, script, expected) => {
  const program = join(folder, "kubectl");
  if (script !== null) {
    writeFileSync(program, `#!/bin/sh\n${script}\n`);
    chmodSync(program, 0o700);
  }
  vi.stubEnv("PATH", folder);
  expect(await runKubectl(["create", "token", "a"])).toMatchObject(expected);
});
