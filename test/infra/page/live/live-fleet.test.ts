// Tests the page's data about the fleet, and when the data are stale.
import { signal } from "@preact/signals";
import { afterEach, expect, it, vi } from "vitest";
import { ColumnsBuilder } from "../../../../shared/fleet/columns.ts";
import { ALL_FIELDS, allValues } from "../../../../shared/fleet/feed-view.ts";
import type { FeedMessage } from "../../../../shared/protocol/feed.ts";
import { success } from "../../../../shared/result.ts";
import type { SendRequest } from "../../../../infra/page/base/api.ts";
import type { PageSocket, PageSocketEvent } from "../../../../infra/page/live/feed-client.ts";
import { LiveFleet } from "../../../../infra/page/live/live-fleet.ts";
import { summaryOf } from "../../../worker/support/made-up-fleet.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

function fakeSocket() {
  const listeners: ((event: PageSocketEvent) => void)[] = [];
  const socket: PageSocket = {
    readyState: 1,
    send() {},
    close() {},
    addEventListener: (type, listen) => void (type === "message" && listeners.push(listen)),
  };
  const hears = (message: FeedMessage) =>
    listeners.forEach((listen) => listen({ data: JSON.stringify(message) }));
  return { socket, hears };
}

it("whoever looked has signed out → nothing that was told is known any more", async () => {
  vi.stubGlobal("performance", { now: () => 0, getEntriesByName: () => [], measure: () => undefined });
  const { socket, hears } = fakeSocket();
  const paths: string[] = [];
  let opened = Promise.withResolvers<void>();
  const fleet = new LiveFleet({
    ask: (async () => success({ ticket: "t", expiresAt: "" })) as SendRequest,
    openSocket: (path) => {
      paths.push(path);
      opened.resolve();
      return socket;
    },
    clock: signal(0),
    now: () => 0,
    isSeen: () => true,
    random: () => 1,
    later: () => () => {},
  });
  const rows = new ColumnsBuilder(ALL_FIELDS);
  rows.add(allValues("edge-1", summaryOf(1)));
  const known = () => [fleet.machines().size, fleet.isKnown.value, fleet.counts.value, fleet.revision.value];

  fleet.start();
  await opened.promise;
  expect(paths).toEqual(["/v1/feed"]);
  hears({ type: "hello", resumed: false, why: "" });
  hears({ type: "snapshot", cursor: "0", rows: 1, machines: rows.finish(), isLast: true });
  expect(known()).toEqual([1, true, { ready: 1 }, 1]);

  fleet.stop();
  expect(known()).toEqual([0, false, {}, 2]);
  expect(fleet.lastUpdate.value.gone).toEqual(["edge-1"]);

  opened = Promise.withResolvers<void>();
  fleet.start();
  await opened.promise;
  expect(paths).toEqual(["/v1/feed", "/v1/feed"]);
  fleet.stop();
});
