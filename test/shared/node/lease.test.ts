import { describe, expect, it } from "vitest";
import { parseMicroTime } from "../../../shared/kubernetes/micro-time.ts";
import type { Lease } from "../../../shared/kubernetes/types.ts";
import { nextRenewTime } from "../../../shared/node/lease.ts";

const NOW = parseMicroTime("2026-03-14T15:09:26Z");
const renewedAt = (renewTime: string): Lease => ({ spec: { renewTime } });

describe("nextRenewTime", () => {
  it.each([
    { situation: "no lease yet → now", base: null, renewTime: "2026-03-14T15:09:26.000000Z" },
    {
      situation: "renewed a while ago → now",
      base: renewedAt("2026-03-14T15:09:16.000000Z"),
      renewTime: "2026-03-14T15:09:26.000000Z",
    },
    {
      situation: "renewed in this very microsecond → one later",
      base: renewedAt("2026-03-14T15:09:26.000000Z"),
      renewTime: "2026-03-14T15:09:26.000001Z",
    },
    {
      situation: "renewed by a clock an hour ahead → a microsecond after that",
      base: renewedAt("2026-03-14T16:09:26.999999Z"),
      renewTime: "2026-03-14T16:09:27.000000Z",
    },
  ])("$situation", ({ base, renewTime }) => {
    expect(nextRenewTime(NOW, base)).toBe(renewTime);
  });
});
