// Tests a context whose secret is printed by a program.
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, test } from "vitest";
import { connectionOf } from "../../../../../infra/operator/contexts/connection.ts";
import { temporaryFolder } from "../../../../e2e/local-cluster.ts";

const folder = temporaryFolder();
afterAll(() => folder.remove());
const at = (name: string) => join(folder.path, name);
const url = "https://rollcall.example.com";

beforeAll(() => {
  for (const name of ["config/rollcall", "bin", "empty"]) mkdirSync(at(name), { recursive: true });
  const contexts = {
    command: { url, secretCommand: "printf from-command" },
    fails: { url, secretCommand: "exit 3" },
    access: { url, cloudflared: true },
  };
  writeFileSync(at("config/rollcall/config.json"), JSON.stringify({ contexts }), { mode: 0o600 });
  writeFileSync(at("bin/cloudflared"), `#!/bin/sh\n[ "$3" = --app=${url} ] && echo a.b.c\n`);
  chmodSync(at("bin/cloudflared"), 0o755);
});

/** The environment's secret belongs to another Worker: a context with a secret of its own must not use it. */
const environment = (path: string) => ({
  XDG_CONFIG_HOME: at("config"),
  PATH: path,
  ROLLCALL_SECRET: "of-another",
});

test.each([
  ["a command", "command", { authorization: "Bearer from-command" }],
  ["cloudflared, for Cloudflare Access", "access", { "cf-access-token": "a.b.c" }],
])("%s → the secret that it prints", (_, context, headers) => {
  const found = connectionOf({ context }, environment(`${at("bin")}:/usr/bin:/bin`));
  expect(found).toEqual({ ok: true, value: { url, headers } });
});

it.each([
  ["a command that fails", "fails", "/usr/bin:/bin", /`exit 3` has failed \(exit code 3\)/],
  ["no cloudflared", "access", at("empty"), /cloudflared is missing: install it/],
])("%s → a wrong command line, and one line that says what to do", (_, context, path, says) => {
  expect(connectionOf({ context }, environment(path))).toEqual({
    ok: false,
    error: { reason: "usage", message: expect.stringMatching(says) },
  });
});
