// Tests a client's view of the fleet, built from messages of older and newer Workers.
import { expect, it } from "vitest";
import { type CodedColumns, ColumnsBuilder } from "../../../shared/fleet/columns.ts";
import {
  ALL_FIELDS,
  allValues,
  type FeedMachine,
  FeedView,
  MOST_IN_VIEW,
} from "../../../shared/fleet/feed-view.ts";
import type { FeedMessage } from "../../../shared/protocol/feed.ts";
import { FEED_LIMITS } from "../../../shared/protocol/limits.ts";
import { FLEET_START_MS, summaryOf } from "../../worker/support/made-up-fleet.ts";

const NAME = "edge-1";
const columns = (): CodedColumns => {
  const builder = new ColumnsBuilder(ALL_FIELDS);
  builder.add(allValues(NAME, summaryOf(1, { createdMs: FLEET_START_MS })));
  return builder.finish();
};
const without = (...fields: string[]) =>
  Object.fromEntries(Object.entries(columns()).filter(([field]) => !fields.includes(field)));
const snapshot = (machines: CodedColumns): FeedMessage => ({
  type: "snapshot",
  cursor: "1",
  rows: 1,
  machines,
  isLast: true,
});
const change = (machines: CodedColumns): FeedMessage => ({
  type: "changes",
  cursor: "2",
  machines: { rows: 1, columns: machines },
});

it.each<[worker: string, machines: CodedColumns, known: Partial<FeedMachine>]>([
  ["this one", columns(), { transport: "http", createdMs: FLEET_START_MS }],
  ["an earlier one", without("transport", "created"), { transport: "http", createdMs: null }],
  ["a newer one", { ...columns(), transport: { all: "quic" } }, { transport: "quic" }],
  ["one with fields of its own", { ...columns(), colour: { each: ["red"] } }, { isUsed: true }],
])("a Worker like %s → the client uses its fields", (_, machines, known) => {
  const view = new FeedView();
  for (const message of [snapshot(machines), change(machines)]) {
    view.take(message);
    expect(view.machines.get(NAME)).toMatchObject({ name: NAME, state: "ready", ...known });
    expect(view.machines.get(NAME)).not.toHaveProperty("colour");
  }
});

it("a Worker that leaves out a field of the first version → no message of this protocol", () => {
  expect(() => new FeedView().take(snapshot(without("used")))).toThrow();
});

it("the most machines that a view takes → all are in it; one more → an error", () => {
  const view = new FeedView();
  const part = (from: number, rows: number): FeedMessage => {
    const names = Array.from({ length: rows }, (_, at) => `edge-${from + at}`);
    return {
      type: "snapshot",
      cursor: "1",
      rows,
      machines: { ...columns(), name: { each: names } },
      isLast: from + rows === MOST_IN_VIEW,
    };
  };
  for (let from = 0; from < MOST_IN_VIEW; from += FEED_LIMITS.machines)
    view.take(part(from, FEED_LIMITS.machines));
  expect(view.machines.size).toBe(MOST_IN_VIEW);
  const more: FeedMessage = {
    type: "changes",
    cursor: "2",
    machines: { rows: 1, columns: { ...columns(), name: { each: ["edge-more"] } } },
  };
  expect(() => view.take(more)).toThrow(`more than ${MOST_IN_VIEW} machines`);
});
