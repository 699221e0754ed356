// What the page knows of the fleet, and for how long.
import { signal } from "@preact/signals";
import { afterEach, expect, it, vi } from "vitest";
import { ColumnsBuilder } from "../../../../shared/fleet/columns.ts";
import { ALL_FIELDS, allValues } from "../../../../shared/fleet/feed-machine.ts";
import type { FeedMessage } from "../../../../shared/protocol/feed.ts";
import { success } from "../../../../shared/result.ts";
import type { Ask } from "../../../../worker/page/base/api.ts";
import { LiveFleet } from "../../../../worker/page/live/live-fleet.ts";
import { summaryOf } from "../../support/made-up-fleet.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

class FakeSocket extends EventTarget {
  readonly readyState = 1;
  send(): void {}
  close(): void {}
  hears(message: FeedMessage): void {
    this.dispatchEvent(new MessageEvent("message", { data: JSON.stringify(message) }));
  }
}

it("whoever looked has signed out → nothing that was told is known any more", async () => {
  vi.stubGlobal("performance", { mark: () => undefined, measure: () => undefined });
  const socket = new FakeSocket();
  const paths: string[] = [];
  const fleet = new LiveFleet({
    ask: (async () => success({ ticket: "t", expiresAt: "" })) as Ask,
    openSocket: (path) => {
      paths.push(path);
      return socket as unknown as WebSocket;
    },
    clock: signal(Date.now()),
    random: () => 1,
  });
  const rows = new ColumnsBuilder(ALL_FIELDS);
  rows.add(allValues("edge-1", summaryOf(1)));
  const known = () => [fleet.machines().size, fleet.isKnown.value, fleet.counts.value, fleet.revision.value];

  fleet.start();
  await vi.waitFor(() => expect(paths).toEqual(["/v1/feed"]));
  socket.hears({ type: "hello", resumed: false, why: "" });
  socket.hears({ type: "snapshot", cursor: "0", rows: 1, machines: rows.finish(), isLast: true });
  expect(known()).toEqual([1, true, { ready: 1 }, 1]);

  fleet.stop();
  expect(known()).toEqual([0, false, {}, 2]);
  expect(fleet.lastUpdate.value.gone).toEqual(["edge-1"]);

  fleet.start();
  await vi.waitFor(() => expect(paths).toEqual(["/v1/feed", "/v1/feed"]));
  fleet.stop();
});
