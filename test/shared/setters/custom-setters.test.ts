import { describe, expect, test } from "vitest";
import page from "../../../docs/custom-setters.md?raw";
import { customSetters, type CustomSources } from "../../../shared/setters/custom.ts";
import { draftOf } from "../../../shared/node/update-node.ts";
import { licenceCondition } from "../../../examples/licence-condition.ts";
// oxlint-disable-next-line import/default -- with ?raw the bundler exports the text
import example from "../../../examples/licence-condition.ts?raw";

test("the page shows the example that is tested here", () => {
  expect(page).toContain(example);
});

test("nothing is added to the kubelet's setters by default", () => {
  expect(customSetters).toEqual([]);
});

describe("the example", () => {
  const ready = { type: "Ready", status: "True" };
  const custom = { licenceUntil: "2026-01-01T00:00:10Z" };
  const ignore = (): void => {};

  test("a licence that runs out changes the condition, and an event says so once", () => {
    const events: string[] = [];
    const recordEvent: CustomSources["recordEvent"] = (type, reason) => events.push(`${type} ${reason}`);
    const node = draftOf({ status: { conditions: [ready] } });
    for (const now of ["2026-01-01T00:00:09Z", "2026-01-01T00:00:10Z", "2026-01-01T00:00:20Z"]) {
      licenceCondition({ custom, now, recordEvent })(node);
    }
    expect(node.status.conditions).toEqual([
      {
        type: "LicenceExpired",
        status: "True",
        reason: "LicenceHasExpired",
        message: "the licence expired on 2026-01-01T00:00:10Z",
        lastHeartbeatTime: "2026-01-01T00:00:20Z",
        lastTransitionTime: "2026-01-01T00:00:10Z",
      },
      ready,
    ]);
    expect(events).toEqual(["Warning LicenceHasExpired"]);
  });

  test.each([[{}], [{ licenceUntil: true }], [{ licenceUntil: "soon" }]])(
    "without a time (%j) it fails and sets nothing",
    (custom) => {
      const node = draftOf({ status: { conditions: [ready] } });
      const setter = licenceCondition({ custom, now: "2026-01-01T00:00:00Z", recordEvent: ignore });
      expect(setter(node)).toBe("the custom facts have no time in licenceUntil");
      expect(node.status.conditions).toEqual([ready]);
    },
  );
});
