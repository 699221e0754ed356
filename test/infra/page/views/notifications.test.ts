import { expect, it } from "vitest";
import { alertsOn } from "../../../../infra/page/views/notifications.tsx";

it.each([
  [{ selector: "", names: "", states: [] }, "every state of all machines"],
  [{ selector: "", names: "edge-*", states: ["silent"] }, "silent of machines named edge-*"],
  [
    { selector: "site=berlin", names: "edge-*", states: ["silent", "blocked"] },
    "silent, blocked of machines named edge-* and with site=berlin",
  ],
])("%j", (filter, words) => {
  expect(alertsOn(filter)).toBe(words);
});
