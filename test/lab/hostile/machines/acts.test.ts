// Tests the acts: a seed, a machine's number and an act's index determine an act; all kinds occur; an act over a
// limit exceeds the limit.
import { describe, expect, it, test } from "vitest";
import { factsSchema } from "../../../../shared/protocol/facts.ts";
import { LIMITS } from "../../../../shared/protocol/limits.ts";
import { reportSchema } from "../../../../shared/protocol/report.ts";
import { actOf } from "./acts.ts";
import { wellDraft } from "./draft.ts";
import type { Act } from "./kinds.ts";
import { REACHES } from "./limited.ts";

const coveted = { names: ["honest-0"], labels: ["team"], conditions: ["A"], resources: ["example.com/a"] };
const at = { name: "hostile-00", coveted };
const acts = (seed: number, machine: number, count: number) =>
  Array.from({ length: count }, (_, index) => actOf(seed, machine, index, at));

describe("acts", () => {
  it("with the same seed and machine → the same; with another seed, or machine → others", () => {
    const those = JSON.stringify(acts(1, 2, 100));
    expect(JSON.stringify(acts(1, 2, 100))).toBe(those);
    expect(JSON.stringify(acts(2, 2, 100))).not.toBe(those);
    // Machine 10 has the same role, but other acts.
    expect(JSON.stringify(acts(1, 10, 100))).not.toBe(those);
  });

  it("an act does not depend on earlier ones", () => {
    expect(actOf(1, 2, 50, at)).toEqual(acts(1, 2, 51)[50]);
  });

  it("of eight machines → each kind, each limit at it and over it", () => {
    const all = Array.from({ length: 8 }, (_, machine) => acts(7, machine, machine === 0 ? 700 : 100)).flat();
    const kinds = new Set(all.map(({ kind }) => kind));
    const limits = REACHES.flatMap(([what]) => [`at a limit: ${what}`, `over a limit: ${what}`]);
    expect([...kinds]).toEqual(expect.arrayContaining(limits));
    const others = [...kinds].filter((kind) => !limits.includes(kind) && !kind.startsWith("request: "));
    expect(others.sort()).toEqual([
      "an inventory that changes",
      "as two machines",
      "asks for another's name",
      "clouds",
      "conditions that flap",
      "devices that come and go",
      "events",
      "flaps, large and small",
      "further names, large and flapping",
      "images that alternate",
      "leaves and enrols again",
      "many further names, large",
      "more than its token says",
      "rotates",
      "settings at their extremes",
      "ten without a pause",
      "two reports at once",
    ]);
  });

  it("no process of a machine comes back after another one, except for clones", () => {
    const starts = acts(7, 1, 200).flatMap((act) => (act.does === "report" ? act.draft.startId : []));
    const changes = starts.filter((startId, index) => startId !== starts[index - 1]);
    expect(changes).toHaveLength(new Set(starts).size);
    expect(changes).toHaveLength(20);
  });
});

const IDS = { startId: "s", bootID: "b", machineID: "m" };

/** Returns true if the limits refuse the report, its facts, or its body. */
function isRefused({ facts, vitals, startId, padTo }: Extract<Act, { does: "report" }>["draft"]): boolean {
  const machineTime = "2026-01-02T03:04:05Z";
  const said = { protocol: 1, startId, machineTime, vitals, factsDigest: "x".repeat(43), facts };
  const body = JSON.stringify(said).padEnd(padTo);
  return (
    body.length > LIMITS.bodyBytes ||
    !reportSchema.safeParse(said).success ||
    !factsSchema.safeParse(facts).success
  );
}

test.each(REACHES)("%s: at the limit → accepted, over it → refused", (_, reach) => {
  const [within, over] = ([0, 1] as const).map((more) => {
    const draft = wellDraft("hostile-00", IDS, 0);
    reach(draft, more, "salt");
    return isRefused(draft);
  });
  expect([within, over]).toEqual([false, true]);
});
