// Runs every recording of Kubernetes' behaviour, on Node and in workerd: `given` → `want`.
import { describe, expect, it } from "vitest";
import { families } from "./families.ts";
import { type Case, type Family, type Recording, runCase } from "./family.ts";

const recordings = import.meta.glob<Recording>("./*.json", { eager: true, import: "default" });

describe.each(Object.entries(recordings))("%s", (path, recording) => {
  const name = path.slice(2, -".json".length);

  it.each(recording.cases)("$name", async (recorded: Case) => {
    const { got, want } = await runCase(families[name] as Family, recorded);
    expect(got).toEqual(want);
  });
});
