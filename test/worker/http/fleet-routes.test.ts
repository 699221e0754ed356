// Tests the routes that read the fleet index, none of which wakes a node object.
import { createExecutionContext, listDurableObjectIds } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import type { FleetMachine, MachinesAnswer } from "../../../shared/protocol/fleet-answers.ts";
import { MACHINE_FIELDS } from "../../../shared/fleet/machine-fields.ts";
import { FEED_LIMITS } from "../../../shared/protocol/limits.ts";
import type { PendingMachine } from "../../../shared/protocol/operator-answers.ts";
import type { Environment } from "../../../worker/env.ts";
import worker from "../../../worker/index.ts";
import type { RowsPage } from "../../../worker/storage/query.ts";
import { ORIGIN, VIEW_SECRET } from "../support/constants.ts";
import { FLEET_START_MS, machineName, stateEntry, updateOf } from "../support/made-up-fleet.ts";

const KNOWN = 30;
const SILENT = stateEntry(1, "ready", "silent", FLEET_START_MS + 60_000);

/** The fleet index of this file. The deployment's own has machines of other tests. */
const index = env.INDEX.getByName("fleet-routes");
let waiting: PendingMachine[] = [];
/** The pages of waiting machines that the routes requested from the registry. */
const requested: RowsPage[] = [];
const listPending = (page: RowsPage) => {
  requested.push(page);
  return Promise.resolve(waiting.slice(0, page.limit));
};
const own = {
  ...env,
  INDEX: { getByName: () => index },
  REGISTRY: { getByName: () => ({ listPending }) },
} as unknown as Environment;

beforeAll(async () => {
  for (let at = 0; at < KNOWN; at++) {
    const isSilent = at % 10 === 3;
    const change = isSilent ? ({ state: "silent", phase: null, why: "=1+1" } as const) : {};
    await index.tell(updateOf(at, 1, change, isSilent ? [SILENT] : []));
  }
});

async function get(path: string, headers: Record<string, string> = {}): Promise<Response> {
  const authorization = `Bearer ${VIEW_SECRET}`;
  const request = new Request(ORIGIN + path, { headers: { authorization, ...headers } });
  return worker.fetch(request, own, createExecutionContext());
}
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller names the answer's type, as with the other `operator`
async function operator<Body = Record<string, unknown>>(
  _: "GET",
  path: string,
): Promise<{ status: number; body: Body }> {
  const response = await get(path);
  return { status: response.status, body: await response.json<Body>() };
}
const machines = (query = "") => operator<MachinesAnswer>("GET", `/v1/machines${query}`);
const names = async (query = "") => (await machines(query)).body.machines.map(({ name }) => name);
const textOf = (bytes: ArrayBuffer) => new TextDecoder().decode(bytes);
const counts = (more: object) => ({
  ready: 0,
  "not-ready": 0,
  silent: 0,
  "cluster-unreachable": 0,
  blocked: 0,
  pending: 0,
  revoked: 0,
  ...more,
});

describe("GET /v1/machines", () => {
  it("matching machines → their rows, and the counts of all matches and of all machines", async () => {
    const { status, body } = await machines("?state=silent,blocked&limit=2&sort=-name");
    expect([status, body.machines.map(({ name }) => name)]).toEqual([
      200,
      [machineName(23), machineName(13)],
    ]);
    expect(body.counts).toEqual({ matching: counts({ silent: 3 }), fleet: counts({ ready: 27, silent: 3 }) });
    const next = await machines(`?state=silent,blocked&sort=-name&cursor=${body.cursor}`);
    expect([next.body.machines.map(({ name }) => name), next.body.cursor]).toEqual([[machineName(3)], null]);
  });

  it("a machine → every field, with times as texts", async () => {
    const { body } = await machines(`?text=${machineName(3)}`);
    const [machine] = body.machines;
    expect(Object.keys(machine!)).toEqual(MACHINE_FIELDS);
    expect(machine).toMatchObject({
      state: "silent",
      since: "2026-01-01T00:00:00.003Z",
      silentSince: null,
      conditions: expect.arrayContaining([expect.objectContaining({ since: "2026-01-01T00:00:00.003Z" })]),
      key: { pinnedAt: "2026-01-01T00:00:00.003Z", isUsed: true },
      created: "2026-01-01T00:00:00.000Z",
    });
  });

  it("chosen fields → only those, in the requested order", async () => {
    const { body } = await machines("?fields=state,name&limit=1");
    expect(body.machines.map((each) => Object.entries(each))).toEqual([
      [
        ["state", "ready"],
        ["name", machineName(0)],
      ],
    ]);
  });

  it.each([
    ["what is wrong now", "?sort=urgency&limit=3", [23, 13, 3]],
    ["who is behind the same address", `?beside=${machineName(3)}`, [3]],
    ["which run an old shim", "?version=<0.1.0", [0, 20]],
    ["those of two sites", "?selector=site in (site-1,site-2),tier!=gpu", [1, 2]],
    ["those in a range", "?address=203.0.0.0/22", [0, 1, 2, 3]],
    ["which keys were never used", "?unused=true", []],
  ])("%s is one question: %s", async (_, query, expected) => {
    expect(await names(query.replaceAll(" ", "%20"))).toEqual(expected.map(machineName));
  });

  it.each([
    ["stat=silent", "stat", expect.stringContaining("expected one of state, phase")],
    ["state=dead", "state", expect.stringContaining("expected one or more of ready, not-ready")],
    ["phase=Ready", "phase", expect.stringContaining("two shims")],
    ["condition=a=b", "condition", expect.stringContaining("Ready=True")],
    ["selector=a in b", "selector", "found 'b', expected: '('"],
    ["version=<new", "version", expect.stringContaining("0.1.0")],
    ["address=10.0.0.0/33", "address", expect.stringContaining("203.0.113.0/24")],
    ["unused=yes", "unused", "expected true or false"],
    ["since=yesterday", "since", expect.stringContaining("expected a time")],
    ["until=2026-13-01T00:00:00Z", "until", expect.stringContaining("expected a time")],
    ["sort=age", "sort", expect.stringContaining("urgency")],
    ["fields=name,colour", "fields", expect.stringContaining("expected one or more of name, state")],
    ["limit=1001", "limit", expect.stringContaining("1000")],
    ["format=xml", "format", expect.stringContaining("csv")],
    ["cursor=x", "cursor", "expected the cursor of an answer to this very query"],
    ["beside=nobody", "beside", "no machine has this name"],
    ["text=", "text", expect.anything()],
    ["state=ready&state=silent", "state", expect.anything()],
  ])("%s → 400, with the parameter and what was expected", async (query, parameter, detail) => {
    expect(await machines(`?${query.replaceAll(" ", "%20")}`)).toMatchObject({
      status: 400,
      body: { reason: "invalid-query", parameter, detail },
    });
  });

  it("a cursor of another query → 400; with its parameters in another order, other fields and another length it continues", async () => {
    const { cursor } = (await machines("?state=ready&sort=name&limit=2")).body;
    expect(await machines(`?state=silent&sort=name&cursor=${cursor}`)).toMatchObject({
      status: 400,
      body: { parameter: "cursor" },
    });
    const next = await machines(`?sort=name&state=ready&fields=name&limit=1&cursor=${cursor}`);
    expect(next.body.machines).toEqual([{ name: machineName(2) }]);
  });

  it("as JSON lines and as CSV → all of them, by query or by header", async () => {
    const lines = await get("/v1/machines?fields=name,state", { accept: "application/x-ndjson" });
    expect(lines.headers.get("content-type")).toBe("application/x-ndjson");
    const rows = textOf(await lines.arrayBuffer())
      .trim()
      .split("\n");
    expect([rows.length, rows[3]]).toEqual([KNOWN, `{"name":"${machineName(3)}","state":"silent"}`]);
    const csv = await get("/v1/machines?fields=name,versions,conditions,why&state=silent&format=csv&limit=1");
    expect(csv.headers.get("content-type")).toContain("text/csv");
    expect(await csv.text()).toBe(
      "name,versions.shim,versions.kernel,versions.os,versions.runtime,versions.architecture,conditions,why\r\n" +
        `${machineName(3)},0.1.0,6.1.0-21-amd64,Debian GNU/Linux 12 (bookworm),containerd://1.6.20,amd64,` +
        `"MemoryPressure=False,DiskPressure=False,PIDPressure=False,Ready=True",'=1+1\r\n`,
    );
  });

  it("without a change → 304, with a change → 200; another query → 200", async () => {
    const first = await get("/v1/machines?limit=1");
    const etag = first.headers.get("etag")!;
    await first.text();
    const again = async (path: string) => {
      const response = await get(path, { "if-none-match": `"other", ${etag}` });
      return [response.status, await response.text()] as const;
    };
    expect(await again("/v1/machines?limit=1")).toEqual([304, ""]);
    expect((await again("/v1/machines?limit=2"))[0]).toBe(200);
    expect((await again("/v1/machines?limit=1&format=csv"))[0]).toBe(200);
    await index.tell(updateOf(0, 2, { isUnschedulable: true }));
    expect((await again("/v1/machines?limit=1"))[0]).toBe(200);
  });

  it("no machine's object is woken", async () => {
    await (await get("/v1/machines?format=csv")).text();
    await operator("GET", `/v1/nodes/${machineName(1)}/summary`);
    await operator("GET", "/v1/history");
    const woken = new Set((await listDurableObjectIds(env.NODES)).map(String));
    const ids = Array.from({ length: KNOWN }, (_, at) => env.NODES.idFromName(machineName(at)).toString());
    expect(ids.filter((id) => woken.has(id))).toEqual([]);
  });
});

it("of 201 machines that wait → the 200 that have waited longest; no page requests more", async () => {
  const at = "2026-01-02T00:00:00.000Z";
  const key = { thumbprint: "key", machineID: "", systemUUID: "", address: "" };
  waiting = Array.from({ length: FEED_LIMITS.pending + 1 }, (_, asked) => {
    return { name: `waits-${asked}`, token: "t", ...key, askedAt: at, expiresAt: at, pinned: null };
  });
  requested.length = 0;
  const found: string[] = [];
  for (let cursor = ""; ;) {
    const { body } = await machines(`?state=pending&limit=90${cursor}`);
    found.push(...body.machines.map(({ name }) => String(name)));
    expect(body.counts.matching["pending"]).toBe(FEED_LIMITS.pending);
    if (body.cursor === null) break;
    cursor = `&cursor=${body.cursor}`;
  }
  const oldest = waiting.slice(0, FEED_LIMITS.pending).map(({ name }) => name);
  expect(found.toSorted()).toEqual(oldest.toSorted());
  expect(requested.map(({ limit }) => limit)).toEqual(Array(3).fill(FEED_LIMITS.pending));
  waiting = [];
});

it("a machine that waits for a name → listed as pending, next to the machine that has the name", async () => {
  const name = machineName(7);
  const key = {
    thumbprint: "thumbprint-of-another",
    machineID: "m-2",
    systemUUID: "s-2",
    address: "9.9.9.9",
  };
  const at = "2026-01-02T00:00:00.000Z";
  const before = await get("/v1/machines?limit=1");
  await before.text();
  waiting = [{ name, token: "token-9", ...key, askedAt: at, expiresAt: at, pinned: null }];
  const { body } = await machines(`?text=${name}`);
  expect(body.machines.map((each) => [each.name, each.state])).toEqual([
    [name, "ready"],
    [name, "pending"],
  ]);
  expect(body.counts).toEqual({
    matching: counts({ ready: 1, pending: 1 }),
    fleet: counts({ ready: 27, silent: 3, pending: 1 }),
  });
  expect((await machines("?state=pending")).body.machines).toMatchObject([
    {
      since: at,
      why: expect.stringContaining("waits for an operator's approval"),
      key: { thumbprint: key.thumbprint, token: "token-9", isUsed: false },
    },
  ]);
  expect((await get("/v1/machines?limit=1", { "if-none-match": before.headers.get("etag")! })).status).toBe(
    200,
  );
  waiting = [];
});

describe("GET /v1/nodes/{name}/summary", () => {
  it("→ the index's data; an unknown machine → 404", async () => {
    const { body } = await operator<FleetMachine>("GET", `/v1/nodes/${machineName(3)}/summary`);
    expect([body.name, body.state]).toEqual([machineName(3), "silent"]);
    expect((await operator("GET", "/v1/nodes/nobody/summary")).status).toBe(404);
  });
});

describe("GET /v1/history", () => {
  const text = "ready → silent";
  it.each([
    ["", [23, 13, 3]],
    ["?limit=2", [23, 13]],
    [`?name=${machineName(13)}`, [13]],
    ["?kind=state,reboot", [23, 13, 3]],
    ["?kind=reboot", []],
    ["?text=SILENT", [23, 13, 3]],
    ["?text=blocked", []],
    ["?since=2026-01-01T00:01:00Z", []],
    ["?since=2026-01-01T00:00:59Z&until=2026-01-01T00:01:00Z", [23, 13, 3]],
    ["?until=2026-01-01T00:00:59Z", []],
  ])("%s → these machines' lines, newest first", async (query, expected) => {
    const { body } = await operator<{ entries: { name: string }[] }>("GET", `/v1/history${query}`);
    expect(body.entries.map(({ name }) => name)).toEqual(expected.map(machineName));
  });

  it("the next page, and CSV", async () => {
    type Page = { entries: { id: number }[] };
    const { body } = await operator<Page>("GET", "/v1/history?limit=1");
    const [{ id }] = body.entries as [{ id: number }];
    const next = await operator<Page>("GET", `/v1/history?limit=1&before=${id}`);
    expect(next.body.entries).toMatchObject([{ name: machineName(13), kind: "state", text }]);
    const csv = await (await get("/v1/history?format=csv")).text();
    expect(csv.split("\r\n")).toEqual([
      "id,at,name,kind,text",
      `${id},2026-01-01T00:01:00.000Z,${machineName(23)},state,${text}`,
      expect.stringContaining(machineName(13)),
      expect.stringContaining(machineName(3)),
      "",
    ]);
  });

  it.each([
    ["kind=mood", "kind"],
    ["names=a", "names"],
    ["since=1", "since"],
  ])("%s → 400", async (query, parameter) => {
    expect(await operator("GET", `/v1/history?${query}`)).toMatchObject({ status: 400, body: { parameter } });
  });
});
