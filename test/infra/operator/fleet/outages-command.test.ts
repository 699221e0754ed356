// Tests rollcall outages: the sites without a connection, and the kind of each outage.
import { afterAll, beforeAll, expect, it, test } from "vitest";
import { ALERT_STATES } from "../../../../shared/protocol/receiver-api.ts";
import { type FakeWorker, fakeWorker, play } from "../played.ts";

const OPEN = {
  id: 17,
  network: "203.0.113.7",
  startedAt: "2026-01-01T11:55:00Z",
  endedAt: null,
  machines: 3,
  silent: 2,
  names: ["b-1", "b-2"],
  was: "1 cut off",
};
const OVER = {
  ...OPEN,
  id: 16,
  network: "2001:db8::/64",
  endedAt: "2026-01-01T11:58:00Z",
  silent: 0,
  was: "down",
};
const list = [
  { name: "b-1", silentSince: "2026-01-01T11:55:00Z", backAt: null, end: null },
  { name: "b-3", silentSince: "2026-01-01T11:55:10Z", backAt: "2026-01-01T11:57:00Z", end: "cut off" },
];

let worker: FakeWorker;
let outages: object[] = [OPEN, OVER];
let mutes: object[] = [];
beforeAll(async () => {
  worker = await fakeWorker(({ path }) => {
    if (path === "/v1/mutes") return { body: { mutes } };
    if (path === "/v1/outages") return { body: { outages, next: null } };
    if (path === "/v1/outages/17") return { body: { ...OPEN, list, next: null } };
    return { status: 404, body: { title: "There is nothing here", reason: "not-found" } };
  });
});
afterAll(() => worker.close());

test.each<[args: string[], code: number, text: string]>([
  [
    [],
    0,
    [
      "ID   NETWORK         SINCE   STATE         SILENT   WAS         MACHINES",
      "17   203.0.113.7     5m      open          2/3      1 cut off   b-1,b-2,…",
      "16   2001:db8::/64   5m      over 2m ago   0/3      down        b-1,b-2,…",
      "",
    ].join("\n"),
  ],
  [["-o", "name"], 0, "17\n16\n"],
  [
    ["17"],
    0,
    "network   203.0.113.7\nsince     2026-01-01T11:55:00Z (5m ago)\nstate     open\nsilent    2 of 3\nwas       1 cut off\n\n" +
      "NAME   SILENT   BACK                   WAS\nb-1    5m\nb-3    4m50s    2026-01-01T11:57:00Z   cut off\n",
  ],
  [["9"], 3, "rollcall: no outage 9\n"],
  [["--since", "soon"], 2, ""],
])("%j → %i", async (args, code, text) => {
  const ended = await play(["outages", ...args], { url: worker.url });
  expect(ended.code).toBe(code);
  if (text !== "") expect(ended.stdout + ended.stderr).toBe(text);
});

it("none → says so; since when is asked for as a time", async () => {
  outages = [];
  expect(await play(["outages", "--since", "7d"], { url: worker.url })).toEqual({
    code: 0,
    stdout: "no outages\n",
    stderr: "",
  });
  expect(worker.asked.findLast(({ path }) => path === "/v1/outages")?.query).toEqual({
    limit: "100",
    since: "2025-12-25T12:00:00.000Z",
  });
});

test.each([
  ["the list → stated above it", [], 1],
  ["one outage → stated above it", ["17"], 1],
  ["a text for programs → not stated", ["-o", "csv"], 0],
])("a mute is on, %s", async (_, args, times) => {
  const time = { from: "2026-01-01T11:00:00Z", until: "2026-01-01T13:00:00Z" };
  mutes = [
    { id: 1, selector: "site=b", names: "", states: ALERT_STATES, ...time, comment: "", who: "alice" },
  ];
  const { stdout } = await play(["outages", ...args], { url: worker.url });
  const notice = "Muted: no alerts on machines with site=b until 2026-01-01T13:00:00Z, by alice.\n\n";
  expect(stdout.split(notice).length - 1).toBe(times);
  if (times > 0) expect(stdout.startsWith(notice)).toBe(true);
});
