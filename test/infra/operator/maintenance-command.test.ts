// Tests rollcall node maintenance: its requests, which the Worker's own schema accepts, and its output.
import { afterAll, beforeAll, beforeEach, expect, it, test } from "vitest";
import { nodeChangeSchema } from "../../../shared/protocol/operator-api.ts";
import { type FakeWorker, fakeWorker, play } from "./played.ts";

let worker: FakeWorker;
beforeAll(async () => {
  worker = await fakeWorker(({ method, path }) => {
    if (path.endsWith("/gone")) return { status: 404, body: { reason: "not-found", title: "Not found" } };
    if (method === "PATCH") return { status: 204 };
    const machines = ["edge-7", "edge-8"].map((name) => ({ name, state: "ready" }));
    const counts = { matching: {}, fleet: {} };
    return { body: { machines: [...machines, { name: "new", state: "pending" }], counts, cursor: null } };
  });
});
afterAll(() => worker.close());
beforeEach(() => void (worker.asked.length = 0));
const run = (args: string[], types?: string) =>
  play(["node", "maintenance", ...args], { url: worker.url, ...(types !== undefined && { types }) });
const changes = () => worker.asked.filter(({ method }) => method === "PATCH");

test.each<[args: string[], maintenance: object, stdout: string]>([
  [
    ["edge-7", "begin", "--until", "4h", "--comment", "new disk"],
    { stage: "begin", until: "2026-01-01T16:00:00.000Z", comment: "new disk" },
    "edge-7: maintenance: begin until 2026-01-01T16:00:00.000Z\n",
  ],
  [
    ["edge-7", "plan", "--until", "2026-02-01T02:00:00+01:00"],
    { stage: "plan", until: "2026-02-01T01:00:00.000Z" },
    "edge-7: maintenance: plan until 2026-02-01T01:00:00.000Z\n",
  ],
  [["edge-7", "end"], { stage: "end" }, "edge-7: maintenance: end\n"],
])("%j → asks for that alone", async (args, maintenance, stdout) => {
  expect(await run(args)).toMatchObject({ code: 0, stdout });
  expect(changes().map(({ path, body }) => [path, body])).toEqual([["/v1/nodes/edge-7", { maintenance }]]);
  expect(nodeChangeSchema.safeParse(changes()[0]?.body).success).toBe(true);
});

it("a selection → asks first, then changes each enrolled machine", async () => {
  const args = ["begin", "-l", "site=berlin", "--until", "4h"];
  expect((await run(args, "n")).code).toBe(1);
  expect([worker.asked[0]?.query, changes()]).toMatchObject([{ selector: "site=berlin" }, []]);
  const { stdout } = await run(args, "y");
  expect(stdout).toBe("2 machines: maintenance: begin until 2026-01-01T16:00:00.000Z\n");
  expect(changes().map(({ path }) => path)).toEqual(["/v1/nodes/edge-7", "/v1/nodes/edge-8"]);
});

it("one of several is gone → it is listed, and the exit code is 1", async () => {
  const { code, stdout } = await run(["edge-7", "gone", "end", "--yes"]);
  expect([code, stdout.split("\n").map((line) => line.trimEnd())]).toEqual([
    1,
    ["edge-7: maintenance: end", "NAME   FAILED", "gone   no machine gone", ""],
  ]);
});

test.each([
  [["edge-7", "start"], "maintenance needs one of plan, begin, end as its last word"],
  [["begin", "--until", "4h"], "maintenance of which machines? Pass names, or filters such as -l site=b"],
  [["edge-7", "begin"], "plan and begin need --until, and end has none"],
  [["edge-7", "end", "--until", "4h"], "plan and begin need --until, and end has none"],
])("%j → refused before any request", async (args, message) => {
  const { code, stderr } = await run(args);
  expect([code, stderr, worker.asked]).toEqual([2, `rollcall: ${message}\n`, []]);
});
