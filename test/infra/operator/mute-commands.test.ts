// Tests rollcall mutes: its requests, which the Worker's own schema accepts, and its output.
import { afterAll, beforeAll, beforeEach, expect, it, test } from "vitest";
import { newMuteSchema } from "../../../shared/protocol/receiver-api.ts";
import { type FakeWorker, fakeWorker, play } from "./played.ts";

const mute = {
  id: 3,
  selector: "site=b",
  names: "",
  states: ["silent"],
  from: "2026-01-01T12:00:00.000Z",
  until: "2026-01-01T16:00:00.000Z",
  comment: "new power supply",
  who: "alice",
};

let worker: FakeWorker;
let mutes: unknown[];
beforeAll(async () => {
  worker = await fakeWorker(({ method, path }) => {
    if (path === "/v1/mutes/9") return { status: 404, body: { reason: "not-found", title: "Not found" } };
    if (method === "GET") return { body: { mutes } };
    return method === "POST" ? { status: 201, body: mute } : { status: 204 };
  });
});
afterAll(() => worker.close());
beforeEach(() => {
  worker.asked.length = 0;
  mutes = [mute];
});
const run = (args: string[]) => play(["mutes", ...args], { url: worker.url });

it("list → a table; of none a line", async () => {
  const { stdout } = await run(["list"]);
  expect(stdout.split("\n")).toEqual([
    "ID   MACHINES   STATES   FROM                       UNTIL                      BY      COMMENT",
    "3    site=b     silent   2026-01-01T12:00:00.000Z   2026-01-01T16:00:00.000Z   alice   new power supply",
    "",
  ]);
  mutes = [];
  expect((await run(["list"])).stdout).toBe("no mutes\n");
});

test.each<[args: string[], body: object]>([
  [["--all-machines", "--until", "4h"], { allMachines: true, until: "2026-01-01T16:00:00.000Z" }],
  [
    ["-l", "site=b", "--state", "silent", "--from", "30m", "--until", "1d", "--comment", "new power supply"],
    {
      selector: "site=b",
      states: ["silent"],
      from: "2026-01-01T12:30:00.000Z",
      until: "2026-01-02T12:00:00.000Z",
      comment: "new power supply",
    },
  ],
  [
    ["--names", "edge-*", "--until", "2026-02-01T02:00:00+01:00"],
    { names: "edge-*", until: "2026-02-01T01:00:00.000Z" },
  ],
])("add %j → asks for that alone", async (args, body) => {
  expect(await run(["add", ...args])).toEqual({
    code: 0,
    stdout: "mute 3 until 2026-01-01T16:00:00.000Z: site=b\n",
    stderr: "",
  });
  expect(worker.asked).toMatchObject([{ method: "POST", path: "/v1/mutes", body }]);
  expect(newMuteSchema.safeParse(worker.asked[0]?.body)).toMatchObject({ success: true });
});

test.each<[args: string[], code: number, message: RegExp]>([
  [["remove", "3"], 0, /^mute 3 is over\n$/],
  [["remove", "9"], 3, /no mute 9/],
  [["remove", "x"], 2, /whole number/],
  [["add"], 2, /--until/],
  [["add", "--until", "soon"], 2, /must be a duration from now/],
])("%j → %i", async (args, code, says) => {
  const ended = await run(args);
  expect(ended.code).toBe(code);
  expect(ended.stdout + ended.stderr).toMatch(says);
});

test.each([[[]], [["-l", ""]], [["--names", ""]], [["--state", "silent"]]])(
  "add %j, which names no machine → refused without a request",
  async (args) => {
    const { code, stderr } = await run(["add", ...args, "--until", "4h"]);
    expect([code, worker.asked]).toEqual([2, []]);
    expect(stderr).toMatch(/-l SELECTOR, --names PATTERN, or --all-machines/);
  },
);
