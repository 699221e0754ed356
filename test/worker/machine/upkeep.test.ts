// What is done for a machine between its reports, and what is not done for one that is not enrolled.
import { afterEach, describe, expect, it, vi } from "vitest";
import { SILENCE_CHECK_MS } from "../../../worker/machine/silence.ts";
import { Upkeep } from "../../../worker/machine/upkeep.ts";
import { keptRecords } from "../support/kept-records.ts";

const NOW_MS = Date.UTC(2026, 0, 1);

afterEach(() => {
  vi.restoreAllMocks();
});

interface Situation {
  records?: Record<string, unknown>;
  eventsWait?: boolean;
  kubeUrl?: string;
  /** Other ones of the deployment. */
  variables?: object;
  flushFails?: boolean;
  phase?: string;
  isEnrolled?: boolean;
}

function upkeepOf({ records = {}, eventsWait = false, kubeUrl = "https://kube.test", ...more }: Situation) {
  vi.spyOn(Date, "now").mockReturnValue(NOW_MS);
  const [fetch, atLatest, flush] = [vi.fn(), vi.fn(), vi.fn()];
  flush.mockImplementation(() =>
    more.flushFails ? Promise.reject(new Error("broken")) : Promise.resolve(null),
  );
  const stored = keptRecords(records);
  const upkeep = new Upkeep(
    { KUBE: { fetch }, KUBE_URL: kubeUrl, DEPLOYMENT: "test", ...more.variables } as never,
    {
      ...stored,
      outbox: { isEmpty: () => !eventsWait, flush },
      alarm: { atLatest } as never,
      keys: { enrolled: () => (more.isEnrolled ? { id: "id", thumbprints: [] } : null) } as never,
      senders: {
        notice: () => more.phase && { phase: more.phase },
        suspension: () => ({ phase: more.phase }),
      } as never,
      facts: { leaseMs: () => 40_000 } as never,
      history: {} as never,
    } as never,
  );
  return { upkeep, fetch, atLatest, flush, notes: stored.notes };
}

const REGISTERED = { registration: { phase: "registered" }, phase: "registered" };

describe("between reports", () => {
  it.each<[string, Situation, number | null]>([
    ["nothing waits and nothing is known → no alarm more", {}, null],
    ["events wait → again in a while", { eventsWait: true }, NOW_MS + SILENCE_CHECK_MS],
    ["clones report → again in a while", { phase: "cloned" }, NOW_MS + SILENCE_CHECK_MS],
    ["two shims report → no alarm more", { phase: "two shims" }, null],
    [
      "the events cannot be sent at all → again in a while",
      { eventsWait: true, flushFails: true },
      NOW_MS + SILENCE_CHECK_MS,
    ],
  ])("%s", async (_, situation, at) => {
    const { upkeep, atLatest } = upkeepOf(situation);
    await upkeep.betweenReports("edge-1");
    expect(atLatest.mock.calls).toEqual(at === null ? [] : [[at]]);
  });

  it.each<[string, object]>([
    ["roles that are none", { NODE_ROLE: "control-plane" }],
    ["a deployment that is none", { DEPLOYMENT: undefined }],
    ["too few requests", { MACHINE_REQUESTS: "1" }],
  ])("a Worker that has %s → again in a while", async (_, variables) => {
    vi.spyOn(console, "error").mockReturnValue(undefined);
    const { upkeep, atLatest } = upkeepOf({ variables, records: REGISTERED, eventsWait: true });
    await upkeep.betweenReports("edge-1");
    expect(atLatest.mock.calls).toEqual([[NOW_MS + SILENCE_CHECK_MS]]);
  });

  it("a machine in contact → again in a while; one that is suspended has reported as well", async () => {
    const { upkeep, atLatest, fetch } = upkeepOf({ records: REGISTERED });
    upkeep.noteContact(NOW_MS);
    await upkeep.betweenReports("edge-1");
    expect(atLatest.mock.calls).toEqual([[NOW_MS + SILENCE_CHECK_MS]]);
    expect(fetch).not.toHaveBeenCalled();
  });

  it.each<[string, Situation, number]>([
    ["that wait are sent", { eventsWait: true }, 1],
    ["are none", {}, 0],
    ["wait where there is no apiserver", { eventsWait: true, kubeUrl: "" }, 0],
  ])("events %s", async (_, situation, times) => {
    const { upkeep, flush } = upkeepOf(situation);
    await upkeep.flush("edge-1");
    expect(flush).toHaveBeenCalledTimes(times);
  });
});

describe("a report", () => {
  const REPORT = { startId: "s" } as never;

  it("of a machine that is not enrolled any more → no tick, not a request", async () => {
    const { upkeep, fetch } = upkeepOf({ records: { enrolment: { name: "edge-1" } } });
    expect(await upkeep.keepTrue(REPORT, NOW_MS)).toEqual({ phase: "node deleted", ready: false });
    expect(fetch).not.toHaveBeenCalled();
  });

  it("of duplicates that were found meanwhile → not Ready, not a request", async () => {
    const records = { enrolment: { name: "edge-1" } };
    const { upkeep, fetch } = upkeepOf({ records, isEnrolled: true, phase: "cloned" });
    expect(await upkeep.keepTrue(REPORT, NOW_MS)).toEqual({ phase: "cloned", ready: false });
    expect(fetch).not.toHaveBeenCalled();
  });

  it("that is under way ends before `finish`; one that fails ends as well", async () => {
    const { upkeep } = upkeepOf({ isEnrolled: true });
    const failed = upkeep.keepTrue(REPORT, NOW_MS).catch(String);
    await expect(upkeep.finish()).resolves.toBeUndefined();
    expect(await failed).toContain("a tick without an enrolment and a report");
  });
});

describe("the last known Node", () => {
  const node = (status: string) => ({
    node: { node: { status: { conditions: [{ type: "Ready", status }] } } },
  });

  it.each([
    ["none", {}, false],
    ["Ready", node("True"), true],
    ["not Ready", node("False"), false],
    ["of which nobody knows", node("Unknown"), false],
  ])("%s", (_, records, ready) => {
    expect(upkeepOf({ records }).upkeep.isReady()).toBe(ready);
  });
});
