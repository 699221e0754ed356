import { expect, it } from "vitest";
import { alertsOn, deliverySign } from "../../../../infra/page/views/notifications.tsx";

it.each([
  [{ selector: "", names: "", states: [] }, "every state of all machines"],
  [{ selector: "", names: "edge-*", states: ["silent"] }, "not reporting of machines named edge-*"],
  [
    { selector: "site=berlin", names: "edge-*", states: ["silent", "blocked"] },
    "not reporting, blocked of machines named edge-* and with site=berlin",
  ],
])("%j", (filter, words) => {
  expect(alertsOn(filter)).toBe(words);
});

const at = "2026-01-01T09:00:00Z";
const last = (isTest: boolean, arrived: boolean) => ({
  at,
  arrived,
  error: arrived ? "" : "HTTP 500",
  isTest,
});
it.each([
  ["nothing was sent", null, null, "quiet", "no delivery or test yet"],
  ["a test arrived", null, last(true, true), "check-ok", "✓ the last test arrived"],
  ["a test failed", null, last(true, false), "check-failed", "✕ the last test failed"],
  ["a delivery arrived", null, last(false, true), "check-ok", "✓ the last delivery arrived"],
  ["a delivery was refused", null, last(false, false), "check-failed", "✕ the last delivery failed"],
  [
    "a delivery is retried, a test arrived",
    at,
    last(true, true),
    "check-failed",
    "✕ deliveries have failed for",
  ],
])("a receiver: %s → its sign states that", (_, failingSince, lastDelivery, look, words) => {
  expect(deliverySign({ failingSince, lastDelivery })).toMatchObject({ look, words });
});
