// Tests the range that a request for a timeline may have: accepted and refused values, at limits and just over them.
// Also tests machines that are revoked, deleted or not yet approved, or are removed during the request.
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import { enrol } from "../../../node-shim/worker-link/requests.ts";
import { TIMELINE_LIMITS } from "../../../shared/protocol/limits.ts";
import type { TimelineAnswer } from "../../../shared/protocol/timeline.ts";
import { failure } from "../../../shared/result.ts";
import worker from "../../../worker/index.ts";
import { FORGOTTEN, KEY_REVOKED } from "../../../worker/machine/answers.ts";
import { ADMIN_SECRET, ORIGIN, VIEW_SECRET } from "../support/constants.ts";
import { enrolled, mintToken, operator, send, transport } from "../support/machine.ts";
import { setClock } from "../support/clock.ts";

const NOW_MS = Date.UTC(2026, 5, 1, 12);
const DAY_MS = 24 * 3600 * 1000;
const iso = (ms: number) => new Date(ms).toISOString();

const asked = (name: string, query = "") =>
  operator<TimelineAnswer>("GET", `/v1/nodes/${name}/timeline${query && `?${query}`}`);

beforeEach(() => {
  setClock(NOW_MS);
});

describe("the range of a timeline", () => {
  it("not given → the last day", async () => {
    await enrolled("timeline-range");
    const { body } = await asked("timeline-range");
    expect([body.since, body.until]).toEqual([iso(Date.now() - DAY_MS), iso(Date.now())]);
  });

  it.each([
    ["its end alone → the day before", `until=${iso(NOW_MS - DAY_MS)}`, NOW_MS - 2 * DAY_MS, NOW_MS - DAY_MS],
    ["its begin alone → up to now", `since=${iso(NOW_MS - 1)}`, NOW_MS - 1, NOW_MS],
    ["up to now", `until=${iso(NOW_MS)}`, NOW_MS - DAY_MS, NOW_MS],
    [
      "as long as may be",
      `since=${iso(NOW_MS - TIMELINE_LIMITS.days * DAY_MS)}`,
      NOW_MS - TIMELINE_LIMITS.days * DAY_MS,
      NOW_MS,
    ],
  ])("%s", async (_, query, sinceMs, untilMs) => {
    await enrolled("timeline-ranges", { rejoin: true });
    expect(await asked("timeline-ranges", query)).toMatchObject({
      status: 200,
      body: { since: iso(sinceMs), until: iso(untilMs) },
    });
  });

  it.each([
    ["that has not come", `until=${iso(NOW_MS + 1)}`, "until"],
    ["that ends where it begins", `since=${iso(NOW_MS)}`, "since"],
    ["that is a moment too long", `since=${iso(NOW_MS - TIMELINE_LIMITS.days * DAY_MS - 1)}`, "since"],
    ["that is no time", "since=yesterday", "since"],
    ["of a misspelt parameter", "form=2026-01-01T00:00:00Z", "form"],
  ])("%s → refused, and nobody is woken", async (_, query, parameter) => {
    const woken = vi.spyOn(env.NODES, "getByName");
    expect(await asked("timeline-nobody", query)).toMatchObject({
      status: 400,
      body: { reason: "invalid-query", parameter },
    });
    expect(woken).not.toHaveBeenCalled();
    woken.mockRestore();
  });
});

describe("a machine", () => {
  it("that never enrolled → 404", async () => {
    expect((await asked("timeline-nobody")).status).toBe(404);
  });

  it("just enrolled → from then on only; the viewer learns that its object was woken", async () => {
    const name = "timeline-enrolled";
    await enrolled(name);
    setClock(NOW_MS + 60_000);
    const headers = { authorization: `Bearer ${VIEW_SECRET}` };
    const response = await send(`/v1/nodes/${name}/timeline`, { method: "GET", headers });
    expect(response.headers.get("rollcall-woken")).toBe(name);
    expect(await response.json()).toMatchObject({
      knownSince: iso(NOW_MS),
      isCut: false,
      bands: [{ track: "state", from: iso(NOW_MS), to: iso(NOW_MS + 60_000), status: "not-ready", text: "" }],
      marks: [],
      samples: { signals: [], at: [], values: {} },
      thresholds: { "memory.available": { hard: null, soft: null } },
      capacity: { "memory.available": null },
    });
  });
});

it("a revoked machine that never enrolled → 404", async () => {
  expect((await operator("POST", "/v1/nodes/timeline-nobody/revoke")).status).toBe(404);
});

it("a deleted machine → its object stores nothing", async () => {
  const { name } = await enrolled("deleted");
  expect((await operator("DELETE", `/v1/nodes/${name}`)).status).toBe(204);
  expect(await env.NODES.getByName(name).stateVersion()).toBeNull();
});

it("a machine whose name another key has → the answer asks for an operator's approval of its key", async () => {
  const { name } = await enrolled("other-key");
  const key = await makeMachineKey();
  const joinToken = await mintToken({ names: name });
  const wish = { name, origin: ORIGIN, joinToken, machineID: "m-1", systemUUID: "s-1" };
  expect(await enrol(transport, key, wish)).toMatchObject({
    error: { problem: { detail: expect.stringContaining(`rollcall approve ${name} ${key.thumbprint}.`) } },
  });
});

describe("during the request", () => {
  /**
   * Sends a request to a Worker whose objects are in memory. `called` has the methods of the machine's object that
   * would change something.
   */
  async function asking(method: string, path: string, shown: object | null = null) {
    const called: string[] = [];
    const does = (what: string, outcome: unknown) => () => {
      called.push(what);
      return Promise.resolve(outcome);
    };
    const node = {
      show: () => Promise.resolve(shown),
      clones: () => Promise.resolve({ double: {} }),
      registerAgain: does("registerAgain", true),
      believe: does("believe", true),
      setNeededRuntime: does("setNeededRuntime", true),
      remove: () =>
        path.endsWith("forgotten") ? Promise.reject(new Error(FORGOTTEN)) : Promise.resolve(KEY_REVOKED),
      forget: does("forget", undefined),
    };
    const registry = {
      knows: () => Promise.resolve(true),
      knew: () => Promise.resolve(true),
      noteAbout: () => Promise.resolve(failure("no machine has this name")),
    };
    const named = (object: object) => ({ getByName: () => object });
    const environment = {
      ...env,
      NODES: named(node),
      REGISTRY: named(registry),
      INDEX: named({ summary: () => Promise.resolve(null) }),
    };
    const headers = { authorization: `Bearer ${ADMIN_SECRET}` };
    const init = {
      method,
      headers,
      ...(method === "PATCH" && { body: JSON.stringify({ runtime: "none" }) }),
    };
    const response = await worker.fetch(
      new Request(ORIGIN + path, init),
      environment,
      createExecutionContext(),
    );
    return {
      status: response.status,
      called,
      body: response.status === 204 ? {} : await response.json<object>(),
    };
  }

  it.each([
    ["GET", "/v1/nodes/removed"],
    ["POST", "/v1/nodes/removed/register"],
    ["POST", "/v1/nodes/removed/believe"],
    ["PATCH", "/v1/nodes/removed"],
  ])("%s %s: the machine is removed → 404, and its object changes nothing", async (method, path) => {
    const { status, called } = await asking(method, path);
    expect([status, called]).toEqual([404, []]);
  });

  it("DELETE: the machine's object refuses its removal → the refusal, and the object is not forgotten", async () => {
    expect(await asking("DELETE", "/v1/nodes/refusing")).toMatchObject({
      status: 403,
      called: [],
      body: { reason: "key-revoked" },
    });
  });

  it("DELETE: the alarm of the machine's object ends the removal first → no content, and nothing is left to do", async () => {
    expect(await asking("DELETE", "/v1/nodes/forgotten")).toMatchObject({ status: 204, called: [] });
  });

  it("GET: the fleet index does not know the machine yet → its state without a summary", async () => {
    const { status, body } = await asking("GET", "/v1/nodes/new", { phase: "registered" });
    expect([status, body]).toEqual([200, { phase: "registered", summary: null }]);
  });
});
