// Tests rollcall nodes: its requests, and its output at several widths and in every format.
import { afterAll, afterEach, beforeAll, describe, expect, it, test } from "vitest";
import { ALERT_STATES } from "../../../../shared/protocol/receiver-api.ts";
import { type Answered, type AskedFor, type FakeWorker, fakeWorker, play, type Played } from "../played.ts";

const versions = { shim: "0.1.0", kernel: "6.1", os: "Debian 12", runtime: "", architecture: "amd64" };
const address = "203.0.113.7";
const machine = (name: string, state: string, since: string, why: string) => ({
  name,
  state,
  since,
  why,
  address,
  versions,
});
const MACHINES = [
  machine("edge-7.berlin", "silent", "2026-01-01T11:54:00Z", "nothing is heard of it"),
  machine("edge-8.berlin", "blocked", "2025-12-29T08:00:00Z", "its key is used by two machines"),
  machine("edge-9.berlin", "ready", "2025-06-01T00:00:00Z", ""),
];
const counts = {
  matching: { silent: 1, blocked: 1, ready: 1 },
  fleet: { silent: 1, blocked: 1, ready: 998 },
};
const whole = { machines: MACHINES, counts, cursor: null };

const WELL = { state: "ok", checks: [] };
const apiserverCheck = (state: string) => ({
  check: "apiserver",
  state,
  message: "it does not answer: \u001B[2Jno answer in time",
  checkedAt: "2026-01-01T11:59:58Z",
  since: "2026-01-01T11:45:00Z",
});

let worker: FakeWorker;
let readiness: object = WELL;
let mutes: object[] = [];
let answer: (asked: AskedFor) => Answered = () => ({ body: whole });
beforeAll(async () => {
  worker = await fakeWorker((asked) => {
    if (asked.path === "/v1/mutes") return { body: { mutes } };
    return asked.path === "/readyz" ? { body: readiness } : answer(asked);
  });
});
afterAll(() => worker.close());
afterEach(() => {
  answer = () => ({ body: whole });
  readiness = WELL;
  mutes = [];
  worker.asked.length = 0;
});
const askedMachines = () => worker.asked.filter(({ path }) => path === "/v1/machines");
const nodes = (args: string[] = [], played: Played = {}) =>
  play(["nodes", ...args], { url: worker.url, ...played });

const COUNTS = "3 of 1000 machines: 1 silent, 1 blocked, 1 ready";
test.each<[columns: number | undefined, lines: string[]]>([
  [
    40,
    [
      "NAME           STATE    SINCE",
      "edge-7.berlin  silent   6m",
      "edge-8.berlin  blocked  3d4h",
      "edge-9.berlin  ready    214d",
    ],
  ],
  [
    80,
    [
      "NAME           STATE    SINCE  WHY                              SHIM",
      "edge-7.berlin  silent   6m     nothing is heard of it           0.1.0",
      "edge-8.berlin  blocked  3d4h   its key is used by two machines  0.1.0",
      "edge-9.berlin  ready    214d                                    0.1.0",
    ],
  ],
  [
    undefined,
    [
      "NAME            STATE     SINCE   WHY                               SHIM    FROM",
      "edge-7.berlin   silent    6m      nothing is heard of it            0.1.0   203.0.113.7",
      "edge-8.berlin   blocked   3d4h    its key is used by two machines   0.1.0   203.0.113.7",
      "edge-9.berlin   ready     214d                                      0.1.0   203.0.113.7",
    ],
  ],
])("%s columns → counts, then what fits", async (columns, lines) => {
  const { stdout, ...rest } = await nodes([], columns === undefined ? {} : { columns });
  expect(rest).toEqual({ code: 0, stderr: "" });
  expect(stdout.trimEnd().split("\n")).toEqual([COUNTS, ...lines]);
  for (const line of stdout.split("\n").slice(1)) expect(line.length).toBeLessThanOrEqual(columns ?? 200);
});

test.each<[args: string[], query: Record<string, string>]>([
  [[], { sort: "urgency", fields: "name,state,since,why,conditions,versions,address", limit: "500" }],
  [["--state", "silent,blocked", "-l", "site=b"], { state: "silent,blocked", selector: "site=b" }],
  [["--beside", "edge-7"], { beside: "edge-7" }],
  [["--version-of", "<0.2.0", "--unused"], { version: "<0.2.0", unused: "true" }],
  [["--changed-since", "2h", "--sort", "-since"], { since: "2026-01-01T10:00:00.000Z", sort: "-since" }],
  [["--changed-until", "2026-01-01T00:00:00+02:00"], { until: "2025-12-31T22:00:00.000Z" }],
  [
    ["--search", "not ready site=b since:2h"],
    { text: "not ready", selector: "site=b", since: "2026-01-01T10:00:00.000Z" },
  ],
  [["-o", "name", "--limit", "7"], { fields: "name,state", limit: "7" }],
  [["-o", "json", "--fields", "name,labels"], { fields: "name,labels" }],
  [["--columns", "name,kernel"], { fields: "name,state,versions" }],
])("%j → asks for %j", async (args, query) => {
  expect(await nodes(args)).toMatchObject({ code: 0 });
  expect(askedMachines()).toMatchObject([{ method: "GET", query }]);
});

test.each<[args: string[], stdout: string]>([
  [["-o", "name"], "edge-7.berlin\nedge-8.berlin\nedge-9.berlin\n"],
  [["-o", "json"], `${JSON.stringify({ machines: MACHINES, counts }, null, 2)}\n`],
  [["-o", "jsonl"], MACHINES.map((machine) => `${JSON.stringify(machine)}\n`).join("")],
  [
    ["-o", "csv", "--columns", "name,since,why"],
    `name,since,why\n${MACHINES.map(({ name, since, why }) => `${name},${since},${why}\n`).join("")}`,
  ],
])("%j → the same on every terminal", async (args, stdout) => {
  expect(await nodes(args, { columns: 40 })).toEqual({ code: 0, stdout, stderr: "" });
  expect(await nodes(args)).toEqual({ code: 0, stdout, stderr: "" });
});

it("chosen columns → those, in that order, where they are wide ones as well", async () => {
  const { stdout } = await nodes(["--columns", "kernel,name"]);
  expect(stdout).toBe(
    `${COUNTS}\nKERNEL   NAME\n${MACHINES.map(({ name }) => `6.1      ${name}\n`).join("")}`,
  );
});

it("conditions that are off → a column of the wide table", async () => {
  const condition = (type: string, status: string) => ({
    type,
    status,
    reason: "",
    message: "",
    since: null,
  });
  const conditions = [
    condition("MemoryPressure", "True"),
    condition("PIDPressure", "False"),
    condition("Ready", "Unknown"),
  ];
  answer = () => ({ body: { machines: [{ name: "a", state: "silent", conditions }], counts, cursor: null } });
  expect((await nodes(["--columns", "conditions"])).stdout).toContain(
    "CONDITIONS\nMemoryPressure (last report),Ready=Unknown\n",
  );
});

describe("the apiserver", () => {
  const NOTICE = [
    "Since 2026-01-01T11:45:00Z (15m ago), the apiserver does not answer: �[2Jno answer in time.",
    "The states and counts below may be from then: rollcall ready shows the remedy.",
    "",
  ];
  const linesOf = async (args: string[]) => (await nodes(args)).stdout.split("\n");

  it("does not answer → the table states since when, and that it is out of date", async () => {
    readiness = { state: "failed", checks: [apiserverCheck("failed")] };
    expect((await linesOf([])).slice(0, 4)).toEqual([...NOTICE, COUNTS]);
    expect((await linesOf(["-o", "wide"])).slice(0, 4)).toEqual([...NOTICE, COUNTS]);
  });

  it.each([
    ["answers", { state: "ok", checks: [apiserverCheck("ok")] }],
    ["is unknown to a Worker of another version", { checks: "none" }],
  ])("%s → the table alone", async (_, now) => {
    readiness = now;
    expect((await linesOf([]))[0]).toBe(COUNTS);
  });

  it("does not answer → formats for programs have no further line, and no request", async () => {
    readiness = { state: "failed", checks: [apiserverCheck("failed")] };
    expect((await linesOf(["-o", "csv"]))[0]).toMatch(/^name,state/);
    expect(worker.asked.map(({ path }) => path)).toEqual(["/v1/machines"]);
  });
});

it("a ready machine under pressure → the pressure in the column of the reasons", async () => {
  const conditions = [
    { type: "MemoryPressure", status: "True", reason: "", message: "low", since: null },
    { type: "Ready", status: "True", reason: "", message: "well", since: null },
  ];
  const machine = { name: "a", state: "ready", why: "", conditions };
  answer = () => ({ body: { machines: [machine], counts, cursor: null } });
  expect((await nodes(["--columns", "name,why"])).stdout).toContain("a      MemoryPressure is True: low\n");
});

it.each([
  ["a Node's", { created: "2025-12-29T08:00:00Z" }, "3d4h", "2025-12-29T08:00:00Z"],
  ["no Node's", { created: null }, "", ""],
  ["of an earlier Worker, which does not tell it", {}, "", ""],
])("age, %s → a column of the wide table, and for programs its time", async (_, known, age, time) => {
  answer = () => ({ body: { machines: [{ name: "a", state: "silent", ...known }], counts, cursor: null } });
  expect((await nodes(["--columns", "name,age"])).stdout).toContain(`NAME   AGE\na      ${age}`.trimEnd());
  expect((await nodes(["--columns", "name,age", "-o", "csv"])).stdout).toContain(`a,${time}`);
  expect(askedMachines().at(-1)?.query).toMatchObject({ fields: "name,state,created" });
});

it("a state folder before the command, states behind it → each is what it says there", async () => {
  const ended = await play(["--state", "/nowhere", "nodes", "--state", "silent"]);
  expect(ended).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--state /nowhere: no local cluster"),
  });
});

it("colours → on a terminal that has them", async () => {
  const { stdout } = await nodes([], { columns: 80, isColored: true });
  expect(stdout).toContain("\u001B[31msilent\u001B[0m");
  expect((await nodes([], { isColored: true })).stdout).not.toContain("\u001B");
});

it("several pages → one list, as long as was asked for", async () => {
  answer = ({ query }) => {
    const from = Number(query["cursor"] ?? 0);
    const machines = Array.from({ length: Number(query["limit"]) }, (_, index) => ({
      name: `m-${from + index}`,
      state: "ready",
    }));
    const all = { ready: 2500 };
    return {
      body: { machines, counts: { matching: all, fleet: all }, cursor: String(from + machines.length) },
    };
  };
  const { stdout } = await nodes(["-o", "name", "--limit", "2200"]);
  expect(stdout.trimEnd().split("\n")).toEqual(Array.from({ length: 2200 }, (_, index) => `m-${index}`));
  expect(askedMachines().map(({ query }) => query["limit"])).toEqual(["1000", "1000", "200"]);
  const { stdout: table } = await nodes(["--limit", "2"]);
  expect(table).toMatch(/^2500 machines: 2500 ready\n[^]*\n2498 more: --limit 2500 shows them/);
});

describe("what is wrong → one line, and an exit code", () => {
  const problem = (status: number, more: object) => () => ({ status, body: { title: "T", ...more } });
  test.each<[situation: string, args: string[], answers: typeof answer, code: number, message: RegExp]>([
    [
      "a state that is none",
      ["--state", "asleep"],
      problem(400, { reason: "invalid-query", parameter: "state", detail: "expected one or more of ready" }),
      2,
      /^rollcall: --state: expected one or more of ready\n$/,
    ],
    ["a column that is none", ["--columns", "name,colour"], () => ({}), 2, /"colour" is none of name, state/],
    ["fields of a table", ["--fields", "name"], () => ({}), 2, /--fields is for -o json/],
    ["a time that is none", ["--changed-since", "yesterday"], () => ({}), 2, /must be a duration before now/],
    [
      "a search with an unknown field",
      ["--search", "stat:silent"],
      () => ({}),
      2,
      /stat:silent cannot be read: no field has the name stat; did you mean state:\?/,
    ],
    [
      "a search, and a flag of a term",
      ["--search", "edge", "--state", "silent"],
      () => ({}),
      2,
      /--search.* cannot be used with .*--state/,
    ],
    ["a format that is none", ["-o", "xml"], () => ({}), 2, /Allowed choices are wide, json/],
    ["who may not", [], problem(403, { detail: "no" }), 4, /^rollcall: T. no\n$/],
    ["a Worker that fails", [], problem(500, {}), 1, /^rollcall: T. \n$/],
  ])("%s", async (_, args, answers, code, says) => {
    answer = answers;
    expect(await nodes(args)).toEqual({ code, stdout: "", stderr: expect.stringMatching(says) });
  });
});

it("--watch of a name that another machine asks for as well → the row of the one that changes", async () => {
  const of = (state: string) => ({
    counts: { matching: { pending: 1, [state]: 1 }, fleet: {} },
    cursor: null,
    machines: [
      machine("edge-7", "pending", "2026-01-01T11:00:00Z", ""),
      machine("edge-7", state, "2026-01-01T10:00:00Z", ""),
    ],
  });
  const answers: Answered[] = [{ body: of("ready") }, { body: of("silent") }, { status: 403, body: {} }];
  answer = () => answers.shift() ?? {};
  const { stdout } = await nodes(["--watch", "--columns", "name,state"]);
  expect(stdout.split("\n").slice(2)).toEqual(["edge-7   pending", "edge-7   ready", "edge-7   silent", ""]);
});

it("--watch → the table, then the rows that change, by ETag, until it may not any more", async () => {
  const moved = MACHINES.map((machine) =>
    machine.state === "silent" ? { ...machine, state: "ready", why: "" } : machine,
  );
  const answers: Answered[] = [
    { body: whole, headers: { etag: 'W/"1"' } },
    { status: 304 },
    { body: { ...whole, machines: moved }, headers: { etag: 'W/"2"' } },
    { status: 403, body: { title: "Over" } },
  ];
  answer = () => answers.shift() ?? {};
  const { code, stdout } = await nodes(["--watch", "--columns", "name,state"]);
  expect(code).toBe(4);
  expect(stdout.split("\n").slice(1)).toEqual([
    "NAME            STATE",
    "edge-7.berlin   silent",
    "edge-8.berlin   blocked",
    "edge-9.berlin   ready",
    "edge-7.berlin   ready",
    "",
  ]);
  expect(askedMachines().map(({ headers }) => headers["if-none-match"])).toEqual([
    undefined,
    'W/"1"',
    'W/"1"',
    'W/"2"',
  ]);
});

test.each<[string, number, string[], string]>([
  ["a mute that is over", -1, [], ""],
  [
    "a mute that is on",
    1,
    [],
    "Muted: no alerts on all machines until 2026-01-01T12:00:01.000Z, by alice.\n\n",
  ],
  ["a mute that is on, with -o json", 1, ["-o", "json"], ""],
])("%s → stated above the table only while it is on", async (_, untilSeconds, args, above) => {
  const until = new Date(Date.UTC(2026, 0, 1, 12, 0, untilSeconds)).toISOString();
  const from = "2026-01-01T11:00:00Z";
  mutes = [{ id: 1, selector: "", names: "", states: ALERT_STATES, from, until, comment: "", who: "alice" }];
  const { stdout } = await nodes(args);
  expect(/^Muted.*\n\n/.exec(stdout)?.[0] ?? "").toBe(above);
});
