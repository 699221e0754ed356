// Who may have the apiserver asked for the removal of a machine.
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { failure, success } from "../../../shared/result.ts";
import { Removal, type RemovedBy } from "../../../worker/machine/removal.ts";

const NOT_REMOVED = failure({ reason: "not-removed", ticket: "t" });
const LEFT = success({ left: true });

it.each<[string, RemovedBy, boolean, typeof LEFT | typeof NOT_REMOVED, number]>([
  ["a machine that has requests left", { thumbprint: "k" }, true, LEFT, 4],
  ["a machine that has overdrawn them", { thumbprint: "k" }, false, NOT_REMOVED, 0],
  ["an operator, of such a machine", { operator: "admin secret" }, false, LEFT, 4],
])("%s → counted and asked, or left to the alarm", async (_, by, mayRemove, outcome, requests) => {
  const [spend, atLatest, fetch] = [vi.fn(), vi.fn(), vi.fn()];
  const missing = {
    kind: "Status",
    reason: "NotFound",
    code: 404,
    details: { kind: "nodes", name: "edge-1" },
  };
  fetch.mockImplementation(() => Promise.resolve(Response.json(missing, { status: 404 })));
  const records = { get: () => undefined, put: vi.fn() };
  const removal = new Removal({
    env: { ...env, KUBE: { fetch } as unknown as Fetcher },
    state: { records, keys: { outdate: () => true }, alarm: { atLatest } } as never,
    upkeep: { finish: vi.fn(), flush: vi.fn(), mayRemove: () => mayRemove, spend } as never,
    registry: () => ({ leave: async () => success(1), unpin: async () => success(1) }) as never,
    offerTicket: () => "t",
  });
  expect(await removal.remove("edge-1", by)).toEqual(outcome);
  expect([fetch.mock.calls.length, spend.mock.calls.length]).toEqual([requests, requests]);
  expect(atLatest).toHaveBeenCalledTimes(requests === 0 ? 1 : 0);
});
