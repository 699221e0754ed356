// Tests how a command finds its Worker and its credential: by flags, environment, contexts.
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connectionOf, type ConnectionFlags } from "../../../../infra/operator/contexts/connection.ts";
import { temporaryFolder } from "../../../e2e/local-cluster.ts";

const folder = temporaryFolder();
afterAll(() => folder.remove());
const at = (name: string) => join(folder.path, name);
const url = "https://rollcall.example.com";
const context = (more: object) => ({ url, ...more });

function write(name: string, text: string, mode = 0o600): void {
  writeFileSync(at(name), text);
  chmodSync(at(name), mode);
}

beforeAll(() => {
  for (const name of ["config/rollcall", "loose/rollcall", "broken/rollcall", "bin", "local"])
    mkdirSync(at(name), { recursive: true });
  const contexts = {
    file: context({ secretFile: at("secret") }),
    other: context({ secretFile: at("other-secret") }),
    plain: context({}),
  };
  write("config/rollcall/config.json", JSON.stringify({ current: "file", contexts }));
  write("loose/rollcall/config.json", JSON.stringify({ contexts }), 0o640);
  write("broken/rollcall/config.json", '{"contexts":{"a":{"uri":"x"}}}');
  write("secret", "from-file\n");
  write("other-secret", "from-other\n");
  write("open-secret", "s", 0o644);
  write("words", "two words\n");
  write("local/state.json", JSON.stringify({ rollcallState: 1, workerPort: 8787, macKeys: "1:x" }));
  write("local/admin-secret", "of-local\n");
});

type Environment = Record<string, string>;
const configured = (more: Environment = {}): Environment => ({ XDG_CONFIG_HOME: at("config"), ...more });

describe("a connection", () => {
  it.each<[situation: string, flags: ConnectionFlags, environment: Environment, headers: object]>([
    ["a secret in the environment", { url }, { ROLLCALL_SECRET: "s" }, { authorization: "Bearer s" }],
    ["by its earlier name", { url }, { ROLLCALL_ADMIN_SECRET: "s" }, { authorization: "Bearer s" }],
    [
      "a service token of Access",
      { url },
      { CF_ACCESS_CLIENT_ID: "i", CF_ACCESS_CLIENT_SECRET: "a" },
      { "cf-access-client-id": "i", "cf-access-client-secret": "a" },
    ],
    [
      "half of one, and a secret",
      { url },
      { ROLLCALL_SECRET: "s", CF_ACCESS_CLIENT_ID: "i" },
      { authorization: "Bearer s" },
    ],
    ["the context in use", {}, configured(), { authorization: "Bearer from-file" }],
    ["another context", { context: "other" }, configured(), { authorization: "Bearer from-other" }],
    [
      "a context by the environment",
      {},
      configured({ ROLLCALL_CONTEXT: "other" }),
      { authorization: "Bearer from-other" },
    ],
    [
      "a context that says nothing of a secret: the environment's",
      { context: "plain" },
      configured({ ROLLCALL_SECRET: "s" }),
      { authorization: "Bearer s" },
    ],
    [
      "a context with a secret of its own: never the environment's",
      { context: "file" },
      configured({ ROLLCALL_SECRET: "s", CF_ACCESS_CLIENT_ID: "i", CF_ACCESS_CLIENT_SECRET: "a" }),
      { authorization: "Bearer from-file" },
    ],
    [
      "ROLLCALL_URL, which beats the context in use",
      {},
      configured({ ROLLCALL_URL: url, ROLLCALL_SECRET: "s" }),
      { authorization: "Bearer s" },
    ],
  ])("%s → these headers", (_, flags, environment, headers) => {
    expect(connectionOf(flags, environment)).toEqual({ ok: true, value: { url, headers } });
  });

  it("the state folder of npm start → its Worker, its secret", () => {
    expect(connectionOf({ state: at("local") }, { ROLLCALL_URL: url, ROLLCALL_SECRET: "s" })).toEqual({
      ok: true,
      value: { url: "http://127.0.0.1:8787", headers: { authorization: "Bearer of-local" } },
    });
  });

  it.each<[situation: string, flags: () => ConnectionFlags, environment: () => Environment, message: RegExp]>(
    [
      ["no URL", () => ({}), () => ({}), /^which Worker\?/],
      ["no credentials", () => ({ url }), () => ({}), /^no credentials/],
      ["half of a service token", () => ({ url }), () => ({ CF_ACCESS_CLIENT_ID: "i" }), /^no credentials/],
      [
        "a URL, and a context's secret that was not meant for it",
        () => ({ url: "https://other.example.com" }),
        () => configured(),
        /^no credentials/,
      ],
      [
        "a file that is missing",
        () => ({ url, secretFile: "/nowhere" }),
        () => ({}),
        /\/nowhere cannot be read \(ENOENT\)$/,
      ],
      [
        "a secret that others can read",
        () => ({ url, secretFile: at("open-secret") }),
        () => ({}),
        /open-secret can be read by others: chmod 600 /,
      ],
      [
        "a configuration that others can read",
        () => ({}),
        () => ({ XDG_CONFIG_HOME: at("loose") }),
        /config.json can be read by others: chmod 600 /,
      ],
      [
        "a configuration that says something else",
        () => ({}),
        () => ({ XDG_CONFIG_HOME: at("broken") }),
        /is not valid \(at \/contexts\/a\/u/,
      ],
      [
        "a secret that is none",
        () => ({ url }),
        () => ({ ROLLCALL_SECRET: "two words" }),
        /^ROLLCALL_SECRET holds no secret(?!.*two words)/,
      ],
      [
        "a file that holds something else",
        () => ({ url, secretFile: at("words") }),
        () => ({}),
        /words holds no secret(?!.*two words)/,
      ],
      [
        "a URL in the clear",
        () => ({ url: "http://a.test" }),
        () => ({ ROLLCALL_SECRET: "s" }),
        /^--url .*only https/,
      ],
      [
        "a context that is none",
        () => ({ context: "toString" }),
        () => configured(),
        /^no context toString: rollcall context list/,
      ],
      [
        "a folder in which nothing has run",
        () => ({ state: at("bin") }),
        () => ({}),
        /no local cluster has run there; npm start -- --state/,
      ],
    ],
  )("%s → a wrong command line, and one line that says what to do", (_, flags, environment, says) => {
    expect(connectionOf(flags(), environment())).toEqual({
      ok: false,
      error: { reason: "usage", message: expect.stringMatching(says) },
    });
  });
});
