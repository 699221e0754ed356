// Tests that a machine's unsent events are limited.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { ApiResult } from "../../../shared/kubernetes/api-error.ts";
import type { Event } from "../../../shared/kubernetes/types.ts";
import { failure, success } from "../../../shared/result.ts";
import type { KubeClient } from "../../../worker/kube/kube-client.ts";
import { eventOutbox, MAX_OUTBOX_EVENTS } from "../../../worker/storage/outbox.ts";
import { nodeRecordStore } from "../../../worker/storage/records.ts";
import { machineSamples } from "../../../worker/storage/samples.ts";
import { nodeTables } from "../../../worker/storage/tables.ts";

const NOW_MS = Date.parse("2026-02-03T04:05:06Z");

const event = (index: number) => ({ type: "Normal", reason: `Reason${index}`, message: "" });
const named = (reason: string) => ({ type: "Normal", reason, message: "" });
const events = (count: number) => Array.from({ length: count }, (_, index) => event(index));

/** Returns a client that accepts this number of events, and then fails. */
function eventsClient(takes: number) {
  const sent: string[] = [];
  const createEvent = async (created: Event): Promise<ApiResult<Event>> => {
    if (sent.length >= takes) return failure({ kind: "unanswered", message: "away" });
    sent.push(created.reason ?? "");
    return success(created);
  };
  const patchEvent = async ({ reason = "", count }: Event): Promise<ApiResult<Event>> => {
    sent.push(`${reason} ×${count}`);
    return failure({ kind: "unanswered", message: "away" });
  };
  return { sent, client: { createEvent, patchEvent } as Partial<KubeClient> as KubeClient };
}

/** Calls `work` with an outbox and records over an empty storage. */
function withOutbox<T>(
  name: string,
  work: (outbox: ReturnType<typeof eventOutbox>, records: ReturnType<typeof nodeRecordStore>) => Promise<T>,
): Promise<T> {
  return runInDurableObject(env.NODES.getByName(name), (_, { storage }) => {
    const tables = nodeTables(storage);
    const records = nodeRecordStore(storage.sql, tables, machineSamples(storage.sql, tables));
    return work(eventOutbox(storage, tables, records), records);
  });
}

describe("unsent events", () => {
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

  it("are sent in order; those that the apiserver did not accept are sent later", async () => {
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

  it("changes of Ready are sent first, with their times", async () => {
    await withOutbox("outbox-ready-first", async (outbox) => {
      outbox.add([event(0), named("NodeNotReady"), event(1), named("NodeReady"), event(2)], NOW_MS);
      const { sent, client } = eventsClient(9);
      const names: string[] = [];
      const createEvent = (created: Event) => {
        names.push(created.metadata.name ?? "");
        return client.createEvent(created);
      };
      expect(await outbox.flush({ ...client, createEvent }, "outbox", () => NOW_MS)).toBeNull();
      expect(sent).toEqual(["NodeNotReady", "NodeReady", "Reason0", "Reason1", "Reason2"]);
      const [notReady, ready, ...others] = names;
      const happened = [others[0], notReady, others[1], ready, others[2]];
      expect(happened).toEqual(names.toSorted((a, b) => (a < b ? -1 : 1)));
      expect(outbox.isEmpty()).toBe(true);
    });
  });
});

describe("the spam filter", () => {
  const BURST = 25;

  it("drops events over its budget, and never a change of Ready", async () => {
    await withOutbox("outbox-spam", async (outbox) => {
      outbox.add(events(BURST + 1), NOW_MS);
      const first = eventsClient(99);
      expect(await outbox.flush(first.client, "outbox", () => NOW_MS)).toBeNull();
      expect(first.sent).toHaveLength(BURST);
      outbox.add([event(99), named("NodeNotReady")], NOW_MS);
      const second = eventsClient(99);
      expect(await outbox.flush(second.client, "outbox", () => NOW_MS)).toBeNull();
      expect(second.sent).toEqual(["NodeNotReady"]);
    });
  });

  it("starts again with a new process: new events, and a full budget", async () => {
    await withOutbox("outbox-fresh", async (outbox, records) => {
      outbox.add(events(BURST), NOW_MS);
      await outbox.flush(eventsClient(99).client, "outbox", () => NOW_MS);
      records.remove("correlator");
      outbox.add(events(BURST + 1), NOW_MS + 1);
      const { sent, client } = eventsClient(99);
      await outbox.flush(client, "outbox", () => NOW_MS);
      expect(sent).toEqual(events(BURST).map(({ reason }) => reason));
    });
  });

  it("a new process starts during a send → results of that send are not kept", async () => {
    await withOutbox("outbox-fresh-meanwhile", async (outbox, records) => {
      outbox.add([event(0)], NOW_MS);
      await outbox.flush(eventsClient(9).client, "outbox", () => NOW_MS);
      outbox.add([event(1)], NOW_MS);
      const { client } = eventsClient(9);
      const createEvent = (created: Event) => {
        records.remove("correlator");
        return client.createEvent(created);
      };
      await outbox.flush({ ...client, createEvent }, "outbox", () => NOW_MS);
      expect(records.get("correlator")).toBeUndefined();
      expect(outbox.isEmpty()).toBe(true);
    });
  });

  it("counts of an earlier version, without an API version → kept; the same event counts as new", async () => {
    await withOutbox("outbox-upgrade", async (outbox, records) => {
      outbox.add([event(0)], NOW_MS);
      await outbox.flush(eventsClient(9).client, "outbox", () => NOW_MS);
      const known = JSON.stringify(records.get("correlator"));
      records.put("correlator", JSON.parse(known.replaceAll(String.raw`\nv1\n`, String.raw`\n\n`)));
      expect(JSON.stringify(records.get("correlator"))).not.toBe(known);
      outbox.add([event(0)], NOW_MS + 1);
      const { sent, client } = eventsClient(9);
      expect(await outbox.flush(client, "outbox", () => NOW_MS)).toBeNull();
      expect(sent).toEqual(["Reason0"]);
    });
  });
});
