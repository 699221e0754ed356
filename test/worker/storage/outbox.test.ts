// What a machine's object keeps of events that the apiserver has not taken is bounded.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { ApiResult } from "../../../shared/kubernetes/api-error.ts";
import type { Event } from "../../../shared/kubernetes/types.ts";
import { failure, success } from "../../../shared/result.ts";
import type { KubeClient } from "../../../worker/kube/kube-client.ts";
import { eventOutbox, MAX_OUTBOX_EVENTS } from "../../../worker/storage/outbox.ts";
import { nodeRecordStore } from "../../../worker/storage/records.ts";
import { nodeTables } from "../../../worker/storage/tables.ts";

const NOW_MS = Date.parse("2026-02-03T04:05:06Z");

const event = (index: number) => ({ type: "Normal", reason: `Reason${index}`, message: "" });
const events = (count: number) => Array.from({ length: count }, (_, index) => event(index));

/** Takes the first of the events that it is sent. */
function eventsClient(takes: number) {
  const sent: string[] = [];
  const createEvent = async (created: Event): Promise<ApiResult<Event>> => {
    if (sent.length >= takes) return failure({ kind: "unanswered", message: "away" });
    sent.push(created.reason ?? "");
    return success(created);
  };
  return { sent, client: { createEvent } as KubeClient };
}

/** Outbox and records over an empty storage. */
function withOutbox<T>(
  name: string,
  work: (outbox: ReturnType<typeof eventOutbox>, records: ReturnType<typeof nodeRecordStore>) => Promise<T>,
): Promise<T> {
  return runInDurableObject(env.NODES.getByName(name), (_, { storage }) => {
    const tables = nodeTables(storage.sql);
    const records = nodeRecordStore(storage.sql, tables);
    return work(eventOutbox(storage, tables, records), records);
  });
}

describe("events on their way", () => {
  it.each([
    ["at the limit → none is dropped", 0, undefined],
    ["three over the limit → the oldest three are dropped, and counted", 3, 3],
  ])("%s", async (_, surplus, dropped) => {
    await withOutbox(`outbox-${surplus}`, async (outbox, records) => {
      outbox.add(events(MAX_OUTBOX_EVENTS - 1), NOW_MS);
      outbox.add(events(1 + surplus), NOW_MS);
      expect(records.get("eventsDropped")).toBe(dropped);
      const { sent, client } = eventsClient(1);
      await outbox.flush(client, "outbox", () => NOW_MS);
      expect(sent).toEqual([`Reason${surplus}`]);
    });
  });

  it("leave in order; those that the apiserver did not take stay for the next time", async () => {
    await withOutbox("outbox-order", async (outbox) => {
      outbox.add(events(3), NOW_MS);
      const first = eventsClient(2);
      expect(await outbox.flush(first.client, "outbox", () => NOW_MS)).toMatchObject({ message: "away" });
      outbox.add([event(3)], NOW_MS);
      const second = eventsClient(2);
      expect(await outbox.flush(second.client, "outbox", () => NOW_MS)).toBeNull();
      expect([first.sent, second.sent]).toEqual([
        ["Reason0", "Reason1"],
        ["Reason2", "Reason3"],
      ]);
      expect(outbox.isEmpty()).toBe(true);
    });
  });
});
