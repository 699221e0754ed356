// Tests the whole command line: each command of docs/rollcall.md exists, and its help is readable at any width.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, test } from "vitest";
import { EXIT_CODES } from "../../../infra/operator/fault.ts";
import { ROOT } from "../../e2e/local-cluster.ts";
import { type FakeWorker, fakeWorker, play } from "./played.ts";
import { wholeNode } from "./made-up-node.ts";

const page = readFileSync(join(ROOT, "docs/rollcall.md"), "utf8");
const [, rows = ""] = /<!-- one command -->([^]*)<!-- end of one command -->/.exec(page) ?? [];
const commandLines = [...rows.matchAll(/\| `rollcall ([^`]+)`/g)].map(([, line = ""]) => line);
const wordsOf = (line: string) =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? "");

const machine = {
  name: "edge-7",
  state: "ready",
  since: "2026-01-01T00:00:00Z",
  why: "",
  address: "203.0.113.7",
};
const versions = { shim: "0.1.0", kernel: "", os: "", runtime: "", architecture: "" };
const entry = { id: 1, at: "2026-01-01T00:00:00Z", name: "edge-7", kind: "state", text: "silent → ready" };
const check = {
  check: "token",
  state: "ok",
  message: "good for 90 days",
  checkedAt: entry.at,
  since: entry.at,
};

const times = { createdAt: entry.at, createdBy: "alice", expiresAt: entry.at };
const alice = { name: "alice", role: "admin", state: "valid", lastUsedAt: null, ...times };
const ADMINISTRATION: Record<string, unknown> = {
  // The list of operators, combined with the answer to creating one.
  "/v1/operators": { operators: [alice], ...alice, secret: "rco_x" },
  "/v1/revocations": {
    revocations: [{ thumbprint: "k", name: "edge-7", at: entry.at, why: "revoked" }],
    next: null,
  },
  "/v1/settings": { settings: [{ name: "DEPLOYMENT", value: "d", source: "variable", state: "ok" }] },
  "/v1/silent-nodes": { nodes: [{ name: "edge-7", silentSince: entry.at }], removedAfterDays: null },
  "/v1/bulk": { bulks: [] },
  "/v1/outages": { outages: [], next: null },
  "/v1/versions": {
    worker: "0.2.0",
    shims: [{ version: "0.1.0", machines: 1, isBehind: true, states: { ready: 1 } }],
    others: 0,
  },
  "/v1/usage": { machines: [], isComplete: true },
  "/v1/rollout": { rollout: null },
  "/v1/mutes": {
    mutes: [
      {
        id: 1,
        selector: "",
        names: "edge-*",
        states: ["silent"],
        from: entry.at,
        until: "2026-01-02T00:00:00Z",
        comment: "",
        who: "alice",
      },
    ],
  },
  "/v1/index": { names: 1, machines: 1, repair: null, check: null, log: [] },
};

let worker: FakeWorker;
beforeAll(async () => {
  worker = await fakeWorker(({ path, query }) => {
    if (path === "/v1/nodes/edge-7") return { body: wholeNode() };
    if (path.endsWith("/history")) return { body: { entries: "before" in query ? [] : [entry] } };
    if (path in ADMINISTRATION) return { body: ADMINISTRATION[path] };
    if (path === "/readyz") return { body: { state: "ok", version: "0.2.0", checks: [check] } };
    const counts = { matching: { ready: 1 }, fleet: { ready: 1 } };
    return { body: { machines: [{ ...machine, versions }], counts, cursor: null } };
  });
});
afterAll(() => worker.close());

it("they are found", () => {
  expect(commandLines.length).toBeGreaterThan(8);
});

test.each(commandLines)("rollcall %s → says something", async (line) => {
  const ended = await play(wordsOf(line), { url: worker.url });
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  expect(ended.stdout).not.toBe("");
});

test.each([["status"], ["node", "edge-7"], ["nodes"], ["history"], ["explain"], ["explain", "cloned"]])(
  "%s %s → no line wider than the terminal, at 40, 80 and 200 columns",
  async (...words) => {
    for (const columns of [40, 80, 200]) {
      const { stdout } = await play(words.filter(Boolean), { url: worker.url, columns });
      expect(
        stdout.split("\n").filter((line) => line.length > columns && !line.includes(worker.url)),
      ).toEqual([]);
    }
  },
);

test.each(["forgt edge-7", "revok edge-7", "node forgt edge-7"])(
  "rollcall %s → no word of a command that removes",
  async (line) => {
    const { code, stdout, stderr } = await play(line.split(" "), { url: worker.url });
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: "",
      stderr: expect.not.stringMatching(/forget|revoke/),
    });
  },
);

test.each(["history edge-7", "node history edge-7"])("rollcall %s → takes the same flags", async (line) => {
  worker.asked.length = 0;
  const args = [...line.split(" "), "--since", "2h", "--kind", "state", "--limit", "1"];
  expect(await play(args, { url: worker.url })).toMatchObject({ code: 0, stderr: "" });
  expect(worker.asked).toMatchObject([
    {
      path: "/v1/nodes/edge-7/history",
      query: { since: "2026-01-01T10:00:00.000Z", kind: "state", limit: "1" },
    },
  ]);
});

it("each exit code is in the documentation", () => {
  const listed = [...page.matchAll(/^\| (\d) +\|/gm)].map(([, code]) => Number(code));
  expect(listed).toEqual(Object.values(EXIT_CODES));
});

test.each([
  [
    ["status"],
    "the Worker",
    0,
    /^worker +http:.*\nversion +0\.2\.0\nworks +yes: 1 of 1 checks are ok\ncluster token +good for 90 days\nmachines +1 machine: 1 ready\noutages +none\nmuted +no alerts on silent of machines named edge-\* until 2026-01-02T00:00:00Z, by alice\nfleet index +has all 1 machines\n/,
  ],
  [["explain", "DiskPressure"], "a condition", 0, /^condition +DiskPressure\nmeans +True: less disk/],
  [["explain", "two-shims", "-o", "json"], "a phase, with a hyphen", 0, /"word": "two shims"/],
  [["explain", "nothing"], "a word that is none", 3, /^rollcall: no state, phase or condition nothing/],
  [["operators", "list"], "operators", 0, /^NAME +ROLE +STATE[^]*alice +admin +valid +never/],
  [["operators", "add", "alice", "--role", "admin"], "a new one: its secret alone", 0, /^rco_x\n$/],
  [["operators", "add", "alice"], "no role", 2, /--role/],
  [["revocations"], "keys", 0, /edge-7 +k +revoked\n$/],
  [["settings", "-o", "csv"], "settings", 0, /^name,value,from,state\nDEPLOYMENT,d,variable,ok\n$/],
  [["silent-nodes", "--days", "30"], "Nodes", 0, /^1 machines; no Node is removed[^]*edge-7 +12h\n$/],
  [["bulk", "list"], "what is under way", 0, /^none\n$/],
  [["node"], "no name", 2, /^Usage: rollcall node/],
] as const)("%j: %s → %i", async (args, _, code, text) => {
  const ended = await play([...args], { url: worker.url });
  expect(ended.code).toBe(code);
  expect(ended.stdout + ended.stderr).toMatch(text);
});
