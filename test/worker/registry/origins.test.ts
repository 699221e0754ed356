// Tests which origin machines report to: two origins are valid while a domain changes, and operators see which
// machines use which.
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { registry } from "../../../worker/env.ts";
import { RegistryObject } from "../../../worker/registry/registry-object.ts";
import type { OriginMachine, OriginUse } from "../../../shared/protocol/operator-answers.ts";
import { ROWS_AT_ONCE } from "../../../worker/http/lists.ts";
import { listOrigins, noteOrigin } from "../../../worker/registry/origins.ts";
import { ORIGIN, VIEW_SECRET } from "../support/constants.ts";
import { type EnrolledMachine, enrolled, operator, send } from "../support/machine.ts";
import { reportBody, reportHeaders } from "../support/posting.ts";
import { setClock } from "../support/clock.ts";

const OTHER = "https://other.test";
const GONE = "https://gone.test";
const MANY = "https://many.test";
const DAY_MS = 24 * 3600 * 1000;
const HOUR_MS = 3600 * 1000;
const START_MS = Date.UTC(2026, 5, 1);
const at = (ms: number) => new Date(START_MS + ms).toISOString();
const setTo = (ms: number) => setClock(START_MS + ms);

afterEach(() => {
  vi.restoreAllMocks();
});

/** Sends one report, after a challenge if necessary. Returns the status of the answer. */
async function report(machine: EnrolledMachine, aud: string | string[] = ORIGIN): Promise<number> {
  const body = reportBody(machine.name);
  let { ticket } = machine;
  for (;;) {
    const headers = await reportHeaders(machine, body, { ticket, aud: aud as string });
    const response = await send(`/v1/nodes/${machine.name}/report`, { method: "POST", headers, body });
    const answer = await response.json<{ ticket?: string }>();
    machine.ticket = answer.ticket ?? ticket;
    if (response.status !== 409) return response.status;
    ticket = machine.ticket;
  }
}

const uses = async () => (await operator<{ origins: OriginUse[] }>("GET", "/v1/origins")).body.origins;
const useOf = async (origin: string) => (await uses()).find((use) => use.origin === origin);
async function machinesOf(origin: string, more = ""): Promise<OriginMachine[]> {
  const path = `/v1/origins/machines?origin=${encodeURIComponent(origin)}${more}`;
  return (await operator<{ machines: OriginMachine[] }>("GET", path)).body.machines;
}
async function csvOf(origin: string, more = ""): Promise<string[]> {
  const path = `/v1/origins/machines?origin=${encodeURIComponent(origin)}${more}`;
  const headers = { authorization: `Bearer ${VIEW_SECRET}`, accept: "text/csv" };
  return (await (await send(path, { method: "GET", headers })).text()).split("\r\n");
}
/** Returns when a machine last used each of the two origins. */
const timesOf = async (name: string) => {
  const justBefore = `&after=${name.slice(0, -1)}`;
  const pages = [machinesOf(ORIGIN, justBefore), machinesOf(OTHER, justBefore)];
  return (await Promise.all(pages)).map(
    (machines) => machines.find((machine) => machine.name === name)?.lastUsedAt,
  );
};

describe("a machine that reports", () => {
  it("to one origin, then to the other → counts for the other at once; both stay valid", async () => {
    setTo(0);
    const machine = await enrolled("origin-moves");
    expect(await report(machine)).toBe(200);
    expect(await timesOf("origin-moves")).toEqual([at(0), undefined]);
    setTo(1000);
    expect(await report(machine, OTHER)).toBe(200);
    expect(await timesOf("origin-moves")).toEqual([undefined, at(1000)]);
    expect(await report(machine)).toBe(200);
  });

  it("to both in turns → counts for one within an hour, without a row for each report", async () => {
    setTo(0);
    const machine = await enrolled("origin-turns");
    const confirm = vi.spyOn(RegistryObject.prototype, "confirm");
    const seen: (string | undefined)[][] = [];
    for (const [ms, aud] of [
      [0, ORIGIN],
      [1000, OTHER],
      [2000, ORIGIN],
      [3000, OTHER],
      [HOUR_MS, ORIGIN],
      [HOUR_MS + 1000, ORIGIN],
    ] as const) {
      setTo(ms);
      expect(await report(machine, aud)).toBe(200);
      seen.push(await timesOf("origin-turns"));
    }
    const onOther = [undefined, at(1000)];
    const back = [at(HOUR_MS), undefined];
    expect(seen).toEqual([[at(0), undefined], onOther, onOther, onOther, back, back]);
    expect(confirm).toHaveBeenCalledTimes(3);
  });

  it("day after day → recorded once a day, also if its object is evicted", async () => {
    setTo(0);
    const machine = await enrolled("origin-daily");
    const confirm = vi.spyOn(RegistryObject.prototype, "confirm");
    const seen: (string | undefined)[] = [];
    for (const ms of [0, 10_000, DAY_MS - 1, DAY_MS, DAY_MS + 10_000, 2 * DAY_MS]) {
      setTo(ms);
      expect(await report(machine)).toBe(200);
      seen.push((await timesOf("origin-daily"))[0]);
      await evictDurableObject(env.NODES.getByName("origin-daily"));
    }
    expect(seen).toEqual([0, 0, 0, DAY_MS, DAY_MS, 2 * DAY_MS].map(at));
    expect(confirm).toHaveBeenCalledTimes(3);
  });

  it("while the registry fails → is answered, and the registry gets no request for an hour", async () => {
    setTo(0);
    const machine = await enrolled("origin-alone");
    await report(machine);
    const confirm = vi.spyOn(RegistryObject.prototype, "confirm").mockImplementation(() => {
      throw new Error("overloaded");
    });
    for (const ms of [DAY_MS, DAY_MS + 10_000, DAY_MS + 20_000]) {
      setTo(ms);
      expect(await report(machine)).toBe(200);
    }
    expect(confirm).toHaveBeenCalledTimes(1);
    confirm.mockRestore();
    setTo(DAY_MS + HOUR_MS);
    expect(await report(machine)).toBe(200);
    expect(await timesOf("origin-alone")).toEqual([at(DAY_MS + HOUR_MS), undefined]);
  });

  it.each([
    ["an origin that is none of ours", GONE],
    ["a list of origins", [ORIGIN, OTHER]],
    ["no origin", ""],
  ])("by %s → 401", async (situation, aud) => {
    const machine = await enrolled(`origin-${situation.replaceAll(" ", "-")}`);
    expect(await report(machine, aud)).toBe(401);
  });

  it.each([
    ["revoked", "POST", "/revoke"],
    ["forgotten", "DELETE", ""],
  ])("and is %s → counts no more", async (what, method, action) => {
    const name = `origin-${what}`;
    await report(await enrolled(name), OTHER);
    await operator(method, `/v1/nodes/${name}${action}`);
    expect(await timesOf(name)).toEqual([undefined, undefined]);
  });
});

describe("an operator", () => {
  it("asks for an origin that is no longer configured → the remaining machines, page by page, with their last use", async () => {
    await runInDurableObject(registry(env), (_, { storage }) => {
      for (const [index, name] of ["left-1", "left-2", "left-3"].entries()) {
        noteOrigin(storage.sql, name, GONE, START_MS + index);
      }
      noteOrigin(storage.sql, "left-3", ORIGIN, START_MS + DAY_MS);
    });
    expect(await useOf(GONE)).toEqual({ origin: GONE, isConfigured: false, lastUsedAt: at(2), machines: 2 });
    expect((await uses()).map(({ origin }) => origin)).toEqual([ORIGIN, OTHER, GONE]);
    expect(await machinesOf(GONE)).toEqual([
      { name: "left-1", lastUsedAt: at(0) },
      { name: "left-2", lastUsedAt: at(1) },
    ]);
    expect((await machinesOf(GONE, "&limit=1")).map(({ name }) => name)).toEqual(["left-1"]);
    expect((await machinesOf(GONE, "&after=left-1")).map(({ name }) => name)).toEqual(["left-2"]);
  });

  it.each([
    ["", ["name,lastUsedAt", `left-1,${at(0)}`, `left-2,${at(1)}`, ""]],
    ["&limit=1", ["name,lastUsedAt", `left-1,${at(0)}`, ""]],
    ["&after=left-1", ["name,lastUsedAt", `left-2,${at(1)}`, ""]],
  ])(
    "asks for the machines of one as CSV, with %j → all of them, unless it says how many",
    async (more, lines) => {
      expect(await csvOf(GONE, more)).toEqual(lines);
    },
  );

  it("asks as CSV for more machines than one page has → the whole list", async () => {
    const names = Array.from(
      { length: ROWS_AT_ONCE + 1 },
      (_, index) => `many-${String(index).padStart(5, "0")}`,
    );
    await runInDurableObject(registry(env), (_, { storage }) => {
      for (const name of names) noteOrigin(storage.sql, name, MANY, START_MS);
    });
    const lines = await csvOf(MANY);
    expect(lines.slice(1, -1).map((line) => line.split(",")[0])).toEqual(names);
    await runInDurableObject(registry(env), (_, { storage }) => {
      storage.sql.exec("DELETE FROM origin_uses WHERE origin = ?", MANY);
    });
  });

  it("asks for an unused origin → never, by no machine", async () => {
    const listed = await runInDurableObject(env.REGISTRY.getByName("origins-unused"), (_, { storage }) => {
      noteOrigin(storage.sql, "edge-1", ORIGIN, START_MS);
      return listOrigins(storage.sql, [OTHER, ORIGIN]);
    });
    expect(listed).toEqual([
      { origin: OTHER, isConfigured: true, lastUsedAt: null, machines: 0 },
      { origin: ORIGIN, isConfigured: true, lastUsedAt: at(0), machines: 1 },
    ]);
  });

  it.each(["", "?origin=", "?origin=a&limit=0", "?origin=a&limit=1001", "?origin=a&more=1"])(
    "asks for machines with %j → 400",
    async (query) => {
      expect((await operator("GET", `/v1/origins/machines${query}`)).status).toBe(400);
    },
  );
});
