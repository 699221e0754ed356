// Tests how deliveries of alerts are counted.
import { expect, test } from "vitest";
import { NOTIFICATION_LIMITS } from "../../../../shared/protocol/limits.ts";
import { deliveriesTo, type Delivery } from "./alerts.ts";

const FULL = NOTIFICATION_LIMITS.alertsInLetter;
const alert = { kind: "machine", status: "firing", name: "a", state: "silent", why: "" };
const delivery = (atMs: number, at: string, alerts: number, receiver = "all"): Delivery => ({
  atMs,
  receiver,
  at,
  alerts: Array.from({ length: alerts }, () => alert),
});

test.each<[situation: string, deliveries: Delivery[], expected: number]>([
  ["two messages of one time → two", [delivery(1, "a", 1), delivery(2, "a", 1)], 2],
  ["a full one and its rest → one", [delivery(1, "a", FULL), delivery(2, "a", FULL), delivery(3, "a", 7)], 1],
  ["a full one, then one of another time → two", [delivery(1, "a", FULL), delivery(2, "b", 1)], 2],
  ["before and after the time → none", [delivery(0, "a", 1), delivery(11, "b", 1)], 0],
  ["to another receiver → none", [delivery(1, "a", 1, "outages")], 0],
])("%s", (_, deliveries, expected) => {
  expect(deliveriesTo("all", deliveries, { fromMs: 1, toMs: 10 })).toBe(expected);
});
