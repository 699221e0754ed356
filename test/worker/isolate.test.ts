// Tests what an isolate caches between requests, and that another isolate starts with an empty cache.
import { describe, expect, it, vi } from "vitest";
import { isIssuedKid, issueKid } from "../../worker/identity/issued.ts";
import { newIsolate } from "../../worker/isolate.ts";

const CONFIGURED = `1:${"A".repeat(43)}`;
const NEXT = `2:${"B".repeat(42)}A ${CONFIGURED}`;

describe("the keys of kids", () => {
  it("of one configuration → parsed and imported once for all requests", async () => {
    const importKey = vi.spyOn(crypto.subtle, "importKey");
    const { macKeys } = newIsolate(fetch);
    const kid = await issueKid(macKeys(CONFIGURED)[0]!, "edge-7", "k", "e");
    for (let request = 0; request < 3; request++) {
      expect(await isIssuedKid(macKeys(CONFIGURED), "edge-7", kid)).toBe(true);
    }
    expect(macKeys(CONFIGURED)).toBe(macKeys(CONFIGURED));
    expect(importKey).toHaveBeenCalledTimes(1);
    importKey.mockRestore();
  });

  it("of another configuration → active from then on", async () => {
    const { macKeys } = newIsolate(fetch);
    const kid = await issueKid(macKeys(CONFIGURED)[0]!, "edge-7", "k", "e");
    const next = await issueKid(macKeys(NEXT)[0]!, "edge-7", "k", "e");
    const good = (configured: string) =>
      Promise.all([kid, next].map((each) => isIssuedKid(macKeys(configured), "edge-7", each)));
    expect(await good(NEXT)).toEqual([true, true]);
    expect(await good(CONFIGURED)).toEqual([true, false]);
  });
});

it("another isolate → has no cached key and no failure", () => {
  const [one, another] = [newIsolate(fetch), newIsolate(fetch)];
  one.overLimitUntilMs.set("192.0.2.1", 1);
  expect(another.overLimitUntilMs.size).toBe(0);
  expect(another.macKeys(CONFIGURED)).not.toBe(one.macKeys(CONFIGURED));
  expect(another.accessKeys("team")).not.toBe(one.accessKeys("team"));
});
