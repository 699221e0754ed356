// Tests rollcall versions, and the versions in rollcall status: the machines with older shims.
import { afterAll, beforeAll, beforeEach, expect, it, test } from "vitest";
import { commandLineWords, shimWords } from "../../../../infra/operator/fleet/versions-command.ts";
import { commandsBelow } from "../../../house/page-commands.ts";
import { type FakeWorker, fakeWorker, play } from "../played.ts";

const versions = {
  worker: "0.2.0",
  shims: [
    { version: "0.2.0", machines: 9, isBehind: false, states: { ready: 7, silent: 2 } },
    { version: "0.1.0", machines: 990, isBehind: true, states: { ready: 980, blocked: 4, "not-ready": 6 } },
    { version: "", machines: 1, isBehind: false, states: { pending: 1 } },
  ],
  others: 0,
};

let worker: FakeWorker;
let answer: unknown;
beforeEach(() => (answer = versions));
beforeAll(async () => {
  worker = await fakeWorker(() => ({ body: answer }));
});
afterAll(() => worker.close());

it("rollcall versions → each version's share, and how its machines stand", async () => {
  const { code, stdout } = await play(["versions"], { url: worker.url });
  expect([code, stdout]).toEqual([
    0,
    [
      "the Worker is 0.2.0",
      "VERSION     MACHINES   SHARE   READY   SILENT   NOT-READY   WORKER",
      "0.2.0       9          <1%     7       2        0",
      "0.1.0       990        99%     980     0        10          is newer",
      "not known   1          <1%     0       0        0",
      "",
    ].join("\n"),
  ]);
});

it("as docs/upgrading-shims.md shows it", async () => {
  const [newest, older] = versions.shims;
  const states = { ...older!.states, ready: 980, silent: 1 };
  answer = { ...versions, shims: [newest!, { ...older!, machines: 991, states }] };
  const [shown = ""] = commandsBelow("docs/upgrading-shims.md", "Versions in the fleet");
  const [, command = "", printed] = /^\$ rollcall (.+)\n([^]+)$/.exec(shown) ?? [];
  const { stdout } = await play(command.split(" "), { url: worker.url });
  expect(stdout.trimEnd()).toBe(printed?.trimEnd());
});

test.each([
  [
    versions,
    "0.2.0 on 9 of 1000 machines, 0.1.0 on 990, not known on 1; 990 are behind the Worker: rollcall versions",
  ],
  [{ ...versions, shims: versions.shims.slice(0, 1) }, "0.2.0 on 9 of 9 machines"],
  [{ ...versions, shims: [] }, "none yet"],
])("in rollcall status: %#", (each, words) => {
  expect(shimWords(each)).toBe(words);
});

test.each([
  ["0.1.0", "0.2.0", "0.1.0, older than the Worker: install 0.2.0 to see all of its answers"],
  ["0.2.0", "0.2.0", "0.2.0"],
  ["0.3.0", "0.2.0", "0.3.0"],
  ["0.1.0", undefined, "0.1.0"],
])("command line %s, Worker %s → %s", (own, other, words) => {
  expect(commandLineWords(own, other)).toBe(words);
});
