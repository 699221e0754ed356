// Tests lists that the Worker answers in pages: the command line reads all pages, and prints them as one list.
import { afterEach, describe, expect, it } from "vitest";
import { type Answered, type FakeWorker, fakeWorker, play } from "../played.ts";

const at = "2026-01-01T00:00:00Z";
const token = (id: string) => ({
  id,
  names: "edge-*",
  rejoin: false,
  uses: 1,
  used: 0,
  reserved: 0,
  state: "valid",
  createdAt: at,
  createdBy: "admin secret",
  expiresAt: at,
  withoutFactsOnlyTaint: false,
});
const machine = (name: string) => ({
  name,
  token: "t",
  thumbprint: "key",
  machineID: "",
  systemUUID: "",
  address: "",
  askedAt: at,
  expiresAt: at,
  pinned: null,
});

let worker: FakeWorker;
afterEach(() => worker.close());

/** Returns a Worker whose answers are these pages, by the parameter `after` of the request. */
const workerOf = async (pages: Record<string, unknown>) => {
  worker = await fakeWorker(({ query }): Answered => ({ body: pages[query["after"] ?? ""] }));
  return worker;
};

describe.each<[string, string[], string, string, (name: string) => object]>([
  ["token list", ["token", "list"], "/v1/tokens", "tokens", token],
  ["approvals", ["approvals"], "/v1/pending", "pending", machine],
])("rollcall %s", (_, command, path, field, row) => {
  const rows = ["a", "b", "c", "d"].map(row);
  const pages = {
    "": { [field]: rows.slice(0, 2), next: "1.x" },
    "1.x": { [field]: rows.slice(2, 3), next: "2.y.z" },
    "2.y.z": { [field]: rows.slice(3), next: null },
  };

  it("of three pages → all rows in one table; the first request has no parameter", async () => {
    const { url, asked } = await workerOf(pages);
    const { code, stdout } = await play([...command, "-o", "csv"], { url });
    const first = stdout.split("\n").map((line) => line.split(",")[0]);
    expect([code, first.filter((text) => /^[a-d]$/.test(text ?? ""))]).toEqual([0, ["a", "b", "c", "d"]]);
    expect(asked.map(({ path: sent, query }) => [sent, query])).toEqual([
      [path, {}],
      [path, { after: "1.x" }],
      [path, { after: "2.y.z" }],
    ]);
  });

  it("in JSON → one answer with all rows", async () => {
    const { url } = await workerOf(pages);
    const { stdout } = await play([...command, "--json"], { url });
    expect(JSON.parse(stdout)).toEqual({ [field]: rows, next: null });
  });

  it("of an earlier Worker, which answers with the whole list → that list", async () => {
    const { url, asked } = await workerOf({ "": { [field]: rows } });
    const { stdout } = await play([...command, "--json"], { url });
    expect([JSON.parse(stdout), asked.length]).toEqual([{ [field]: rows }, 1]);
  });

  it("whose second page is refused → the reason, and no list", async () => {
    const problem = {
      title: "These are too many requests",
      status: 429,
      reason: "rate-limited",
      detail: "Wait.",
    };
    worker = await fakeWorker(({ query }) =>
      "after" in query ? { status: 429, body: problem } : { body: pages[""] },
    );
    expect(await play([...command], { url: worker.url })).toEqual({
      code: 1,
      stdout: "",
      stderr: "rollcall: These are too many requests. Wait.\n",
    });
  });
});
