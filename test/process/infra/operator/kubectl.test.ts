// Tests commands and deployments that run kubectl. A test's own program replaces kubectl on the PATH.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { kubectl } from "../../../../infra/operator/kubectl.ts";
import { failure, type Result, success } from "../../../../shared/result.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rollcall-kubectl-"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

test.each<[situation: string, script: string | null, expected: Result<string>]>([
  ["it prints", 'echo "$@"', success("create token a\n")],
  [
    "it fails → the last line of its stderr",
    "echo 1 >&2; echo no account >&2; exit 1",
    failure("kubectl: no account"),
  ],
  ["it fails and prints nothing → its exit code", "exit 3", failure("kubectl: exit code 3")],
  ["it is missing → an error that says so", null, failure("kubectl: it is not installed")],
])("%s", async (_, script, expected) => {
  const program = join(folder, "kubectl");
  if (script !== null) {
    writeFileSync(program, `#!/bin/sh\n${script}\n`);
    chmodSync(program, 0o700);
  }
  vi.stubEnv("PATH", folder);
  expect(await kubectl(["create", "token", "a"])).toEqual(expected);
});
